# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""The memory a thread aligns in: grown when a pair needs more, reused from pair to pair and from call to call.

A workspace is an int64 array of addresses, sizes and loop state, so that compiled functions pass one argument and change it in place.
"""

import ctypes
import threading
from typing import Any, cast
from weakref import finalize

import numpy as np
import numpy.typing as npt

from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.runtime.vectors import VECTOR_LANES, fill_null, reallocate

# Slots. RING: offsets of the live rows, every 16 bits 0x8000 between two pairs. TRAIL: what the way back needs. STEPS: where a step's trail lies.
# OPS: operations of the way back. CIGAR: finished operations of a batch. LETTERS: encoded letters.
RING, RING_BYTES = 0, 1
TRAIL, TRAIL_BYTES = 2, 3
STEPS, STEPS_BYTES = 4, 5
OPS, OPS_BYTES = 6, 7
CIGAR, CIGAR_BYTES = 8, 9
LETTERS, LETTERS_BYTES = 10, 11
CIGAR_COUNT = 12
CIGAR_FIRST = 13  # operations before this one belong to earlier pairs
END = 14  # diagonal on which the last sweep ended
STATE = 16  # where a paused sweep goes on: 16 slots
SLOTS = 32

KEPT_BYTES = 1 << 28
"""A thread gives memory beyond this back after a call."""


@jit
def reserve(work, slot, size):
    """Reserve at least `size` bytes at `slot`; what is there stays. MemoryError where there are none."""
    if size <= work[slot + 1]:
        return
    grown = max(size, 2 * work[slot + 1], 4096)
    address = reallocate(work[slot], grown)
    if address == 0:
        grown = size
        address = reallocate(work[slot], grown)
        if address == 0:
            raise MemoryError("no memory left for the wavefronts of a pair")
    work[slot] = address
    work[slot + 1] = grown


@jit
def shrink(work, slot):
    """Give back what lies at `slot`, but for a page."""
    if work[slot + 1] > 4096:
        work[slot] = reallocate(work[slot], 4096)
        work[slot + 1] = 4096


@jit
def reserve_ring(work, size):
    """Reserve at least `size` bytes of NULL offsets. To be called between two pairs only."""
    before = work[RING_BYTES]
    if size <= before:
        return
    # Vectors are stored whole.
    reserve(work, RING, size + 64)
    empty_ring(work, before // 64 * 64)


@jit
def empty_ring(work, first):
    """Make the offsets from byte `first` of the ring on NULL."""
    for place in range(first, work[RING_BYTES] - 2 * VECTOR_LANES + 1, 2 * VECTOR_LANES):
        fill_null(work[RING] + place, np.int16(0))


class Memory:
    """Holds two workspaces: one for the pair, one for a narrow pass over it. Freed with the object."""

    def __init__(self) -> None:
        self.work = np.zeros(SLOTS, np.int64)
        self.spare = np.zeros(SLOTS, np.int64)
        finalize(self, _free, self.work, self.spare).atexit = False  # a thread that is left behind goes on until the process has ended

    def free(self) -> None:
        """Give everything back, whatever state it is in."""
        _free(self.work, self.spare)

    def trim(self) -> None:
        """Give everything back if it is much."""
        if sum(int(memory[RING_BYTES : LETTERS_BYTES + 1 : 2].sum()) for memory in (self.work, self.spare)) > KEPT_BYTES:
            self.free()


_thread = threading.local()


def memory() -> Memory:
    """Give this thread its memory."""
    if not hasattr(_thread, "memory"):
        _thread.memory = Memory()
    return cast("Memory", _thread.memory)


def _free(*workspaces: npt.NDArray[np.int64]) -> None:
    release = ctypes.CDLL(None).free
    release.argtypes = [ctypes.c_void_p]
    release.restype = None
    for work in workspaces:
        for slot in range(RING, LETTERS + 1, 2):
            release(int(work[slot]))
        work[:] = 0


def copied(work: npt.NDArray[np.int64], slot: int, count: int) -> npt.NDArray[np.uint32]:
    """Copy the first `count` 32-bit words at a slot to an array of their own."""
    if count == 0:
        return np.empty(0, np.uint32)
    words: Any = (ctypes.c_uint32 * count).from_address(int(work[slot]))
    return np.array(words, np.uint32)
