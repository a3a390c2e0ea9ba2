"""Search queries in a database: the command `tidalign search` and the function behind it."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tidalign.cluster.given import SchedulerLike, scheduler_of
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.export import refuse_less
from tidalign.pipeline.search.manifest import SearchManifest, read_queries, read_slices
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.search.records import inspect
from tidalign.pipeline.search.results import SearchResults
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import SEARCH
from tidalign.workflows import running
from tidalign.workflows.options.nearest import named
from tidalign.workflows.options.scoring import read_scoring
from tidalign.workflows.progress import say
from tidalign.workflows.run.devices import DEFAULT, Resources
from tidalign.workflows.run.search.run import SearchSource, run_search
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.run.tracker import OnProgress
from tidalign.workflows.status import Exit


@named
def search_files(
    queries: str | Path,
    database: str | Path,
    *,
    out: str | Path,
    top: int = 10,
    min_score: int = 1,
    strand: str = "",
    scoring: str = "",
    alphabet: str = "",
    span: str = "local",
    report: str = "cigar",
    ambiguous: str = "mismatch",
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: SchedulerLike = None,
    insecure: bool = False,
    cpu_workers: int = 0,
    scratch: str | None = None,
    new: bool = False,
    progress: OnProgress | None = None,
) -> SearchResults:
    """Search every query in a database into the run directory `out`; the same call goes on where an earlier one was stopped.

    out: a run directory; or a file of a format (`x.m8`), written from the run directory beside it (`x.m8.run`), which the results read.
    queries, database: FASTA, FASTQ (plain, gzip, bgzip), or Parquet / Arrow with the columns `sequence` and `name`; the database may be an index.
    top, min_score, strand, scoring, alphabet, span, report, ambiguous: see `SearchParameters`.
    device, gpus, workers, scheduler, insecure, cpu_workers, scratch, new: see `align_pairs`.

    Raises ValueError for parameters that make no sense, and what `workflows.run.runner.run` raises. With worker processes the calling script needs
    `if __name__ == "__main__":`, as everywhere with Python's multiprocessing.
    """
    parameters = SearchParameters(read_scoring(scoring, alphabet), alphabet, span, report, ambiguous, top=top, min_score=min_score, strand=strand)
    run, file = running.place(out, table.SEARCH)
    chosen = table.of_output(table.SEARCH, str(out))
    if chosen:
        refuse_less(table.SEARCH, chosen, cigars=parameters.report == "cigar", placed=parameters.report != "score")
    source = _source(None if new else run, str(queries), str(database))
    resources = Resources(workers, scheduler_of(scheduler), device, gpus, insecure, cpu_workers, scratch)
    check = partial(check_names, chosen.name if chosen else None, source)
    files = [file] if file else []
    results = running.show(_search(source, parameters, run, resources, new=new, progress=progress, check=check, files=files))
    if file:
        results.export(file)
    return results


def _search(
    source: SearchSource,
    parameters: SearchParameters,
    out: str | Path,
    resources: Resources = DEFAULT,
    *,
    new: bool,
    progress: OnProgress | None,
    check: Any = None,
    shard: Shard | None = None,
    files: Sequence[str | Path] = (),
) -> SearchResults:
    with running.prepared(Path(out), SEARCH, new=new, source=source, files=files):
        run_search(str(out), source, parameters, resources=resources, progress=progress, check=check, shard=shard)
    return SearchResults(out)


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign search`: OUT is a run directory, or a file to export to from a run directory beside it."""
    with running.command(args) as this:
        source = source_of(args, this.run)
        with running.progress(args) as told:
            check = partial(check_names, args.format, source)
            more: dict[str, Any] = {"check": check, "shard": args.shard, "files": running.files_of(args)}
            results = _search(source, args.parameters, this.run, running.resources_of(args), new=args.new, progress=told, **more)
        statuses, without = results.statuses(), results.without_hits
        incomplete = bool(statuses["capped"] or statuses["rejected"])
        this.export(results, cigar=args.cigar, notice=say)
        report = rundir.read_report(str(this.run))
        what = f"{running.counted(report['queries'], 'queries')}, {without:,} of them without a hit, in {running.counted(report['sequences'], 'sequences')}"
        this.end(what, results, statuses, none="no hits", partial=incomplete, rate=lambda seconds: f", {report['cells'] / seconds / 1e9:,.1f} billion cells/s")
    return Exit.PARTIAL if incomplete else Exit.COMPLETE


def check_names(format: str | None, source: SearchSource, run: str, manifest: SearchManifest) -> None:
    """Refuse names that cannot be written in a format before anything is searched."""
    chosen = table.find(table.SEARCH, format) if format else None
    if chosen and chosen.names:
        check = chosen.load(chosen.names)
        check(_Names("query_name", (read_queries(run, each.id) for each in manifest.queries)), lambda role, ordinal: (source.queries.path, ordinal + 1))
        slices = (read_slices(run, manifest, [number]) for number in range(len(manifest.database.slices)))
        check(_Names("target_name", slices), lambda role, ordinal: (source.database.path, ordinal + 1))


@dataclass(frozen=True)
class _Names:
    """Give the names of one side, as formats look at them."""

    column: str
    tables: Iterator[Any]

    def to_batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        """Give record batches of `ordinal` and the names."""
        for each in self.tables:
            yield from each.select(["ordinal", "name"]).rename_columns(["ordinal", self.column]).to_batches()


def source_of(args: argparse.Namespace, run: Path | None) -> SearchSource:
    """Read what the options say of the input. run: where a finished run may know of inputs that are gone."""
    return _source(None if args.new else run, args.queries, args.database)


def _source(run: Path | None, queries: str, database: str) -> SearchSource:
    """Look at the inputs; where they are gone, as the finished run that is asked for again knows them."""
    if queries == "-" == database:
        raise InputError("-", "standard input for one of the inputs", "it for both", "write one of them to a file")
    try:
        return SearchSource(inspect(queries, "queries"), inspect(database, "database"))
    except MissingInput:
        known = rundir.finished_source(str(run), SEARCH) if run else None
        paths = {"queries": str(Path(queries).absolute()), "database": str(Path(database).absolute())}
        if known is None or all(Path(path).exists() for path in paths.values()) or any(known[role]["path"] != path for role, path in paths.items()):
            raise
        return SearchSource.from_json(known)
