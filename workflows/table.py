"""Align sequences that are in memory, in this process: `tidalign.align`."""

from collections.abc import Iterable, Mapping, Set
from typing import Any

import pyarrow as pa

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs import subset
from tidalign.pipeline.pairs.aligner import align_batch, aligner_of, work
from tidalign.pipeline.pairs.models import PenaltiesLike
from tidalign.pipeline.pairs.pack import RecordPlace, check_letters, check_names, pack_pairs
from tidalign.pipeline.pairs.threads import on_threads, shared, threads_of
from tidalign.pipeline.schema import PAIRS
from tidalign.pipeline.whole import is_whole
from tidalign.workflows.options.nearest import named
from tidalign.workflows.options.scoring import pair_parameters
from tidalign.workflows.run.devices import of_process


@named
def align(
    queries: Any,
    targets: Any = None,
    penalties: PenaltiesLike | None = None,
    ends_free: int | tuple[int, int, int, int] | None = None,
    penalty_only: bool = False,
    ambiguous: str = "mismatch",
    device: str = "auto",
    *,
    pairs: tuple[Any, Any] | None = None,
    scoring: str | None = None,
    span: str | None = None,
    report: str | None = None,
    alphabet: str = "",
    zdrop: int | None = None,
    end_bonus: int = 0,
    band: int | None = None,
    strand: str = "plus",
    heuristic: str | None = None,
    threads: int | None = 1,
) -> pa.Table:
    """Align query i with target i, or those that `pairs` names: a pyarrow.Table in `schema.ALIGNMENTS`, one row for each pair, in order.

    queries, targets: lists, arrays or Series of sequences (str, bytes, or what has bytes(), as Bio.Seq); or Arrow arrays of any string or binary type; or one
    table (of Arrow, pandas or polars) with the columns `query` and `target` and, if there are any, `query_name` and `target_name`. Names are the pair's number
    from 0 otherwise.
    pairs: (i, j), arrays of whole numbers: align query i[k] with target j[k] for each k, any of them any number of times; there may then be more of one side
    than of the other. A row's `ordinal` is k. Letters are read and packed once; by scores they are aligned where they lie, by penalties those of a batch are
    copied packed.
    penalties: text as of `PairParameters`; a tuple, the model's name and its numbers: ("affine", 4, 6, 2); or `Affine(4, 6, 2)` (which None is), `Edit()`,
    `Linear(4, 2)`, `TwoPiece(4, 6, 2, 24, 1)`, of `tidalign` too. ends_free: as there; one number is for all ends.
    scoring: text as `match:2,mismatch:-4,gap:4,2` or `blosum62,gap:11,1`, to align by scores in place of penalties; with it span (None: local), report
    (None: cigar), alphabet, zdrop, end_bonus and band, see `ScoreParameters`.
    penalty_only, ambiguous, strand, heuristic: see `PairParameters`. device: `cpu`, `gpu` for the current CUDA device, or `auto`, which is that where there is
    one and the work is worth its start. threads: that align on cores; None: one for each core. The rows are the same on all and for any number.

    Raises ValueError for parameters that make no sense and numbers of pairs that are not there, TypeError for other shapes, NoWorkers where there is no usable
    GPU for `gpu`, and InputError, a ValueError, for letters that are no DNA (U and X are none) and for nulls, naming the record (counted from 1).

    >>> align(["ACGT"], ["AGT"])["cigar"].to_pylist()
    ['1=1I2=']
    """
    count = threads_of(threads)
    penalised: dict[str, Any] = {"penalties": penalties, "ends_free": ends_free, "penalty_only": penalty_only, "heuristic": heuristic}
    scored: dict[str, Any] = {"span": span, "report": report, "alphabet": alphabet, "zdrop": zdrop, "end_bonus": end_bonus, "band": band}
    parameters = pair_parameters(scoring, ambiguous, strand, **penalised, **scored)
    aligner = aligner_of(parameters)
    names: dict[str, Any] = {}
    if targets is None:
        columns = columns_of(queries, ("query", "target"), ("query_name", "target_name"))
        names = {name: names_of(columns[name], name) for name in ("query_name", "target_name") if name in columns}
        queries, targets = columns["query"], columns["target"]
    query, target = (sequences(letters, side, parameters.alphabet) for letters, side in ((queries, "queries"), (targets, "targets")))
    if pairs is not None:
        chosen = subset.checked(pairs, len(query), len(target))
        sides = [
            subset.side(letters, names.get(f"{role}_name"), role, ambiguous, plain=parameters.plain) for letters, role in ((query, "query"), (target, "target"))
        ]
        lengths = [table[f"{role}_length"].to_numpy()[numbers] for table, role, numbers in zip(sides, ("query", "target"), chosen, strict=True)]
        on = of_process(device, lambda: float(aligner.work(*lengths).sum()))
        return subset.align(aligner, sides[0], sides[1], chosen, parameters, on, count)
    if len(query) != len(target):
        raise ValueError(f"expected as many targets as queries, found {len(query)} queries and {len(target)} targets")
    ordinals = pa.array(range(len(query)), pa.int64())
    rows = {"ordinal": ordinals, "query_name": ordinals.cast(pa.string()), "target_name": ordinals.cast(pa.string()), "query": query, "target": target}
    chunk = pack_pairs(pa.table(rows | names).cast(PAIRS), ambiguous=ambiguous, file="pairs", plain=parameters.plain)
    weights = work(aligner, chunk)
    on = of_process(device, lambda: float(weights.sum()))
    tables = on_threads(lambda start, stop: align_batch(aligner, chunk.slice(start, stop - start), parameters, on), shared(weights, on, count), on, count)
    return pa.concat_tables([aligner.schema.empty_table(), *tables]).combine_chunks()


