# mypy: allow-untyped-defs, allow-untyped-calls, allow-untyped-decorators
"""Survey anchors before a walk comes there, and extend between fences those that need it: what threads do, compiled."""

import numpy as np

from tidalign.kernels.commit.host import DIAGONAL_BITS, OFF, ON, PLACE_BITS, STANDS, due, meets_any
from tidalign.kernels.extension.host import LEFT_ROWS, NO_SCORE, SCORE, VISITED, extend_anchor
from tidalign.kernels.gapped.speculated import ABOVE, UNKNOWN
from tidalign.kernels.runtime.numba_cache import jit


@jit
def look_over(kept, fence, holes, t, q, known, boxes, free, survey, i, stop):
    """Note of the anchors [i, stop), UNSEEN so far, what a survey says of them; those on kept alignments are ON, of those UNKNOWN nothing is noted."""
    for j in range(i, stop):
        if known[j] == UNKNOWN:
            continue
        meets, on = meets_any(kept, t, q, known, boxes, survey, j)
        if on:
            known[j] = ON
        elif not meets or (known[j] == ABOVE and not due(kept, fence, holes, t, q, known, free, survey.seen, j)[0]):
            survey.seen[j] = STANDS
        else:
            survey.seen[j] = OFF
        survey.since[j] = kept.counts[1]


@jit
def wanted(kept, t, q, known, boxes, survey, made, i, stop, room):
    """List anchors of [i, stop) that are probably to be extended between what is kept now, int64[at most `room`].

    made: bool[n], those that were listed, which are left out; so is what may lie on one alignment with another of the list. Those on kept alignments are
    marked.
    """
    found, cells = np.empty(room, np.int64), np.empty(room, np.int64)
    n = 0
    while i < stop and n < room and known[i] != UNKNOWN:
        if not made[i] and known[i] != ON:
            meets, on = meets_any(kept, t, q, known, boxes, survey, i)
            if on:
                known[i] = ON
            elif meets:
                cell = ((t[i] >> PLACE_BITS) << 32) + ((t[i] - q[i]) >> DIAGONAL_BITS)
                alone = True
                for j in range(n):
                    alone = alone and cells[j] != cell
                if alone:
                    found[n], cells[n] = i, cell
                    made[i] = True
                    n += 1
        i += 1
    return found[:n].copy()


@jit
def extend_listed(parts, result, null, kept, fence, holes, t, q, known, free, survey, made, listed, limits, first, i, stop, threshold):
    """Extend between what is kept the anchors listed[i:stop], up to one that reaches the threshold; what is found is written to rows `first` + i of `made`.

    parts, result, null: as `Extender.parts` gives them. limits: int64[., 4], of each listed anchor's sequences. One whose free extension stands is not
    extended; the survey tells so. Returns after which anchor this is, whether that one reaches the threshold, and its operations and their lengths.
    """
    work, spare, state, target, query, classes, scores, costs = parts
    while i < stop:
        anchor, row = listed[i], first + i
        extend, left, right = due(kept, fence, holes, t, q, known, free, survey.seen, anchor)
        if extend:
            place, sequences = (t[anchor], q[anchor], left, right), (limits[i, 0], limits[i, 1], limits[i, 2], limits[i, 3])
            ops, lengths, _, _ = extend_anchor(
                work, spare, state, target, query, place, sequences, classes, scores, costs, kept, fence, holes, True, False, result, null
            )
            made.beside[row, 0], made.beside[row, 1], made.kept[row], made.cells[row] = left, right, kept.counts[1], result[VISITED]
            for slot in range(4):
                made.boxes[row, slot] = result[LEFT_ROWS + slot]
            made.found[row] = result[SCORE] != NO_SCORE and result[SCORE] >= threshold
            made.row[anchor] = row
            if made.found[row]:
                return i + 1, True, ops, lengths
        else:
            survey.since[anchor] = kept.counts[1]
        i += 1
    return i, False, np.empty(0, np.uint8), np.empty(0, np.int64)
