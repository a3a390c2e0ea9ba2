# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Pack what BAM packs: CIGARs as words, letters as four bits."""

import numpy as np

from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.text.writing import LETTERS

CODES = np.zeros(256, np.uint8)
CODES[LETTERS] = np.arange(len(LETTERS))
"""Of operations as BAM has them, by their letters."""

NIBBLES = np.full(256, 15, np.uint8)
NIBBLES[np.frombuffer(b"=ACMGRSVTWYHKDBN", np.uint8)] = NIBBLES[np.frombuffer(b"=acmgrsvtwyhkdbn", np.uint8)] = np.arange(16)
"""Of letters as BAM has them; N for what it does not have."""


@jit
def operations(cigar, offsets, before, after, merged, words, ends):
    """Read the text of CIGARs, row i from offsets[i] on, as BAM's words, length << 4 | code: ends[i + 1] = how many of rows 0..i.

    before, after: letters that are clipped softly, int64[n]. merged: = and X become M.
    """
    at = 0
    for i in range(len(before)):
        first, length = at, np.uint32(0)
        if before[i] > 0:
            words[at] = before[i] << 4 | 4
            at += 1
        for place in range(offsets[i], offsets[i + 1]):
            byte = cigar[place]
            if byte <= 57:
                length = np.uint32(10 * length + byte - 48)
                continue
            code = np.uint32(CODES[byte])
            if merged and code >= 7:
                code = np.uint32(0)
            if merged and at > first and words[at - 1] & 15 == code:
                words[at - 1] += length << np.uint32(4)
            else:
                words[at] = length << np.uint32(4) | code
                at += 1
            length = np.uint32(0)
        if after[i] > 0:
            words[at] = after[i] << 4 | 4
            at += 1
        ends[i + 1] = at


@jit
def pack_nibbles(letters, offsets, packed, ends):
    """Pack letters as BAM does, two a byte, the first in the high bits: row i is packed[ends[i] : ends[i + 1]]."""
    for i in range(len(offsets) - 1):
        at, start, stop = ends[i], offsets[i], offsets[i + 1]
        for place in range(start, stop - 1, 2):
            packed[at] = NIBBLES[letters[place]] << 4 | NIBBLES[letters[place + 1]]
            at += 1
        if (stop - start) & 1:
            packed[at] = NIBBLES[letters[stop - 1]] << 4
