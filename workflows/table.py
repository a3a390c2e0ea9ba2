"""Align sequences that are in memory, in this process: `tidalign.align`."""

from typing import Any

import pyarrow as pa

from tidalign.cluster.gpus import usable
from tidalign.pipeline.device import DEVICES, DeviceName
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.aligner import WAVEFRONT, PairParameters, align_batch, batches
from tidalign.pipeline.pairs.pack import Place, check_letters, pack_pairs
from tidalign.pipeline.schema import PAIRS


def align(
    queries: Any,
    targets: Any = None,
    penalties: str = "affine:4,6,2",
    ends_free: tuple[int, int, int, int] | None = None,
    penalty_only: bool = False,
    ambiguous: str = "mismatch",
    device: DeviceName = "cpu",
) -> Any:
    """Align query i with target i: a pyarrow.Table in `schema.ALIGNMENTS`, one row for each pair, in order.

    queries, targets: lists of str or bytes, or Arrow arrays of any string or binary type; or one Arrow table (or record batch) with the columns `query` and
    `target` and, if there are any, `query_name` and `target_name`. Names are the pair's number from 0 otherwise.
    penalties, ends_free, penalty_only, ambiguous: see `PairParameters`.
    device: `cpu`, or `gpu` for the current CUDA device; the rows are the same.

    Raises ValueError for parameters that make no sense, NoWorkers where there is no usable GPU for `gpu`, and InputError for letters that are no DNA, naming
    the record (counted from 1).

    >>> align(["ACGT"], ["AGT"])["cigar"].to_pylist()
    ['1=1I2=']
    """
    if device not in DEVICES:
        raise ValueError(f"device {device!r}: expected {' or '.join(map(repr, DEVICES))}")
    on = DEVICES[device]
    if on.takes_gpu:
        usable(1)
    parameters = PairParameters(penalties=penalties, ends_free=ends_free, penalty_only=penalty_only, ambiguous=ambiguous)
    names: dict[str, Any] = {}
    if targets is None:
        if not isinstance(queries, pa.Table | pa.RecordBatch):
            raise TypeError(f"expected two lists of sequences, or one Arrow table with the columns query and target, found {type(queries).__name__} alone")
        missing = [side for side in ("query", "target") if side not in queries.schema.names]
        if missing:
            raise ValueError(f"expected a table with the columns query and target, found {', '.join(queries.schema.names)}")
        names = {name: queries[name] for name in ("query_name", "target_name") if name in queries.schema.names}
        queries, targets = queries["query"], queries["target"]
    query, target = _sequences(queries, "queries"), _sequences(targets, "targets")
    if len(query) != len(target):
        raise ValueError(f"expected as many targets as queries, found {len(query)} queries and {len(target)} targets")
    ordinals = pa.array(range(len(query)), pa.int64())
    columns = {"ordinal": ordinals, "query_name": ordinals.cast(pa.string()), "target_name": ordinals.cast(pa.string()), "query": query, "target": target}
    chunk = pack_pairs(pa.table(columns | names).cast(PAIRS), ambiguous=ambiguous, file="pairs")
    tables = [align_batch(WAVEFRONT, chunk.slice(start, stop - start), parameters, on) for start, stop in batches(WAVEFRONT, chunk, on)]
    return pa.concat_tables([WAVEFRONT.schema.empty_table(), *tables]).combine_chunks()


def _sequences(values: Any, side: str) -> Any:
    """A large_binary array of DNA letters."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{side}: expected a list of sequences, found one {type(values).__name__}")
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    # Element by element: Arrow would take the buffer of a NumPy array of text for bytes.
    array = values if isinstance(values, pa.Array) else pa.array(list(values), pa.large_binary())
    if array.null_count:
        raise InputError(side, "a sequence", "null", "leave such pairs out", record=array.is_null().index(True).as_py() + 1)
    return check_letters(array.cast(pa.large_binary()), None, Place(side, 0))
