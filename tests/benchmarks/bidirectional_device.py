"""Long pairs on the current GPU beside the host twin on all cores of the same machine, rows compared. Writes JSON.

    python tests/benchmarks/bidirectional_device.py RESULT.json [LENGTH [PAIRS]]

Pairs of random ACGT with a third each of mismatches, insertions and deletions (wavefront_device.py). `alone`: seconds of one pair, host arrays to host arrays;
`together`: seconds a pair of PAIRS at once (16 different ones over and over); best of three each after a first. Host: a pair on each core, all cores at once.
Peer: WFA2-lib's BiWFA with CIGAR on one core, affine 4,6,2 and edit, 100 kb, measured on another machine.

What was predicted before the first run: together P * P cells a pair (P: penalty in units; each level of cuts does half of the work of the one before) at 100 G
cells/s; alone P steps of 0.4 us, a launch of 20 us for every 32 of them, and 3 ms for the leaves. The bound: at least 30 instructions a cell in the least a
thread can do for it (5 loads and 3 stores on chip, 3 maxima, a window of each side, its comparison), of 132 SMs * 4 * 32 lanes at 1.98 GHz.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write
from benchmarks.wavefront_device import pairs, repeated

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments

UNIQUE = 16
ERRORS = (0.01, 0.05, 0.10)
BIWFA_SECONDS = {"affine:4,6,2": (0.0183, 0.301, 1.08), "edit": (0.00147, 0.0199, 0.064)}  # one core, 100 kb
CELLS_A_SECOND, STEP_SECONDS, LAUNCH_SECONDS, LEAF_SECONDS = 100e9, 0.4e-6, 20e-6, 3e-3
INSTRUCTIONS_A_CELL, LANE_SLOTS_A_SECOND = 30, 132 * 4 * 32 * 1.98e9


def best(queries: Sequences, targets: Sequences, penalties: Penalties) -> tuple[float, float, Alignments]:
    """Time a first call and three after it: seconds of the first, the best of the others, and the rows."""
    seconds = []
    for _ in range(4):
        begun = time.perf_counter()
        found = wavefront_device.align(queries, targets, penalties)
        seconds.append(time.perf_counter() - begun)
        assert found.by_host == 0
    return seconds[0], min(seconds[1:]), found


def first(side: Sequences, count: int, start: int = 0) -> Sequences:
    return Sequences(side.letters, side.offsets[start : start + count + 1])


def on_host(queries: Sequences, targets: Sequences, penalties: Penalties, cores: int) -> tuple[float, float, list[Alignments]]:
    """Time the host: seconds of a pair with all cores at work, seconds a pair of all cores, rows."""

    def one(pair: int) -> tuple[float, Alignments]:
        begun = time.perf_counter()
        found = wavefront.align(first(queries, 1, pair), first(targets, 1, pair), penalties)
        return time.perf_counter() - begun, found

    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(one, range(min(cores, UNIQUE))))  # fills caches and workspaces
        begun = time.perf_counter()
        done = list(pool.map(one, range(UNIQUE)))
        wall = time.perf_counter() - begun
    return float(np.median([seconds for seconds, _ in done])), wall / UNIQUE, [rows for _, rows in done]


def operations(row: Alignments) -> list[int]:
    return [] if row.cigar is None else list(row.cigar.tolist())


def job(text: str, length: int, count: int, place: int) -> dict[str, Any]:
    penalties, error = Penalties.parse(text), ERRORS[place]
    queries, targets = pairs(UNIQUE, length, error)
    cores = len(os.sched_getaffinity(0))
    host_alone, host_together, expected = on_host(queries, targets, penalties, cores)
    start, alone, found = best(first(queries, 1), first(targets, 1), penalties)
    _, together, several = best(repeated(queries, count // UNIQUE), repeated(targets, count // UNIQUE), penalties)
    assert several.cigar is not None and several.cigar_offsets is not None and found.cigar is not None
    assert found.cigar.tolist() == operations(expected[0])
    for i in range(len(several)):
        row = expected[i % UNIQUE]
        assert several.penalty[i] == row.penalty[0]
        assert several.cigar[several.cigar_offsets[i] : several.cigar_offsets[i + 1]].tolist() == operations(row), f"pair {i} is not the host's"
    units = several.penalty / penalties.unit()
    cells = float(np.mean(units**2))
    each = together / count
    bound = cells * INSTRUCTIONS_A_CELL / LANE_SLOTS_A_SECOND
    predicted = cells / CELLS_A_SECOND
    steps = float(units[0])
    biwfa = BIWFA_SECONDS[text][place] if length == 100_000 else None
    return {
        "penalties": text,
        "length": length,
        "error": error,
        "mean_penalty": float(several.penalty.mean()),
        "cells_a_pair": cells,
        "alone": {
            "first_seconds": round(start, 4),
            "seconds": round(alone, 5),
            "predicted_seconds": round(steps * STEP_SECONDS + steps / 32 * LAUNCH_SECONDS + LEAF_SECONDS, 5),
            "host_core_seconds": round(host_alone, 4),
            "times_host_core": round(host_alone / alone, 1),
        },
        "together": {
            "pairs": count,
            "seconds_a_pair": round(each, 6),
            "predicted_seconds_a_pair": round(predicted, 6),
            "bound_seconds_a_pair": round(bound, 6),
            "fraction_of_bound": round(bound / each, 3),
            "giga_cells_a_second": round(cells / each / 1e9, 1),
            "host_cores": cores,
            "host_seconds_a_pair": round(host_together, 5),
            "times_host": round(host_together / each, 1),
        },
        "biwfa_core_seconds": biwfa,
        "times_biwfa_core": None if biwfa is None else {"alone": round(biwfa / alone, 1), "together": round(biwfa / each, 1)},
    }


def main(path: str, length: int = 100_000, count: int = 96) -> None:
    jobs = []
    for text in BIWFA_SECONDS:
        for place in range(len(ERRORS)):
            jobs.append(job(text, length, count, place))
            print(jobs[-1], flush=True)
    write(path, {**gpu_record.gpu(), "jobs": jobs})


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:]))
