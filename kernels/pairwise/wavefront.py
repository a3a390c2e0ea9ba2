"""Exact alignment of pairs by wavefronts: edit, linear, affine and two-piece affine penalties, global or with free ends."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, one, pack
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text

BIDIRECTIONAL_ABOVE = 32_768
"""Pairs whose longer side has more letters use the bidirectional algorithm: optimal, but the CIGAR may be another optimum than below. So do those that cost
more than `Penalties.whole` and need the way back."""

MAX_NARROW_LETTERS = 32_767
"""Pairs with at most so many letters on both sides together have 16-bit offsets."""

MAX_LETTERS = (1 << 28) - 1
"""Of a side: what the length of an operation holds in its 28 bits, and well within the 32 of offsets."""

GROUP_BYTES = 1 << 20
"""Bytes of letters encoded at once."""

EndsFree = tuple[int, int, int, int]
Integers = npt.NDArray[np.int64]
Batch = Sequences | PackedSequences


def checked(queries: Batch, targets: Batch, ends_free: EndsFree | None, ambiguous: str) -> EndsFree:
    """Check a batch, and give how many letters are free at each end. Raises ValueError for batches that do not fit each other, and for other values than there
    may be; MemoryError for a sequence of more than MAX_LETTERS."""
    if len(queries) != len(targets):
        raise ValueError(f"as many queries as targets are needed, not {len(queries)} and {len(targets)}")
    if isinstance(queries, Sequences) != isinstance(targets, Sequences):
        raise ValueError("queries and targets must both be packed, or neither")
    for side in (queries, targets):
        _check_longest(side)
    free = tuple(int(letters) for letters in ends_free or (0, 0, 0, 0))
    if len(free) != 4 or min(free) < 0:
        raise ValueError(f"ends_free takes four numbers of letters, none below 0, not {ends_free}")
    if ambiguous not in ("mismatch", "match"):
        raise ValueError(f"ambiguous must be 'mismatch' or 'match', not {ambiguous!r}")
    return free


def _check_longest(side: Batch) -> None:
    """Raise MemoryError for a sequence of more than MAX_LETTERS. Where no 64 neighbours have as many together none has: a look at each would cost millions of
    short pairs a sixth of their time on a GPU."""
    if isinstance(side, Sequences) and np.diff(np.append(side.offsets[::64], side.offsets[-1])).max(initial=0) <= MAX_LETTERS:
        return
    longest = int(side.lengths.max(initial=0))
    if longest > MAX_LETTERS:
        raise MemoryError(f"a sequence of {longest:,} letters: pairs have at most {MAX_LETTERS:,} on a side")


def align(
    queries: Batch,
    targets: Batch,
    penalties: Penalties,
    *,
    ends_free: EndsFree | None = None,
    cigar: bool = True,
    ambiguous: Literal["mismatch", "match"] = "mismatch",
    heuristic: Heuristic | None = None,
) -> Alignments:
    """Align query i with target i, on one core, without the interpreter lock; the penalty is optimal and the CIGAR the one WFA2-lib's tie rule picks.

    `ends_free`: how many letters at the query's begin and end and at the target's begin and end may stay out of the alignment at no cost.
    `ambiguous`: whether a letter other than A, C, G and T (of either case) equals nothing, or every letter.
    `heuristic`: keep promising diagonals only, those that WFA2-lib would keep; the penalty may then be higher, and there may be no alignment (`dropped`).
    Raises ValueError for batches that do not fit each other, MemoryError where a pair needs more than there is.

    Invariant: out[:, i] and ends[i] are of pair i, in whatever order pairs are done; operations of pair i lie in [ends[i, 0], ends[i, 1]).

        letters of both sides   up to 32,767      more              a side of more than 32,768
                                16-bit offsets    32-bit offsets    cut from both ends
                                      |                 |               ^
                                      +-----------------+---------------+    where the penalty is above `most`
    """
    from tidalign.kernels.runtime.workspace import CIGAR, CIGAR_COUNT, copied, memory
    from tidalign.kernels.wavefront import batch as batch_host

    free = checked(queries, targets, ends_free, ambiguous)
    total = len(queries)
    n, m = queries.lengths, targets.lengths
    out = np.zeros((5, total), np.int64)
    ends = np.zeros((total, 2), np.int64)
    unit, most, model, row = penalties.unit(), penalties.whole(), gap_model(penalties), int(ambiguous == "match")
    long = (np.maximum(n, m) > BIDIRECTIONAL_ABOVE) & (heuristic is None)
    wide = (n + m > MAX_NARROW_LETTERS) & ~long
    keep = cigar or free[0] > 0 or free[2] > 0  # only the way back tells where a free begin ends
    thread = memory()
    work = thread.work
    work[CIGAR_COUNT] = 0
    moved = bool((wide | long).any())  # whether operations come in another order than pairs
    try:
        kinds = ((~wide & ~long, np.int16(-0x8000)), (wide, np.int32(-0x7FFF8000)), (long, None))
        for rows, first, stop, places, null in _encoded(work, queries, targets, kinds, row):
            whole = (n, m, model, free, unit)
            due = np.ones(stop - first, bool)
            if heuristic is not None:
                cut = heuristic.cut(), penalties.model == "edit"
                batch_host.align_pruned(work, rows, first, stop, places, n, m, model, free, *cut, unit, keep, null, out, ends)
                due[:] = False
            elif null is not None:
                batch_host.align_encoded(work, thread.spare, rows, first, stop, places, *whole, most, keep, null, out, ends)
                due = out[0, rows[first:stop]] < 0
            if due.any():
                from tidalign.kernels.bidirectional import host as bidirectional_host

                moved = True
                bidirectional_host.align_encoded(thread, rows[first:stop][due], places[due], *whole, cigar, out, ends)
        operations = copied(work, CIGAR, int(work[CIGAR_COUNT]))
    except BaseException:
        # What the rings hold between two pairs is part of the algorithm.
        thread.free()
        raise
    thread.trim()
    dropped = None if heuristic is None else out[0] < 0
    penalty, query_start, query_end, target_start, target_end = np.maximum(out, 0, out=out)
    found = Alignments(penalty, query_start, query_end, target_start, target_end, heuristic=heuristic is not None, dropped=dropped)
    if not cigar:
        return found
    offsets = np.zeros(total + 1, np.int64)
    np.cumsum(ends[:, 1] - ends[:, 0], out=offsets[1:])
    if moved:
        operations = np.concatenate([operations[start:stop] for start, stop in ends])
    return replace(found, cigar=operations, cigar_offsets=offsets)


def penalties_within(
    queries: Batch,
    targets: Batch,
    penalties: Penalties,
    limits: Integers,
    *,
    ends_free: EndsFree | None = None,
    ambiguous: Literal["mismatch", "match"] = "mismatch",
) -> Integers:
    """Give the penalties of pairs where they are no more than limits[i], and -1 where they are: int64[n], on one core, without the interpreter lock.

    A pair takes no longer than one whose penalty is its limit, but for those with a side of more than BIDIRECTIONAL_ABOVE letters, which are aligned unless
    their limit is below 0. Arguments and errors as of `align`.
    """
    from tidalign.kernels.runtime.workspace import memory
    from tidalign.kernels.wavefront.batch import penalties_within as within

    free = checked(queries, targets, ends_free, ambiguous)
    n, m, unit, row = queries.lengths, targets.lengths, penalties.unit(), int(ambiguous == "match")
    found, most = np.full(len(queries), -1, np.int64), limits // unit
    long = np.maximum(n, m) > BIDIRECTIONAL_ABOVE
    wide = (n + m > MAX_NARROW_LETTERS) & ~long
    thread = memory()
    try:
        kinds = ((~wide & ~long, np.int16(-0x8000)), (wide, np.int32(-0x7FFF8000)))
        for rows, first, stop, places, null in _encoded(thread.work, queries, targets, kinds, row):
            within(thread.work, rows, first, stop, places, n, m, gap_model(penalties), free, most, null, found)
    except BaseException:
        thread.free()
        raise
    thread.trim()
    found[found >= 0] *= unit
    for i in np.flatnonzero(long & (limits >= 0)).tolist():
        whole = int(align(one(queries, i), one(targets, i), penalties, ends_free=ends_free, cigar=False, ambiguous=ambiguous).penalty[0])
        found[i] = whole if whole <= limits[i] else -1
    return found


def _encoded(work: Any, queries: Batch, targets: Batch, kinds: Iterable[tuple[Any, Any]], row: int) -> Iterator[tuple[Any, int, int, Any, Any]]:
    """Encode the letters of pairs of each kind, some at a time: rows, first and last of them, places of both sides, and what the kind comes with."""
    from tidalign.kernels.letters import host as letters_host
    from tidalign.kernels.runtime.workspace import LETTERS, reserve
    from tidalign.kernels.wavefront import batch as batch_host

    lengths = queries.lengths + targets.lengths
    for kind, null in kinds:
        rows = np.flatnonzero(kind)
        for first, stop, size in _groups(lengths[rows] + 2 * letters_host.BEHIND):
            reserve(work, LETTERS, size)
            places = np.empty((stop - first, 2), np.int64)
            if isinstance(queries, Sequences) and isinstance(targets, Sequences):
                sides = (queries.letters, queries.offsets, targets.letters, targets.offsets)
                batch_host.encode_ascii_group(work, rows, first, stop, places, *sides, letters_host.ASCII[row])
            elif isinstance(queries, PackedSequences) and isinstance(targets, PackedSequences):
                packed = (_fields(queries), _fields(targets))
                batch_host.encode_packed_group(work, rows, first, stop, places, *packed, letters_host.PACKED, letters_host.OTHER[row])
            yield rows, first, stop, places, null


def _groups(sizes: npt.NDArray[np.int64]) -> Iterator[tuple[int, int, int]]:
    """Cut pairs into consecutive ranges, (first, stop, bytes), of about GROUP_BYTES bytes, at least one pair each."""
    ends = np.cumsum(sizes)
    first, before = 0, 0
    while first < len(sizes):
        stop = max(first + 1, int(np.searchsorted(ends, before + GROUP_BYTES, side="right")))
        yield first, stop, int(ends[stop - 1]) - before
        first, before = stop, int(ends[stop - 1])


def warm_up(penalties: Iterable[Penalties], longest: int = 0, heuristic: Heuristic | None = None) -> None:
    """Compile, or load from the cache, what runs with these penalties and sequences up to `longest` letters need (packed, as runs have
    them), so that workers find it there."""
    lengths = [4]
    if 2 * longest > MAX_NARROW_LETTERS:
        lengths.append(MAX_NARROW_LETTERS)  # 32-bit offsets
    if longest > BIDIRECTIONAL_ABOVE and heuristic is None:
        lengths.append(BIDIRECTIONAL_ABOVE + 1)
    letters = pack(Sequences.from_strings(["A" * length for length in lengths]))
    for each in penalties:
        found = align(letters, letters, each, heuristic=heuristic)
        cigar_text(found)
        cigar_counts(found)
        if longest > BIDIRECTIONAL_ABOVE and heuristic is None:
            align(letters, letters, each, ends_free=(1, 0, 0, 0))


def gap_model(penalties: Penalties) -> tuple[int, int, int, int, int, int]:
    """Give what the kernels take of a gap model: states, mismatch and both gap pieces (open, extend) in units."""
    unit = penalties.unit()
    states = {"edit": 1, "linear": 1, "affine": 3, "affine2p": 5}[penalties.model]
    pieces = [number // unit for piece in penalties.pieces for number in piece] + [0, 0]
    return states, penalties.mismatch // unit, pieces[0], pieces[1], pieces[2], pieces[3]


def _fields(packed: PackedSequences) -> tuple[npt.NDArray[Any], ...]:
    return packed.codes, packed.code_offsets, packed.lengths, packed.ambiguous, packed.ambiguous_offsets
