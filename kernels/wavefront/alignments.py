"""Hold what aligning a batch of pairs gives, as flat arrays."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Alignments:
    """One alignment a pair: its penalty, what it covers of both sequences (half-open), and its CIGAR where one was asked for.

    `cigar` [operations] as in BAM: length << 4 | code, with codes 7 '=', 8 'X', 1 'I' (consumes the query) and 2 'D' (consumes the target); pair i has
    cigar[cigar_offsets[i]:cigar_offsets[i + 1]]. Letters of free ends are not in it. by_host: of those asked of a device, how many the host took.
    score: of alignments that are scored in place of penalties, which are 0 then. placed: False where the score alone was asked for, and places are 0.
    heuristic: found under a rule that may miss the best. dropped: [n], which pairs that rule left no alignment: their penalty and places are 0, their CIGARs
    empty; None: none. reverse: [n], whether it is the query's reverse complement that is aligned; None: of none.
    """

    penalty: Integers
    query_start: Integers
    query_end: Integers
    target_start: Integers
    target_end: Integers
    cigar: npt.NDArray[np.uint32] | None = None
    cigar_offsets: Integers | None = None
    by_host: int = 0
    score: Integers | None = None
    placed: bool = True
    heuristic: bool = False
    dropped: npt.NDArray[np.bool_] | None = None
    reverse: npt.NDArray[np.bool_] | None = None

    def __len__(self) -> int:
        return len(self.penalty)


def part_of(found: Alignments, start: int, stop: int) -> Alignments:
    """Take alignments [start, stop), zero copy but for offsets."""
    names = ("penalty", "query_start", "query_end", "target_start", "target_end", "score", "dropped", "reverse")
    columns: dict[str, Any] = {name: None if (column := getattr(found, name)) is None else column[start:stop] for name in names}
    taken = replace(found, **columns, by_host=0)
    if found.cigar is None or found.cigar_offsets is None:
        return taken
    offsets = found.cigar_offsets[start : stop + 1]
    return replace(taken, cigar=found.cigar[offsets[0] : offsets[-1]], cigar_offsets=offsets - offsets[0])


def cigar_text(alignments: Alignments) -> tuple[npt.NDArray[np.uint8], Integers]:
    """Write the CIGARs as text like 70=1X29=: bytes of all pairs, and offsets [n + 1]. Raises ValueError where there are none."""
    from tidalign.kernels.text import writing as host

    cigar, cigar_offsets = _operations(alignments)
    offsets = np.zeros(len(alignments) + 1, np.int64)
    host.measure(cigar, cigar_offsets, offsets)
    text = np.empty(offsets[-1], np.uint8)
    host.write(cigar, text)
    return text, offsets


def cigar_counts(alignments: Alignments) -> Integers:
    """Count what the CIGARs hold -> int64[4, n]: matches, mismatches, gap openings (runs of I or of D), gap letters. ValueError where there are none."""
    from tidalign.kernels.text import writing as host

    cigar, cigar_offsets = _operations(alignments)
    counts = np.empty((4, len(alignments)), np.int64)
    host.count(cigar, cigar_offsets, counts)
    return counts


def _operations(alignments: Alignments) -> tuple[npt.NDArray[np.uint32], Integers]:
    if alignments.cigar is None or alignments.cigar_offsets is None:
        raise ValueError("these alignments carry no CIGARs: align with cigar=True")
    return alignments.cigar, alignments.cigar_offsets
