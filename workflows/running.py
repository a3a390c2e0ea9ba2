"""Do a run for a command: its place on disk, how far it is, what is written of it, and the last line."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tidalign.cluster.errors import NoGuard
from tidalign.kernels.runtime.numba_cache import COMPILING, LISTENERS
from tidalign.pipeline.errors import CannotWrite, Damaged, DiskFull, InputError, ManifestMismatch, MissingInput
from tidalign.pipeline.formats import table
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import passing
from tidalign.pipeline.store.layout import Layout, of_kind
from tidalign.pipeline.store.outputs import refuse_input
from tidalign.pipeline.store.rundir import locked
from tidalign.workflows.options.common import STANDARD_OUTPUT, is_stream
from tidalign.workflows.progress import Progress, by_status, say
from tidalign.workflows.run.devices import Resources, device_of
from tidalign.workflows.run.tracker import OnProgress

A = TypeVar("A")

COMPILED_SECONDS = 1.0
"""Of compiling in a command from which on its last line says so."""


def resources_of(args: argparse.Namespace) -> Resources:
    """Read what the options say of who works; those that a command does not have are left to chance."""
    device, gpus = getattr(args, "device", "auto"), getattr(args, "gpus", None)
    beside = {name: value for name in ("cpu_workers", "scratch") if (value := getattr(args, name, None))}
    return Resources(args.workers, args.scheduler, device, gpus, args.insecure, allocated=args.cluster == "auto", **beside)


@contextmanager
def prepared(directory: Path, layout: Layout, *, new: bool, source: Any = None, files: Sequence[str | Path] = ()) -> Iterator[None]:
    """Check that a directory is, or can become, a run directory with this layout, and empty it if a new run is wanted.

    Input that turns out bad, or shards that are not of one run, leave nothing behind but a folder that was there, so that the same command works once that is
    mended; one beside an output, `OUT.run`, goes if a run was in it. Raises CannotWrite rather than touch other files.
    files: what is to be written in the end, of which none may be one that the source reads.
    """
    for file in files:
        refuse_input(str(file), source.to_json())
    missing = [each for each in directory.parents if not each.exists()]
    there = sum(1 for _ in layout.entries(str(directory))) if directory.is_dir() else None
    if there is not None and new:
        _empty(directory, layout)
    try:
        yield
    except NoGuard as error:
        raise NoGuard(str(error)) from None  # nobody wants to see by how many of our functions it came
    except (InputError, MissingInput, ManifestMismatch) as error:
        begun = "plan.json" if isinstance(error, ManifestMismatch) else "manifest.json"  # with a plan it is another run's, which is to stay
        if not (directory / begun).exists():
            _empty(directory, layout, entirely=there is None or (there > 0 and directory.suffix == ".run"))
        for made in missing:  # by this run, the innermost first
            with suppress(OSError):  # others have put something there
                made.rmdir()
        raise


def _empty(directory: Path, layout: Layout, *, entirely: bool = False) -> None:
    """Remove all of a run, but its directory and the lock, which is held meanwhile. entirely: these, too."""
    with locked(str(directory)):
        rundir.empty(str(directory), layout)
        if entirely:
            _remove(directory)


def _remove(directory: Path) -> None:
    """Remove an empty run directory, with the lock that is held."""
    (directory / "run.lock").unlink()
    with suppress(OSError):  # it is no longer empty where another run begins in it
        directory.rmdir()


def progress(args: argparse.Namespace) -> AbstractContextManager[OnProgress | None]:
    """Show how far a run is, unless --quiet."""
    return nullcontext() if args.quiet else showing()


@contextmanager
def showing() -> Iterator[OnProgress]:
    """Show how far something is, and that kernels are compiled meanwhile."""
    shown = Progress()
    LISTENERS.append(shown.compiling)
    try:
        yield shown
    finally:
        LISTENERS.remove(shown.compiling)
        shown.close()


@dataclass(frozen=True)
class Command:
    """A command's run: `run` is its directory; with a format, `output` is a file, or a stream, that is written from it. held: its lock, from then on.

    before: the report of a run that was finished already, else None.
    """

    args: argparse.Namespace
    run: Path
    began: float
    before: dict[str, Any] | None
    compiled: float
    held: ExitStack

    def export(self, results: Any, **options: Any) -> None:
        """Write the results to the output, if a format is wanted."""
        output = self.args.output
        if not self.args.format:
            return
        self.held.enter_context(locked(str(self.run.resolve())))  # the same command elsewhere would remove it meanwhile
        if not rundir.finished(str(self.run)):
            _remove(self.run.resolve())
            raise CannotWrite(f"{self.run}: removed meanwhile by the same command elsewhere; it writes {output}")
        try:
            results.export(output, format=self.args.format, **options)
        except (InputError, MissingInput, CannotWrite, DiskFull):
            if not is_stream(output):
                say(f"the alignments are kept: tidalign export {self.run} -o FILE writes them")
            raise

    def end(
        self, what: str, results: Any, statuses: dict[str, int], *, none: str, partial: bool, rate: Callable[[float], str] = lambda _: "", where: str = ""
    ) -> None:
        """Remove the run directory of an output that is whole, make the page of one that stays, and say what was done, in what time and where it is.

        rate: what is told of so many seconds, those of earlier calls too. where: the output's name, if it is another.
        """
        output = self.args.output
        report = rundir.read_report(str(self.run))
        beside = bool(self.args.format) and not is_stream(output) and not where
        if beside and not (self.args.keep_run or partial):
            with suppress(CannotWrite):  # for what somebody put there meanwhile it is kept
                rundir.empty(str(self.run.resolve()), of_kind(rundir.read_plan(str(self.run))["kind"]))
                _remove(self.run.resolve())
        if not is_stream(output) and self.run.exists():
            show(results)
        if self.args.quiet:
            return
        seconds, earlier = time.monotonic() - self.began, max(0.0, report["total_seconds"] - report["seconds"])
        compiled = COMPILING.seconds - self.compiled
        said = self._beside_estimate(report) if compiled < COMPILED_SECONDS else f", {compiled:.1f} of them compiling for this machine"
        took = "the run was finished already" if report == self.before else f"{seconds:.1f} s{said}{rate(seconds + earlier)} on {device_of(report)}"
        kept = f"; the run directory is kept: {self.run}" if beside and self.run.exists() else ""
        written = where or ("standard output" if output == STANDARD_OUTPUT else output if self.args.format else f"run directory {output}")
        say(f"{what}: {by_status(statuses, none)}; {took}; {written}{kept}")

    def _beside_estimate(self, report: dict[str, Any]) -> str:
        """Say what an estimate said of the stages that it was of, and what they took."""
        predicted = report.get("predicted")
        return f" (work: {sum(report['stages'][stage] for stage in predicted):.1f}, estimated {sum(predicted.values()):.1f})" if predicted else ""


def show(results: A) -> A:
    """Make the page of a finished run, where it has none; the same results."""
    from tidalign.workflows.report.make import refresh  # a run that is removed has none

    refresh(results)
    return results


@contextmanager
def command(args: argparse.Namespace, run: Path | None = None) -> Iterator[Command]:
    """Begin a command's run: in `run`; else beside the file that is wanted, in a temporary folder for a stream, or where -o says. `args.directory` names it."""
    if args.output == STANDARD_OUTPUT and not sys.stdout:
        raise CannotWrite("standard output: closed; open it, or name a file with -o")
    with tempfile.TemporaryDirectory(prefix="tidalign-") if run is None and is_stream(args.output) else _nowhere() as folder:
        args.directory = place = run or (Path(folder, "run") if folder else _beside(args))
        with passing(folder) if folder else nullcontext(), ExitStack() as held:
            yield Command(args, place, time.monotonic(), None if args.new else _before(place), COMPILING.seconds, held)


