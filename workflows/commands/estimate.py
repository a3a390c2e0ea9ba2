"""Forecast what a command would take, and do none of it: `tidalign estimate COMMAND ..`, the same as --dry-run before a command."""

import argparse
import json
from typing import Any

from tidalign.cluster.task import cores
from tidalign.pipeline.formats import table as formats
from tidalign.workflows.answer import answer
from tidalign.workflows.commands import genome, genomes, pairs, search
from tidalign.workflows.estimate import of_genomes, of_pairs
from tidalign.workflows.estimate import search as of_search
from tidalign.workflows.estimate.forecast import Forecast, table, values
from tidalign.workflows.estimate.written import Output
from tidalign.workflows.options.common import options_of
from tidalign.workflows.options.given import parameters
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Print what the command would take: a table, or JSON."""
    answer(shown(args, forecast_of(args)))
    return Exit.COMPLETE


def shown(args: argparse.Namespace, forecast: Forecast, **more: Any) -> str:
    """Write a forecast as the table or JSON that is wanted. more: lines of the table, and names of the JSON."""
    if args.json:
        return json.dumps(values(forecast, cores()) | more, indent=1)
    lines = [*table(forecast, cores()), *((name.replace("_", " "), str(value)) for name, value in more.items())]
    width = max(len(name) for name, _ in lines)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)


def forecast_of(args: argparse.Namespace) -> Forecast:
    """Forecast a command of pairs, genomes or a search. Raises what the command does for inputs that are wrong, as far as they are looked at."""
    return _OF[args.module](args)


def _pairs(args: argparse.Namespace) -> Forecast:
    wanted = pairs.parameters_of(args)
    chosen = formats.find(formats.PAIRS, args.format) if args.format else None
    output = Output(chosen, {name: value for name, value in options_of(args).items() if chosen and name in chosen.options})
    return of_pairs.forecast(pairs.source_of(args, None, wanted.alphabet), wanted, output)


def _genome(args: argparse.Namespace) -> Forecast:
    return of_genomes.forecast(genome.source_of(args), parameters(args.options))


def _genomes(args: argparse.Namespace) -> Forecast:
    return of_genomes.forecast(genomes.source_of(args), parameters(args.options))


def _search(args: argparse.Namespace) -> Forecast:
    source = search.source_of(args, None)
    return of_search.forecast(source.queries, source.database, args.parameters)


_OF = {"pairs": _pairs, "genome": _genome, "genomes": _genomes, "search": _search}
