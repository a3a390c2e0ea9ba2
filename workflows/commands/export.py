"""`tidalign export`: the results of a finished run, of pairs or of genomes, as one file."""

import argparse
import signal
from pathlib import Path

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.formats.export import FORMATS
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.workflows.options.formats import SUFFIXES, named
from tidalign.workflows.progress import by_status, say
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Write RUN's rows to OUT."""
    if args.output == "-":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends us as it ends any other program
    genomes = rundir.require(args.run)["kind"] == GENOMES.kind
    suffix = Path(args.output).suffix[1:].lower()
    format = args.format or suffix
    if genomes:
        format = SUFFIXES.get(format, format)
    if not genomes and format not in FORMATS:
        raise InputError(args.run, f"one of the formats {', '.join(FORMATS)} for a run of pairs", format, "choose one of them")
    if genomes and (wrong := named(format)):
        raise InputError(args.run, "a format for a run of genomes", repr(format), wrong)
    if genomes and args.cigar != "=X":
        raise InputError(args.run, "no --cigar for a run of genomes", args.cigar, "--format paf writes M, paf:wfmash writes = and X")
    rows, statuses = (_genomes if genomes else _pairs)(args, format)
    if not args.quiet:
        say(f"{rows:,} rows: {by_status(statuses, 'none')}; {'standard output' if args.output == '-' else args.output}")
    return Exit.PARTIAL if statuses["capped"] or statuses["rejected"] else Exit.COMPLETE


def _pairs(args: argparse.Namespace, format: str) -> tuple[int, dict[str, int]]:
    results = Results(args.run)
    if args.markend or args.pair is not None:
        raise InputError(args.run, "--markend and --pair for runs of genomes", "a run of pairs", "leave them out")
    return results.export(args.output, format=format, cigar=args.cigar, notice=say), results.statuses()


def _genomes(args: argparse.Namespace, format: str) -> tuple[int, dict[str, int]]:
    from tidalign.pipeline.genome.results import GenomeResults

    results = GenomeResults(args.run)
    job = results.pair(args.pair) if args.pair is not None else None
    return results.export(args.output, format=format, markend=args.markend, job=job), results.statuses()
