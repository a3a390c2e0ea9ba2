"""Read the CIGARs of rows of pairs again, to write them in other ways: as the words of BAM, clipped, with M for = and X."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.text import bam
from tidalign.kernels.wavefront.alignments import Alignments, cigar_text
from tidalign.pipeline.text import content_of


def cigar_words(cigars: Any, before: Any, after: Any, merged: bool) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
    """Make CIGARs as BAM has them of a column of texts without nulls, and where each row's words lie, int64[n + 1]: see `bam.operations`."""
    letters, offsets = content_of(cigars)
    words = np.empty((offsets[-1] - offsets[0]) // 2 + 2 * len(offsets), np.uint32)
    ends = np.zeros(len(offsets), np.int64)
    bam.operations(letters, offsets, *(np.ascontiguousarray(side, np.int64) for side in (before, after)), merged, words, ends)
    return words[: ends[-1]], ends


def merged_text(cigars: Any) -> Any:
    """Write CIGARs of a column as a large_string column, with M for = and X."""
    none = np.zeros(len(cigars), np.int64)
    words, ends = cigar_words(cigars, none, none, True)
    text, offsets = cigar_text(Alignments(none, none, none, none, none, cigar=words, cigar_offsets=ends))
    return pa.Array.from_buffers(pa.large_string(), len(none), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
