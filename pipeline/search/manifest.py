"""Tell what a run of a search is over: its database in slices, its queries in chunks; pack both, and write manifest.json when they are there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

from tidalign.kernels.local.memory import memory
from tidalign.pipeline import device
from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.files.sniff import Input, sniff
from tidalign.pipeline.pairs.scored import coding_of
from tidalign.pipeline.search import database as databases
from tidalign.pipeline.search.database import Database, SliceRecord
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.search.records import empty_database, is_index, records
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import nearest, open_table, write_table
from tidalign.pipeline.store.layout import SEARCH

CHUNK_CELLS = 4e12
"""Cells of a chunk of queries and the largest slice, at most: a second of a GPU. Cores take ranges of it."""

CHUNK_QUERIES = 4096

CHUNK_HITS = 1 << 17
"""Hits of a chunk in all slices, at most: those who read results hold them in memory."""

OnProgress = Callable[[str, int, int | None], None]


@dataclass(frozen=True, slots=True)
class Queries:
    """Say of a chunk of queries: its name, ordinal of the first, how many there are, their letters, and those of the longest."""

    id: str
    first: int
    queries: int
    letters: int
    longest: int


@dataclass(frozen=True, slots=True)
class SearchManifest(rundir.Manifest):
    """Hold what manifest.json says of a search: the packed database, and the chunks of queries in the order of the input."""

    database: Database
    queries: tuple[Queries, ...]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        section = values[SEARCH.kind]
        parameters = SearchParameters.from_json(values["parameters"])
        queries = tuple(Queries(**each) for each in section["queries"])
        return cls(values["run"], parameters, values["source"], values["chunks"], Database.from_json(section["database"]), queries)

    def parts_of(self, queries: Queries) -> Iterator[tuple[str, int]]:
        """Give the chunks of these queries, one for each slice: its name, and the number of the slice."""
        return ((f"{queries.id}-d{number:05d}", number) for number in range(len(self.database.slices)))

    def halves(self, chunk: str) -> tuple[Queries, int]:
        """Give the queries and the number of the slice that a chunk is of."""
        queries, _, number = chunk.partition("-d")
        return self.queries[int(queries[1:])], int(number)

    def slice_of(self, number: int) -> SliceRecord:
        """Give a slice of the database."""
        return self.database.slices[number]


Check = Callable[[str, SearchManifest], None]
"""Looks at what was read, given the run directory, and may refuse it before anything is searched: raises InputError."""


DATABASE = "database/sequences.parquet"
"""Where a run has its own."""


def queries_path(directory: str, chunk: str) -> str:
    """Name the file of a chunk of queries."""
    return f"{directory}/queries/{chunk}.parquet"


def read_queries(directory: str, chunk: str) -> Any:
    """Read a chunk of queries: a table in `schema.SEQUENCES`. Damaged where its file is not what was written."""
    return nearest(directory, f"queries/{chunk}.parquet", open_table).read()


def read_slices(directory: str, manifest: SearchManifest, numbers: Sequence[int]) -> Any:
    """Read slices of the database, one after the other. Damaged where its file is not what was written; InputError where it is an index that has changed."""
    if manifest.database.path:
        return _of_index(manifest.source["database"], numbers)
    return nearest(directory, DATABASE, partial(databases.read_slices, numbers=numbers))


def _of_index(source: dict[str, Any], numbers: Sequence[int]) -> Any:
    table = databases.read_index(source["path"], numbers)
    if sniff(source["path"], allow_empty=True).to_json() != source:  # looked at when all is read, so that what was read is the same
        raise InputError(source["path"], "the index that the run began with", "one that has changed since the run began", "put that back, or use --new")
    return table


def read_manifest(directory: str) -> SearchManifest:
    """Read manifest.json of a search. MissingInput while its inputs are not packed."""
    return rundir.read_manifest(directory, SearchManifest)


def packed(directory: str, queries: Input, database: Input, told: OnProgress, check: Check | None = None, threads: int = 1) -> SearchManifest:
    """Give the manifest of a run whose sides are packed: what is missing of them is made, the database read by so many threads. The caller holds the
    directory's lock."""
    most = None
    if rundir.has_manifest(directory):
        manifest = read_manifest(directory)
        most = max((each.queries for each in manifest.queries), default=None)  # so that chunks, of which there may be parts, are the same again
        here = [queries_path(directory, each.id) for each in manifest.queries]
        here += [] if manifest.database.path else [f"{directory}/{DATABASE}"]  # an index may be gone when the run is finished
        if all(Path(path).exists() for path in here):
            return manifest
    parameters = SearchParameters.from_json(rundir.read_plan(directory)["parameters"])
    target = _database(directory, database, parameters, told, threads)
    chunks = list(_queries(directory, queries, target, parameters, told, most or _most_queries(target, parameters)))
    plain = Database("", target.alphabet, target.slices) if not is_index(database) else target
    names = {f"{each.id}-d{number:05d}": each.queries for each in chunks for number in range(len(target.slices))}
    section = {"database": plain.to_json(), "queries": [{name: getattr(each, name) for name in Queries.__slots__} for each in chunks]}
    checked = None if check is None else partial(check, directory)
    manifest = rundir.write_manifest(directory, SearchManifest, names, section, checked)
    rundir.journal(directory, "packed", queries=sum(each.queries for each in chunks), sequences=target.sequences, letters=target.letters)
    return manifest


