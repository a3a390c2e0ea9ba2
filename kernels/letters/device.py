"""Letters of a batch on their way to the device: two bits each, packed by many threads straight into pinned memory, then sent in one copy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters import staging as host
from tidalign.kernels.letters.sequences import PackedSequences, Sequences
from tidalign.kernels.runtime.lanes import Lane

MAX_SHORT_LETTERS = int(host.MAX_SHORT_LETTERS)
"""Letters of the longer side that 16-bit offsets hold with room for a step (wavefront.cu)."""

Letters = Sequences | PackedSequences
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a batch on the device: two bits a letter in one stream of bytes, held as whole words (uint32); the letter each sequence begins at (int32) and
    its length (uint16, at most MAX_SHORT_LETTERS + 1); where its mask of ambiguous letters begins (int32, -1: it has none), or None if no mask was sent."""

    codes: Any
    starts: Any
    lengths: Any
    mask_starts: Any


class Parcel:
    """Pairs [start, stop) on their way through a lane: `stage`, in any thread, then `send`.

    `lengths`: arrays for the lengths of the queries and of the targets.
    """

    def __init__(self, lane: Lane, queries: Letters, targets: Letters, start: int, stop: int, lengths: tuple[Integers, Integers]) -> None:
        self._lane, self.lengths = lane, lengths
        self._sides = [_Side(side, start, stop, array) for side, array in zip((queries, targets), lengths, strict=True)]
        shapes: list[tuple[int, Any]] = []
        for side in self._sides:
            shapes += [(-(-side.code_bytes // 4), np.uint32), (side.count, np.int32), (side.count, np.uint16)]
        shapes += [(stop - start, np.int32), (stop - start, np.int32), (sum(side.most_mask_bytes for side in self._sides), np.uint8)]
        self._staged = lane.stage(shapes)
        self._masks = 0

    @property
    def letters(self) -> int:
        """Count the letters of both sides; up to three too many a sequence that came packed."""
        return sum(side.letters for side in self._sides)

    @property
    def longest(self) -> int:
        """Letters of the longest sequence, when all is staged."""
        return max(side.longest for side in self._sides)

    @property
    def _ambiguous(self) -> bool:
        return any(side.ambiguous for side in self._sides)

    def stage(self) -> None:
        """Put everything into pinned memory; masks only of sequences that need one, one side's after the other's."""
        for side, arrays in zip(self._sides, (self._staged[:3], self._staged[3:6]), strict=True):
            side.stage(*(array.ctypes.data for array in arrays))
        if self._ambiguous:
            for side, starts in zip(self._sides, self._staged[6:8], strict=True):
                self._masks = side.mask(self._staged[8], self._masks, starts)

    def send(self) -> tuple[Side, Side, Any]:
        """Send both sides to the device, and the masks that they share (None if no letter is ambiguous)."""
        arrays: list[Any]
        if self._ambiguous:
            arrays = self._lane.send([*self._staged[:8], self._staged[8][: self._masks]])
        else:
            arrays = [*self._lane.send(self._staged[:6]), None, None, None]
        return Side(arrays[0], arrays[1], arrays[2], arrays[6]), Side(arrays[3], arrays[4], arrays[5], arrays[7]), arrays[8]


class _Side:
    """Stages one side of a parcel."""

    def __init__(self, source: Letters, start: int, stop: int, lengths: Integers) -> None:
        self._source, self._lengths, self.count, self.longest = source, lengths, stop - start, 0
        if isinstance(source, Sequences):
            self._places = source.offsets[start : stop + 1]
            self._bytes = np.ascontiguousarray(source.letters[self._places[0] : self._places[-1]])
            self.letters = len(self._bytes)
            self.code_bytes, self.most_mask_bytes = -(-self.letters // 4), self.letters // 8 + self.count
            self._others = np.empty(-(-self.letters // host.BLOCK_LETTERS), np.uint8)
            self.ambiguous = False
        else:
            self._places = source.code_offsets[start : stop + 1]
            self._bytes = np.ascontiguousarray(source.codes[self._places[0] : self._places[-1]])
            self._packed_lengths = np.ascontiguousarray(source.lengths[start:stop], np.int64)
            self._mask_places = source.ambiguous_offsets[start : stop + 1]
            self.letters = 4 * len(self._bytes)
            self.code_bytes, self.most_mask_bytes = len(self._bytes), int(self._mask_places[-1] - self._mask_places[0])
            self.ambiguous = self.most_mask_bytes > 0
        self._places = np.ascontiguousarray(self._places, np.int64)

    def stage(self, codes: int, starts: int, short_lengths: int) -> None:
        """Write codes, starts and short lengths to these addresses."""
        letters, places, to = self._bytes.ctypes.data, self._places.ctypes.data, (codes, starts, short_lengths, self._lengths.ctypes.data)
        if isinstance(self._source, Sequences):
            others = self._others.ctypes.data
            self.longest, self.ambiguous = host.stage_letters(letters, places, self.count, to[0], others, *to[1:])
        else:
            self.longest = host.stage_packed(letters, len(self._bytes), places, self._packed_lengths.ctypes.data, self.count, *to)

    def mask(self, masks: npt.NDArray[np.uint8], used: int, starts: npt.NDArray[np.int32]) -> int:
        """Append this side's masks to `masks`, `used` bytes of which are taken; returns how many are used then."""
        if isinstance(self._source, Sequences):
            addresses = self._bytes.ctypes.data, self._places.ctypes.data, self.count, self._others.ctypes.data, masks.ctypes.data
            return int(host.mask_letters(*addresses, used, starts.ctypes.data))
        first, last = self._mask_places[0], self._mask_places[-1]
        masks[used : used + last - first] = self._source.ambiguous[first:last]
        starts[:] = np.where(np.diff(self._mask_places) > 0, self._mask_places[:-1] - first + used, -1)
        return used + int(last - first)
