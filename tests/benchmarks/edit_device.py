"""Kernel rates of edit distances on the current GPU, letters in its memory: the pass with a thread a pair, beside the narrow pass that it spares. Writes JSON.

    python tests/benchmarks/edit_device.py RESULT.json [--pairs 5000000]

Pairs as the peers' were: random ACGT, ceil(length * error) differences, a third of each kind; some are drawn and repeated 50 times. Of 1 kb there are a
twenty-fifth as many. A kernel's time is the best of five, each queued behind another launch, so that nothing of Python is in it. What both passes align is
compared: penalties, and CIGARs run by run. eWFA-GPU's figures: kernels alone, one H200, another run.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import cupy
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write

from tidalign.kernels.letters.device import Side
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.device import ALIGNED, Batch, CallSettings
from tidalign.kernels.wavefront.device_edit import EditBatch, Shape
from tidalign.kernels.wavefront.model import NARROW_DIAGONALS, Model

REPEAT, COMPARED, ERRORS = 50, 200_000, (0.02, 0.05, 0.1)
PEER = {150: (796, 538, 376), 1000: (116, 38, 14.6)}
"""Million pairs a second of eWFA-GPU with CIGARs, at the errors."""
FEWER = {150: 1, 1000: 25}

Given = tuple[int, int, list[Side], int]
"""Pairs, letters of the longest side, both sides, letters in all."""


def pairs(length: int, error: float, count: int) -> Given:
    """Draw pairs, and lay them out on the GPU as `letters.device` does."""
    random = np.random.default_rng(1)
    distinct = max(count // REPEAT, 1)
    query = random.integers(0, 4, (distinct, length), np.uint8)
    kind, differences = np.full((distinct, length), -1, np.int8), int(np.ceil(error * length - 1e-9))
    places = np.argpartition(random.random((distinct, length), np.float32), differences, axis=1)[:, :differences]
    np.put_along_axis(kind, places, random.integers(0, 3, places.shape, np.int8), axis=1)
    changed = np.where(kind == 0, (query + random.integers(1, 4, query.shape, np.uint8)) & 3, query)
    kept = np.stack([kind != 1, kind == 2], axis=2)
    target, target_lengths = np.stack([changed, random.integers(0, 4, query.shape, np.uint8)], axis=2)[kept], kept.sum((1, 2))
    sides = [_side(query.ravel(), np.full(distinct, length)), _side(target, target_lengths)]
    return distinct * REPEAT, int(max(length, target_lengths.max())), sides, int(REPEAT * (query.size + target.size))


def _side(stream: Any, lengths: Any) -> Side:
    padded = np.zeros(-(-len(stream) // 16) * 16, np.uint8)
    padded[: len(stream)] = stream
    four = padded.reshape(-1, 4)
    words = cupy.asarray((four[:, 0] << 6 | four[:, 1] << 4 | four[:, 2] << 2 | four[:, 3]).view(np.uint32))
    starts = cupy.asarray(np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64))
    starts = (cupy.arange(REPEAT, dtype=np.int64)[:, None] * len(padded) + starts[None, :]).ravel().astype(np.int32)
    codes = cupy.concatenate([cupy.tile(words, REPEAT), cupy.zeros(16, np.uint32)])
    return Side(codes, starts, cupy.tile(cupy.asarray(lengths.astype(np.uint16)), REPEAT), None)


def batch(kind: type[Batch], given: Given, *, cigar: bool) -> Batch:
    """Make a batch as its own initializer does, of what is on the GPU already."""
    count, longest, sides, letters = given
    made: Any = kind.__new__(kind)
    made._settings = CallSettings(Model.of(Penalties.parse("edit")), (0, 0, 0, 0), cigar, 1)
    made._longest, made._count, made._masks, (made._queries, made._targets) = longest, count, None, sides
    made._columns, made._status = cupy.zeros((1, count), np.int32), cupy.full(count, 77, np.uint8)
    made._bound, made._places, made._runs = cupy.zeros(count, np.int32), cupy.zeros(count, np.int64), cupy.zeros(count, np.uint16)
    made._pool, made._totals = cupy.zeros(letters // 8 + 4 * count + 1024 if cigar else 1, np.uint32), cupy.zeros(3, np.uint64)
    return made  # type: ignore[no-any-return]


def seconds(of: Any, *, narrow: bool) -> float:
    """Time the kernel alone, the best of five."""
    launched: list[tuple[Any, ...]] = []
    launch = compiler.launch
    compiler.launch = lambda *arguments, **options: launched.append((arguments, options))
    try:
        of._launch(*((NARROW_DIAGONALS, None, 0, True, None) if narrow else (0, None, 0, False, None)))
    finally:
        compiler.launch = launch
    (arguments, options), counters = launched[0], [of._totals]
    if narrow:
        counters.append(next(each for each in arguments if isinstance(each, cupy.ndarray) and each.shape == (1,) and each.dtype == np.int32))
    best = 1e9
    for turn in range(6):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        if turn:
            launch(*arguments, **options)
        for counter in counters:
            counter.fill(0)
        begin.record()
        launch(*arguments, **options)
        end.record()
        end.synchronize()
        best = min(best, cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return best


def differences(one: Any, other: Any, *, cigar: bool) -> int:
    """Count differences in what both have aligned, of the first pairs."""
    some = min(COMPARED, one._count)
    both = (one._status[:some] == ALIGNED) & (other._status[:some] == ALIGNED)
    wrong = int((both & (one._columns[0][:some] != other._columns[0][:some])).sum())
    if not cigar:
        return wrong
    wrong += int((both & (one._runs[:some] != other._runs[:some])).sum())
    gathered = []
    for of in (one, other):
        counts = cupy.where(both, of._runs[:some], 0).astype(np.uint16)
        ends = cupy.cumsum(counts, dtype=np.int64)
        runs = cupy.zeros(int(ends[-1]), np.uint32)
        compiler.launch(compiler.kernel("letters/sequences.cu", "gather_runs", {}), 4096, 256, of._pool, of._places[:some].copy(), ends, counts, some, runs)
        gathered.append(runs)
    return wrong + (int((gathered[0] != gathered[1]).sum()) if len(gathered[0]) == len(gathered[1]) else 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--pairs", type=int, default=5_000_000)
    options = parser.parse_args()
    work = []
    for length, fewer in FEWER.items():
        for at, error in enumerate(ERRORS):
            given = pairs(length, error, options.pairs // fewer)
            for cigar in (True, False):
                narrow, close = batch(Batch, given, cigar=cigar), batch(EditBatch, given, cigar=cigar)
                rates = {name: given[0] / seconds(of, narrow=of is narrow) / 1e6 for name, of in (("narrow pass", narrow), ("a thread a pair", close))}
                left = float((close._status != ALIGNED).mean())
                both = 1 / (1 / rates["a thread a pair"] + left / rates["narrow pass"])
                one = {"length": length, "error": error, "cigar": cigar, "pairs": given[0], "limit": Shape.of(given[1], cigar=cigar).limit}
                one |= {"mega_pairs_per_second": {name: round(rate, 1) for name, rate in rates.items()} | {"both, as a run has them": round(both, 1)}}
                one |= {"left to the narrow pass": round(left, 4), "differences": differences(close, narrow, cigar=cigar)}
                if cigar:
                    one["peer"] = {"name": "eWFA-GPU", "mega_pairs_per_second": PEER[length][at], "ratio": round(both / PEER[length][at], 2), "goal": 1.3}
                work.append(one)
                print(length, error, cigar, one["mega_pairs_per_second"], one["left to the narrow pass"], one.get("peer", {}).get("ratio"))
                del narrow, close
                cupy.get_default_memory_pool().free_all_blocks()
    write(options.result, {"card": gpu_record.gpu(), "kernels": gpu_record.digest(), "work": work})


if __name__ == "__main__":
    main()
