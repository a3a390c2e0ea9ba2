"""Align a small genome with a target of 2.2 Gb that is N but for two islands, in independent mode, and compare with the islands alone. By hand:

python tests/data/compare_sparse.py FOLDER [--letters N] [--result FILE.json]

FOLDER holds mt_human, mt_orangA (the islands) and mt_chimp (the query), .fa.gz. Takes twice the target on disk.
"""

import argparse
import gzip
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record

import tidalign

GAP = 1000
"""Letters between the islands where they are alone: more than an extension crosses."""


def letters(path: Path) -> bytes:
    return b"".join(gzip.decompress(path.read_bytes()).split(b"\n")[1:])


def write(path: Path, islands: list[bytes], gaps: list[int]) -> None:
    """Write islands with runs of N before, between and after them."""
    with path.open("wb") as file:
        file.write(b">target\n")
        for gap, island in zip(gaps, [*islands, b""], strict=True):
            for start in range(0, gap, 1 << 20):
                file.write(b"N" * min(1 << 20, gap - start) + b"\n")
            file.write(island + b"\n")


def rows(target: Path, query: Path, shift: dict[int, int]) -> list[Any]:
    """Align, and give all rows, places of the target moved as `shift` says of those beyond its keys, and its length left out."""
    results = tidalign.align_genomes(target, query, out=target.with_suffix(".run"), new=True, mode="independent", device="cpu")
    found = results.to_table().drop_columns(["target_length"]).to_pylist()
    for row in found:
        by = next(move for begin, move in sorted(shift.items(), reverse=True) if row["target_start"] >= begin)
        row["target_start"], row["target_end"] = row["target_start"] - by, row["target_end"] - by
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--letters", type=int, default=2_200_000_000)
    parser.add_argument("--result")
    args = parser.parse_args()
    islands = [letters(args.folder / f"{name}.fa.gz") for name in ("mt_human", "mt_orangA")]
    gap = args.letters // 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        query = folder / "query.fa"
        query.write_bytes(b">query\n" + letters(args.folder / "mt_chimp.fa.gz") + b"\n")
        write(folder / "alone.fa", islands, [GAP, GAP, GAP])
        write(folder / "sparse.fa", islands, [gap, gap, GAP])
        expected = rows(folder / "alone.fa", query, {0: GAP, GAP + len(islands[0]): 2 * GAP})
        began = time.perf_counter()
        found = rows(folder / "sparse.fa", query, {0: gap, gap + len(islands[0]): 2 * gap})
        seconds = time.perf_counter() - began
    same = found == expected and len(found) > 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = {"what": "a target that is N but for two islands, beside the islands alone", "letters": 2 * gap + sum(map(len, islands)) + GAP}
    result |= {"alignments": len(found), "rows equal, places of the target moved": same, "seconds": round(seconds, 1), "resident MB": round(memory / 1e3)}
    print(result)
    if args.result:
        record.write(args.result, result)
    return int(not same)


if __name__ == "__main__":
    sys.exit(main())
