"""Say `=` or `X` of columns by their letters, where a matrix has one code for several: U, O and J of proteins have that of X."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tidalign.kernels.text.writing import DELETION, DIFFERENT, EQUAL, INSERTION
from tidalign.kernels.wavefront.alignments import Alignments

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]
Operations = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Spelled:
    """Hold the letters (ASCII) of one side, where each of its sequences begins there, and which of them have letters that share a code."""

    letters: Bytes
    starts: Integers
    shared: npt.NDArray[np.bool_]

    def upper(self, row: int, start: int, stop: int) -> Bytes:
        """Give letters [start, stop) of a sequence, without case."""
        return self.letters[self.starts[row] + start : self.starts[row] + stop] & np.uint8(0xDF)


def by_letters(found: Alignments, query: Spelled | None, target: Spelled | None) -> Alignments:
    """Name again the columns of alignments, which have CIGARs, of sequences with letters that share a code. None: of DNA."""
    if query is None or target is None or not (rows := np.flatnonzero(query.shared | target.shared)).size:
        return found
    assert found.cigar is not None and found.cigar_offsets is not None
    pieces, lengths, start = [], np.diff(found.cigar_offsets), 0
    for row in rows.tolist():
        first, last = found.cigar_offsets[row : row + 2]
        q = query.upper(row, found.query_start[row], found.query_end[row])
        t = target.upper(row, found.target_start[row], found.target_end[row])
        named = _named(found.cigar[first:last], q, t)
        pieces += [found.cigar[start:first], named]
        lengths[row], start = len(named), last
    return replace(found, cigar=np.concatenate([*pieces, found.cigar[start:]]), cigar_offsets=np.append(0, np.cumsum(lengths)))


def _named(operations: Operations, query: Bytes, target: Bytes) -> Operations:
    """Name the columns in which two letters stand by whether they are the same."""
    codes = np.repeat(operations & 15, operations >> 4)
    aligned = (codes == EQUAL) | (codes == DIFFERENT)
    in_query, in_target = aligned | (codes == INSERTION), aligned | (codes == DELETION)
    codes[aligned] = np.where(query[aligned[in_query]] == target[aligned[in_target]], EQUAL, DIFFERENT)
    begins = np.flatnonzero(np.diff(codes, prepend=16))
    return (np.diff(begins, append=len(codes)).astype(np.uint32) << 4 | codes[begins]).astype(np.uint32)
