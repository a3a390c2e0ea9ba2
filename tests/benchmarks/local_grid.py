"""Local alignment by scores on the current GPU: cells a second by lengths of query and target, with a heat map, and what parts of the design are worth.

    python tests/benchmarks/local_grid.py RESULT.json [--picture RESULT.svg] [--cells 2e10]

Grid: lengths 32 .. 32,768 of both sides, affine gaps, scores alone; pair by pair, and one query with many. Ablation: lanes of a team by the query's length,
blocks that share a long pair, 16 bits against 32, and DPX's instructions against two others each. Letters are random; times are the device's own, best of two.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import reduce
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record
from local_device import DNA, of_kernels, spent

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import forms
from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best_device

LENGTHS = [1 << power for power in range(5, 16)]
POOL = 1 << 27
MOST_PAIRS = 1 << 21
NEVER = 1 << 20
"""Strips of a query from which on blocks share a pair, where none is to be shared so."""
NO_DPX = """
#define __vimax3_s16x2(a, b, c) __vmaxs2(__vmaxs2(a, b), c)
#define __viaddmax_s16x2(a, b, c) __vmaxs2(__vadd2(a, b), c)
#define __vimax3_s32(a, b, c) max(max(a, b), c)
#define __viaddmax_s32(a, b, c) max((a) + (b), c)
"""


class Letters:
    """Random letters on the device, of which sequences are taken anywhere."""

    def __init__(self) -> None:
        import cupy

        self._random = np.random.default_rng(3)
        self._codes = cupy.asarray(self._random.integers(0, 4, POOL, np.uint8))

    def sequences(self, count: int, length: int) -> Uploaded:
        """Take so many of a length."""
        import cupy

        starts = cupy.asarray(self._random.integers(0, (POOL - length) // 4, count) * 4)
        lengths, others = cupy.full(count, length, np.int32), cupy.zeros(count, np.bool_)
        return Uploaded(self._codes, starts, lengths, others, cupy.zeros_like(others), Sequences.from_strings([]), cupy.arange(count))


def gcups(cells: float, work: Callable[[], Any]) -> int:
    """Measure billions of cells a second of the kernel of scores."""
    best = float("inf")
    for _ in range(2):
        spent.clear()
        work()
        best = min(best, of_kernels()["local_scores"])
    return round(cells / best / 1e9)


def one_to_one(letters: Letters, coding: Coding, query: int, target: int, cells: float) -> int:
    count = max(2, min(MOST_PAIRS, int(cells / query / target)))
    sides = letters.sequences(count, query), letters.sequences(count, target)
    return gcups(float(count) * query * target, lambda: pairs_device.align_uploaded(*sides, coding, report="score"))


def one_to_many(letters: Letters, coding: Coding, query: int, target: int, cells: float) -> int:
    count = max(2, min(MOST_PAIRS, int(cells / query / target)))
    one, many = letters.sequences(1, query), letters.sequences(count, target)
    return gcups(float(count) * query * target, lambda: best_device.search([one], many, coding, top=10, least=1))


SPILL = """        } else if (SEVERAL && active && mate == TEAM - 1 && j >= 0 && j < longest) {
          row_kept[j] = below;
        }
"""
SPILLED = """        } else if (SEVERAL) {  // the last lane's cells go to a lane each, and all of these to memory at once
          const int last = step - (TEAM - 1);
          unsigned last_h = __shfl_sync(~0u, above, TEAM - 1, TEAM), last_gap[PIECES];
          for (int piece = 0; piece < PIECES; piece++) last_gap[piece] = __shfl_sync(~0u, gap[piece], TEAM - 1, TEAM);
          if (last >= 0 && last % TEAM == mate) spilled = kept(last_h, last_gap);
          const int first = last - (TEAM - 1);
          if (last >= 0 && last % TEAM == TEAM - 1 && first + mate < longest) row_kept[first + mate] = spilled;
          const int rest = last / TEAM * TEAM + mate;
          if (step == steps - 1 && last % TEAM != TEAM - 1 && rest <= last && rest < longest) row_kept[rest] = spilled;
        }
"""
LAZILY = (SPILL, SPILLED), ("Kept coming, later;", "Kept coming, later, spilled;")
"""Spill lazily, as paper 002 (IV, B) calls it, in the place of a write a step by the team's last lane."""


