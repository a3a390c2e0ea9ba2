"""The alignment stage: a table of packed pairs in, a table of alignments out."""

from typing import Any, Literal

import numpy as np
import pyarrow as pa

from tidalign.kernels import wavefront
from tidalign.kernels.alignments import cigar_text
from tidalign.kernels.penalties import Penalties
from tidalign.pipeline.pack import packed
from tidalign.pipeline.parameters import PairParameters
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.work import cuts, work

Device = Literal["cpu", "gpu"]

BATCH_WORK = {"cpu": 1e8, "gpu": 1e10}
"""Estimated wavefront cells of a batch: under a second of one core or one card; what a crash can be blamed on."""

BATCH_ROWS = {"cpu": 65_536, "gpu": 1 << 20}


def longest(chunk: Any) -> int:
    """Letters of the longest sequence of a table in `schema.CHUNK`."""
    return max((int(chunk[f"{side}_length"].to_numpy().max()) for side in ("query", "target") if len(chunk)), default=0)


def batches(chunk: Any, device: Device = "cpu") -> list[tuple[int, int]]:
    """Consecutive row ranges of a table in `schema.CHUNK`, each one call of the kernels."""
    return cuts(work(chunk["query_length"].to_numpy(), chunk["target_length"].to_numpy()), BATCH_WORK[device], BATCH_ROWS[device])


def _kernels(device: Device) -> Any:
    if device == "cpu":
        return wavefront.align
    from tidalign.kernels import wavefront_device

    return wavefront_device.align


def align_batch(chunk: Any, parameters: PairParameters, device: Device = "cpu") -> Any:
    """Align every pair of a table in `schema.CHUNK`: a table in `schema.ALIGNMENTS` with the same rows in the same order, whatever the device."""
    alignments = _kernels(device)(
        packed(chunk, "query"),
        packed(chunk, "target"),
        Penalties.parse(parameters.penalties),
        ends_free=parameters.ends_free,
        cigar=not parameters.penalty_only,
        ambiguous="match" if parameters.ambiguous == "match" else "mismatch",
    )
    rows = len(chunk)
    cigar = pa.nulls(rows, pa.string())
    if not parameters.penalty_only:
        text, offsets = cigar_text(alignments)
        wide = pa.Array.from_buffers(pa.large_string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(text)])
        cigar = wide.cast(pa.string())
    return pa.table(
        {
            "ordinal": chunk["ordinal"],
            "query_name": chunk["query_name"],
            "query_length": chunk["query_length"],
            "query_start": alignments.query_start,
            "query_end": alignments.query_end,
            "target_name": chunk["target_name"],
            "target_length": chunk["target_length"],
            "target_start": alignments.target_start,
            "target_end": alignments.target_end,
            "penalty": alignments.penalty,
            "cigar": cigar,
            "status": pa.array(np.full(rows, "exact", dtype=object), pa.string()),
            "reason": pa.nulls(rows, pa.string()),
        },
        schema=ALIGNMENTS,
    )
