"""`tidalign merge`: the shards of a run, each in its directory, as the run that they are shares of."""

import argparse
from functools import partial
from pathlib import Path
from typing import Any

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop, on_signals
from tidalign.pipeline.errors import CannotWrite, InputError
from tidalign.pipeline.formats import table
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import Layout
from tidalign.pipeline.store.merge import layout_of, merge
from tidalign.workflows import running
from tidalign.workflows.options.common import chosen, options_of
from tidalign.workflows.progress import say
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.status import Exit

HERE = Resources(device="cpu", allocated=False)


def command(args: argparse.Namespace) -> Exit:
    """Put the shards together in OUT, or in OUT.run beside a file that is then written."""
    layout = layout_of(args.runs[0])
    args.format = chosen(args, layout.kind, partial(_refuse, args, layout))
    takes = table.find(layout.kind, args.format).options if args.format else ()
    asked = {name: value for name, value in options_of(args).items() if name in takes}
    with running.command(args) as this:
        for run in args.runs:
            if this.run.exists() and this.run.samefile(run):
                raise CannotWrite(f"{this.run}: expected another name than those of the shards that are merged; choose one with -o")
        with running.prepared(this.run, layout, new=args.new):
            rundir.probe(str(this.run.absolute()), layout)
            with rundir.locked(str(this.run.absolute())), on_signals() as stop:
                plan = merge([str(Path(run).absolute()) for run in args.runs], str(this.run.absolute()), partial(_look, stop))
        results = _finished(this.run, plan, layout)
        statuses = results.statuses()
        incomplete = bool(statuses["capped"] or statuses["rejected"] or rundir.finished(str(this.run)) == "PARTIAL")
        this.export(results, notice=say, **asked)
        this.end(f"{running.counted(len(args.runs), 'shards')}, {running.counted(len(results), 'rows')}", results, statuses, none="none", partial=incomplete)
    return Exit.PARTIAL if incomplete else Exit.COMPLETE


def _look(stop: Stop) -> None:
    """Raise Stopped where a signal has come."""
    if stop.number is not None:
        raise Stopped(stop.number)


def _refuse(args: argparse.Namespace, layout: Layout, message: str) -> None:
    """Say what is wrong with what is asked for, now that the kind of run is known."""
    raise InputError(args.runs[0], f"what a run of `tidalign {layout.kind}` can be written as", repr(args.format or args.output), message)


def _finished(run: Path, plan: dict[str, Any], layout: Layout) -> Any:
    """Finish the run, of which nothing is left to do, as any run is finished; its results."""
    if layout.kind == table.PAIRS:
        from tidalign.pipeline.pairs.aligner import described
        from tidalign.pipeline.pairs.input.read import PairSource
        from tidalign.pipeline.pairs.results import Results
        from tidalign.workflows.run.pairs.run import run_pairs

        run_pairs(run, PairSource.from_json(plan["source"]), described(plan["parameters"])[1], resources=HERE)
        return Results(run)
    if layout.kind == table.SEARCH:
        from tidalign.pipeline.search.parameters import SearchParameters
        from tidalign.pipeline.search.results import SearchResults
        from tidalign.workflows.run.search.run import SearchSource, run_search

        run_search(run, SearchSource.from_json(plan["source"]), SearchParameters.from_json(plan["parameters"]), resources=HERE)
        return SearchResults(run)
    from tidalign.pipeline.genome.input.source import GenomeSource
    from tidalign.pipeline.genome.parameters import GenomeParameters
    from tidalign.pipeline.genome.results import GenomeResults
    from tidalign.workflows.run.genome.run import run_genomes

    run_genomes(run, GenomeSource.from_json(plan["source"]), GenomeParameters.from_json(plan["parameters"]), resources=HERE)
    return GenomeResults(run)