def ablation(letters: Letters, coding: Coding, cells: float) -> list[dict[str, Any]]:
    rows = []
    for query in (64, 128, 256, 512):
        for team, height in ((4, 16), (4, 32), (8, 16), (8, 32), (16, 16), (16, 32), (32, 16), (32, 32)):
            with patch.object(forms, "SHAPES", ((team, height),)):
                rows.append({"query": query, "lanes of a team": team, "rows of a lane": height, "gcups": one_to_one(letters, coding, query, 1024, cells)})
                print(rows[-1], flush=True)
    for length in (1024, 4096):
        for lazily in (False, True):
            with patch.object(forms, "SHARED_FROM", [NEVER]), changed(*LAZILY) if lazily else nullcontext():
                rows.append({"query": length, "rows under strips are written lazily": lazily, "gcups": one_to_one(letters, coding, length, 2048, cells)})
            print(rows[-1], flush=True)
    for length, pairs in ((4096, 1024), (16_384, 64), (32_768, 16)):
        for shared in ([NEVER], forms.SHARED_FROM):
            with patch.object(forms, "SHARED_FROM", shared):
                rate = one_to_one(letters, coding, length, length, float(pairs) * length**2)
            rows.append({"query": length, "pairs": pairs, "blocks share a pair": shared != [NEVER], "gcups": rate})
            print(rows[-1], flush=True)
    return rows + precision(letters, coding, cells)


def precision(letters: Letters, coding: Coding, cells: float) -> list[dict[str, Any]]:
    """Measure scores of 16 bits and of 32, and 16 bits without DPX's instructions."""
    rows = []
    for query in (128, 512, 2048):
        for bits in (16, 32):
            with patch.object(pairs_device, "widths", WIDTHS if bits == 16 else wide_alone):
                rows.append({"query": query, "bits": bits, "gcups": one_to_one(letters, coding, query, 1024, cells)})
            print(rows[-1], flush=True)
        with changed(("", NO_DPX)):
            rows.append({"query": query, "bits": 16, "dpx": False, "gcups": one_to_one(letters, coding, query, 1024, cells)})
            print(rows[-1], flush=True)
    return rows


WIDTHS = pairs_device.widths


def wide_alone(*arguments: Any) -> tuple[Any, Any]:
    """Choose 32 bits for all pairs."""
    narrow, wide = WIDTHS(*arguments)
    return narrow & False, narrow | wide


@contextmanager
def changed(*passages: tuple[str, str]) -> Iterator[None]:
    """Compile kernels from sources in which some passages are others while the context lasts."""
    source = compiler.source
    forget()
    with patch.object(compiler, "source", lambda name: reduce(lambda text, each: text.replace(*each, 1), passages, source(name))):
        yield
    forget()


def forget() -> None:
    """Let kernels be compiled again, from the source as it is now."""
    for kept in (compiler._made, compiler._module, compiler._entry):
        kept.cache_clear()


def picture(path: Path, grids: dict[str, list[list[int]]]) -> None:
    """Draw a square a cell of each grid, darker where it is faster, with thousands of billions of cells a second in it."""
    size, most = 44, max(max(map(max, grid)) for grid in grids.values())
    width, height = len(LENGTHS) * size + 80, len(LENGTHS) * size + 70
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{len(grids) * width}" height="{height}" font-family="sans-serif" font-size="11">']
    for number, (name, grid) in enumerate(grids.items()):
        left = number * width + 60
        out.append(f'<text x="{left}" y="16">{name}: TCUPS; query down, target across</text>')
        for i, row in enumerate(grid):
            out.append(f'<text x="{left - 6}" y="{30 + i * size + 27}" text-anchor="end">{LENGTHS[i]:,}</text>')
            out.append(f'<text x="{left + i * size + size // 2}" y="{height - 22}" text-anchor="middle">{LENGTHS[i]:,}</text>')
            for j, rate in enumerate(row):
                share = rate / most
                shade = f"rgb({round(247 - 239 * share)},{round(251 - 203 * share)},{round(255 - 148 * share)})"
                x, y = left + j * size, 30 + i * size
                out.append(f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="{shade}"/>')
                ink = "white" if share > 0.55 else "black"
                out.append(f'<text x="{x + size // 2}" y="{y + 27}" text-anchor="middle" fill="{ink}">{rate / 1000:.1f}</text>')
    path.write_text("\n".join([*out, "</svg>"]) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--cells", type=float, default=2e10)
    parser.add_argument("--ablation", action="store_true", help="the ablation alone")
    arguments = parser.parse_args()
    letters, coding = Letters(), Coding(Substitution.parse(DNA))
    grids: dict[str, list[list[int]]] = {}
    for name, rate in () if arguments.ablation else (("pair by pair", one_to_one), ("one query with many", one_to_many)):
        grids[name] = []
        for query in LENGTHS:
            grids[name].append([rate(letters, coding, query, target, arguments.cells) for target in LENGTHS])
            print(name, query, grids[name][-1], flush=True)
    if arguments.picture:
        picture(arguments.picture, grids)
    found = {"lengths": LENGTHS, "gcups": grids, "ablation": ablation(letters, coding, arguments.cells)}
    record.write(arguments.result, {"card": gpu_record.gpu(), "scoring": DNA, "cells": arguments.cells, **found})


if __name__ == "__main__":
    main()
