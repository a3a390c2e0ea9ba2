"""The alignment stage: a table of packed pairs in, a table of alignments out."""

from contextlib import suppress
from typing import Any, Literal

import pyarrow as pa

from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text
from tidalign.pipeline.cigar import counted
from tidalign.pipeline.pairs.pack import pack_pairs, packed
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.pipeline.pairs.work import cuts, work
from tidalign.pipeline.schema import ALIGNMENTS, COUNTS, PAIRS

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
    from tidalign.kernels.pairwise import wavefront_device

    return wavefront_device.align


def alignments(chunk: Any, parameters: PairParameters, device: Device = "cpu") -> Alignments:
    """Align every pair of a table in `schema.CHUNK` in one call of the kernels: the same whatever the device."""
    found: Alignments = _kernels(device)(
        packed(chunk, "query"),
        packed(chunk, "target"),
        Penalties.parse(parameters.penalties),
        ends_free=parameters.ends_free,
        cigar=not parameters.penalty_only,
        ambiguous="match" if parameters.ambiguous == "match" else "mismatch",
    )
    return found


def start(parameters: PairParameters, device: Device) -> None:
    """Have a device and its libraries ready, which takes a second, by aligning one pair of letters. What goes wrong is met again by the first batch."""
    letters = {name: [b"A"] for name in ("query", "target")} | {name: ["start"] for name in ("query_name", "target_name")} | {"ordinal": [0]}
    with suppress(Exception):
        alignments(pack_pairs(pa.table(letters).select(PAIRS.names).cast(PAIRS)), parameters, device)


def rows(chunk: Any, found: Alignments) -> Any:
    """A table in `schema.ALIGNMENTS` of the alignments of a table in `schema.CHUNK`, rows in the same order."""
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
        schema=ALIGNMENTS,
    )


def _cigars(found: Alignments) -> dict[str, Any]:
    """Make the columns `cigar` and `COUNTS`, null where no CIGARs were asked for."""
    if found.cigar is None:
        return {name: pa.nulls(len(found), type_) for name, type_ in [("cigar", pa.string()), *COUNTS]}
    text, offsets = cigar_text(found)
    wide = pa.Array.from_buffers(pa.large_string(), len(found), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
    return {"cigar": wide.cast(pa.string()), **counted(cigar_counts(found))}


def align_batch(chunk: Any, parameters: PairParameters, device: Device = "cpu") -> Any:
    """Align every pair of a table in `schema.CHUNK`: a table in `schema.ALIGNMENTS` with the same rows in the same order, whatever the device."""
    return rows(chunk, alignments(chunk, parameters, device))


def part_of(found: Alignments, start: int, stop: int) -> Alignments:
    """Alignments [start, stop), zero copy but for offsets."""
    columns = {name: getattr(found, name)[start:stop] for name in ("penalty", "query_start", "query_end", "target_start", "target_end")}
    if found.cigar is None or found.cigar_offsets is None:
        return Alignments(**columns)
    offsets = found.cigar_offsets[start : stop + 1]
    return Alignments(**columns, cigar=found.cigar[offsets[0] : offsets[-1]], cigar_offsets=offsets - offsets[0])
