"""Thousands of small sequences against thousands, and light seeds on 2.5 kb: `tidalign genome` beside LASTZ, whole commands on one core, in turns.

python genome_contigs.py RESULT.json [--rounds 9] [--contigs 2000] [--pieces 10000]

Contigs of 100 to 300 letters, 12 % of them changed, half of them turned around, against 200 letters a piece. Both write MAF, whose lines must be the same.
Kernels are compiled before; bytecode is kept, as installed packages have it.
"""

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record

PIECE = 200
LIGHT = ("match3", "match4", "match5", "half8")
TURNED = str.maketrans("ACGT", "TGCA")


def changed(chance: random.Random, letters: str, rate: float) -> str:
    """Change, leave out or double letters."""
    return "".join(
        letter if (at := chance.random()) >= rate else "" if at < rate / 6 else letter + chance.choice("ACGT") if at < rate / 3 else chance.choice("ACGT")
        for letter in letters
    )


def write(path: Path, records: list[str]) -> str:
    path.write_text("".join(f">s{i}\n{letters}\n" for i, letters in enumerate(records)))
    return str(path)


def contigs(folder: Path, count: int, pieces: int) -> tuple[str, str]:
    chance = random.Random(7)
    genome = "".join(chance.choices("ACGT", k=PIECE * pieces))
    made = []
    for _ in range(count):
        length = chance.randint(100, 300)
        at = chance.randrange(len(genome) - length)
        letters = changed(chance, genome[at : at + length], 0.12)
        made.append(letters if chance.random() < 0.5 else letters.translate(TURNED)[::-1])
    return write(folder / "t.fa", [genome[i * PIECE : (i + 1) * PIECE] for i in range(pieces)]), write(folder / "q.fa", made)


def beside(folder: Path, target: str, query: str, rounds: int, *options: str) -> dict[str, Any]:
    """Run both in turns, the first time for nothing: medians of seconds, and whether lines are the same."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    ours = [
        sys.executable,
        "-m",
        "tidalign.workflows",
        "genome",
        target,
        query,
        *options,
        "-o",
        f"{folder}/o.maf",
        "--new",
        "--quiet",
        "--workers",
        "0",
        "--device",
        "cpu",
    ]
    taken: dict[str, list[float]] = {"LASTZ": [], "tidalign": []}
    for _ in range(rounds + 1):
        with (folder / "l.maf").open("w") as sink:
            began = time.perf_counter()
            subprocess.run(["lastz", f"{target}[multiple]", query, *options, "--format=maf"], stdout=sink, check=True)
            taken["LASTZ"].append(time.perf_counter() - began)
        began = time.perf_counter()
        subprocess.run([*ours[:4], f"{target}[multiple]", *ours[5:]], env=environment, check=True)
        taken["tidalign"].append(time.perf_counter() - began)
    lines = [[line for line in (folder / name).read_text().splitlines() if not line.startswith("#")] for name in ("l.maf", "o.maf")]
    seconds = {name: round(statistics.median(each[1:]), 3) for name, each in taken.items()}
    return {"seconds": seconds, "times LASTZ": round(seconds["tidalign"] / seconds["LASTZ"], 2), "lines": len(lines[0]), "same lines": lines[0] == lines[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    for name, number in (("--rounds", 9), ("--contigs", 2000), ("--pieces", 10_000)):
        parser.add_argument(name, type=int, default=number)
    arguments = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    found: dict[str, Any] = {"contigs": arguments.contigs, "pieces": arguments.pieces, "load before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found["small sequences"] = beside(folder, *contigs(folder, arguments.contigs, arguments.pieces), arguments.rounds)
        chance = random.Random(3)
        letters = "".join(chance.choices("ACGT", k=2500))
        pair = write(folder / "a.fa", [letters]), write(folder / "b.fa", [changed(chance, letters, 0.15)])
        for seed in LIGHT:
            found[seed] = beside(folder, *pair, arguments.rounds, f"--seed={seed}")
    record.write(arguments.result, found)
    print(found)


if __name__ == "__main__":
    main()
