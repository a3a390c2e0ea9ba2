"""Align a file of pairs: the command `tidalign pairs` and the function behind it."""

import argparse
import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from tidalign.cluster.given import SchedulerLike, scheduler_of
from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.export import refuse_less
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.formats.lift import contigs, read_fai
from tidalign.pipeline.pairs.input.read import PairSource, inspect
from tidalign.pipeline.pairs.manifest import BlockRecord, Check
from tidalign.pipeline.pairs.models import PenaltiesLike
from tidalign.pipeline.pairs.partition import Names
from tidalign.pipeline.pairs.results import Results, has_places
from tidalign.pipeline.pairs.spare import LEAST, advice
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import PAIRS
from tidalign.workflows import running
from tidalign.workflows.options.common import is_stream, options_of
from tidalign.workflows.options.nearest import named
from tidalign.workflows.options.scoring import pair_parameters
from tidalign.workflows.progress import say
from tidalign.workflows.run.devices import DEFAULT, Resources
from tidalign.workflows.run.pairs.run import run_pairs
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.run.tracker import OnProgress
from tidalign.workflows.status import Exit

_FIRST_MATE = re.compile(r"(?:^|[_.-])R?1(?=[_.])")
"""What says in the name of a file that it holds first mates: reads_R1.fq, reads_1.fq.gz, reads.1.fq, reads_S1_L001_R1_001.fastq."""


@named
def align_pairs(
    queries: str | Path,
    targets: str | Path | None = None,
    *,
    out: str | Path,
    penalties: PenaltiesLike | None = None,
    ends_free: int | tuple[int, int, int, int] | None = None,
    penalty_only: bool = False,
    ambiguous: str = "mismatch",
    strand: str = "plus",
    heuristic: str | None = None,
    scoring: str | None = None,
    span: str | None = None,
    report: str | None = None,
    alphabet: str = "",
    zdrop: int | None = None,
    end_bonus: int = 0,
    band: int | None = None,
    interleaved: bool = False,
    same_names: bool = False,
    query_column: str = "query",
    target_column: str = "target",
    allow_empty: bool = False,
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: SchedulerLike = None,
    insecure: bool = False,
    cpu_workers: int = 0,
    scratch: str | None = None,
    new: bool = False,
    progress: OnProgress | None = None,
) -> Results:
    """Align every pair of one or two files into the run directory `out`; the same call goes on where an earlier one was stopped.

    out: a run directory; or a file of a format (`x.sam`), written from the run directory beside it (`x.sam.run`), which the results read.
    queries, targets: FASTA, FASTQ (plain, gzip, bgzip), paired by order; or one file: interleaved, WFA's `.seq`, or Parquet / Arrow with two columns.
    penalties, ends_free: as `align` takes them. penalty_only, ambiguous, strand, heuristic: see `PairParameters`.
    scoring, span, report, alphabet, zdrop, end_bonus, band: align by scores in place of penalties, as in `align`.
    device: `cpu`, `gpu` or `auto` (GPUs where there are any); gpus: how many; None: all, or one for little work.
    workers: processes on this machine; None for one a core, or none for little work. scheduler: a Dask scheduler to use instead: its address,
    its file, a `distributed.Client` or a cluster object;
    insecure: even one of another machine without TLS. cpu_workers: processes that align on cores beside GPUs.
    scratch: folder of each node for copies of what tasks read while the run lasts, or `auto`.
    new: throw away what an earlier run left in `out`.

    Raises ValueError for parameters that make no sense, and what `workflows.run.runner.run` raises. With worker processes the calling script needs
    `if __name__ == "__main__":`, as everywhere with Python's multiprocessing.
    """
    penalised: dict[str, Any] = {"penalties": penalties, "ends_free": ends_free, "penalty_only": penalty_only, "heuristic": heuristic}
    scored: dict[str, Any] = {"span": span, "report": report, "alphabet": alphabet, "zdrop": zdrop, "end_bonus": end_bonus, "band": band}
    parameters = pair_parameters(scoring, ambiguous, strand, **penalised, **scored)
    columns = {"query_column": query_column, "target_column": target_column, "alphabet": parameters.alphabet}
    paths = (str(queries), None if targets is None else str(targets))
    run, file = running.place(out, table.PAIRS)
    chosen = table.of_output(table.PAIRS, str(out))
    if chosen:
        refuse_parameters(chosen, parameters)
    source = _source(None if new else run, *paths, interleaved=interleaved, same_names=same_names, allow_empty=allow_empty, **columns)
    resources = Resources(workers, scheduler_of(scheduler), device, gpus, insecure, cpu_workers, scratch)
    source = replace(source, whole=source.has_pipe and chosen is not None and chosen.wants_letters({}))
    more: dict[str, Any] = {"check": partial(check_names, run, chosen, None, source), "files": [file] if file else []}
    results = running.show(align(source, parameters, run, resources, new=new, progress=progress, **more))
    if file:
        results.export(file)
    return results


