"""The two lines of text of an alignment: letters of both sequences, a `-` for every letter of the other against a gap."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import ALPHABET, decode, encode, reverse_complement
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.text.writing import copy_bytes

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


def _same() -> Bytes:
    return np.arange(256, dtype=np.uint8)


def _complemented() -> Bytes:
    table = _same()
    table[np.frombuffer(ALPHABET, np.uint8)] = decode(reverse_complement(encode(ALPHABET)))[::-1]
    return table


SAME, COMPLEMENT = _same(), _complemented()


def gapped_texts(
    target: Bytes,
    query: Bytes,
    target_starts: Positions,
    query_starts: Positions,
    query_ends: Positions,
    reverse: Any,
    ops: Bytes,
    lengths: Positions,
    offsets: Positions,
) -> tuple[Bytes, Bytes, Positions]:
    """Write the text of the target and of the query, one alignment after the other -> uint8[columns], uint8[columns], int64[n + 1] (alignment i from
    offsets[i]).

    target, query: uint8[letters], ASCII, as they are. target_starts, query_starts, query_ends: int64[n], places in them; where reverse (bool[n]) holds the
    query's letters are complemented, from query_ends - 1 down. ops, lengths, offsets: operations of all alignments, as ASCII (I: of the query only, D: of the
    target only, any other: of both), alignment i has those of offsets[i]:offsets[i + 1].
    """
    sums = np.concatenate(([0], np.cumsum(lengths)))
    places = sums[offsets]
    target_text, query_text = np.empty(places[-1] - places[0], np.uint8), np.empty(places[-1] - places[0], np.uint8)
    backward = np.ascontiguousarray(reverse, np.bool_)
    firsts = np.where(backward, query_ends - 1, query_starts)
    _fill(*map(_fixed, (target, target_starts, ops, lengths, offsets)), np.zeros(len(firsts), np.bool_), _fixed(SAME), np.uint8(ord("I")), target_text)
    _fill(*map(_fixed, (query, firsts, ops, lengths, offsets)), backward, _fixed(COMPLEMENT), np.uint8(ord("D")), query_text)
    return target_text, query_text, places - places[0]


def _fixed(array: Any) -> Any:
    """View an array as one type, whether it is mapped or not, may be written to or not."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


@jit
def _fill(
    letters: Bytes, firsts: Positions, ops: Bytes, lengths: Positions, offsets: Positions, backward: Any, table: Bytes, gap: np.uint8, text: Bytes
) -> None:
    """Write the letters of one side; `gap` is the operation that takes none of them, `table` what letters become going backward."""
    source, address = letters.ctypes.data, text.ctypes.data
    column = 0
    for row in range(len(firsts)):
        place = firsts[row]
        for i in range(offsets[row], offsets[row + 1]):
            length = lengths[i]
            if ops[i] == gap:
                text[column : column + length] = 45
            elif backward[row]:
                for j in range(length):
                    text[column + j] = table[letters[place - j]]
                place -= length
            else:
                copy_bytes(source + place, address + column, length)  # numba takes two seconds to compile what assigns a slice
                place += length
            column += length
