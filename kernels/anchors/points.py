"""Where gapped extension starts: one place of a segment (LASTZ.md 8); and LASTZ's order of these (LASTZ.md 12)."""

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import Positions, read_only
from tidalign.kernels.ungapped.hsps import Segments


def anchor_points(target: Codes, query: Codes, segments: Segments, plain: npt.NDArray[np.int32]) -> tuple[Positions, Positions]:
    """Choose a place of each segment, on target and query, int64[n] each: the middle of one up to 31 long, else of its leftmost best window of 31.

    plain: int32[64, 64], `Scoring.plain()`. Case does not matter.
    """
    from tidalign.kernels.anchors.host import choose_points

    points = np.empty(len(segments), np.int64)
    choose_points(read_only(target), read_only(query), segments.target, segments.query, segments.length, plain.ravel(), points)
    return segments.target + points, segments.query + points


def lastz_order(target: Positions, query: Positions, score: Positions) -> npt.NDArray[np.int64]:
    """Order anchors as LASTZ extends them: by falling score, then by query place, then by target place; int64[n], places of the input.

    Where the three fit a word of 64 bits that is what is sorted, several times as fast.
    """
    if not len(score):
        return np.empty(0, np.int64)
    below = score.max() - score
    bits = [int(values.max()).bit_length() for values in (below, query, target)]
    if sum(bits) > 63:
        return np.asarray(np.lexsort((target, query, below)))
    return np.asarray(np.argsort((below << (bits[1] + bits[2])) | (query << bits[2]) | target, kind="stable"))
