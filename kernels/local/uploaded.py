"""Letters of a batch on the current device as codes of a matrix, a byte each."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Batch, Coded, Coding
from tidalign.kernels.local.columns import Spelled
from tidalign.kernels.runtime import compiler

SOURCE, PAIRS_SOURCE = "local/device/codes.cu", "local/device/pairs.cu"


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Hold, on the device, codes of all letters, where each sequence begins (int64, a multiple of four), its length (int32), whether it has a code of four or
    more (bool), and whether it has letters that the matrix lacks (bool); and the length of the longest, or more (int32[1]).

    batch, rows: what they were made of, and the place there of each (int64, on the device).
    """

    codes: Any
    starts: Any
    lengths: Any
    others: Any
    lacking: Any
    longest: Any
    batch: Batch
    rows: Any

    def __len__(self) -> int:
        return len(self.lengths)

    def at(self, rows: Any) -> "Uploaded":
        """Take the sequences at these places, in this order, any of them any number of times; letters stay where they are."""
        import cupy

        rows = cupy.ascontiguousarray(cupy.asarray(rows, np.int64))
        count, longest = len(rows), cupy.zeros(1, np.int32)
        names = "starts", "lengths", "others", "lacking", "rows"
        given = [getattr(self, name) for name in names]
        taken = [cupy.empty(count, array.dtype) for array in given]
        if count:
            compiler.launch_each(PAIRS_SOURCE, "sequences_taken", count, rows, count, *given, *taken, longest)
        return replace(self, longest=longest, **dict(zip(names, taken, strict=True)))

    def spelled(self, coding: Coding) -> Spelled | None:
        """Give what `coding.spelled` gives of a side on the host."""
        if coding.lacking is None or not isinstance(self.batch, Sequences):
            return None
        return Spelled(self.batch.letters, self.batch.offsets[self.rows.get()], self.lacking.get())

    def on_host(self, coding: Coding, place: int, rows: npt.NDArray[np.int64]) -> Coded:
        """Give the sequences at these places as `coding` has queries (place 0) or targets (1) on the host."""
        found = coding.coded(self.batch, place).at(self.rows.get()[rows])
        return replace(found, lengths=self.lengths.get()[rows].astype(np.int64))


def uploaded(batch: Batch, coding: Coding) -> Uploaded:
    """Send a batch, whose sequences have fewer than 2^31 letters each, to the current device, where its letters become codes."""
    import cupy

    lengths, count = cupy.asarray(np.asarray(batch.lengths, np.int64)), len(batch)
    begins, short, numbers, longest = cupy.empty(count + 1, np.int64), cupy.empty(count, np.int32), cupy.empty(count, np.int64), cupy.zeros(1, np.int32)
    compiler.launch_block(SOURCE, "places_of_sequences", lengths, count, begins, short, numbers, longest)
    starts = begins[:-1]
    codes = cupy.empty(int(begins[-1]) + 4, np.uint8)
    others, lacking = cupy.empty(count, np.bool_), cupy.zeros(count, np.bool_)
    tables = coding.plain_codes()
    if isinstance(batch, Sequences):
        first, last = int(batch.offsets[0]), int(batch.offsets[-1])
        marked = tables[0] if coding.lacking is None else tables[0] | coding.lacking.astype(np.uint8) << 7
        entry, given, told = "codes_of_letters", _sent(batch.letters[first:last], batch.offsets - first, marked), [others, lacking]
    else:
        packed, masks = _sent(batch.codes, batch.code_offsets), _sent(batch.ambiguous, batch.ambiguous_offsets)
        entry, given, told = "codes_of_packed", [*packed, short, *masks, *_sent(tables[1])], [others]
    if count:
        compiler.launch_each(SOURCE, entry, 32 * count, *given, count, starts, codes, *told)
    return Uploaded(codes, starts, short, others, lacking, longest, batch, numbers)


def _sent(*arrays: npt.NDArray[Any]) -> list[Any]:
    import cupy

    return [cupy.asarray(np.ascontiguousarray(array)) for array in arrays]
