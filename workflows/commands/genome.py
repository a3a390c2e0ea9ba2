"""Align two genomes: the command `tidalign genome` and the function behind it."""

import argparse
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, overload

import numpy as np
import pyarrow as pa

from tidalign.cluster.given import SchedulerLike, scheduler_of
from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.export import refuse_side
from tidalign.pipeline.genome.formats import masking
from tidalign.pipeline.genome.input import index
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, is_pipe, pair_name
from tidalign.pipeline.genome.manifest import Check, GenomeManifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.repeats import repeats
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.stages.unit import OF_DEPTH, OF_HSPS
from tidalign.pipeline.schema import KEPT
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.workflows import running
from tidalign.workflows.options import keywords
from tidalign.workflows.options.genome import sides_of, with_actions
from tidalign.workflows.options.given import check, parameters
from tidalign.workflows.options.nearest import check_flags
from tidalign.workflows.progress import say
from tidalign.workflows.run.devices import DEFAULT, Resources
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.run.tracker import OnProgress
from tidalign.workflows.sequences import InMemory, as_file
from tidalign.workflows.status import Exit

Value = str | int | float | bool | Path


@overload
def align_genomes(
    target: str | Path,
    query: str | Path | None = None,
    *,
    out: str | Path,
    keep: Sequence[str] = (),
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: SchedulerLike = None,
    insecure: bool = False,
    cpu_workers: int = 0,
    scratch: str | None = None,
    new: bool = False,
    progress: OnProgress | None = None,
    **options: Value | Sequence[Value] | None,
) -> GenomeResults: ...


@overload
def align_genomes(
    target: str | Path | InMemory,
    query: str | Path | InMemory | None = None,
    *,
    out: None = None,
    keep: Sequence[str] = (),
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: SchedulerLike = None,
    insecure: bool = False,
    cpu_workers: int = 0,
    scratch: str | None = None,
    new: bool = False,
    progress: OnProgress | None = None,
    **options: Value | Sequence[Value] | None,
) -> pa.Table: ...


def align_genomes(
    target: str | Path | InMemory,
    query: str | Path | InMemory | None = None,
    *,
    out: str | Path | None = None,
    keep: Sequence[str] = (),
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: SchedulerLike = None,
    insecure: bool = False,
    cpu_workers: int = 0,
    scratch: str | None = None,
    new: bool = False,
    progress: OnProgress | None = None,
    **options: Value | Sequence[Value] | None,
) -> GenomeResults | pa.Table:
    """Align two genomes into the run directory `out`, where the same call goes on after an earlier one was stopped; or into a file; or to a table.

    target, query: FASTA (plain, gzip, bgzip) or 2bit, with LASTZ's actions if wanted (`"t.fa[multiple,unmask]"`), or what `tidalign genome-index` wrote;
    without `out` also sequences in memory, a dict of names and letters. No query with `self=True`.
    out: a run directory; or a file of a format (`x.maf`), written from the run directory beside it (`x.maf.run`), which the results read; None: the rows are
    given as one table (`schema.GENOME_ALIGNMENTS`), and nothing is left on disk.
    keep: stages whose tables are kept, of `hits`, `hsps`, `anchors`.
    device: `cpu`, `gpu` or `auto` (GPUs where there are any); gpus: how many, None for all, or one for little work.
    workers: processes on this machine; None for one a core, or none for little work. scheduler: a Dask scheduler to use instead: its address,
    its file, a `distributed.Client` or a cluster object;
    insecure: even one of another machine without TLS. cpu_workers: processes that align on cores beside GPUs.
    scratch: folder of each node for copies of what tasks read while the run lasts, or `auto`.
    new: throw away what an earlier run left in `out`.
    options: LASTZ's by name, and `mode`, `cells`, `seconds`, each with a value of Python's or LASTZ's text for it: `step=20, seed="14of22", notransition=True,
    gap=(400, 30), hspthresh="2k", filter=["identity:90..100"]`. None is as if it were not given; of several for one thing the last counts.

    Raises ValueError for options that are none or make no sense, and what `workflows.run.runner.run` raises. With worker processes the calling script needs
    `if __name__ == "__main__":`, as everywhere with Python's multiprocessing.

    >>> letters = "ACGTTGCATTGACCATGCAAGTC"
    >>> align_genomes({"t": letters}, {"q": letters}, hspthresh=1000, gappedthresh=1000, workers=0, device="cpu")["cigar"].to_pylist()
    ['23=']
    """
    check_flags(new=new, insecure=insecure)
    given = keywords.read(options, others=align_genomes.__kwdefaults__ or ())
    check(given)
    wanted, resources = parameters(given), Resources(workers, scheduler_of(scheduler), device, gpus, insecure, cpu_workers, scratch)
    more: dict[str, Any] = {"new": new, "progress": progress}

    def source(folder: Path | None) -> GenomeSource:
        with_itself = bool(given.get("with_itself"))
        sides = sides_of(as_file(target, "target", folder), None if query is None else as_file(query, "query", folder), with_itself=with_itself)
        return GenomeSource((Pair(pair_name(*sides), *sides),), segments=given.get("segments"), keep=kept_stages(keep))

    if out is not None:
        run, file = running.place(out, table.GENOME)
        more |= {"check": partial(_refuse, run, file), "files": [file] if file else []}
        results = running.show(align(source(None), wanted, run, resources, **more))
        if file:
            results.export(file)
        return results
    if resources.scheduler or keep:
        raise ValueError("a scheduler's workers, and keep, want a run directory: give out=")
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        return align(source(Path(folder)), wanted, Path(folder, "run"), resources, **more).to_table()


