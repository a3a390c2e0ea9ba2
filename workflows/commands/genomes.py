"""Align many pairs of genomes in one run: the command `tidalign genomes`."""

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from tidalign.cluster.given import SchedulerLike, scheduler_of
from tidalign.pipeline.errors import CannotWrite, InputError, shown
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.together import Together
from tidalign.pipeline.genome.input.jobs import is_list, read_jobs, read_list
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, pair_name, safe
from tidalign.pipeline.genome.manifest import GenomeManifest
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows import running
from tidalign.workflows.commands.genome import Value, align, alignments, check_format, is_partial, kept_stages, run_as_asked
from tidalign.workflows.options import keywords
from tidalign.workflows.options.genome import with_actions
from tidalign.workflows.options.given import check, check_many, parameters
from tidalign.workflows.options.nearest import check_flags
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.tracker import OnProgress
from tidalign.workflows.status import Exit

RUN = "run"
"""The run directory inside DIR."""

MERGED = "all"

LONGEST_NAME = 240
"""Bytes of the name of a file: file systems have 255, and until it is whole a file has a longer name."""


Job = tuple[str | Path, str | Path] | tuple[str | Path, str | Path, str]
"""Target and query, and what their output is called."""


def align_many_genomes(
    jobs: str | Path | Iterable[Job],
    *,
    out: str | Path,
    all_vs_all: bool = False,
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
) -> GenomeResults:
    """Align many pairs of genomes in one run, in the run directory `out`, where the same call, or one with more jobs behind the others, goes on.

    jobs: a table of jobs, as `tidalign genomes` takes it; or (target, query) or (target, query, name) for each. all_vs_all: it is a file of sequences, or a
    list of genomes: each with those after it, none with itself. All else is as `align_genomes` has it.

    Raises ValueError and what `workflows.run.runner.run` raises: ManifestMismatch where jobs with which the run was begun changed or are gone. The scripts of
    worker processes need `if __name__ == "__main__":`.

    >>> Path("g.fa").write_text(">a\\nACGTTGCATTGACCATGCAAGTC\\n>b\\nACGTTGCATTGACCATGCAAGTC\\n") and None
    >>> align_many_genomes("g.fa", out="g", all_vs_all=True, hspthresh=1000, gappedthresh=1000, workers=0, device="cpu").names
    ['a__b']
    """
    check_flags(new=new, insecure=insecure, all_vs_all=all_vs_all)
    given = keywords.read(options, others=align_many_genomes.__kwdefaults__ or ())
    check(given)
    check_many(given, all_vs_all=all_vs_all)
    resources, kept = Resources(workers, scheduler_of(scheduler), device, gpus, insecure, cpu_workers, scratch), kept_stages(keep)
    segments = given.get("segments")
    if isinstance(jobs, str | Path):
        source = _source([str(jobs)], all_vs_all=all_vs_all)
    elif all_vs_all:
        raise ValueError("all_vs_all: expected a file of sequences or a list of genomes, found jobs; leave one of the two out")
    else:
        source = GenomeSource(pairs_of(jobs))
    return running.show(align(replace(source, segments=segments, keep=kept), parameters(given), out, resources, new=new, progress=progress))


def pairs_of(jobs: Iterable[Job]) -> tuple[Pair, ...]:
    """Make the pairs of jobs. ValueError where there is none, or two have one name."""
    jobs = list(jobs)
    if wrong := next((job for job in jobs if isinstance(job, str) or not 2 <= len(job) <= 3), None):
        raise ValueError(f"jobs: expected (target, query) or (target, query, name), not {wrong!r}")
    sides = [(str(target), str(query), *map(str, name)) for target, query, *name in jobs]
    pairs = tuple(Pair(name[0] if name else pair_name(target, query), target, query) for target, query, *name in sides)
    twice = next((name for name, times in Counter(pair.name for pair in pairs).items() if times > 1), None)
    if twice is not None or not pairs:
        raise ValueError(f"jobs: expected one or more, each with a name of its own, found {'none' if not pairs else f'{shown(twice)} twice'}")
    return pairs


