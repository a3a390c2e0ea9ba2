# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Packed letters as codes of a matrix, a byte each; and which sequences have letters of some kind."""

from tidalign.kernels.runtime.numba_cache import jit


@jit
def unpacked(packed, packed_starts, lengths, ambiguous, ambiguous_offsets, codes, starts, out):
    """Write the letters of all sequences as codes; codes: of the four bases in the order of their bits, and of any other letter."""
    for i in range(len(lengths)):
        source, to = packed_starts[i], starts[i]
        for j in range(lengths[i]):
            out[to + j] = codes[packed[source + (j >> 2)] >> (6 - 2 * (j & 3)) & 3]
        first = ambiguous_offsets[i]
        for j in range(lengths[i] if ambiguous_offsets[i + 1] > first else 0):
            if ambiguous[first + (j >> 3)] >> (7 - (j & 7)) & 1:
                out[to + j] = codes[4]


@jit
def among(letters, starts, lengths, kind, out):
    """Tell of each sequence whether it has a letter of this kind (by ASCII)."""
    for i in range(len(starts)):
        found = False
        for j in range(starts[i], starts[i] + lengths[i]):
            found |= kind[letters[j]]
        out[i] = found