def _refuse(run: Path, file: Path | None, manifest: GenomeManifest) -> None:
    """Refuse sides that cannot be written in the format of a file before they are aligned."""
    if chosen := file and table.of_output(table.GENOME, str(file)):
        _refuse_gaps(chosen, manifest.parameters)
        for side in manifest.sides:
            refuse_side(chosen, side["role"], side["spec"], load_side(str(run.absolute()), manifest.run, side["id"])[0])


def _refuse_gaps(format: table.Format, parameters: GenomeParameters) -> None:
    """Refuse a run with gaps for a format without."""
    if format.name.startswith("segments") and parameters.gapped:
        raise InputError("segments", "alignments without gaps", "a run with gaps", "use --nogapped")


def align(
    source: GenomeSource,
    wanted: GenomeParameters,
    out: str | Path,
    resources: Resources = DEFAULT,
    *,
    new: bool = False,
    progress: OnProgress | None = None,
    check: Check | None = None,
    shard: Shard | None = None,
    files: Sequence[str | Path] = (),
) -> GenomeResults:
    """Align any source as `align_genomes` does. check: may refuse what was read before it is aligned. files: see `running.prepared`."""
    if not new and (known := rundir.finished_source(str(out), GENOMES)):
        source = replace(source, known=tuple(known["files"]))
    source = source.found().absolute()  # MissingInput before anything is written
    if source.segments and is_pipe(source.segments) and (resources.workers != 0 or len(source.pairs) > 1 or source.all_vs_all):
        found = "a pipe, which can be read once, by this process alone"
        raise InputError(source.segments, "a file of segments", found, "write it to a file first, or align one pair with --workers 0")
    index.check(source, wanted)
    with running.prepared(Path(out), GENOMES, new=new, source=source, files=files):
        run_genomes(str(out), source, wanted, resources=resources, progress=progress, check=check, shard=shard)
    return GenomeResults(out)


def kept_stages(given: Sequence[str]) -> tuple[str, ...]:
    """Read which stages are kept: their names, or one text of them with commas between."""
    names = given.split(",") if isinstance(given, str) else given
    unknown = [name for name in names if name not in KEPT]
    if unknown:
        raise ValueError(f"no stage {unknown[0]!r} to keep: use some of {', '.join(KEPT)}")
    return tuple(name for name in KEPT if name in names)