def _source(inputs: Sequence[str], *, all_vs_all: bool, actions: Callable[[str, str], tuple[str, str]] = lambda *sides: sides) -> GenomeSource:
    """Read what `tidalign genomes` aligns: pairs of files, or the sequences of one or two. actions: are put behind the names of target and query."""
    table, others = inputs[0], inputs[1:]
    if all_vs_all and (others or not is_list(table)):
        sides = actions(table, *(others or [table]))
        return GenomeSource((Pair(pair_name(*sides), *sides),), all_vs_all=True, triangle=not others)
    pairs = read_list(table) if all_vs_all else read_jobs(table)
    return GenomeSource(tuple(Pair(pair.name, *actions(pair.target, pair.query), pair.line) for pair in pairs), table=table)


def source_of(args: argparse.Namespace) -> GenomeSource:
    """Read what `tidalign genomes` aligns, as the options say."""
    source = _source(args.inputs, all_vs_all=args.all_vs_all, actions=partial(with_actions, args))
    return replace(source, segments=args.options.get("segments"), keep=kept_stages(args.keep))


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign genomes`: DIR/run is the run directory; beside it a file for each pair, or one for all."""
    folder = Path(args.output)
    if folder.is_file():
        raise CannotWrite(f"{folder}: expected a folder to write to, found a file")
    source = source_of(args)
    with running.command(args, folder / RUN) as this:
        results = run_as_asked(args, source, parameters(args.options), this.run, lambda manifest: check_names(this.run, args, manifest))
        statuses = results.statuses()
        written = export_pairs(results, folder, args)
        partly = is_partial(results)
        what = f"{running.counted(len(results.names), 'pairs')}, {running.counted(alignments(statuses), 'alignments')}"
        this.end(what, results, statuses, none="none", partial=partly, where=written)
    return Exit.PARTIAL if partly else Exit.COMPLETE


def check_names(run: Path, args: argparse.Namespace, manifest: GenomeManifest) -> None:
    """Refuse names that cannot be written in the format, or be those of files, before anything is aligned."""
    check_format(run, args, manifest)
    if args.merge:
        if (chosen := table.find(table.GENOME, args.format)).above:  # one header for all
            targets = [load_side(str(run.absolute()), manifest.run, side["id"])[0] for side in manifest.sides if side["role"] == "target"]
            chosen.load("check_together")(" ".join(args.inputs), targets, chosen)
        return
    files = [f"{safe(name)}.{_suffix(args)}" for name in manifest.names]
    way_out = f"shorten or change the names{' of the sequences' if args.all_vs_all else ''}, or use --merge for one file of all pairs"
    if long := next((file for file in files if len(os.fsencode(file)) > LONGEST_NAME), None):
        raise InputError(" ".join(args.inputs), f"pairs whose files have names of at most {LONGEST_NAME} bytes", shown(long), way_out)
    if twice := next((file for file, times in Counter(files).items() if times > 1), None):
        raise InputError(" ".join(args.inputs), "a file of its own for each pair", f"{shown(twice)} twice", way_out)


def _suffix(args: argparse.Namespace) -> str:
    name = args.format.removesuffix(table.GZIP)
    return str(name.partition(":")[0].rstrip("+-") + args.format[len(name) :])


def export_pairs(results: GenomeResults, folder: Path, args: argparse.Namespace) -> str:
    """Write the rows of each pair, or all in one; says where they are."""
    suffix = _suffix(args)
    if args.merge:
        path = folder / f"{MERGED}.{suffix}"
        results.export(path, format=args.format, markend=args.markend)
        return str(path)
    with Together(folder) as files:
        outputs = [str(folder / f"{safe(name)}.{suffix}") for name in results.names]
        results.export_each(outputs, format=args.format, markend=args.markend, into=files.destination)
    return f"{folder}/*.{suffix}"
