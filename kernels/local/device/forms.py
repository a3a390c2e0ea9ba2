"""Forms of the kernel of alignment by scores: how many lanes, rows, teams and blocks a pair is given, and which pairs go together."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local.uploaded import Uploaded
from tidalign.kernels.runtime import compiler

SHAPES = ((4, 16), (4, 24), (4, 32), (8, 20), (8, 24), (8, 28), (8, 32), (16, 20), (16, 24), (16, 28), (16, 32))
"""Lanes of a team and rows of a lane, by the height of the strip that they make. A query takes the first strip that holds it, or several of the last."""

TABLE_SHAPES = ((4, 16), (8, 16), (16, 16))
"""List the same for teams that have tables of their own, which must fit a multiprocessor's shared memory several times."""

SOURCE = "local/device/forms.cu"

TALLEST = 16 * 32
"""Rows of the tallest strip."""

STACKED = {True: (20, 24), False: (20, 24, 32)}
"""Rows of a lane where a query of a product takes several strips of 16 lanes, with tables and without: those that leave the fewest cells below its end."""

LOW = (16, 16)
"""Shape of the strips of queries whose pairs have bars, which may be given up, or need few columns, after each."""

A_STEP = 4
"""Rows whose cells take as long as what else a lane does in a step."""

SHARED_FROM = [3 * 4**power for power in range(10)]
"""Whole strips of a query from which on blocks share a pair, each with a band of strips, a strip a team; and from which on pairs go in another launch, as each
launch has as many bands for each of its pairs."""

GANGS = {32: 4, 16: 8}
"""Teams of such a block, by the rows of a lane. Where each has a table of its own, shared memory holds eight of 34 letters."""

SORTED_ON_HOST = 1 << 14
"""Pairs, at most, that the host sorts: CuPy's sort takes 0.07 s to load."""

FEW_STRIPS, FEW_ROWS = 8, 16
"""Say from how many of the tallest strips a multiprocessor on they are that tall; fewer are made of so many rows a lane, and so more."""

RESIDENT = {16: 5, 20: 5, 24: 4, 28: 4, 32: 3}
"""Blocks of 128 threads that a multiprocessor's registers are shared among, by the rows of a lane; one less each where gaps have two pieces and where more is
held."""


@dataclass(frozen=True, slots=True)
class Form:
    """Say a form of the kernel: lanes of a team, rows of a lane, whether scores have 32 bits, come from tables, whether every query goes with every target,
    whether queries may take several strips, how many teams a block has where blocks share a pair, else 1, and whether pairs have bars."""

    team: int
    rows: int
    wide: bool
    table: bool
    product: bool
    several: bool
    gang: int = 1
    bounded: bool = False

    @property
    def pairs(self) -> int:
        """Count the pairs of a team."""
        return 1 if self.wide else 2

    @property
    def columns(self) -> int:
        """Count the steps from one place where all rows are kept to the next: long queries would take much memory."""
        return 32 if self.several else 16

    @property
    def strip(self) -> int:
        """Count the rows of a team."""
        return self.team * self.rows


