"""Pairs a second on the current card, host arrays to host arrays, beside the GPU peers' and beside what bus and memory allow. Writes JSON.

    python tests/benchmarks/wavefront_device.py RESULT.json [LENGTH ...]

Pairs as the peers' were: random ACGT, ceil(length * error) differences at uniform places, a third each of mismatch, insertion and deletion. 250,000 (150 bp),
50,000 (1 kb) or 5,000 (10 kb) pairs are generated and repeated up to the peers' counts. Times are wall times of `wavefront_device.align_counted`, allocation of
its results included: the first of a new shape, then the best of four. Peers' figures: the same kind of card, another run.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write

from tidalign.kernels import compiler, wavefront_device
from tidalign.kernels.penalties import Penalties
from tidalign.kernels.sequences import PackedSequences, Sequences, pack

UNIQUE = {150: 250_000, 1000: 50_000, 10_000: 5_000}
PAIRS = {("edit", 150): 10_000_000, ("affine:2,3,1", 150): 5_000_000, ("affine:2,3,1", 10_000): 50_000}
FEWER = {150: 2_000_000, 1000: 1_000_000, 10_000: 15_000}
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
BUS, STAGING = 55e9, 37e9
"""Bytes a second measured on this kind of card: pinned memory to the card, and numpy's copies into pinned memory by eight threads."""
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
    """Of one more run that waits before and after each launch."""
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


def measured(queries: Any, targets: Any, penalties: Penalties, cigar: bool) -> tuple[dict[str, float], Any]:
    seconds = []
    for _ in range(5):
        begun = time.perf_counter()
        found, left = wavefront_device.align_counted(queries, targets, penalties, cigar=cigar)
        seconds.append(time.perf_counter() - begun)
        assert left == 0
    best = min(seconds[1:])
    return {"first_seconds": round(seconds[0], 4), "seconds": round(best, 4), "mega_pairs_per_second": round(len(queries) / best / 1e6, 4)}, found


def main() -> None:
    rows: list[dict[str, Any]] = []
    for length in [int(text) for text in sys.argv[2:]] or list(UNIQUE):
        for place, error in enumerate(ERRORS):
            unique = pairs(UNIQUE[length], length, error)
            packed = [pack(side) for side in unique]
            for text, cigar, of in JOBS:
                if of != length:
                    continue
                times = PAIRS.get((text, length), FEWER[length]) // UNIQUE[length]
                sides, packed_sides = [repeated(side, times) for side in unique], [repeated_packed(side, times) for side in packed]
                penalties = Penalties.parse(text)
                plain, found = measured(*sides, penalties, cigar)
                from_packed, again = measured(*packed_sides, penalties, cigar)
                assert np.array_equal(found.penalty, again.penalty)
                kernels = kernel_seconds(lambda: wavefront_device.align_counted(*packed_sides, penalties, cigar=cigar))  # noqa: B023
                count = len(found)
                row: dict[str, Any] = {"length": length, "error": error, "penalties": text, "cigar": cigar, "pairs": count}
                row |= {"letters": plain, "packed": from_packed, "kernel_mega_pairs_per_second": round(count / kernels / 1e6, 4)}
                size = sum(side.letters.nbytes + side.offsets.nbytes for side in sides) / count
                packed_size = sum(side.codes.nbytes + side.code_offsets.nbytes + side.lengths.nbytes for side in packed_sides) / count
                back = 8 + (found.cigar.nbytes + found.cigar_offsets.nbytes) / count if cigar else 8
                row["bytes_a_pair"] = {"letters": round(size, 1), "packed": round(packed_size, 1), "results": round(back, 1)}
                row["bound_mega_pairs_per_second"] = {
                    "staging": round(STAGING / size / 1e6, 3),
                    "staging_packed": round(STAGING / packed_size / 1e6, 3),
                    "bus": round(BUS / max(size, back) / 1e6, 3),
                    "bus_packed": round(BUS / max(packed_size, back) / 1e6, 3),
                }
                if (text, cigar, length) in PEERS:
                    name, figures, goal = PEERS[text, cigar, length]
                    ratios = [round(each["mega_pairs_per_second"] / figures[place], 2) for each in (plain, from_packed)]
                    row["peer"] = {"name": name, "mega_pairs_per_second": figures[place], "ratio": ratios[0], "ratio_packed": ratios[1], "goal": goal}
                rows.append(row)
                print(
                    length,
                    error,
                    text,
                    cigar,
                    plain["mega_pairs_per_second"],
                    from_packed["mega_pairs_per_second"],
                    row["kernel_mega_pairs_per_second"],
                    row.get("peer", {}).get("ratio"),
                    flush=True,
                )
                write(sys.argv[1], {"card": gpu_record.card(), "kernels": gpu_record.digest(), "work": rows})


if __name__ == "__main__":
    main()
