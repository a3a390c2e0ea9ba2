"""Seeds, the record of diagonals and gap-free extension of a pair of genomes on the current GPU: each stage, and the whole, beside what was predicted and
what memory alone would take. Writes JSON.

    python tests/benchmarks/seeding_device.py RESULT.json TARGET.fa.gz QUERY.fa.gz [--host]

LASTZ's default seeds, exact mode, first sequences, both strands of the query, host arrays to host arrays. Stages wait for the GPU before and after, the
whole only at its end; the fastest of REPEATS counts. The target against itself: one diagonal has a hit at every place, and one scan is as long as the target.
--host: the host twin on one core as well (compiled before), and whether its rows are the same.
"""

import argparse
import gzip
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write

from tidalign.kernels.letters.nucleotides import Codes, encode, reverse_complement
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed import device as seed_device
from tidalign.kernels.seed import index as seed
from tidalign.kernels.seed.index import SeedPattern
from tidalign.kernels.seed.sort import sort
from tidalign.kernels.ungapped import device as ungapped_device
from tidalign.kernels.ungapped.hsps import HitFilter, Segments
from tidalign.kernels.ungapped.records import Records

REPEATS = 7
PATTERN = SeedPattern.parse("12of19")
GAPFREE = (910, 3000, True)
EXPECTED = {"index": 1.5, "query to the GPU": 0.55, "counts": 0.8, "keys and sieve": 1.7, "sort": 0.6, "extension": 0.4, "rows to the host": 1.0}
"""Milliseconds predicted for E. coli K-12 (4.6 Mb) x Salmonella LT2 (4.9 Mb), 25 million hits a strand, before this sieve and this sort ran
on a GPU."""
MEMORY, BUS = 4.3e12, 11e9
"""Bytes a second on this kind of GPU: read and written; to it from pageable memory."""


def letters(path: str) -> Codes:
    """Read the letters of the first sequence."""
    with gzip.open(path) as file:
        return encode(b"".join(line.strip() for line in file.read().split(b">")[1].split(b"\n")[1:]))


def fastest(work: Callable[[], Any]) -> tuple[float, Any]:
    """Time the fastest run: milliseconds, and what it gives."""
    import cupy

    best, given = np.inf, None
    for _ in range(REPEATS):
        given = None
        cupy.cuda.Device().synchronize()
        begun = time.perf_counter()
        given = work()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - begun)
    return round(1e3 * best, 3), given


def stages(target: Codes, query: Codes) -> dict[str, Any]:
    """Time the stages of one strand; first the time of a first call, that compiles."""
    import cupy

    begun = time.perf_counter()
    on_device(target, (query[:10_000],))
    first = time.perf_counter() - begun
    milliseconds: dict[str, float] = {}
    milliseconds["index"], index = fastest(lambda: seed_device.build_index(target, PATTERN))
    sieve = ungapped_device._sieve(Scoring(), *GAPFREE[:2])
    milliseconds["query to the GPU"], strand = fastest(lambda: seed_device.Strand(index, query, 1, None, sieve))
    known = Records(target, query, PATTERN.span, Scoring(), exact=True, xdrop=GAPFREE[0])
    search = ungapped_device._Search(strand, Scoring(), True, GAPFREE, known)
    milliseconds["counts"], (chunk,) = fastest(lambda: list(strand.chunks()))
    hits = chunk.total
    milliseconds["keys and sieve"], keys = fastest(lambda: chunk.keys(0, hits, exact=True))
    given, scratch = (cupy.empty(hits, np.uint64) for _ in range(2))

    def in_order() -> None:
        given.data.copy_from_device(keys.data, keys.nbytes)
        sort(given, scratch, 47, 63)

    copied, _ = fastest(lambda: given.data.copy_from_device(keys.data, keys.nbytes))
    milliseconds["sort"] = round(fastest(in_order)[0] - copied, 3)
    tile = ungapped_device._Hsps(search, ungapped_device._Hits(search, chunk, 0, hits))

    def extended() -> None:
        search.records.fill(0)
        tile._hits.counts.fill(0)
        tile.work()

    milliseconds["extension"], _ = fastest(extended)
    milliseconds["rows to the host"], (segments, _) = fastest(tile.fetch)
    # Letters once each over the bus; of the index two of 8 bytes a window for each pass of a sort of 8 bits; of hits two passes of 24 bytes, a key is written
    # once, and a place is read.
    bounds = {
        "index": len(target) / BUS + 16 * 16 * len(target) / MEMORY,
        "query to the GPU": len(query) / BUS,
        "counts": 10 * 32 * len(query) / MEMORY,
        "keys and sieve": (10 * 32 * len(query) + 44 * hits) / MEMORY,
        "sort": 2 * 24 * hits / MEMORY,
        "extension": 8 * hits / MEMORY,
    }
    return {
        "first call, compiling, seconds": round(first, 3),
        "hits": hits,
        "hsps": len(segments),
        "milliseconds": milliseconds,
        "predicted milliseconds": EXPECTED,
        "least milliseconds by memory": {name: round(1e3 * bound, 3) for name, bound in bounds.items()},
    }


def on_device(target: Codes, sides: tuple[Codes, ...]) -> list[Segments]:
    """Find the HSPs of each side, the index included."""
    options: dict[str, Any] = {"transitions": 1, "seed_filter": None, "scoring": Scoring(), "exact": True, "gapfree": GAPFREE}
    index = seed_device.build_index(target, PATTERN)
    return [Segments.concat([tile for tile, _ in ungapped_device.segments(index, side, **options)]) for side in sides]


def on_host(target: Codes, sides: tuple[Codes, ...]) -> list[Segments]:
    index = seed.build_index(target, PATTERN)
    found = []
    for side in sides:
        used = HitFilter(target, side, PATTERN.span, Scoring(), exact=True)
        found.append(Segments.concat([used.hsps(*tile, *GAPFREE) for tile in seed.hits(index, side)]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--host", action="store_true")
    arguments = parser.parse_args()
    target, query = letters(arguments.target), letters(arguments.query)
    result: dict[str, Any] = {"card": gpu_record.gpu(), "letters": [len(target), len(query)], **stages(target, query)}
    sides = query, reverse_complement(query)
    result["both strands and the index, milliseconds"], found = fastest(lambda: on_device(target, sides))
    result["target against itself and its index, milliseconds"], _ = fastest(lambda: on_device(target, (target,)))
    result["hsps of both strands"] = [len(strand) for strand in found]
    if arguments.host:
        on_host(target[:50_000], (query[:50_000],))
        begun = time.perf_counter()
        expected = on_host(target, sides)
        result["host twin, one core, milliseconds"] = round(1e3 * (time.perf_counter() - begun))
        fields = ("target", "query", "length", "score")
        result["equal"] = all(np.array_equal(getattr(a, field), getattr(b, field)) for a, b in zip(found, expected, strict=True) for field in fields)
    write(arguments.result, result)


if __name__ == "__main__":
    main()
