"""`tidalign export`: the results of a finished run as one file."""

import argparse
import signal

from tidalign.pipeline.results import Results
from tidalign.workflows.progress import by_status, say
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Write RUN's rows to OUT."""
    if args.output == "-":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `| head` ends us as it ends any other program
    results = Results(args.run)
    results.export(args.output, format=args.format, cigar=args.cigar, notice=say)
    statuses = results.statuses()
    if not args.quiet:
        say(f"{len(results):,} rows: {by_status(statuses)}; {'standard output' if args.output == '-' else args.output}")
    return Exit.PARTIAL if statuses["capped"] or statuses["rejected"] else Exit.COMPLETE
