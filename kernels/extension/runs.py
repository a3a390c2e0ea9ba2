"""Paths of swept sides on the current CUDA device: records they go through, traces of those, runs; a way that several sides have in common is gone once."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.extension.launches import BLOCK, MEMORY_SHARE, THREADS, UNIT_BYTES, WARP_TEAMS, Launches, offsets_of
from tidalign.kernels.runtime.errors import DeviceLimit, KernelError

TRACE_BYTES = 8 << 30
"""At most for traces; of the memory that is free, no more than 1 / MEMORY_SHARE."""

FIRST_RUNS = 16
"""Room for runs of each record of a path, at first."""


def runs(launches: Launches, which: Integers) -> tuple[npt.NDArray[np.uint32], Integers]:
    """Trace the paths of sides `which` of those swept last.

    Returns words, uint32[.], runs (length << 2 | operation) from the ends towards the anchors, and pieces, int64[n, 2, 2]: side i has the words
    [pieces[i, 0, 0], pieces[i, 0, 1]), which are those of another side with the same end too, and then [pieces[i, 1, 0], pieces[i, 1, 1]).
    Raises DeviceLimit where there is too little memory for all at once.
    """
    import cupy

    if len(which) == 0:
        return np.empty(0, np.uint32), np.empty((0, 2, 2), np.int64)
    records = launches.found["records"][which]
    offsets = offsets_of(records)
    if offsets[-1] >> 31:
        raise DeviceLimit(f"paths of {len(which)} sides through {offsets[-1]} records: too many at once")
    on_device = cupy.asarray(offsets)
    paths, ends, trace = _traced(launches, which, on_device, int(offsets[-1]))
    last = cupy.asnumpy(paths[cupy.asarray(np.maximum(offsets[1:] - 1, 0))])
    leads = _leads(last, cupy.asnumpy(ends), records)
    found, places, lengths, before = _walked(launches, leads, records, (paths, on_device, ends, trace))
    packed_places = offsets_of(lengths)
    packed = cupy.empty(max(int(packed_places[-1]), 1), np.uint32)
    launches.launch("extension_pack", min(len(which), 4096), THREADS, found, places, cupy.asarray(packed_places), len(which), packed, memory=False)
    shared = packed_places[:-1][leads]
    pieces = np.stack([shared, shared + before, packed_places[:-1], packed_places[1:]], axis=1).reshape(-1, 2, 2)
    return cupy.asnumpy(packed)[: packed_places[-1]], pieces


def _traced(launches: Launches, which: Integers, offsets: Any, count: int) -> tuple[Any, Any, Any]:
    """Trace the records of all paths: these records, (row, column) of each end in its last record, and their traces."""
    import cupy

    paths, traced, by_blocks = (cupy.empty(max(count, 1), np.uint32) for _ in range(3))
    ends, counts = cupy.zeros((len(which), 2), np.int32), cupy.zeros(3, np.uint64)
    launches.epoch += 1
    launches.launch(
        *("extension_paths", -(-len(which) // THREADS), THREADS, launches.sides, launches.starts, cupy.asarray(which.astype(np.int32)), len(which), offsets),
        *(launches.epoch, paths, ends, traced, by_blocks, counts),
    )
    warp_records, block_records, units = (int(count) for count in cupy.asnumpy(counts))
    if units * UNIT_BYTES > min(TRACE_BYTES, cupy.cuda.runtime.memGetInfo()[0] // MEMORY_SHARE):
        raise DeviceLimit(f"paths of {len(which)} sides: {units * UNIT_BYTES} bytes of trace at once")
    trace = cupy.empty(max(units, 1) * UNIT_BYTES // 4, np.uint32)
    for entry, records, jobs, threads in (
        ("extension_trace", traced, warp_records, WARP_TEAMS),
        ("extension_trace_block", by_blocks, block_records, BLOCK),
    ):
        if jobs:
            launches.launch_queue(entry, jobs, threads, records, jobs, trace)
    return paths, ends, trace


def _leads(last: npt.NDArray[np.uint32], ends: npt.NDArray[np.int32], records: Integers) -> npt.NDArray[np.int32]:
    """Find a side's one with the same end, row and column `ends` of record `last`, that goes through the most records; itself where it goes through none."""
    end = last.astype(np.int64) << 24 | ends[:, 0].astype(np.int64) << 16 | ends[:, 1]
    end[records == 0] = -1 - np.flatnonzero(records == 0)
    order = np.lexsort((-records, end))
    new = np.ones(len(order), np.bool_)
    new[1:] = np.diff(end[order]) != 0
    leads = np.empty(len(order), np.int32)
    leads[order] = order[np.flatnonzero(new)[np.cumsum(new) - 1]]
    return leads


def _walked(launches: Launches, leads: npt.NDArray[np.int32], records: Integers, traces: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, Integers, Integers]:
    """Walk each side's own way back: its runs, where they lie, how many there are, and how many of its lead's come before them."""
    import cupy

    paths, offsets, ends, trace = traces
    count, is_lead = len(leads), leads == np.arange(len(leads))
    led = np.zeros(count, np.bool_)
    led[leads[~is_lead]] = True
    noted = offsets_of(np.where(led, records, 0))
    note_places, notes = cupy.asarray(np.where(led, noted[:-1], -1)), cupy.empty((int(noted[-1]), 4), np.int32)
    own, meets, numbers, before = (cupy.empty(count, np.int64) for _ in range(4))
    launches.launch("extension_meet", -(-count // THREADS), THREADS, paths, offsets, cupy.asarray(leads), note_places, count, own, meets, memory=False)
    room = FIRST_RUNS * cupy.asnumpy(own) + 16
    while True:
        places = offsets_of(room)
        on_gpu, found = cupy.asarray(places), cupy.empty(int(places[-1]), np.uint32)
        for sides in (np.flatnonzero(is_lead), np.flatnonzero(~is_lead)):
            if len(sides):
                launches.launch_queue(
                    *("extension_walk", len(sides), WARP_TEAMS, trace, paths, offsets, ends, cupy.asarray(sides.astype(np.int32)), len(sides), own, meets),
                    *(note_places, notes, on_gpu, found, numbers, before),
                )
        lengths = cupy.asnumpy(numbers)
        if (lengths < 0).any():
            raise KernelError("gapped extension: a trace leads nowhere")
        if (lengths <= room).all():
            return found, on_gpu, lengths, cupy.asnumpy(before)
        room = np.maximum(lengths, 1)
