"""Lists the kernels of local alignments, of those with free ends and of searches that take longest to compile."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidalign.kernels.local import host, lookups, scored_host, walk


def kernels() -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give each with examples of its arguments, for affine gaps and a matrix: scores of 8 bits alone, and of 16 bits with the way back."""
    number, numbers, table, letters = np.int64(0), np.empty(0, np.int64), np.empty((0, 0), np.int64), np.empty(0, np.uint8)
    lanes, words, address = np.empty(0, np.int16), np.empty((0, 0), np.uint64), np.uint64(0)
    gaps = {"span": number, "costs": (number, number), "scores": (number,), "null": np.uint16(0), "found": table, "bars": (numbers, numbers)}
    places = (address, number, address, address, address, address, number)
    strip = dict.fromkeys(("count", "row", "start", "stop", "stride", "place", "track"), number) | {"rows": numbers, "places": places, "keep": True}
    buffers = (lanes, letters, lanes, lanes, words[:0].ravel(), lanes, letters)
    batch = {"buffers": buffers, "sides": (letters, numbers, words), "n": numbers, "m": numbers}
    yield host.swept, gaps | strip
    yield host.strip_swept, gaps | strip | batch
    yield host.needed, gaps | strip | batch | {"above": lanes, "width": number}
    yield host.at_borders, gaps | dict.fromkeys(("n", "m", "i"), number)
    path = dict.fromkeys(("stride", "lanes", "lane", "top_row"), number) | {"directions": letters, "q": letters, "t": letters}
    runs = {"same": np.empty((0, 0), np.uint8), "cursor": numbers, "cigar": np.empty(0, np.uint32)}
    yield walk.walked, path | runs | {"ends": numbers}
    yield walk.begun, gaps | runs | {"i": number, "ends": numbers}
    aligned = {"order": numbers, "targets": letters, "target_starts": numbers, "block_rows": numbers, "kept": lanes, "ends": table}
    yield walk.align_groups, gaps | strip | batch | runs | aligned
    low = np.empty(0, np.int8)
    scored = {"buffers": (low, letters, low, low, words[:0].ravel()), "scores": (number,) * (3 if lookups.SHARES else 1), "null": np.uint8(0)}
    yield scored_host.score_groups, gaps | batch | {"order": numbers, "targets": letters, "target_starts": numbers} | scored
