"""Kill workers and clients of one search with SIGKILL at random times, take it up again each time, and compare its table with that of one call.

python tests/workflows/search_chaos.py FOLDER [--kills 10] [--slow 0.3] [--seed 1]
"""

import argparse
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
from kills import killed_again_and_again

import tidalign
from tidalign.pipeline.search import database, manifest

QUERIES, TARGETS = 60, 50
OPTIONS: dict[str, Any] = {"top": 3, "min_score": 14}


def simulate(folder: Path, seed: int) -> tuple[Any, Any]:
    """Random sequences of DNA, most queries a part of one of the database, on either strand; also in folder/q.fa and d.fa."""
    rng = np.random.default_rng(seed)
    targets = ["".join(rng.choice(list("ACGT"), rng.integers(1, 400))) for _ in range(TARGETS)]
    queries = []
    for number in range(QUERIES):
        whole = targets[number % TARGETS]
        part = whole[len(whole) // 4 : len(whole) // 4 + 90] + "ACGTTGCA"[: number % 8]
        queries.append(part if number % 2 else part.translate(str.maketrans("ACGT", "TGCA"))[::-1])
    queries[7], queries[11] = "", "GG"  # without a hit
    sides = [pa.table({"name": [f"{side}{i}" for i in range(len(letters))], "sequence": letters}) for side, letters in (("q", queries), ("d", targets))]
    for side, name in zip(sides, ("q.fa", "d.fa"), strict=True):
        rows = zip(side["name"].to_pylist(), side["sequence"].to_pylist(), strict=True)
        (folder / name).write_text("".join(f">{name}\n{letters}\n" for name, letters in rows))
    return sides[0], sides[1]


def expected(sides: tuple[Any, Any], **options: Any) -> Any:
    """Make the table of one call: no files, no slices, no workers."""
    return tidalign.search(*sides, **OPTIONS | options)


def drive(directory: str, queries: str, targets: str, **options: Any) -> Any:
    """Run `search_files` with small slices and chunks, so that few sequences make many parts."""
    with mock.patch.object(database, "SLICE_BYTES", 4_000), mock.patch.object(manifest, "CHUNK_QUERIES", 7):
        return tidalign.search_files(queries, targets, out=directory, **OPTIONS | options)


def chaos(folder: Path, kills: int, slow: float, seed: int) -> dict[str, Any]:
    """Run on two workers, with `kills` SIGKILLs, every second one at the client; what happened."""
    sides = simulate(folder, seed)
    directory = str(folder / "run")
    happened = killed_again_and_again([sys.executable, __file__, "--drive", directory, str(folder / "q.fa"), str(folder / "d.fa")], kills, slow, seed)
    results = tidalign.SearchResults(directory)
    return {**happened, "rows": len(results), "equal": results.to_table().equals(expected(sides)), "rejected": results.statuses()["rejected"]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--drive", action="store_true")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--slow", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.drive:
        drive(*args.folder, workers=2)
    else:
        print(chaos(Path(args.folder[0]), args.kills, args.slow, args.seed))
