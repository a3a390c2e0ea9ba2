"""Alignment of pairs by scores: local, with free ends, global, or extension from the corner; any matrix, gaps of one or two pieces."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.local.bars import Bars
from tidalign.kernels.local.choices import REPORTS, SPANS
from tidalign.kernels.local.coding import Batch, Coded, Coding
from tidalign.kernels.local.columns import by_letters
from tidalign.kernels.local.memory import BLOCK_BYTES, MAX_LETTERS, window
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import Alignments

GROUP_BYTES = 1 << 28
"""Memory of a group from which on its pairs are aligned one by one, each by all lanes."""

ALONG_COST, ALONG_SAVES = 1.25, 1e7
"""Weigh a vector of cells where lanes have strips of one pair against one where they have pairs; and say how many vectors (0.2 s) all calls of this process
would have gained before pairs are aligned so: by kernels of their own, which are compiled once."""

SHARED_PAIRS = 256
"""Pairs of one query from which on all lanes share its scores: a kernel of its own, which must be worth its compilation."""

BYTES_CELLS = 2e9
"""Cells of all calls of this process (0.2 s) from which on a kernel of 8 bits that is not compiled ahead is worth its compilation."""

Integers = npt.NDArray[np.int64]


def align(
    queries: Batch,
    targets: Batch,
    scoring: Substitution,
    *,
    span: str = "local",
    report: str = "cigar",
    ambiguous: str = "mismatch",
    zdrop: int | None = None,
    end_bonus: int = 0,
    band: int | None = None,
) -> Alignments:
    """Align query i with target i on one core, without the interpreter lock: `score`, places and operations.

    span: what must lie in the alignment: nothing (`local`), all of the query or of the target (`query`, `target`), a begin and an end of one of them
    (`overlap`), all of both (`global`), or the first letters of both (`extension`). report: `score` (places are 0), `ends`, or `cigar`.
    zdrop, end_bonus, band: of an extension (extension.py). ambiguous: what a DNA letter other than ACGT equals where the matrix has no N.

    Of ends with the highest score counts the one with the smallest target end, then the smallest query end. The way back from there takes at each cell the
    first of diagonal, I2, I1, D2, D1 that gives its score, stays in a gap where staying and opening give the same, and ends, if local, at the first score of 0.
    A pair without a score above 0 has no local alignment: score 0 and places 0.
    With a band, ends are those of its cells. A CIGAR is the best alignment up to there, which may leave the band: `score` is then the CIGAR's, not the band's.
    Raises ValueError for batches that do not fit each other, MemoryError where a pair needs more than there is.
    """
    if len(queries) != len(targets):
        raise ValueError(f"as many queries as targets are needed, not {len(queries)} and {len(targets)}")
    letters = Coding(scoring, ambiguous)
    return align_coded(letters.coded(queries, 0), letters.coded(targets, 1), letters, span=span, report=report, zdrop=zdrop, end_bonus=end_bonus, band=band)


def align_coded(
    query: Coded,
    target: Coded,
    letters: Coding,
    *,
    span: str = "local",
    report: str = "cigar",
    zdrop: int | None = None,
    end_bonus: int = 0,
    band: int | None = None,
    bars: Bars | None = None,
) -> Alignments:
    """Align as `align` does sequences that `letters` has coded: many calls share what is coded once.

    bars: of local pairs of which scores alone are asked for; of one that does not come to its bar any score below it is said.
    """
    from tidalign.kernels.local import extension

    if span not in SPANS or report not in REPORTS:
        raise ValueError(f"expected a span of {', '.join(SPANS)} and a report of {', '.join(REPORTS)}, not {span!r} and {report!r}")
    longest = max(int(side.lengths.max(initial=0)) for side in (query, target))
    if longest > MAX_LETTERS:
        raise MemoryError(f"a sequence of {longest:,} letters: pairs have at most {MAX_LETTERS:,} on a side")
    if span != "extension":
        return _Work(letters, query, target, span, report, bars).alignments()
    score, ends = extension.ends(query, target, letters, zdrop, end_bonus, band)
    heuristic = zdrop is not None or band is not None
    if report != "cigar":
        none, keep = np.zeros(len(query.lengths), np.int64), report == "ends"
        return Alignments(none, none, ends[0] * keep, none, ends[1] * keep, score=score, placed=keep, heuristic=heuristic)
    inside = [replace(side, lengths=lengths) for side, lengths in ((query, ends[0]), (target, ends[1]))]
    return replace(_Work(letters, inside[0], inside[1], "global", report).alignments(), heuristic=heuristic)


def span_flags(span: str) -> int:
    """Say where an alignment of a span may begin and end, in the flags of host.py."""
    from tidalign.kernels.local import host

    return {
        "local": host.BEGIN_QUERY | host.BEGIN_TARGET,
        "query": host.BEGIN_TARGET | host.END_QUERY,
        "target": host.BEGIN_QUERY | host.END_TARGET,
        "overlap": host.BEGIN_QUERY | host.BEGIN_TARGET | host.END_QUERY | host.END_TARGET,
        "global": host.END_CORNER,
    }[span]


class _Work:
    """Take pairs on their way to `Alignments`. gain: vectors of cells that this process would have saved, one pair by one; cells: that it scored alone."""

    gain, cells = 0.0, 0.0

    def __init__(self, letters: Coding, query: Coded, target: Coded, span: str, report: str, bars: Bars | None = None) -> None:
        self._letters, self._query, self._target = letters, query, target
        self._local, self._keep, self._report = span == "local", report != "score", report
        self._span = span_flags(span)
        n, m = query.lengths, target.lengths
        self._bars = bars or Bars.none(len(n))
        self._found = np.zeros((5, len(n)), np.int64)
        room = np.cumsum(n + m + 1) if self._keep else np.zeros(len(n), np.int64)
        self._ends = np.stack([room, room], axis=1)
        self._cigar = np.empty(int(room[-1]) if len(room) else 0, np.uint32)

    def alignments(self) -> Alignments:
        """Align all pairs, those that need more than 16 bits after the others."""
        from tidalign.kernels.local import walk

        narrow = self._narrow()
        self._align(np.flatnonzero(narrow & ~self._scored_in_bytes(narrow)), 16)
        over = narrow & (self._found[0] >= 0xFFFF) & self._local
        self._ends[over, 0] = self._ends[over, 1]
        wide = ~narrow | over
        fits = self._fits()
        self._align(np.flatnonzero(wide & fits), 32)
        self._align(np.flatnonzero(wide & ~fits), 64)
        score, query_start, query_end, target_start, target_end = self._found
        if not self._keep:
            query_start = query_end = target_start = target_end = np.zeros(len(score), np.int64)
        found = Alignments(np.zeros(len(score), np.int64), query_start, query_end, target_start, target_end, score=score, placed=self._keep)
        if self._report != "cigar":
            return found
        offsets = np.zeros(len(score) + 1, np.int64)
        np.cumsum(self._ends[:, 1] - self._ends[:, 0], out=offsets[1:])
        operations = np.empty(int(offsets[-1]), np.uint32)
        walk.gathered(self._cigar, self._ends, offsets, operations)
        return by_letters(replace(found, cigar=operations, cigar_offsets=offsets), *map(self._letters.spelled, (self._query, self._target)))

    def _narrow(self) -> npt.NDArray[np.bool_]:
        """Tell which pairs have a chance in 16 bits: local ones, which may turn out to score too much, whose columns can be counted, with those that lanes make
        behind the last, or need not be; of others those that are sure to fit."""
        from tidalign.kernels.local.lanes import PAIR_LANES

        n, m = self._query.lengths, self._target.lengths
        opened, extended = self._letters.costs[-2:]
        dearest = max(self._letters.costs)
        if self._local:
            return np.asarray(((m + PAIR_LANES <= 0xFFFF) | (not self._keep)) & bool(dearest < 1 << 14))
        lowest = 2 * opened + (n + m) * extended + 2 * dearest + 128
        highest = int(self._letters.matrix.max()) * np.minimum(n, m)
        return np.asarray((lowest < 0x7F00) & (highest < 0x7F00) & (m < 0x7FFF))

    def _fits(self) -> npt.NDArray[np.bool_]:
        """Tell which pairs are sure to fit 32 bits."""
        n, m = self._query.lengths, self._target.lengths
        lowest = (n + m + 2) * max(self._letters.costs)
        highest = int(self._letters.matrix.max()) * np.minimum(n, m)
        return np.asarray((lowest < 1 << 29) & (highest < 1 << 29))

    def _scored_in_bytes(self, narrow: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Score local pairs of which nothing else is asked in lanes of 8 bits, of which there are twice as many; tells which that was enough for."""
        from tidalign.kernels.local import scored

        done, rows = np.zeros(len(narrow), np.bool_), np.flatnonzero(narrow)
        if self._keep or not self._local or len(rows) < SHARED_PAIRS or max(self._letters.costs) > scored.MOST_COST:
            return done
        _Work.cells += float((self._query.lengths[rows] * self._target.lengths[rows]).sum())
        if _Work.cells < BYTES_CELLS and not (len(self._letters.scores) == 1 and self._query.at(rows).one):
            return done
        order = self._in_groups(rows[scored.group_bytes(self._letters, self._target.lengths[rows]) <= GROUP_BYTES])
        order = order[~self._alone(order, scored.LANES)]
        self._found[0, order] = scored.scores(self._query.at(order), self._target.at(order), self._letters, self._span, self._bars.at(order))
        done[order] = self._found[0, order] < scored.TOO_MUCH
        return done

    def _align(self, rows: Integers, bits: int) -> None:
        """Align these pairs with lanes of so many bits, one by one where a group would take too much memory, or too much time; of 64 there is one lane."""
        from tidalign.kernels.local.lanes import PAIR_LANES

        if bits == 64:
            self._groups(rows, 1, bits)
            return
        n, m = self._query.lengths[rows], self._target.lengths[rows]
        large = self._bytes(n, m, PAIR_LANES, bits) > GROUP_BYTES if self._keep else (m + 1) * PAIR_LANES * bits // 2 > GROUP_BYTES
        self._along(rows[large], bits)
        rows = rows[~large]
        order = self._in_groups(rows)
        alone = self._alone(order, PAIR_LANES)
        self._along(order[alone], bits)
        self._groups(order[~alone], PAIR_LANES, bits)

    def _in_groups(self, rows: Integers) -> Integers:
        """Sort pairs so that those of like lengths share a group: queries within an eighth, then targets by length."""
        n, m = self._query.lengths[rows], self._target.lengths[rows]
        return rows[np.lexsort((m, (8 * np.log2(n + 1)).astype(np.int64)))]

    def _alone(self, order: Integers, lanes: int) -> npt.NDArray[np.bool_]:
        """Tell which of these pairs to align one by one, as their group of so many lanes has too few, or such different ones."""
        from tidalign.kernels.local.lanes import PAIR_LANES
        from tidalign.kernels.local.lookups import STRIP_ROWS

        n, m = self._query.lengths[order], self._target.lengths[order]
        firsts = np.arange(0, len(order), lanes)
        together = np.maximum.reduceat(n, firsts) / STRIP_ROWS * np.maximum.reduceat(m, firsts)
        alone = np.add.reduceat(-(-n // (STRIP_ROWS * PAIR_LANES)) * (m + PAIR_LANES), firsts)
        saved = together - ALONG_COST * alone
        _Work.gain += float(saved[saved > 0].sum())
        return np.repeat((saved > 0) & (_Work.gain >= ALONG_SAVES), lanes)[: len(order)]

    def _bytes(self, n: Integers, m: Integers, lanes: int, bits: int) -> npt.NDArray[np.float64]:
        """Estimate what a group of pairs of these lengths takes with the way back."""
        rows = self._block(n, m, lanes, bits)
        kept = (1 + len(self._letters.costs) // 2) * bits / 8
        return np.asarray((m + 1.0) * lanes * (np.minimum(rows, n) + np.where(rows < n, n / rows, 1) * kept))

    def _block(self, n: Integers, m: Integers, lanes: int, bits: int) -> Integers:
        """Count the rows of a block: as many as fit BLOCK_BYTES, or as take as much memory as what is kept above all blocks."""
        kept = (1 + len(self._letters.costs) // 2) * bits // 8
        rows = np.maximum(BLOCK_BYTES // ((m + 1) * lanes), np.sqrt(kept * n).astype(np.int64))
        return np.asarray((rows // 8 + 1) * 8)

    def _along(self, rows: Integers, bits: int) -> None:
        """Align pairs one by one, with strips of a pair in the lanes."""
        from tidalign.kernels.local import along, lookups
        from tidalign.kernels.local.lanes import PAIR_LANES

        if not len(rows):
            return
        n, m = self._query.lengths, self._target.lengths
        height, columns = n[rows], m[rows] + 1 + 2 * PAIR_LANES
        windows = np.minimum(window(self._letters, height), m[rows]) if self._local else m[rows]
        width = windows + 1 + 2 * PAIR_LANES  # of the way back
        of_round = lookups.STRIP_ROWS * PAIR_LANES
        blocks = -(-self._block(height, width, 1, bits) // of_round) * of_round
        kinds = 1 + len(self._letters.costs) // 2
        signed = np.dtype(f"i{bits // 8}")
        buffers = (
            np.empty(kinds * int(columns.max()), signed),
            np.empty(int(columns.max()), np.uint8),
            np.empty((1 + lookups.STRIP_ROWS * kinds + 3 + kinds) * PAIR_LANES, signed),
            np.empty(lookups.STRIP_ROWS * PAIR_LANES, signed),
            np.zeros(lookups.LETTERS * PAIR_LANES, np.uint64),
            np.empty(lookups.STRIP_ROWS * PAIR_LANES, signed),
            np.empty(int((np.minimum(blocks, height + of_round) * width).max()) if self._keep else 0, np.uint8),
        )
        sides: tuple[Any, ...] = (self._query.codes, self._query.starts, self._letters.table)
        rest = (self._target.codes, self._target.starts, n, m, self._letters.same, blocks, windows, self._span, self._letters.costs, self._letters.scores)
        kept = np.empty(int(((height // blocks + 1) * width).max()) * kinds if self._keep else 0, signed)
        null = np.dtype(f"{'u' if self._local else 'i'}{bits // 8}").type(0)
        along.align_along(rows, sides, *rest, self._keep, buffers, kept, self._cigar, self._ends, self._found, null)

    def _groups(self, order: Integers, lanes: int, bits: int) -> None:
        from tidalign.kernels.local import lookups, walk

        if not len(order):
            return
        n, m = self._query.lengths, self._target.lengths
        firsts = np.arange(0, len(order), lanes)
        height, width = (np.maximum.reduceat(lengths[order], firsts) for lengths in (n, m))
        blocks = self._block(height, width, lanes, bits)
        rows = 1 + len(self._letters.costs) // 2
        cells = (width + 1) * lanes
        signed = np.dtype(f"i{bits // 8}")
        directions = int((np.minimum(blocks, height + lookups.STRIP_ROWS) * cells).max()) if self._keep else 0
        kept = int(((height // blocks + 1) * cells).max()) * rows if self._keep else 0
        buffers = (
            np.empty(int(cells.max()) * rows, signed),
            np.zeros(int(cells.max()), np.uint8),
            np.empty((1 + lookups.STRIP_ROWS * rows + 3) * lanes, signed),
            np.empty(lookups.STRIP_ROWS * lanes, signed),
            np.zeros(lookups.LETTERS * lanes, np.uint64),
            np.empty(lookups.STRIP_ROWS * lanes, signed),
            np.empty(directions, np.uint8),
        )
        sides: tuple[Any, ...] = (self._query.codes, self._query.starts, self._letters.table)
        scores = self._letters.scores
        if lookups.SHARES and not self._keep and len(scores) == 1 < lanes and len(order) >= SHARED_PAIRS and self._query.at(order).one:
            scores = scores * 3
        of_target = (self._target.codes, self._target.starts)
        rest = (*of_target, n, m, self._letters.same, blocks, self._span, self._letters.costs, scores, self._bars.arrays, self._keep)
        null = np.dtype(f"{'u' if self._local else 'i'}{bits // 8}").type(0)
        walk.align_groups(order, sides, *rest, buffers, np.empty(kept, signed), self._cigar, self._ends, self._found, null)