def columns_of(given: Any, needed: tuple[str, ...], others: tuple[str, ...], place: str = "") -> dict[str, Any]:
    """Give the columns of a table that are needed, and others if they are there, by name; of a pandas DataFrame or a polars one as those have them. ValueError,
    which begins with `place`, for those that are missing or there twice."""
    if isinstance(given, pa.Table | pa.RecordBatch):
        names: list[Any] = given.schema.names
    elif hasattr(given, "columns") and hasattr(given, "__getitem__"):
        names = list(given.columns)
    else:
        raise TypeError(f"expected two lists of sequences, or one table with the columns query and target, found {type(given).__name__} alone")
    if not set(needed) <= set(names):
        raise ValueError(f"{place}expected a table with the column{'s' * (len(needed) > 1)} {' and '.join(needed)}, found {', '.join(map(str, names))}")
    if twice := next((name for name in (*needed, *others) if names.count(name) > 1), None):
        raise ValueError(f"{place}expected one column {twice!r}, found columns {', '.join(map(str, names))}; rename or drop one of them")
    return {name: given[name] for name in (*needed, *others) if name in names}


def names_of(values: Any, column: str) -> Any:
    """Check names and make a string array of them, none of them null."""
    return check_names(_array(values, column, "a name", "name every record, or leave the column out"), RecordPlace(column, 0))


def sequences(values: Any, side: str, alphabet: str) -> Any:
    """Check letters of an alphabet and make a large_binary array of them. TypeError for what is no list, array or Series: of some the order is nobody's, others
    would be read as the names that they go by."""
    kind = type(values).__name__
    if isinstance(values, str | bytes | bytearray):
        raise TypeError(f"{side}: expected a list of sequences, found one {kind}")
    if isinstance(values, Mapping):
        raise TypeError(f"{side}: expected a list of sequences, found a {kind}; give list(d.values()), or a table, which may have names")
    if isinstance(values, Set):
        raise TypeError(f"{side}: expected a list of sequences, found a {kind}, which has no order; give a list")
    if isinstance(values, pa.Table | pa.RecordBatch) or hasattr(values, "columns"):
        raise TypeError(f"{side}: expected a list of sequences, found a table ({kind}); give one of its columns, or the table alone")
    if not (isinstance(values, Iterable) or hasattr(values, "to_arrow")):
        raise TypeError(f"{side}: expected a list of sequences, found {kind}")
    return check_letters(_array(values, side), None, RecordPlace(side, 0, alphabet=alphabet))


def _array(values: Any, side: str, expected: str = "a sequence", way_out: str = "leave such pairs out") -> Any:
    """Make a large_binary array without nulls, of texts, or for names of what can be one."""
    if hasattr(values, "to_arrow"):  # a Series of polars
        values = values.to_arrow()
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    array = values if isinstance(values, pa.Array) else pa.array([_bytes(value, row, side, expected) for row, value in enumerate(values)], pa.large_binary())
    if pa.types.is_integer(array.type) and expected == "a name":
        array = array.cast(pa.string())
    try:
        array = array.cast(pa.large_binary())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise InputError(side, f"{expected} in each record, texts or bytes", f"values of type {array.type}", "convert them", record=1) from None
    # A dictionary's values may be null, too, which shows only now.
    if array.null_count:
        raise InputError(side, expected, "null", way_out, record=array.is_null().index(True).as_py() + 1)
    return array


def _bytes(value: Any, row: int, side: str, expected: str) -> bytes | None:
    """Give one value as bytes; None for the nulls of Python, NumPy and pandas, of which none is equal to itself but None."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise InputError(side, f"{expected} in letters", f"{value[error.start]!r} at position {error.start + 1}", "remove it", record=row + 1) from None
    if value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value):
        return None
    if expected == "a name" and is_whole(value):
        return str(value).encode()
    if isinstance(value, bytearray | memoryview) or (hasattr(value, "__bytes__") and not hasattr(value, "dtype")):
        return bytes(value)
    raise InputError(side, f"{expected}, as str or bytes", f"{type(value).__name__}", "convert it", record=row + 1)
