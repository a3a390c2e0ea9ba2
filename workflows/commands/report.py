"""`tidalign report`: the page of a finished run, and its table for MultiQC."""

import argparse
from importlib import import_module
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.outputs import refuse_input, refuse_own
from tidalign.workflows.commands.export import RESULTS
from tidalign.workflows.options.common import STANDARD_OUTPUT
from tidalign.workflows.progress import say
from tidalign.workflows.report.make import PAGE, TABLE, make
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Make them again, of a run of any age that can still be read."""
    module, name = RESULTS[rundir.require(args.run)["kind"]]
    results = getattr(import_module(module), name)(args.run)
    results.statuses()  # MissingInput where the run is not finished
    for output in filter(None, (args.output, args.multiqc)):
        refuse_input(output, rundir.read_plan(args.run)["source"])
        refuse_own(output, (PAGE, TABLE))
    for output, ending in ((args.output, ".html"), (args.multiqc, ".json")):
        if output and Path(output).is_file() and not output.lower().endswith(ending):
            raise CannotWrite(f"{output}: expected a new name, or a file {ending} to replace, found another; choose another")
    written = make(results, args.output, args.multiqc)
    if not args.quiet:
        say("; ".join("standard output" if name == STANDARD_OUTPUT else name for name in written))
    return Exit.COMPLETE
