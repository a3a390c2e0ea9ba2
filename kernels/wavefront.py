"""Exact alignment of pairs by wavefronts: edit, linear, affine and two-piece affine penalties, global or with free ends."""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from tidalign.kernels.alignments import Alignments
from tidalign.kernels.penalties import Penalties
from tidalign.kernels.sequences import PackedSequences, Sequences

BIDIRECTIONAL_ABOVE = 32_768
"""Pairs whose longer side has more letters use the bidirectional algorithm: optimal, but the CIGAR may be another optimum than below."""

NARROW = 32_767
"""Pairs with at most so many letters on both sides together have 16-bit offsets."""

EndsFree = tuple[int, int, int, int]
Batch = Sequences | PackedSequences


def align(
    queries: Batch,
    targets: Batch,
    penalties: Penalties,
    *,
    ends_free: EndsFree | None = None,
    cigar: bool = True,
    ambiguous: Literal["mismatch", "match"] = "mismatch",
) -> Alignments:
    """Align query i with target i, on one core, without the interpreter lock; the penalty is optimal and the CIGAR the one WFA2-lib's tie rule picks.

    `ends_free`: how many letters at the query's begin and end and at the target's begin and end may stay out of the alignment at no cost.
    `ambiguous`: whether a letter other than A, C, G and T (of either case) equals nothing, or every letter.
    Raises ValueError for batches that do not fit each other or penalties too far apart for memory, MemoryError where a pair needs more than there is.
    """
    from tidalign.kernels import batch_host as host
    from tidalign.kernels import letters_host
    from tidalign.kernels.workspace_host import CIGAR, CIGAR_COUNT, copied, memory

    if len(queries) != len(targets):
        raise ValueError(f"as many queries as targets are needed, not {len(queries)} and {len(targets)}")
    if isinstance(queries, Sequences) is not isinstance(targets, Sequences):
        raise ValueError("queries and targets must both be packed, or neither")
    free = ends_free or (0, 0, 0, 0)
    if len(free) != 4 or min(free) < 0:
        raise ValueError(f"ends_free takes four numbers of letters, none below 0, not {free}")
    if ambiguous not in ("mismatch", "match"):
        raise ValueError(f"ambiguous must be 'mismatch' or 'match', not {ambiguous!r}")
    total = len(queries)
    n, m = np.ascontiguousarray(queries.lengths), np.ascontiguousarray(targets.lengths)
    out = np.zeros((5, total), np.int64)
    ends = np.zeros((total, 2), np.int64)
    unit = penalties.unit()
    model = _model(penalties)
    row = int(ambiguous == "match")
    place = memory()
    place.work[CIGAR_COUNT] = 0
    wide = n + m > NARROW
    try:
        for rows, null in ((np.flatnonzero(~wide), np.int16(-0x8000)), (np.flatnonzero(wide), np.int32(-0x7FFF8000))):
            if len(rows) == 0:
                continue
            rest = (n, m, model, free, unit, cigar, null, out, ends)
            if isinstance(queries, Sequences) and isinstance(targets, Sequences):
                sides = (queries.letters, queries.offsets, targets.letters, targets.offsets)
                host.align_ascii(place.work, place.spare, rows, *sides, letters_host.ASCII[row], *rest)
            elif isinstance(queries, PackedSequences) and isinstance(targets, PackedSequences):
                pair = (_side(queries), _side(targets))
                host.align_packed(place.work, place.spare, rows, *pair, letters_host.PACKED, letters_host.OTHER[row], *rest)
        operations = copied(place.work, CIGAR, int(place.work[CIGAR_COUNT]))
    except BaseException:
        place.free()
        raise
    place.trim()
    if not cigar:
        return Alignments(*out)
    offsets = np.zeros(total + 1, np.int64)
    np.cumsum(ends[:, 1] - ends[:, 0], out=offsets[1:])
    if wide.any() and not wide.all():
        operations = np.concatenate([operations[start:stop] for start, stop in ends])
    return Alignments(*out, operations, offsets)


def warm_up(penalties: Iterable[Penalties]) -> None:
    """Compile, or load from the cache, what runs with these penalties need, so that workers started later find it there."""
    for each in penalties:
        align(Sequences.from_strings(["ACGT"]), Sequences.from_strings(["AGT"]), each)


def _model(penalties: Penalties) -> tuple[int, int, int, int, int, int]:
    unit = penalties.unit()
    states = {"edit": 1, "linear": 1, "affine": 3, "affine2p": 5}[penalties.model]
    pieces = [number // unit for piece in penalties.pieces for number in piece] + [0, 0]
    return states, penalties.mismatch // unit, pieces[0], pieces[1], pieces[2], pieces[3]


def _side(packed: PackedSequences) -> tuple[np.ndarray, ...]:
    return packed.codes, packed.code_offsets, packed.ambiguous, packed.ambiguous_offsets
