"""Write minimap2's tags `tp` and `de` (its manual, "OUTPUT FORMAT"; https://lh3.github.io/minimap2/minimap2.html)."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.text import joined

Numbers = npt.NDArray[np.int64]


def divergence(matches: Numbers, unlike: Numbers, openings: Numbers) -> Any:
    """Write `de`, the share of events that are no match, a gap being one whatever its length: four places, or 0 where every event matches.

    matches, unlike, openings: columns that match, columns of two letters that do not, and gaps, of each row: int64[n].
    """
    events = matches + unlike + openings
    of = np.maximum(1, 2 * events)
    parts = (2 * 10_000 * (unlike + openings) + events) // of  # ten-thousandths, rounded
    places = pc.utf8_lpad(pa.array(parts % 10_000).cast(pa.string()), 4, "0")
    text = joined(pa.array(parts // 10_000), ".", places)
    return pc.if_else(pa.array(unlike + openings == 0), pa.scalar("0", pa.large_string()), text)


def kind(first: npt.NDArray[np.bool_]) -> Any:
    """Write `tp`: P for a primary alignment, S for a secondary one."""
    return pc.if_else(pa.array(first), pa.scalar("P", pa.large_string()), pa.scalar("S", pa.large_string()))