def _database(directory: str, source: Input, parameters: SearchParameters, told: OnProgress, threads: int) -> Database:
    """Pack the database, unless it is packed."""
    if is_index(source):
        found = databases.open_index(source.path)
        if found.alphabet != parameters.alphabet:
            raise InputError(source.path, f"an index of {parameters.alphabet}", f"one of {found.alphabet}", "give scores of its letters, or index another file")
        return found
    path = f"{directory}/{DATABASE}"
    databases.pack(path, _told(records(source, parameters.alphabet, threads), "database", told), parameters.alphabet, forced=source.stream)
    try:
        return databases.open_database(path)
    except InputError as error:  # it says so of the packed file
        raise empty_database(source.path) from error


def _most_queries(database: Database, parameters: SearchParameters) -> int:
    """Count the queries of a chunk, at most."""
    hits = parameters.hits(database.sequences) * len(database.slices)  # who searches does not matter: chunks are the same for all
    return min(CHUNK_QUERIES, max(1, int(CHUNK_HITS / hits)))


def _queries(directory: str, source: Input, database: Database, parameters: SearchParameters, told: OnProgress, most: int) -> Iterator[Queries]:
    """Write the chunks of the queries, each of so many at most."""
    largest = max(each.letters for each in database.slices) * len(parameters.strands)
    tables = _told(_bounded(records(source, parameters.alphabet), source, database, parameters), "queries", told)
    for number, table in enumerate(databases.cut(tables, max(1, int(CHUNK_CELLS / largest)), most)):
        name = f"q{number:05d}"
        write_table(queries_path(directory, name), table, forced=source.stream)  # what a disk lost is read again
        lengths = table["length"].to_numpy()
        yield Queries(name, table["ordinal"][0].as_py(), len(table), int(lengths.sum()), int(lengths.max()))


def _bounded(tables: Iterator[Any], source: Input, database: Database, parameters: SearchParameters) -> Iterator[Any]:
    """Pass the tables of queries on. InputError for a query whose alignment with the longest sequence needs more memory than this process may use."""
    most, longest = device.memory(), 0
    coding = coding_of(parameters)
    for table in tables:
        lengths = table["length"].to_numpy()
        row = int(lengths.argmax()) if len(table) else 0
        if len(table) and lengths[row] > longest:
            longest = int(lengths[row])
            needed = memory(coding, longest, database.longest, traced=parameters.report != "score", local=parameters.span == "local")
            if needed > most:
                found = f"{longest:,} in {shown(table['name'][row].as_py())}, which need {needed / 1e9:,.0f} GB beside {database.longest:,} of the database"
                way_out = "cut it, or leave the places out with --report score"
                raise InputError(
                    source.path, f"letters that {most / 1e9:,.0f} GB of memory suffice for", found, way_out, record=table["ordinal"][row].as_py() + 1
                )
        yield table


def _told(tables: Iterator[Any], stage: str, told: OnProgress) -> Iterator[Any]:
    """Give the same tables, and tell how many sequences were read."""
    done = 0
    told(stage, done, None)
    for table in tables:
        yield table
        done += len(table)
        told(stage, done, None)
