"""Letters of a batch on the current device as codes of a matrix, a byte each."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Batch, Coded, Coding
from tidalign.kernels.local.columns import Spelled
from tidalign.kernels.runtime import compiler

THREADS = 256
BLOCKS = 1 << 12
SOURCE = "local/device/codes.cu"


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Hold, on the device, codes of all letters, where each sequence begins (int64, a multiple of four), its length (int32), and whether it has a code of four
    or more (bool).

    batch, rows: what they were made of, and the place there of each (int64, on the device). shared: as `Coding.shared` tells of the batch, on the host.
    """

    codes: Any
    starts: Any
    lengths: Any
    others: Any
    batch: Batch
    rows: Any
    shared: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    def at(self, rows: Any) -> "Uploaded":
        """Take the sequences at these places, in this order, any of them any number of times; letters stay where they are."""
        import cupy

        rows = cupy.asarray(rows)
        return replace(self, starts=self.starts[rows], lengths=self.lengths[rows], others=self.others[rows], rows=self.rows[rows])

    def spelled(self) -> Spelled | None:
        """Give the letters on the host; None if they are packed."""
        if not isinstance(self.batch, Sequences):
            return None
        rows = self.rows.get()
        return Spelled(self.batch.letters, self.batch.offsets[rows], None if self.shared is None else self.shared[rows])

    def on_host(self, coding: Coding, place: int, rows: npt.NDArray[np.int64]) -> Coded:
        """Give the sequences at these places as `coding` has queries (place 0) or targets (1) on the host."""
        found = coding.coded(self.batch, place).at(self.rows.get()[rows])
        return replace(found, lengths=self.lengths.get()[rows].astype(np.int64))


def uploaded(batch: Batch, coding: Coding) -> Uploaded:
    """Send a batch, whose sequences have fewer than 2^31 letters each, to the current device, where its letters become codes."""
    import cupy

    lengths, count = cupy.asarray(np.asarray(batch.lengths, np.int64)), len(batch)
    rounded = (lengths + 3) // 4 * 4
    ends = cupy.cumsum(rounded)
    starts, short = ends - rounded, lengths.astype(np.int32)
    codes = cupy.empty(int(ends[-1]) + 4 if count else 4, np.uint8)
    others = cupy.empty(count, np.bool_)
    tables = coding.plain_codes()
    if isinstance(batch, Sequences):
        first, last = int(batch.offsets[0]), int(batch.offsets[-1])
        entry, given = "codes_of_letters", [*_sent(batch.letters[first:last], batch.offsets - first, tables[0])]
    else:
        packed, masks = _sent(batch.codes, batch.code_offsets), _sent(batch.ambiguous, batch.ambiguous_offsets)
        entry, given = "codes_of_packed", [*packed, short, *masks, *_sent(tables[1])]
    if count:
        blocks = min(BLOCKS, -(-count // (THREADS // 32)))
        compiler.launch(compiler.kernel(SOURCE, entry, {}), blocks, THREADS, *given, count, starts, codes, others)
    shared = coding.shared(batch) if isinstance(batch, Sequences) else None
    return Uploaded(codes, starts, short, others, batch, cupy.arange(count), shared)


def _sent(*arrays: npt.NDArray[Any]) -> list[Any]:
    import cupy

    return [cupy.asarray(np.ascontiguousarray(array)) for array in arrays]
