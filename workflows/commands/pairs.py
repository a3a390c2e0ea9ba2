"""Align a file of pairs: the command `tidalign pairs` and the function behind it."""

import argparse
import shutil
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite, DiskFull, InputError, MissingInput
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.lock import locked
from tidalign.workflows.progress import Progress, by_status, say
from tidalign.workflows.run.devices import Resources, device_of
from tidalign.workflows.run.pairs.run import run_pairs
from tidalign.workflows.run.tracker import Told
from tidalign.workflows.status import Exit


def align_pairs(
    queries: str | Path,
    targets: str | Path | None = None,
    *,
    out: str | Path,
    penalties: str = "affine:4,6,2",
    ends_free: tuple[int, int, int, int] | None = None,
    penalty_only: bool = False,
    ambiguous: str = "mismatch",
    interleaved: bool = False,
    same_names: bool = False,
    query_column: str = "query",
    target_column: str = "target",
    allow_empty: bool = False,
    device: str = "auto",
    gpus: int | None = None,
    workers: int | None = None,
    scheduler: str | None = None,
    new: bool = False,
    progress: Told | None = None,
) -> Results:
    """Align every pair of one or two files into the run directory `out`; the same call goes on where an earlier one was stopped.

    queries, targets: FASTA, FASTQ (plain, gzip, bgzip), paired by order; or one file: interleaved, WFA's `.seq`, or Parquet / Arrow with two columns.
    penalties, ends_free, penalty_only, ambiguous: see `PairParameters`.
    device: `cpu`, `gpu` or `auto` (GPUs where there are any); gpus: how many, None for all.
    workers: processes on this machine; None for one a core, or none for little work. scheduler: address or file of a Dask scheduler to use instead.
    new: throw away what an earlier run left in `out`.

    Raises ValueError for parameters that make no sense, and what `workflows.run.runner.run` raises. With worker processes the calling script needs
    `if __name__ == "__main__":`, as everywhere with Python's multiprocessing.
    """
    parameters = PairParameters(penalties=penalties, ends_free=ends_free, penalty_only=penalty_only, ambiguous=ambiguous)
    columns = {"query_column": query_column, "target_column": target_column}
    paths = (str(queries), None if targets is None else str(targets))
    source = inspect(*paths, interleaved=interleaved, same_names=same_names, allow_empty=allow_empty, **columns)
    with prepared(Path(out), new=new):
        run_pairs(str(out), source, parameters, resources=Resources(workers, scheduler, device, gpus), progress=progress)
    return Results(out)


_LAYOUT = {"chunks", "blocks", "parts", "claims", "plan.json", "manifest.json", "journal.jsonl", "report.json", "run.lock", "SUCCESS", "PARTIAL"}


@contextmanager
def prepared(directory: Path, *, new: bool, layout: Collection[str] = _LAYOUT) -> Iterator[None]:
    """A place for a run: see that `directory` is, or can become, a run directory, and empty it if a new run is wanted. layout: names that may be in one.

    Input that turns out bad leaves nothing behind, so that the same command works once it is mended. Raises CannotWrite rather than touch other files.
    """
    existed = directory.is_dir()
    if existed:
        foreign = next((entry.name for entry in directory.iterdir() if entry.name not in layout and entry.suffix != ".tmp"), None)
        if foreign:
            raise CannotWrite(f"{directory}: expected a new or earlier run directory, found a folder with {foreign!r} in it; choose another place with -o")
        if new:
            _empty(directory)
    try:
        yield
    except (InputError, MissingInput):
        if not (directory / "manifest.json").exists():
            _empty(directory)
            if not existed:
                shutil.rmtree(directory)
        raise


def _empty(directory: Path) -> None:
    """Remove all but the lock, which is held meanwhile."""
    with locked(str(directory)):
        for entry in directory.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != "run.lock":
                entry.unlink()


def command(args: argparse.Namespace) -> Exit:
    """`tidalign pairs`: OUT is a run directory, or a file to export to from a run directory beside it."""
    out = Path(args.output)
    run = out.with_name(out.name + ".run") if args.format else out
    if args.format and out.is_dir():
        raise CannotWrite(f"{out}: expected a file to write, found a directory")
    began = time.monotonic()
    progress = Progress()
    finished = rundir.finished(str(run)) is not None and not args.new
    try:
        results = align_pairs(
            args.queries,
            args.targets,
            out=run,
            penalties=args.penalties,
            ends_free=args.ends_free,
            penalty_only=args.penalty_only,
            ambiguous=args.ambiguous,
            interleaved=args.interleaved,
            same_names=args.same_names,
            query_column=args.query_column,
            target_column=args.target_column,
            allow_empty=args.allow_empty,
            device=args.device,
            gpus=args.gpus,
            workers=args.workers,
            scheduler=args.scheduler,
            new=args.new,
            progress=None if args.quiet else progress,
        )
    finally:
        progress.close()
    statuses = results.statuses()
    partial = bool(statuses["capped"] or statuses["rejected"])
    report = rundir.read_report(str(run))
    if args.format:
        try:
            results.export(out, format=args.format, cigar=args.cigar, notice=say)
        except (InputError, CannotWrite, DiskFull):
            say(f"the alignments are kept: tidalign export {run} -o FILE writes them")
            raise
        if not (args.keep_run or partial):
            shutil.rmtree(run)
    if not args.quiet:
        seconds = time.monotonic() - began
        speed = "the run was finished already" if finished else f"{seconds:.1f} s, {len(results) / seconds:,.0f} pairs/s on {device_of(report)}"
        kept = f"; the run directory is kept: {run}" if args.format and run.exists() else ""
        say(f"{len(results):,} pairs: {by_status(statuses)}; {speed}; {out}{kept}")
    return Exit.PARTIAL if partial else Exit.COMPLETE
