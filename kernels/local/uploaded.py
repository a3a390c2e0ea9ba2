"""Letters of a batch on the current device as codes of a matrix, a byte each."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Batch, Coding
from tidalign.kernels.runtime import compiler

THREADS = 256
BLOCKS = 1 << 12
SOURCE = "local/codes.cu"

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Uploaded:
    """Hold codes of all letters on the device, where each sequence begins (a multiple of four) and its length, and which have codes of four or more.

    batch, rows: what they were made of, and the place there of each.
    """

    codes: Any
    starts: Integers
    lengths: Integers
    others: npt.NDArray[np.bool_]
    batch: Batch
    rows: Integers

    def __len__(self) -> int:
        return len(self.lengths)

    def at(self, rows: Integers) -> "Uploaded":
        """Take the sequences at these places, in this order, any of them any number of times; letters stay where they are."""
        return replace(self, starts=self.starts[rows], lengths=self.lengths[rows], others=self.others[rows], rows=self.rows[rows])


def uploaded(batch: Batch, coding: Coding) -> Uploaded:
    """Send a batch to the current device, where its letters become codes."""
    import cupy

    lengths, count = np.asarray(batch.lengths, np.int64), len(batch)
    ends = np.cumsum((lengths + 3) // 4 * 4)
    starts = ends - (lengths + 3) // 4 * 4
    codes = cupy.empty(int(ends[-1]) + 4 if count else 4, np.uint8)
    others = cupy.empty(count, np.bool_)
    tables = coding.plain_codes()
    blocks = max(1, min(BLOCKS, -(-count // (THREADS // 32))))
    places = count, cupy.asarray(starts), codes, others
    if isinstance(batch, Sequences):
        first, last = (int(batch.offsets[place]) for place in (0, -1))
        letters, offsets = cupy.asarray(batch.letters[first:last]), cupy.asarray(np.asarray(batch.offsets, np.int64) - first)
        entry, given = "codes_of_letters", (letters, offsets, cupy.asarray(tables[0]))
    else:
        packed = [cupy.asarray(np.ascontiguousarray(array)) for array in (batch.codes, batch.code_offsets)]
        masks = [cupy.asarray(np.ascontiguousarray(array)) for array in (batch.ambiguous, batch.ambiguous_offsets)]
        entry, given = "codes_of_packed", (*packed, cupy.asarray(lengths.astype(np.int32)), *masks, cupy.asarray(tables[1]))
    if count:
        compiler.launch(compiler.kernel(SOURCE, entry, {}), blocks, THREADS, *given, *places)
    return Uploaded(codes, starts, lengths, others.get(), batch, np.arange(count))
