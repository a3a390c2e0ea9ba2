"""`tidalign export`: the results of a finished run, of any kind, as one file."""

import argparse
from importlib import import_module
from typing import Any

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats import table
from tidalign.pipeline.store import rundir
from tidalign.workflows import running
from tidalign.workflows.options.common import options_of
from tidalign.workflows.progress import by_status, say
from tidalign.workflows.status import Exit

RESULTS = {
    "pairs": ("tidalign.pipeline.pairs.results", "Results"),
    "genome": ("tidalign.pipeline.genome.results", "GenomeResults"),
    "search": ("tidalign.pipeline.search.results", "SearchResults"),
}
"""Where the results of each kind of run are; only one of them is loaded."""


def command(args: argparse.Namespace) -> Exit:
    """Write RUN's rows to OUT."""
    kind = rundir.require(args.run)["kind"]
    wanted = options(args, kind)
    module, name = RESULTS[kind]
    results = getattr(import_module(module), name)(args.run)
    if args.pair is not None:
        wanted["job"] = results.pair(args.pair)
    rows = results.export(args.output, notice=say, **wanted)
    statuses = results.statuses() if args.pair is None else results.statuses(job=wanted["job"])
    if not args.quiet:
        say(f"{running.counted(rows, 'rows')}: {by_status(statuses, 'none')}; {'standard output' if args.output == '-' else args.output}")
    return Exit.PARTIAL if statuses["capped"] or statuses["rejected"] else Exit.COMPLETE


def options(args: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Gather what `export` of this kind of results is told. Raises InputError for what it does not take."""
    run = f"a run of `tidalign {kind}`"
    try:
        format = table.chosen(kind, args.format, args.output)
    except ValueError as error:
        raise InputError(args.run, f"a format of {run}", repr(args.format or args.output), str(error)) from error
    given = options_of(args)
    if wrong := table.refused(kind, format, given):
        raise InputError(args.run, f"no --{wrong[0]} for {run} as {format.name}", "it" if given[wrong[0]] is True else repr(given[wrong[0]]), wrong[1])
    if args.pair is not None and kind != table.GENOME:
        raise InputError(args.run, f"no --pair for {run}", repr(args.pair), "leave it out")
    return {"format": format.name} | {name: given[name] for name in format.options}