def source_of(args: argparse.Namespace) -> GenomeSource:
    """Read what the options say of the input."""
    with_itself = args.query is None
    target, query = with_actions(args, args.target, args.target if with_itself else args.query)
    target, query = sides_of(target, None if with_itself else query, with_itself=with_itself)
    return GenomeSource((Pair(pair_name(target, query), target, query),), segments=args.options.get("segments"), keep=kept_stages(args.keep))


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign genome`: OUT is a run directory, a file to export to from a run directory beside it, or `-` for standard output."""
    wanted = parameters(args.options)
    with running.command(args) as this:
        results = run_as_asked(args, source_of(args), wanted, this.run, lambda manifest: check_format(this.run, args, manifest))
        statuses = results.statuses()
        if args.rdotplot:
            results.export(args.rdotplot, format="rdotplot", beside=True)
        for way in table.MASKINGS:
            if path := vars(args)[f"outputmasking{way}"]:
                masking.write(path, way, results.genomes()[0], results.masks(0), markend=args.markend)
        this.export(results, markend=args.markend)
        partial = is_partial(results)
        if args.lastz_status and partial and not results.shortfalls():  # LASTZ says so, too, and takes it for whole
            say(f"{statuses['capped']:,} alignments are cut where the memory of LASTZ's traceback ends; --allocate:traceback=SIZE gives it more than 80M")
            partial = False
        this.end(running.counted(alignments(statuses), "alignments"), results, statuses, none="none", partial=partial)
    return Exit.PARTIAL if partial else Exit.COMPLETE


def alignments(statuses: dict[str, int]) -> int:
    """Count rows: what was rejected has none."""
    return sum(count for status, count in statuses.items() if status != "rejected")


def check_format(run: Path, args: argparse.Namespace, manifest: GenomeManifest) -> None:
    """Refuse sides that cannot be written in the format before they are aligned; say which of their sequences will have one name."""
    chosen = table.find(table.GENOME, args.format) if args.format else None
    if chosen:
        _refuse_gaps(chosen, manifest.parameters)
    for side in manifest.sides:
        if chosen or side["sequences"] > 1:
            genome = load_side(str(run.absolute()), manifest.run, side["id"])[0]
            if chosen:
                refuse_side(chosen, side["role"], side["spec"], genome)
            if not args.quiet and (alike := same_names(genome)):
                say(f"{side['spec']}: {alike}")
    if not args.quiet and not rundir.finished(str(run)) and (found := repeats(str(run.absolute()), manifest)):
        say(str(found))


def same_names(genome: Genome) -> str:
    """Say of sequences that have one name in output which it is, and the way out; nothing where each has its own."""
    first = np.unique(genome.whole(), return_index=True)[1]  # one that is read in pieces is there once
    times = Counter(genome.names[i] for i in first.tolist())
    shared = {name: count for name, count in times.items() if count > 1}
    if not shared:
        return ""
    name, count = max(shared.items(), key=lambda each: each[1])
    others = f" ({len(shared):,} names are shared)" if len(shared) > 1 else ""
    return f"{count:,} of {len(first):,} sequences are named {shown(name)} in output{others}: names end at a blank, | or :; [nameparse=darkspace] keeps more"


LEFT_OUT = {
    OF_HSPS: "queries with more HSPs than --queryhsplimit",
    OF_DEPTH: "strands of queries that pair more than --querydepth times their letters",
}
"""Words for what is left out as it was asked for, of which LASTZ warns."""


def is_partial(results: GenomeResults) -> bool:
    """Tell whether something was cut or given up; says what, a line each, for the first of them."""
    capped, shortfalls = results.statuses()["capped"], results.shortfalls()
    for shortfall in shortfalls[:5]:
        say(f"{results.names[shortfall['job']]}, query {shortfall['query_name']}, strand {shortfall['strand']}: {shortfall['status']}: {shortfall['reason']}")
    if len(shortfalls) > 5:
        say(f"and {len(shortfalls) - 5:,} more, in report.json of the run directory")
    work = rundir.read_report(str(results.path))["work"]
    for name, why in LEFT_OUT.items():
        if count := work.get(name):
            say(f"{why}, of which no alignment is given: {count:,}")
    return bool(capped or shortfalls)


def run_as_asked(args: argparse.Namespace, source: GenomeSource, wanted: GenomeParameters, run: Path, check: Check) -> GenomeResults:
    """Run a genome run as the options say, and show how far it is."""
    with running.progress(args) as told:
        more: dict[str, Any] = {"check": check, "shard": args.shard, "files": running.files_of(args)}
        return align(source, wanted, run, running.resources_of(args), new=args.new, progress=told, **more)