def align(
    source: PairSource,
    parameters: Any,
    out: str | Path,
    resources: Resources = DEFAULT,
    *,
    new: bool = False,
    progress: OnProgress | None = None,
    check: Check | None = None,
    shard: Shard | None = None,
    stays: bool = True,
    files: Sequence[str | Path] = (),
) -> Results:
    """Align any source as `align_pairs` does. check, stays: see `run.pairs.run.Pairs`. files: see `running.prepared`."""
    with running.prepared(Path(out), PAIRS, new=new, source=source, files=files):
        run_pairs(str(out), source, parameters, resources=resources, progress=progress, check=check, shard=shard, stays=stays)
    return Results(out)


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign pairs`: OUT is a run directory, or a file to export to from a run directory beside it."""
    with running.command(args) as this:
        parameters = parameters_of(args)
        chosen = table.find(table.PAIRS, args.format) if args.format else None
        options = {name: value for name, value in options_of(args).items() if chosen and name in chosen.options}
        if args.lift:
            read_fai(args.lift)  # what is wrong with it is told before there is a run
        source = source_of(args, this.run, parameters.alphabet)
        if mates := mates_of(source):
            logging.getLogger("tidalign").warning("%s", mates)
        source = replace(source, whole=source.has_pipe and chosen is not None and chosen.wants_letters(options))
        with running.progress(args) as told:
            check = partial(check_names, this.run, chosen, args.lift, source)
            more: dict[str, Any] = {"shard": args.shard, "files": running.files_of(args), "stays": not is_stream(args.output)}
            results = align(source, parameters, this.run, running.resources_of(args), new=args.new, progress=told, check=check, **more)
        statuses, pairs = results.statuses(), len(results)
        incomplete = bool(statuses["capped"] or statuses["rejected"])
        if pairs >= LEAST and (spare := advice(results)):
            logging.getLogger("tidalign").warning("%s", spare)
        this.export(results, notice=say, **options)
        this.end(
            running.counted(pairs, "pairs"), results, statuses, none="no pairs", partial=incomplete, rate=lambda seconds: f", {pairs / seconds:,.0f} pairs/s"
        )
    return Exit.PARTIAL if incomplete else Exit.COMPLETE


def mates_of(source: PairSource) -> str | None:
    """Say of two files of FASTQ that hold mates by their names, as x_R1.fq and x_R2.fq do, that these are aligned with each other; None of others."""
    names = [Path(each.path).name for each in source.inputs if each.format == "fastq"]
    if len(names) != 2 or not any(f"{names[0][: one.end() - 1]}2{names[0][one.end() :]}" == names[1] for one in _FIRST_MATE.finditer(names[0])):
        return None
    way_out = "to align reads with windows of a genome, align each of the two with a file of windows, one for each read"
    return f"{names[0]} and {names[1]} seem to hold the two mates of read pairs, and each mate is aligned with the other; {way_out}"


def refuse_parameters(format: table.Format, parameters: Any) -> None:
    """Raise InputError for a format that cannot hold what these parameters give, whatever the input is."""
    refuse_less(table.PAIRS, format, cigars=not parameters.penalty_only, placed=has_places(parameters))
    if format.name == "bam":
        format.load("check_alphabet")(parameters.alphabet)


def check_names(run: Path, format: table.Format | None, lift: str | None, source: PairSource, blocks: Sequence[BlockRecord]) -> None:
    """Refuse names, and contigs, of blocks that are read, which cannot be written in a format."""

    def where(role: str, ordinal: int) -> tuple[str, int]:
        if source.interleaved:
            return source.queries, 2 * ordinal + (1 if role == "query" else 2)
        return source.queries if role == "query" else source.targets or source.queries, ordinal + 1

    names = Names(str(run.absolute()), blocks)
    if format and lift is not None:
        found = contigs(names, lift, where)
        if format.names:
            format.load("check_contigs")(found)
    if format and format.names:
        format.load(format.names)(names, where)


def source_of(args: argparse.Namespace, run: Path | None, alphabet: str) -> PairSource:
    """Read what the options say of the input, whose letters are of an alphabet. run: where a finished run may know of inputs that are gone."""
    names = ("interleaved", "same_names", "query_column", "target_column", "allow_empty")
    return _source(None if args.new else run, args.queries, args.targets, alphabet=alphabet, **{name: getattr(args, name) for name in names})


def _source(run: Path | None, queries: str, targets: str | None, **options: Any) -> PairSource:
    """Look at the inputs; where they are gone, as the finished run that is asked for again knows them."""
    try:
        return inspect(queries, targets, **options)
    except MissingInput:
        paths = [None if path is None else str(Path(path).absolute()) for path in (queries, targets)]
        known = rundir.finished_source(str(run), PAIRS) if run else None
        if known is None or all(Path(path).exists() for path in paths if path):
            raise
        told = {**options, "queries": paths[0], "targets": paths[1], "interleaved": options["interleaved"] or known["inputs"][0]["format"] == "seq"}
        if any(told[name] != known[name] for name in told if name in known):
            raise
        return PairSource.from_json(known)


def parameters_of(args: argparse.Namespace) -> Any:
    """Read what the options say of the alignments."""
    if args.scoring:
        return args.scored
    chosen = {"ends_free": args.ends_free, "penalty_only": args.penalty_only, "ambiguous": args.ambiguous, "strand": args.strand}
    chosen |= {"heuristic": args.heuristic}
    return PairParameters(penalties=args.penalties or "affine:4,6,2", **chosen)
