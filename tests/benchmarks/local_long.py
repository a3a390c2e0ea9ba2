"""Local alignment of few long pairs on the current GPU: seconds, cells a second, where blocks share a pair and where lanes have it alone. Writes JSON.

    python tests/benchmarks/local_long.py RESULT.json [--pairs 100000:1 ...] [--shapes 16:2 ...]

Pairs are those of `wavefront_device.py` at 5 % error, affine gaps, letters on the device, results on the host, the best of two calls; beside them the host twin
on one core, up to a billion cells. Rows must be equal. --shapes: rows of a lane and strips of a block that are tried beside what is chosen.
"""

import argparse
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record
from local_device import DNA, of_kernels, spent
from local_grid import NEVER
from wavefront_device import pairs

from tidalign.kernels.local import pairs as host
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import forms
from tidalign.kernels.local.uploaded import uploaded
from tidalign.kernels.scoring.substitution import Substitution

PAIRS = ["4000:500", "4000:4000", "10000:1", "10000:200", "10000:1000", "32000:1", "32000:16", "32000:128", "32000:512", "100000:1", "100000:8", "1000000:1"]
MOST_KEPT = 200_000
"""Letters of pairs whose ways back fit the GPU's memory."""
MOST_ON_HOST, MOST_ALONE = 1.1e9, 32_000
"""Cells of pairs that the host twin aligns beside it; letters of those that lanes have alone."""


def measured(sides: list[Any], coding: Coding, report: str) -> tuple[dict[str, Any], Any]:
    best: dict[str, float] = {}
    for _ in range(2):
        spent.clear()
        began = time.perf_counter()
        found = pairs_device.align_uploaded(*sides, coding, report=report)
        seconds = {"whole": time.perf_counter() - began} | of_kernels()
        best = {name: min(value, best.get(name, value)) for name, value in seconds.items()}
    cells = float((sides[0].lengths.astype(float) * sides[1].lengths).sum())
    assert found.by_host == 0
    return {"seconds": {name: round(value, 5) for name, value in best.items()}, "gcups": round(cells / best["whole"] / 1e9)}, found


def same(one: Any, other: Any) -> bool:
    names = ["score", "query_start", "query_end", "target_start", "target_end", "cigar"]
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names if getattr(one, name) is not None)


def row(length: int, count: int, report: str, shapes: list[tuple[int, int]]) -> dict[str, Any]:
    scoring = Substitution.parse(DNA)
    coding, letters = Coding(scoring), pairs(count, length, 0.05)
    sides = [uploaded(side, coding) for side in letters]
    found: dict[str, Any] = {"letters": length, "pairs": count, "report": report}
    found["blocks share a pair"], expected = measured(sides, coding, report)
    if length <= MOST_ALONE:
        with patch.object(forms, "SHARED_FROM", [NEVER]):
            found["a team a pair"], other = measured(sides, coding, report)
        assert same(expected, other)
    for rows, gang in shapes:
        with ExitStack() as stack:
            for name, value in (("FEW_STRIPS", NEVER), ("FEW_ROWS", rows), ("GANGS", {rows: gang})):
                stack.enter_context(patch.object(forms, name, value))
            found[f"{rows} rows, {gang} strips"], other = measured(sides, coding, report)
            assert same(expected, other)
    if count * length**2 <= MOST_ON_HOST:
        began = time.perf_counter()
        assert same(expected, host.align(*letters, scoring, report=report))
        found["host twin, one core, seconds"] = round(time.perf_counter() - began, 3)
    print(found, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--pairs", nargs="+", default=PAIRS)
    parser.add_argument("--shapes", nargs="*", default=[])
    arguments = parser.parse_args()
    shapes = [tuple(map(int, shape.split(":"))) for shape in arguments.shapes]
    rows = []
    for text in arguments.pairs:
        length, count = map(int, text.split(":"))
        for report in ("score", "cigar") if length <= MOST_KEPT else ("score",):
            rows.append(row(length, count, report, shapes))
    record.write(arguments.result, {"card": gpu_record.gpu(), "scoring": DNA, "rows": rows})


if __name__ == "__main__":
    main()
