"""Align many pairs of genomes in one run: the command `tidalign genomes`."""

import argparse
import os
from collections import Counter
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite, InputError, shown
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, pair_name, read_jobs, safe
from tidalign.pipeline.genome.plan import GenomeManifest
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows import running
from tidalign.workflows.commands.genome import alignments, check_format, is_partial, kept_stages, run_as_asked
from tidalign.workflows.options.genome import with_actions
from tidalign.workflows.options.given import parameters
from tidalign.workflows.status import Exit

RUN = "run"
"""The run directory inside DIR."""

MERGED = "all"

LONGEST = 240
"""Bytes of the name of a file: file systems have 255, and until it is whole a file has a longer name."""


def source_of(args: argparse.Namespace) -> GenomeSource:
    """Read what `tidalign genomes` aligns: pairs of files, or the sequences of two."""
    keep = kept_stages(args.keep)
    if args.all_vs_all:
        target, query = with_actions(args, *args.inputs)
        return GenomeSource((Pair(pair_name(target, query), target, query),), all_vs_all=True, segments=args.options.get("segments"), keep=keep)
    jobs = (Pair(pair.name, *with_actions(args, pair.target, pair.query)) for pair in read_jobs(args.inputs[0]))
    return GenomeSource(tuple(jobs), segments=args.options.get("segments"), keep=keep)


def command(args: argparse.Namespace) -> Exit:
    """Run `tidalign genomes`: DIR/run is the run directory; beside it a file for each pair, or one for all."""
    folder = Path(args.output)
    if folder.is_file():
        raise CannotWrite(f"{folder}: expected a folder to write to, found a file")
    with running.command(args, folder / RUN) as this:
        results = run_as_asked(args, source_of(args), parameters(args.options), this.run, lambda manifest: check_names(this.run, args, manifest))
        statuses = results.statuses()
        written = export_pairs(results, folder, args)
        partial = is_partial(results)
        what = f"{len(results.names):,} pairs, {alignments(statuses):,} alignments"
        this.end(what, results, statuses, none="none", partial=partial, where=written)
    return Exit.PARTIAL if partial else Exit.COMPLETE


def check_names(run: Path, args: argparse.Namespace, manifest: GenomeManifest) -> None:
    """Refuse names that cannot be written in the format, or be those of files, before anything is aligned."""
    check_format(run, args, manifest)
    if args.merge:
        return
    files = [f"{safe(name)}.{_suffix(args)}" for name in manifest.names]
    way_out = f"shorten or change the names{' of the sequences' if args.all_vs_all else ''}, or use --merge for one file of all pairs"
    if long := next((file for file in files if len(os.fsencode(file)) > LONGEST), None):
        raise InputError(" ".join(args.inputs), f"pairs whose files have names of at most {LONGEST} bytes", shown(long), way_out)
    if twice := next((file for file, times in Counter(files).items() if times > 1), None):
        raise InputError(" ".join(args.inputs), "a file of its own for each pair", f"{shown(twice)} twice", way_out)


def _suffix(args: argparse.Namespace) -> str:
    return str(args.format.partition(":")[0].rstrip("+-"))


def export_pairs(results: GenomeResults, folder: Path, args: argparse.Namespace) -> str:
    """Write the rows of each pair, or all in one; says where they are."""
    suffix = _suffix(args)
    if args.merge:
        path = folder / f"{MERGED}.{suffix}"
        results.export(path, format=args.format, markend=args.markend)
        return str(path)
    for job, name in enumerate(results.names):
        results.export(folder / f"{safe(name)}.{suffix}", format=args.format, markend=args.markend, job=job)
    return f"{folder}/*.{suffix}"
