"""`tidalign pairs --strand both` of reads of which half are on the other strand, beside `--strand plus` of the same reads all turned right: whole commands.

python strands.py RESULT.json [--pairs N] [--length L] [--errors E ..] [--penalties P] [-- MORE OPTIONS OF tidalign pairs]

Nothing else has to be found out, so both are to take about as long: two more passes, each without a CIGAR, no longer than the right strand takes.
"""

import argparse
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import record
import simulate
from whole_run import watch

TURNED = bytes.maketrans(b"ACGT", b"TGCA")


def seconds(folder: Path, name: str, options: list[str]) -> float:
    """Align, the second time, when kernels are compiled."""
    words = ["pairs", str(folder / f"{name}.fa"), str(folder / "targets.fa"), "-o", str(folder / "run"), "--new", "--quiet", *options]
    return min(watch([sys.executable, "-m", "tidalign.workflows", *words], interval=0.05)[0] for _ in range(2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--errors", type=float, nargs="+", default=[0.05, 0.15])
    parser.add_argument("--penalties", default="affine:4,6,2")
    parser.add_argument("options", nargs="*")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for errors in args.errors:
        pairs, chance = simulate.pairs(1, args.pairs, args.length, errors), random.Random(2)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            sides = {"right": [query for query, _ in pairs], "targets": [target for _, target in pairs]}
            sides["half"] = [query.translate(TURNED)[::-1] if chance.random() < 0.5 else query for query in sides["right"]]
            for side, sequences in sides.items():
                (folder / f"{side}.fa").write_bytes(b"".join(b">%d\n%b\n" % each for each in enumerate(sequences)))
            options = ["--penalties", args.penalties, *args.options]
            row = {"errors": errors, "plus, all turned right": seconds(folder, "right", [*options, "--strand", "plus"])}
            row["both, half of them turned"] = seconds(folder, "half", [*options, "--strand", "both"])
        rows.append({key: round(value, 3) for key, value in row.items()})
        print(json.dumps(rows[-1]))
    record.write(args.result, {"pairs": args.pairs, "length": args.length, "penalties": args.penalties, "options": args.options, "rows": rows})


if __name__ == "__main__":
    main()
