"""Search sequences that are in memory, in this process: `tidalign.search`."""

from typing import Any

import pyarrow as pa

from tidalign.kernels.local.memory import MAX_LETTERS
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.scored import WORK_PER_CELL
from tidalign.pipeline.schema import SEARCH_HITS
from tidalign.pipeline.search import database as databases
from tidalign.pipeline.search.hits import LoadedSlice
from tidalign.pipeline.search.hits import search as search_slice
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.search.records import COLUMN, NAME, empty_database
from tidalign.pipeline.search.records import sequences as packed
from tidalign.pipeline.search.statistics import DatabaseSize
from tidalign.workflows.options.nearest import named
from tidalign.workflows.options.scoring import read_scoring
from tidalign.workflows.run.devices import of_process
from tidalign.workflows.table import columns_of, names_of, sequences


@named
def search(
    queries: Any,
    database: Any,
    top: int = 10,
    *,
    min_score: int = 1,
    strand: str = "",
    scoring: str = "",
    alphabet: str = "",
    span: str = "local",
    report: str = "cigar",
    ambiguous: str = "mismatch",
    device: str = "auto",
) -> pa.Table:
    """Find the best hits of every query in a database: a pyarrow.Table in `schema.SEARCH_HITS`, queries in order and of each the best first.

    queries, database: lists, arrays or Series of sequences, as `align` takes them; or a table with the columns `sequence` and, if there is one,
    `name`. Names are numbers from 0 otherwise. device: `cpu`, `gpu` for this process's first, or `auto`, which is
    that where there is one and the work is worth its start. All else: see `SearchParameters`. A query without a hit has
    no row. `search_files` does the same of files.

    Raises ValueError for parameters that make no sense, NoWorkers where there is no usable GPU for `gpu`, and InputError, a ValueError, for letters that are
    not of the alphabet, nulls and an empty database.

    >>> search(["GATTACA"], ["CCGATTACACC", "TTTT"], min_score=10)["target_start"].to_pylist()
    [2]
    """
    parameters = SearchParameters(read_scoring(scoring, alphabet), alphabet, span, report, ambiguous, top=top, min_score=min_score, strand=strand)
    query, target = (_side(given, role, parameters.alphabet) for given, role in ((queries, "queries"), (database, "database")))
    letters = databases.letters_of(target)
    if not letters:
        raise empty_database("database")
    work = WORK_PER_CELL * letters * len(parameters.strands) * int(query["length"].to_numpy().sum())
    on = of_process(device, lambda: work)
    tables = [search_slice(query, LoadedSlice.of(target, DatabaseSize(letters, len(target)), parameters, on.name), parameters)]
    return pa.concat_tables([SEARCH_HITS.empty_table(), *tables]).combine_chunks()


def _side(given: Any, role: str, alphabet: str) -> Any:
    names = None
    if isinstance(given, pa.Table | pa.RecordBatch) or (hasattr(given, "columns") and hasattr(given, "__getitem__")):
        columns = columns_of(given, (COLUMN,), (NAME,), f"{role}: ")
        names = names_of(columns[NAME], NAME) if NAME in columns else None
        given = columns[COLUMN]
    table = packed(names, sequences(given, role, alphabet), 0)
    longest = int(table["length"].to_numpy().max(initial=0))
    if longest > MAX_LETTERS:
        raise InputError(role, f"sequences of at most {MAX_LETTERS:,} letters", f"{longest:,}", "cut it")
    return table
