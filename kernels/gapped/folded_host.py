# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Runs of folded alignments (folded.py) written out."""

from tidalign.kernels.runtime.numba_cache import jit


@jit
def unfold(words, pieces, rows, offsets, operations, lengths):
    """Write the runs of rows[i], from left to right, to [offsets[i], offsets[i + 1]) of operations, uint8[.], and lengths, int64[.]; offsets, int64[n + 1], is
    filled.

    words, pieces: of `Folded`. There is room for every word. Returns how many runs there are: two that meet in one operation are one.
    """
    n = 0
    offsets[0] = 0
    for i in range(rows.shape[0]):
        first = n
        for part in range(4):  # the left side from its end to the anchor, then the right side back from there
            side = part >> 1
            begin, stop = pieces[rows[i], side, (part ^ side) & 1, 0], pieces[rows[i], side, (part ^ side) & 1, 1]
            for k in range(stop - begin):
                word = words[stop - 1 - k if side else begin + k]
                if n > first and operations[n - 1] == word & 3:
                    lengths[n - 1] += word >> 2
                else:
                    operations[n], lengths[n] = word & 3, word >> 2
                    n += 1
        offsets[i + 1] = n
    return n
