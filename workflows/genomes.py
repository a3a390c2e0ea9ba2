"""Align many pairs of genomes in one run: the command `tidalign genomes`."""

import argparse
import time
from collections import Counter
from pathlib import Path

from tidalign.pipeline import rundir
from tidalign.pipeline.errors import CannotWrite, InputError
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.source import GenomeSource, Pair, pair_name, read_jobs, safe
from tidalign.workflows.devices import device_of
from tidalign.workflows.genome import is_partial, kept_stages, run_parameters, run_with_progress
from tidalign.workflows.progress import by_status, say
from tidalign.workflows.status import Exit

RUN = "run"
"""The run directory inside DIR."""

MERGED = "all"


def source_of(args: argparse.Namespace) -> GenomeSource:
    """What `tidalign genomes` reads: pairs of files, or the sequences of two."""
    keep = kept_stages(args.keep)
    if args.all_vs_all:
        target, query = args.inputs
        return GenomeSource((Pair(pair_name(target, query), target, query),), all_vs_all=True, segments=args.segments, keep=keep)
    return GenomeSource(read_jobs(args.inputs[0]), segments=args.segments, keep=keep)


def command(args: argparse.Namespace) -> Exit:
    """`tidalign genomes`: DIR/run is the run directory; beside it a file for each pair, or one for all."""
    folder = Path(args.output)
    if folder.is_file():
        raise CannotWrite(f"{folder}: expected a folder to write to, found a file")
    began = time.monotonic()
    run = folder / RUN
    finished = rundir.finished(str(run)) is not None and not args.new
    results = run_with_progress(args, source_of(args), run_parameters(args), run)
    statuses = results.statuses()
    written = export_pairs(results, folder, args)
    partial = is_partial(results)
    if not args.quiet:
        took = "the run was finished already" if finished else f"{time.monotonic() - began:.1f} s on {device_of(rundir.read_report(str(run)))}"
        rows = sum(count for status, count in statuses.items() if status != "rejected")
        say(f"{len(results.names):,} pairs, {rows:,} alignments: {by_status(statuses, 'none')}; {took}; {written}")
    return Exit.PARTIAL if partial else Exit.COMPLETE


def export_pairs(results: GenomeResults, folder: Path, args: argparse.Namespace) -> str:
    """Write the rows of each pair, or all in one; says where they are."""
    suffix = args.format.partition(":")[0].rstrip("+-")
    if args.merge:
        path = folder / f"{MERGED}.{suffix}"
        results.export(path, format=args.format, markend=args.markend)
        return str(path)
    names = [safe(name) for name in results.names]
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice:
        raise InputError(str(results.path), "a name of its own for each pair", f"{twice!r} twice", "rename the sequences, or use --merge")
    for job, name in enumerate(names):
        results.export(folder / f"{name}.{suffix}", format=args.format, markend=args.markend, job=job)
    return f"{folder}/*.{suffix}"
