"""The two lines of text of an alignment: letters of both sequences, a `-` for every letter of the other against a gap."""

from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import ALPHABET, decode, encode, reverse_complement
from tidalign.kernels.runtime.numba_cache import jit
from tidalign.kernels.text.writing import copy_bytes

Bytes = npt.NDArray[np.uint8]
Positions = npt.NDArray[np.int64]


def _complemented() -> Bytes:
    table = np.arange(256, dtype=np.uint8)
    table[np.frombuffer(ALPHABET, np.uint8)] = decode(reverse_complement(encode(ALPHABET)))[::-1]
    return table


COMPLEMENT = _complemented()
"""Letters of the other strand, by those of this one."""

ZERO, NINE, INSERTION, DELETION, DASH = (np.uint8(ord(letter)) for letter in "09ID-")


def gapped_texts(
    target: Bytes,
    query: Bytes,
    target_starts: Positions,
    target_ends: Positions,
    query_starts: Positions,
    query_ends: Positions,
    reverse: Any,
    cigars: Bytes,
    bounds: Positions,
) -> tuple[Bytes, Bytes, Positions]:
    """Write the text of the target and of the query, one alignment after the other -> uint8[columns], uint8[columns], int64[n + 1] (alignment i from
    offsets[i]).

    target, query: uint8[letters], ASCII, as they are. Starts and ends: int64[n], places in them; where reverse (bool[n]) holds the query's letters are
    complemented, from query_ends - 1 down. cigars: uint8, of alignment i those of bounds[i]:bounds[i + 1] (int64[n + 1]), operations of digits and then one
    letter each (I: of the query only, D: of the target only, any other: of both).
    """
    room = int((target_ends - target_starts).sum() + (query_ends - query_starts).sum())  # what is not written to takes no memory
    target_text, query_text, offsets = np.empty(room, np.uint8), np.empty(room, np.uint8), np.zeros(len(bounds), np.int64)
    backward = np.ascontiguousarray(reverse, np.bool_)
    firsts = np.where(backward, query_ends - 1, query_starts)
    write_texts(*map(fixed, (target, query, target_starts, firsts, backward, COMPLEMENT, cigars, bounds)), target_text, query_text, offsets)
    return target_text[: offsets[-1]], query_text[: offsets[-1]], offsets


def fixed(array: Any) -> Any:
    """View an array as one type, whether it is mapped or not, may be written to or not."""
    view = np.ascontiguousarray(array).view(np.ndarray)
    view.flags.writeable = False
    return view


@jit
def write_texts(
    target: Bytes,
    query: Bytes,
    target_firsts: Positions,
    query_firsts: Positions,
    backward: Any,
    complement: Bytes,
    cigars: Bytes,
    bounds: Positions,
    target_text: Bytes,
    query_text: Bytes,
    offsets: Positions,
) -> None:
    """Write the letters of both sides. Pairs are copied up to the next gap at once: those of equal letters and of others take turns every few."""
    for row in range(len(target_firsts)):
        t, q, column = target_firsts[row], query_firsts[row], offsets[row]
        length, pairs = np.int64(0), np.int64(0)
        for place in range(bounds[row], bounds[row + 1] + 1):
            byte = cigars[place] if place < bounds[row + 1] else INSERTION  # at the end one of no letters
            if byte <= NINE:
                length = 10 * length + byte - ZERO
                continue
            if byte != INSERTION and byte != DELETION:
                pairs += length
                length = np.int64(0)
                continue
            on_target, on_query = pairs, pairs
            if byte == INSERTION:
                on_query += length
            else:
                on_target += length
            copy_bytes(target.ctypes.data + t, target_text.ctypes.data + column, on_target)
            if backward[row]:
                for j in range(on_query):
                    query_text[column + j] = complement[query[q - j]]
                q -= on_query
            else:
                copy_bytes(query.ctypes.data + q, query_text.ctypes.data + column, on_query)
                q += on_query
            t += on_target
            gap = query_text if byte == DELETION else target_text
            for j in range(column + pairs, column + pairs + length):
                gap[j] = DASH
            column += pairs + length
            length, pairs = np.int64(0), np.int64(0)
        offsets[row + 1] = column
