"""Align a table of packed pairs by an aligner on a device: a table of alignments."""

from contextlib import suppress
from typing import Any

import pyarrow as pa

from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text
from tidalign.pipeline.cigar import counted
from tidalign.pipeline.device import Device
from tidalign.pipeline.pairs.aligner import Aligner, P
from tidalign.pipeline.pairs.pack import pack_pairs, packed
from tidalign.pipeline.pairs.work import cuts
from tidalign.pipeline.schema import COUNTS, PAIRS


def longest(chunk: Any) -> int:
    """Count the letters of the longest sequence of a table in `schema.CHUNK`."""
    return max((int(chunk[f"{side}_length"].to_numpy().max()) for side in ("query", "target") if len(chunk)), default=0)


def work(aligner: Aligner[Any], chunk: Any) -> Any:
    """Estimate the work of each pair of a table in `schema.CHUNK`: float64[n]."""
    return aligner.work(chunk["query_length"].to_numpy(), chunk["target_length"].to_numpy())


def batches(aligner: Aligner[Any], chunk: Any, device: Device) -> list[tuple[int, int]]:
    """Cut a table in `schema.CHUNK` into consecutive row ranges, each one call of the kernels."""
    return cuts(work(aligner, chunk), device.batch_work, device.batch_rows)


def alignments(aligner: Aligner[P], chunk: Any, parameters: P, device: Device) -> Alignments:
    """Align every pair of a table in `schema.CHUNK` in one call of the kernels: the same whatever the device."""
    return aligner.on(device).align(packed(chunk, "query"), packed(chunk, "target"), parameters)


def start(aligner: Aligner[P], parameters: P, device: Device) -> None:
    """Have a device and its libraries ready, which takes a second, by aligning one pair of letters. What goes wrong is met again by the first batch."""
    letters = {name: [b"A"] for name in ("query", "target")} | {name: ["start"] for name in ("query_name", "target_name")} | {"ordinal": [0]}
    with suppress(Exception):
        alignments(aligner, pack_pairs(pa.table(letters).select(PAIRS.names).cast(PAIRS)), parameters, device)


def rows(aligner: Aligner[Any], chunk: Any, found: Alignments) -> Any:
    """Make a table in the aligner's schema of the alignments of a table in `schema.CHUNK`, rows in the same order."""
    return pa.table(
        {
            "ordinal": chunk["ordinal"],
            "query_name": chunk["query_name"],
            "query_length": chunk["query_length"],
            "query_start": found.query_start,
            "query_end": found.query_end,
            "target_name": chunk["target_name"],
            "target_length": chunk["target_length"],
            "target_start": found.target_start,
            "target_end": found.target_end,
            "penalty": found.penalty,
            **_cigars(found),
            "status": pa.repeat("exact", len(chunk)),
            "reason": pa.nulls(len(chunk), pa.string()),
        },
        schema=aligner.schema,
    )


def _cigars(found: Alignments) -> dict[str, Any]:
    """Make the columns `cigar` and `COUNTS`, null where no CIGARs were asked for."""
    if found.cigar is None:
        return {name: pa.nulls(len(found), type_) for name, type_ in [("cigar", pa.string()), *COUNTS]}
    text, offsets = cigar_text(found)
    wide = pa.Array.from_buffers(pa.large_string(), len(found), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
    return {"cigar": wide.cast(pa.string()), **counted(cigar_counts(found))}


def align_batch(aligner: Aligner[P], chunk: Any, parameters: P, device: Device) -> Any:
    """Align every pair of a table in `schema.CHUNK`: a table in the aligner's schema with the same rows in the same order, whatever the device."""
    return rows(aligner, chunk, alignments(aligner, chunk, parameters, device))


def part_of(found: Alignments, start: int, stop: int) -> Alignments:
    """Take alignments [start, stop), zero copy but for offsets."""
    columns = {name: getattr(found, name)[start:stop] for name in ("penalty", "query_start", "query_end", "target_start", "target_end")}
    if found.cigar is None or found.cigar_offsets is None:
        return Alignments(**columns)
    offsets = found.cigar_offsets[start : stop + 1]
    return Alignments(**columns, cigar=found.cigar[offsets[0] : offsets[-1]], cigar_offsets=offsets - offsets[0])
