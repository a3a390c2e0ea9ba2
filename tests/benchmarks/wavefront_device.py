"""Pairs a second on the current GPU, host arrays to host arrays, beside the GPU peers', what was predicted and what host, bus and GPU allow. Writes JSON.

    python tests/benchmarks/wavefront_device.py RESULT.json [LENGTH ...]

Pairs as the peers' were: random ACGT, ceil(length * error) differences at uniform places, a third each of mismatch, insertion and deletion. 250,000 (150 bp),
50,000 (1 kb) or 5,000 (10 kb) pairs are generated and repeated, to the peers' counts where these take no more than some seconds. Times are wall times of
`wavefront_device.align`, allocation of its results included: the first of a new shape, then the best of those after it. Peers' figures: the same
kind of GPU, another run. Two-piece penalties have no peer on a GPU; the host twin's figure is of this machine's cores, a thread each.
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

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.kernels.wavefront.model import NARROW_DIAGONALS, Model

UNIQUE = {150: 250_000, 1000: 50_000, 10_000: 5_000}
PAIRS = {("edit", 150): 10_000_000, ("affine:2,3,1", 150): 5_000_000, ("affine:2,3,1", 10_000): 50_000, ("affine2p:4,6,2,24,1", 1000): 200_000}
FEWER = {150: 2_000_000, 1000: 1_000_000, 10_000: 5_000}
ON_HOST = {150: 200_000, 1000: 8_000, 10_000: 160}
ERRORS = (0.02, 0.05, 0.10)
# M pairs/s at those error rates; whole time as the tool prints it, its transfers and allocations included.
PEERS: dict[tuple[str, bool, int], tuple[str, tuple[float, ...], float]] = {
    ("affine:2,3,1", True, 150): ("WFA-GPU", (7.66, 6.07, 3.89), 3),
    ("affine:2,3,1", True, 1000): ("WFA-GPU", (1.68, 0.946, 0.327), 3),
    ("affine:2,3,1", True, 10_000): ("WFA-GPU", (0.0568, 0.0173, 0.00507), 3),
    ("affine:2,3,1", False, 150): ("WFA-GPU", (12.6, 12.1, 10.6), 3),
    ("affine:2,3,1", False, 1000): ("WFA-GPU", (2.58, 1.61, 0.578), 3),
    ("affine:2,3,1", False, 10_000): ("WFA-GPU", (0.0888, 0.0320, 0.01196), 3),
    ("edit", True, 150): ("eWFA-GPU", (50, 56, 57), 1.5),
    ("edit", True, 1000): ("eWFA-GPU", (7.6, 7.8, 6.8), 1.5),
}
JOBS = [*PEERS, *(("affine2p:4,6,2,24,1", True, length) for length in UNIQUE)]
BUS, PACKING, COPYING, FRESH = 55e9, 49e9, 48e9, 37e9
"""Bytes a second measured on this kind of machine: pinned memory to the GPU; ASCII packed, codes copied and results written to new memory by 16 threads."""
OPERATIONS, LANE_OPERATIONS = {0: 37, 1: 55, 2: 80}, 16.57e12
"""Of a cell as wavefront.cuh has it, by gap pieces: each load, store, sum, comparison and choice one, an extension 18; what the GPU does a second of these."""
EXPECTED_CELLS, EXPECTED_PAIR = {0: 100e9, 1: 100e9, 2: 65e9}, 2e-11
"""Cells a second, and seconds a letter of a pair for all else: what the record before this one had, and for two pieces a quarter more (threads a pair)."""
LETTERS = np.frombuffer(b"ACGT", np.uint8)


def pairs(count: int, length: int, error: float) -> tuple[Sequences, Sequences]:
    random = np.random.default_rng([42, count, length])
    places = random.integers(0, length, (count, int(np.ceil(length * error - 1e-9))))
    kinds, rows = random.integers(0, 3, places.shape), np.broadcast_to(np.arange(count)[:, None], places.shape)
    query, copies = random.integers(0, 4, (count, length), np.uint8), np.ones((count, length), np.int8)
    target = query.copy()
    replaced = rows[kinds == 0], places[kinds == 0]
    target[replaced] = (target[replaced] + random.integers(1, 4, len(replaced[0]), np.uint8)) & 3
    copies[rows[kinds == 1], places[kinds == 1]], copies[rows[kinds == 2], places[kinds == 2]] = 2, 0
    ends = np.concatenate([[0], np.cumsum(copies.sum(1, dtype=np.int64))])
    return Sequences(LETTERS[query.ravel()], np.arange(count + 1) * length), Sequences(LETTERS[np.repeat(target.ravel(), copies.ravel())], ends)


def repeated(side: Sequences, times: int) -> Sequences:
    return Sequences(np.tile(side.letters, times), _again(side.offsets, times))


def repeated_packed(side: PackedSequences, times: int) -> PackedSequences:
    return PackedSequences(
        np.tile(side.codes, times), _again(side.code_offsets, times), np.tile(side.lengths, times), side.ambiguous, np.zeros(len(side) * times + 1, np.int64)
    )


def _again(offsets: np.ndarray, times: int) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(np.tile(np.diff(offsets), times))])


def kernel_seconds(run: Any) -> float:
    """Time the kernels of one more run that waits before and after each launch."""
    import cupy

    total, launch = 0.0, compiler.launch

    def timed(*arguments: Any, **options: Any) -> None:
        nonlocal total
        cupy.cuda.Device().synchronize()
        begun = time.perf_counter()
        launch(*arguments, **options)
        cupy.cuda.Device().synchronize()
        total += time.perf_counter() - begun

    compiler.launch = timed
    try:
        run()
    finally:
        compiler.launch = launch
    return total


def measured(queries: Any, targets: Any, penalties: Penalties, cigar: bool) -> tuple[dict[str, float], Alignments]:
    seconds: list[float] = []
    while len(seconds) < 3 or (len(seconds) < 6 and sum(seconds[1:]) < 1):
        found = None  # given back outside the time taken
        begun = time.perf_counter()
        found = wavefront_device.align(queries, targets, penalties, cigar=cigar)
        seconds.append(time.perf_counter() - begun)
        assert found.by_host == 0
    best = min(seconds[1:])
    assert found is not None
    return {"first_seconds": round(seconds[0], 4), "seconds": round(best, 4), "mega_pairs_per_second": round(len(queries) / best / 1e6, 4)}, found


def on_host(queries: Sequences, targets: Sequences, penalties: Penalties, count: int) -> float:
    """Measure M pairs/s of the host twin, the first `count` pairs in small shares by all cores."""
    cores = len(os.sched_getaffinity(0))
    cuts = np.linspace(0, count, 1 + cores * 4, dtype=int)

    def share(place: int) -> None:
        query, target = (Sequences(side.letters, side.offsets[cuts[place] : cuts[place + 1] + 1]) for side in (queries, targets))
        wavefront.align(query, target, penalties)

    wavefront.warm_up([penalties])
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(share, range(cores)))
        begun = time.perf_counter()
        list(pool.map(share, range(len(cuts) - 1)))
        return count / (time.perf_counter() - begun) / 1e6


def cells(model: Model, penalties: np.ndarray) -> float:
    """Mean number of cells: a narrow pass, and where that proves nothing a second one between the diagonals that the penalty allows."""
    total = 0
    exact_below = 2 * model.narrow_budget(NARROW_DIAGONALS)[0] // 3  # of pairs in which no word is missing
    for penalty, count in zip(*np.unique(penalties // model.unit, return_counts=True), strict=True):
        s = np.arange(1, penalty + 1)
        reach = model.reach(s)
        each = np.minimum(2 * reach + 1, NARROW_DIAGONALS).sum()
        if penalty >= exact_below:
            back = (penalty - s) // min(model.extend[: max(model.pieces, 1)]) + 1
            each += (2 * np.minimum(reach, back) + 1).sum()
        total += int(count) * int(each)
    return total / len(penalties)


def limits(sides: list[Any], found: Alignments, penalties: Penalties) -> tuple[dict[str, float], float]:
    """Compute what allows how many M pairs/s, and how many were expected: the slowest of host, bus and GPU."""
    count, model = len(found), Model.of(penalties)
    letters = isinstance(sides[0], Sequences)
    given = sum((side.letters if isinstance(side, Sequences) else side.codes).nbytes for side in sides) / count
    runs = 0 if found.cigar is None else len(found.cigar) / count
    short = max(int(side.lengths.max()) for side in sides) < 4096
    up, down = given / (4 if letters else 1) + 2 * (4 + 2), 4 + (runs * (2 if short else 4) + 2 if found.cigar is not None else 0)
    written = 3 * 8 + (4 * runs + 8 if found.cigar is not None else 0)
    work = cells(model, found.penalty)
    seconds = {
        "host": given / (PACKING if letters else COPYING) + written / FRESH,
        "bus": max(up, down) / BUS,
        "kernel": work * OPERATIONS[model.pieces] / LANE_OPERATIONS,
    }
    expected = max(seconds["host"], seconds["bus"], given * (1 if letters else 4) * EXPECTED_PAIR / 2 + work / EXPECTED_CELLS[model.pieces])
    row = {f"{name}_bound": round(1e-6 / each, 3) for name, each in seconds.items()} | {"bus_bytes_up": round(up, 1), "bus_bytes_down": round(down, 1)}
    return row | {"cells": round(work, 1)}, 1e-6 / expected


def main() -> None:
    rows: list[dict[str, Any]] = []
    lengths = [int(text) for text in sys.argv[2:]] or list(UNIQUE)
    with ThreadPoolExecutor() as pool:
        generated = {(length, error): pool.submit(pairs, UNIQUE[length], length, error) for length in lengths for error in ERRORS}
    for length in lengths:
        for place, error in enumerate(ERRORS):
            unique = generated.pop((length, error)).result()
            packed = [pack(side) for side in unique]
            for text, cigar, of in JOBS:
                if of != length:
                    continue
                times = max(1, PAIRS.get((text, length), FEWER[length]) // UNIQUE[length])
                sides, packed_sides = [repeated(side, times) for side in unique], [repeated_packed(side, times) for side in packed]
                penalties = Penalties.parse(text)
                row: dict[str, Any] = {"length": length, "error": error, "penalties": text, "cigar": cigar, "pairs": times * UNIQUE[length]}
                penalty = None
                for name, given in (("letters", sides), ("packed", packed_sides)):
                    row[name], found = measured(given[0], given[1], penalties, cigar)
                    assert penalty is None or np.array_equal(found.penalty, penalty)
                    penalty = found.penalty
                    bounds, expected = limits(given, found, penalties)
                    least = min(bounds[f"{each}_bound"] for each in ("host", "bus", "kernel"))
                    fraction = row[name]["mega_pairs_per_second"] / least
                    row[name] |= {"predicted": round(expected, 3), **bounds, "fraction_of_least_bound": round(fraction, 3)}
                if row["packed"]["seconds"] < 2:
                    kernels = kernel_seconds(lambda: wavefront_device.align(packed_sides[0], packed_sides[1], penalties, cigar=cigar))  # noqa: B023
                    row["kernel_mega_pairs_per_second"] = round(row["pairs"] / kernels / 1e6, 4)
                if (text, cigar, length) in PEERS:
                    peer, figures, goal = PEERS[text, cigar, length]
                    ratios = [round(row[name]["mega_pairs_per_second"] / figures[place], 2) for name in ("letters", "packed")]
                    row["peer"] = {"name": peer, "mega_pairs_per_second": figures[place], "ratio": ratios[0], "ratio_packed": ratios[1], "goal": goal}
                else:
                    twin = on_host(unique[0], unique[1], penalties, ON_HOST[length])
                    ratio = row["letters"]["mega_pairs_per_second"] / twin
                    row["peer"] = {"name": "host twin, all cores", "mega_pairs_per_second": round(twin, 5), "ratio": round(ratio, 1)}
                rows.append(row)
                shown = [row[name][key] for name in ("letters", "packed") for key in ("mega_pairs_per_second", "predicted", "fraction_of_least_bound")]
                print(length, error, text, cigar, *shown, row.get("kernel_mega_pairs_per_second"), row["peer"]["ratio"], flush=True)
                write(sys.argv[1], {"card": gpu_record.gpu(), "work": rows})


if __name__ == "__main__":
    main()