def macros(form: Form, threads: int, *, ends: tuple[bool, ...], pieces: int, dearest: int, lifted: bool, keep: bool) -> dict[str, object]:
    """Give the macros of scores.cu and traces.cu (cells.cuh). ends: of the span, in the order of host.py. dearest: the piece whose gaps cost most to
    begin. lifted: whether scores of a byte can be lifted by that. keep: what the way back needs."""
    names = ("BEGIN_QUERY", "BEGIN_TARGET", "END_QUERY", "END_TARGET", "END_CORNER")
    values: dict[str, int] = dict(zip(names, ends, strict=True))
    values |= {
        "TEAM": form.team,
        "ROWS": form.rows,
        "WIDE": form.wide,
        "TABLE": form.table,
        "PRODUCT": form.product,
        "SEVERAL": form.several,
        "GANG": form.gang,
        "BOUNDED": form.bounded,
        "COLUMNS": form.columns,
    }
    values |= {"PIECES": pieces, "DEAREST": dearest, "LIFTED": lifted, "KEEP": keep, "THREADS": threads}
    spare = form.product and form.table and pieces == 1 and form.rows > 20  # scores come from the block's table, not from registers
    blocks = RESIDENT[form.rows] - (pieces == 2) - (keep or (form.several and not spare))
    values["BLOCKS"] = max(1, blocks * 128 // threads)
    return {f"LOCAL_{name}": int(value) for name, value in values.items()}


def planned(query: Uploaded, target: Uploaded, *, tabled: bool, wide: bool, gangs: bool, low: bool = False) -> Iterator[tuple[Form, Any]]:
    """Sort pairs into forms of the kernel, each with the places of its pairs (int64, on the device), those with the shortest targets first.

    tabled: whether the scores of all pairs must come from a table, not of those alone whose target has other codes than four. gangs: whether blocks share the
    strips of long queries, where there are too few pairs, or too little memory for more, to keep the device busy. low: whether pairs have bars.
    """
    import cupy

    kinds = (
        [(shape, False) for shape in SHAPES if not low or shape[0] * shape[1] < LOW[0] * LOW[1]]
        + [(LOW, False)] * low
        + [(shape, True) for shape in TABLE_SHAPES]
    )
    n, heights = query.lengths, np.array([team * rows for (team, rows), _ in kinds], np.int32)
    keys, of_kinds = cupy.empty(len(n), np.int64), cupy.zeros((2, len(kinds)), np.int32)
    sides = n, target.lengths, target.others, int(tabled), len(n)
    given = *sides, cupy.asarray(heights), len(kinds) - len(TABLE_SHAPES), len(kinds)
    compiler.launch_each(SOURCE, "keys_of_pairs", len(n), *given, keys, *of_kinds)
    order, (counts, tallest) = ordered(keys), of_kinds.get()
    for ((team, rows), table), most, (start, stop) in zip(kinds, tallest.tolist(), pairwise([0, *np.cumsum(counts).tolist()]), strict=True):
        taken, pairs = order[start:stop], stop - start
        if pairs and most <= team * rows:
            yield Form(team, rows, wide, table, False, False), taken
        elif pairs:
            tall = query.at(taken).lengths.get()
            firsts = np.searchsorted(tall // (team * rows), SHARED_FROM).tolist() if gangs else []
            for part, (first, last) in enumerate(pairwise([0, *firsts, pairs])):
                if first < last:
                    shared = part > 0
                    low_strips = int(tall[first:last].sum(dtype=np.int64)) < TALLEST * FEW_STRIPS * compiler.multiprocessors()
                    height = FEW_ROWS if shared and low_strips else rows
                    yield Form(team, height, wide, table, False, True, GANGS[height] if shared else 1, low and not shared), taken[first:last]


def ordered(keys: Any) -> Any:
    """Say in which order keys (int64, on the device) rise: their places, int64 there."""
    import cupy

    return cupy.asarray(np.argsort(keys.get(), kind="stable")) if len(keys) <= SORTED_ON_HOST else cupy.argsort(keys)


def of_product(query: Uploaded, *, table: bool, wide: bool, letters: int, low: npt.NDArray[np.bool_]) -> Iterator[tuple[Form | None, Any]]:
    """Sort queries into forms of the kernel for every query with every target: each with the places of its queries (on the device); None for those whose tables
    fit no block's memory. low: of which queries most pairs will be given up (bool)."""
    import cupy

    n = query.lengths.get().astype(np.int64)  # queries are few, and the host compiles none of this first
    shapes = [*SHAPES, *((SHAPES[-1][0], rows) for rows in STACKED[table]), LOW]
    shape = np.searchsorted([team * rows for team, rows in SHAPES], n)
    stacked = np.array(STACKED[table])
    strips = -(-n[:, None] // (SHAPES[-1][0] * stacked))
    shape += (shape == len(SHAPES)) * (strips * (stacked + A_STEP)).argmin(axis=1)
    shape[low & (n > LOW[0] * LOW[1])] = len(shapes) - 1
    if table:
        shape[(n + TALLEST) * letters > compiler.most_shared_bytes() - 1024] = len(shapes)
    for number, (team, rows) in enumerate(shapes):
        if len(places := np.flatnonzero(shape == number)):
            yield Form(team, rows, wide, table, True, number >= len(SHAPES), bounded=number == len(shapes) - 1), cupy.asarray(places)
    if len(places := np.flatnonzero(shape == len(shapes))):
        yield None, cupy.asarray(places)
