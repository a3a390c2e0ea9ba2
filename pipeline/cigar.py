"""Make columns of CIGARs: parsed into flat arrays of operations, merged and written again without a loop over rows; and columns that count them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.wavefront.alignments import Alignments, cigar_text
from tidalign.pipeline.schema import COUNTS
from tidalign.pipeline.text import empty, joined, strings

_CODES = np.zeros(256, np.int64)
_CODES[np.frombuffer(b"MIDNSHP=X", np.uint8)] = np.arange(9)
"""Of the letters, in the words of kernels/wavefront/alignments.py."""


def counted(counts: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Give the columns `schema.COUNTS` by name from what kernels count of operations, int64[4, n] in that order."""
    return dict(zip((name for name, _ in COUNTS), counts, strict=True))


@dataclass(frozen=True, slots=True)
class Operations:
    """Operations of all rows, one after the other: row i has those of offsets[i]:offsets[i + 1]."""

    letters: npt.NDArray[np.uint8]  # [operations], ASCII
    lengths: npt.NDArray[np.int64]  # [operations]
    offsets: npt.NDArray[np.int64]  # [rows + 1]

    @classmethod
    def parse(cls, cigars: Any) -> "Operations":
        """Operations of a string column such as `70=1X29=`; a null row has none."""
        array = strings(cigars).fill_null("")
        _, offset_buffer, data = array.buffers()
        bounds = np.frombuffer(offset_buffer, np.int64)[array.offset : array.offset + len(array) + 1]
        text = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]] if data is not None and data.size else np.empty(0, np.uint8)
        # Every operation is digits and then one byte above '9'.
        places = np.flatnonzero(text > ord("9"))
        digits = np.diff(places, prepend=-1) - 1
        lengths = np.zeros(len(places), np.int64)
        for power in range(int(digits.max(initial=0))):
            rows = slice(None) if power == 0 else np.flatnonzero(digits > power)
            lengths[rows] += (text[places[rows] - 1 - power] - np.int64(ord("0"))) * 10**power
        return cls(text[places], lengths, np.searchsorted(places, bounds - bounds[0]))

    def merged(self) -> "Operations":
        """The same alignments with M for matches and mismatches alike."""
        letters = np.where(np.isin(self.letters, np.frombuffer(b"=X", np.uint8)), np.uint8(ord("M")), self.letters)
        # An operation starts a new run where its letter changes or its row begins.
        fresh = np.concatenate(([True], letters[1:] != letters[:-1])) if len(letters) else np.empty(0, bool)
        firsts = self.offsets[:-1][self.offsets[:-1] < self.offsets[1:]]
        fresh[firsts] = True
        places = np.flatnonzero(fresh)
        lengths = np.add.reduceat(self.lengths, places) if len(places) else self.lengths
        runs = np.concatenate(([0], np.cumsum(fresh)))
        return Operations(letters[places], lengths, runs[self.offsets])

    def text(self) -> Any:
        """A large_string column of CIGARs."""
        if self.lengths.max(initial=0) >= 1 << 28:
            return self._text_of_any_length()
        words = (self.lengths << 4 | _CODES[self.letters]).astype(np.uint32)
        none = np.zeros(len(self.offsets) - 1, np.int64)
        offsets = np.ascontiguousarray(self.offsets, np.int64)
        text, offsets = cigar_text(Alignments(none, none, none, none, none, cigar=words, cigar_offsets=offsets))
        return pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(text)])

    def _text_of_any_length(self) -> Any:
        letters = pa.Array.from_buffers(
            pa.large_string(), len(self.letters), [None, pa.py_buffer(np.arange(len(self.letters) + 1)), pa.py_buffer(np.ascontiguousarray(self.letters))]
        )
        return pc.binary_join(pa.LargeListArray.from_arrays(pa.array(self.offsets), joined(pa.array(self.lengths), letters)), empty())
