"""A great many random pairs on the GPU and on the host's cores: every row and every CIGAR must be equal. Writes the counts as JSON.

    python tests/benchmarks/random_pairs_device.py RESULT.json [PAIRS]

Lengths are uniform in 0..3,000, error rates in 0..40 %, N at 1 % in every fourth pair; the gap models take shares of the pairs.
"""

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments

SHARES = {"edit": 0.3, "affine:4,6,2": 0.3, "affine:2,3,1": 0.2, "linear:4,2": 0.1, "affine2p:4,6,2,24,1": 0.1}
TASK = 500
"""Pairs that a core generates and aligns at a time."""
CORES = 16
LETTERS = np.frombuffer(b"ACGTN", np.uint8)


def random_pairs(seed: int, count: int) -> tuple[Sequences, Sequences]:
    """Flat arrays at once: a target is its query with each letter replaced, doubled by a random one or left out at the pair's rate."""
    random = np.random.default_rng(seed)
    lengths, rates = random.integers(0, 3001, count), random.uniform(0, 0.4, count)
    total = int(lengths.sum())
    query, pair = random.integers(0, 4, total, np.uint8), np.repeat(np.arange(count), lengths)
    change = np.where(random.random(total) < rates[pair], random.integers(0, 3, total), -1)
    other = (query + random.integers(1, 4, total, np.uint8)) % 4
    both = np.stack([np.where(change == 0, other, query), random.integers(0, 4, total, np.uint8)], axis=1)
    kept = np.stack([change != 1, change == 2], axis=1)
    target, target_pair = both[kept], np.repeat(pair, 2)[kept.ravel()]
    for side, of in ((query, pair), (target, target_pair)):
        side[(of % 4 == 0) & (random.random(len(side)) < 0.01)] = 4
    ends = [np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64) for of in (pair, target_pair)]
    return Sequences(LETTERS[query], ends[0]), Sequences(LETTERS[target], ends[1])


def joined(sides: list[Sequences]) -> Sequences:
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([side.lengths for side in sides]))])
    return Sequences(np.concatenate([side.letters for side in sides]), offsets.astype(np.int64))


def differing(host: list[Alignments], device: Alignments) -> int:
    """Count the pairs with another column or CIGAR."""
    wrong = np.zeros(len(device), bool)
    for column in ("penalty", "query_start", "query_end", "target_start", "target_end"):
        wrong |= np.concatenate([getattr(part, column) for part in host]) != getattr(device, column)
    cigar = np.concatenate([part.cigar for part in host])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.cigar_offsets) for part in host]))])
    if not (np.array_equal(offsets, device.cigar_offsets) and np.array_equal(cigar, device.cigar)):
        assert device.cigar is not None and device.cigar_offsets is not None
        for pair in range(len(device)):
            wrong[pair] |= not np.array_equal(
                cigar[offsets[pair] : offsets[pair + 1]], device.cigar[device.cigar_offsets[pair] : device.cigar_offsets[pair + 1]]
            )
    return int(wrong.sum())


def main() -> None:
    result, total = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    models: dict[str, Any] = {}
    seed = 0
    with ThreadPoolExecutor(CORES) as cores:
        for text, share in SHARES.items():
            penalties = Penalties.parse(text)
            wavefront.warm_up([penalties])
            tasks, begun = int(total * share / TASK), time.perf_counter()

            def task(seed: int, penalties: Penalties = penalties) -> tuple[Sequences, Sequences, Alignments]:
                queries, targets = random_pairs(seed, TASK)
                return queries, targets, wavefront.align(queries, targets, penalties)

            done = list(cores.map(task, range(seed, seed + tasks)))
            seed += tasks
            on_host, begun = time.perf_counter() - begun, time.perf_counter()
            queries, targets = (joined([part[side] for part in done]) for side in (0, 1))
            found = wavefront_device.align(queries, targets, penalties)
            on_device = time.perf_counter() - begun
            again = wavefront_device.align(pack(queries), pack(targets), penalties)
            hosts = [part[2] for part in done]
            models[text] = {
                "pairs": len(found),
                "bases": int(queries.offsets[-1] + targets.offsets[-1]),
                "differing": differing(hosts, found),
                "differing_packed": differing(hosts, again),
                "taken_by_host": found.by_host,
                "seconds_host": round(on_host, 3),
                "seconds_device_with_compilation": round(on_device, 3),
            }
            print(text, models[text], flush=True)
    write(result, {"card": gpu_record.gpu(), "pairs": sum(model["pairs"] for model in models.values()), "models": models})


if __name__ == "__main__":
    main()
