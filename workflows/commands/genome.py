"""Align two genomes: the command `tidalign genome` and the function behind it."""

import argparse
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from tidalign.pipeline.errors import CannotWrite, DiskFull, InputError
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.names import refuse_side
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, pair_name
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan.manifest import Check, GenomeManifest
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.schema import KEPT
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.workflows.commands.pairs import prepared
from tidalign.workflows.options.genome import add_guards
from tidalign.workflows.options.lastz import add_options, check, parameters, spell_out
from tidalign.workflows.progress import Progress, by_status, say
from tidalign.workflows.run.devices import device_of
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.run.genome.tiles import Told
from tidalign.workflows.status import Exit

_LAYOUT = {*GENOMES.folders, "plan.json", "manifest.json", "journal.jsonl", "report.json", "run.lock", "SUCCESS", "PARTIAL"}

Option = str | int | float | bool


def align_genomes(
    target: str | Path,
    query: str | Path,
    *,
    out: str | Path,
    keep: Sequence[str] = (),
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    new: bool = False,
    progress: Told | None = None,
    **options: Option | Sequence[Option],
) -> GenomeResults:
    """Align two genomes into the run directory `out`; the same call goes on where an earlier one was stopped.

    target, query: FASTA (plain, gzip, bgzip) or 2bit, with LASTZ's actions if wanted (`"t.fa[multiple,unmask]"`).
    keep: stages whose tables are kept, of `hits`, `hsps`, `anchors`.
    device: `cpu`, `gpu` or `auto` (GPUs where there are any); gpus: how many, None for all, or one for small input.
    workers: processes on this machine; None for one a core, or none for little work. scheduler: address or file of a Dask scheduler to use instead.
    new: throw away what an earlier run left in `out`.
    options: LASTZ's by name, and `mode`, `cells`, `seconds`: `step=20, seed="14of22", notransition=True, gap="400,30", filter=["identity:90..100"]`.

    Raises ValueError for options that make no sense, and what `workflows.genome_run.run_genomes` raises. With worker processes the calling script needs
    `if __name__ == "__main__":`, as everywhere with Python's multiprocessing.
    """
    args = _parsed(options)
    source = GenomeSource((Pair(pair_name(str(target), str(query)), str(target), str(query)),), segments=args.segments, keep=kept_stages(keep))
    return align(source, run_parameters(args), out, device=device, gpus=gpus, workers=workers, scheduler=scheduler, new=new, progress=progress)


def align(
    source: GenomeSource,
    wanted: GenomeParameters,
    out: str | Path,
    *,
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    new: bool = False,
    progress: Told | None = None,
    check: Check | None = None,
) -> GenomeResults:
    """`align_genomes` for any source. check: may refuse what was read before it is aligned."""
    source.files()  # MissingInput before anything is written
    with prepared(Path(out), new=new, layout=_LAYOUT):
        run_genomes(str(out), source, wanted, workers=workers, scheduler=scheduler, device=device, gpus=gpus, progress=progress, check=check)
    return GenomeResults(out)


class _Options(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def _parsed(options: dict[str, Option | Sequence[Option]]) -> argparse.Namespace:
    """Options by name, as the command line would have them."""
    arguments = []
    for name, value in options.items():
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not False and one is not None:
                arguments.append(f"--{name.replace('_', '-')}" + ("" if one is True else f"={one}"))
    parser = _Options(prog="align_genomes", add_help=False, allow_abbrev=False)
    add_options(parser)
    add_guards(parser)
    args = parser.parse_args(spell_out(arguments))
    check(args, parser.error)
    return args


def run_parameters(args: argparse.Namespace) -> GenomeParameters:
    """What the options say of the alignments. Raises ValueError, and what reading a score file raises."""
    return replace(parameters(args), cells=args.cells, seconds=args.seconds)


def kept_stages(names: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in names if name not in KEPT]
    if unknown:
        raise ValueError(f"no stage {unknown[0]!r} to keep: use some of {', '.join(KEPT)}")
    return tuple(name for name in KEPT if name in names)


def source_of(args: argparse.Namespace) -> GenomeSource:
    """What `tidalign genome` reads."""
    return GenomeSource((Pair(pair_name(args.target, args.query), args.target, args.query),), segments=args.segments, keep=kept_stages(args.keep))


def command(args: argparse.Namespace) -> Exit:
    """`tidalign genome`: OUT is a run directory, a file to export to from a run directory beside it, or `-` for standard output."""
    wanted = run_parameters(args)
    with _places(args.output, args.format) as run:
        began = time.monotonic()
        finished = rundir.finished(str(run)) is not None and not args.new
        results = run_with_progress(args, source_of(args), wanted, run, lambda manifest: check_format(run, args.format, manifest))
        statuses = results.statuses()
        if args.format:
            if args.output == "-":
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends us as it ends any other program
            try:
                results.export(args.output, format=args.format, markend=args.markend)
            except (InputError, CannotWrite, DiskFull):
                if args.output != "-":
                    say(f"the alignments are kept: tidalign export {run} -o FILE writes them")
                raise
        partial = is_partial(results)
        report = rundir.read_report(str(run))
        if args.format and args.output != "-" and not (args.keep_run or partial):
            shutil.rmtree(run)
        if not args.quiet:
            took = "the run was finished already" if finished else f"{time.monotonic() - began:.1f} s on {device_of(report)}"
            kept = f"; the run directory is kept: {run}" if args.format and args.output != "-" and run.exists() else ""
            rows = sum(count for status, count in statuses.items() if status != "rejected")
            say(f"{rows:,} alignments: {by_status(statuses, 'none')}; {took}; {'standard output' if args.output == '-' else args.output}{kept}")
    return Exit.PARTIAL if partial else Exit.COMPLETE


def check_format(run: Path, format: str | None, manifest: GenomeManifest) -> None:
    """Refuse sides that cannot be written in a format before they are aligned."""
    if format:
        chosen = table.find(table.GENOME, format)
        for side in manifest.sides:
            refuse_side(chosen, side["role"], side["spec"], load_side(str(run.absolute()), manifest.run, side["id"])[0])


def is_partial(results: GenomeResults) -> bool:
    """Whether something was cut or given up; says what, a line each, for the first of them."""
    capped, shortfalls = results.statuses()["capped"], results.shortfalls()
    for shortfall in shortfalls[:5]:
        say(f"{results.names[shortfall['job']]}, query {shortfall['query_name']}, strand {shortfall['strand']}: {shortfall['status']}: {shortfall['reason']}")
    if len(shortfalls) > 5:
        say(f"and {len(shortfalls) - 5:,} more, in report.json of the run directory")
    return bool(capped or shortfalls)


def run_with_progress(args: argparse.Namespace, source: GenomeSource, wanted: GenomeParameters, run: Path, check: Check) -> GenomeResults:
    """Do a run as the options say, and show how far it is."""
    progress = Progress()
    try:
        shown = None if args.quiet else progress
        where = {"device": args.device, "gpus": args.gpus, "workers": args.workers, "scheduler": args.scheduler}
        return align(source, wanted, run, new=args.new, progress=shown, check=check, **where)
    finally:
        progress.close()


@contextmanager
def _places(output: str, format: str | None) -> Iterator[Path]:
    """The run directory that goes with an output."""
    if output == "-":
        with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
            yield Path(folder, "run")
        return
    out = Path(output)
    if format and out.is_dir():
        raise CannotWrite(f"{out}: expected a file to write, found a directory")
    yield out.with_name(out.name + ".run") if format else out