def _before(run: Path) -> dict[str, Any] | None:
    """Read the report of a run that is finished already; None where there is none, or none that can be read."""
    with suppress(Damaged, FileNotFoundError):
        return rundir.read_report(str(run)) if rundir.finished(str(run)) else None
    return None


def counted(count: int, things: str) -> str:
    """Write so many things, named in the plural: `2 queries`, `1 query`."""
    one = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"{count:,} {things if count != 1 else one}"


def files_of(args: argparse.Namespace) -> list[str]:
    """List the files that a command is to write beside its run directory."""
    beside = [vars(args).get(name) for name in ("rdotplot", *(f"outputmasking{way}" for way in table.MASKINGS))]
    return [file for file in (args.output if args.format else None, *beside) if file]


def place(output: str | Path, kind: str) -> tuple[Path, Path | None]:
    """Give the run directory that `out=` means, and the file that is written from it, if it means one. CannotWrite where a directory is in its way, ValueError
    for what the command line takes for standard output."""
    if str(output) == STANDARD_OUTPUT:
        raise ValueError(f"out: expected a run directory or a file, not {output!r}; results.export writes a file, and to_table() gives the rows")
    out = Path(output)
    if not table.of_output(kind, str(out)):
        return out, None
    if out.is_dir():
        raise CannotWrite(f"{out}: expected a file to write, found a directory")
    return out.with_name(out.name + ".run"), out


@contextmanager
def _nowhere() -> Iterator[None]:
    yield None


def _beside(args: argparse.Namespace) -> Path:
    out = Path(args.output)
    if args.format and out.is_dir():
        raise CannotWrite(f"{out}: expected a file to write, found a directory")
    return out.with_name(out.name + ".run") if args.format else out
