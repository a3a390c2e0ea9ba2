"""Arguments of `tidalign genome`, `genomes` and `genome-index`: LASTZ's options and what else they take."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats import table
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.genome.input.source import READ_ONCE, piped
from tidalign.workflows.options.command_line import add_options
from tidalign.workflows.options.common import add_device, add_new, add_shard, add_workers, check_shard, chosen, is_stream, named
from tidalign.workflows.options.given import check, check_many
from tidalign.workflows.options.lastz import OPTIONS, OUTPUT, SEEDS

_ALL_VS_ALL = (
    "align every sequence of the first file with every one of the second; of one file each with those after it; "
    "of a list, a table with the column genome and, if wanted, name, each file with those after it"
)

_KEPT = ("hits", "hsps", "anchors")

_TARGET = "FASTA, FASTQ (plain, gzip, bgzip) or 2bit, with LASTZ's actions if wanted: t.fa[multiple,unmask]"

_OF_WORDS = ("preset", "seed", "step", "maxwordcount", "ambiguous")
"""Options that say what an index holds."""

_OF_LASTZ = "--lastz-status"


def add_genome(parser: argparse.ArgumentParser) -> None:
    """Add all arguments of `tidalign genome`."""
    parser.add_argument("target", metavar="TARGET", help=f"{_TARGET}; or what `tidalign genome-index` wrote")
    query = "the same; every sequence of it is aligned with all of TARGET; standard input where it is - or left out; none with --self"
    parser.add_argument("query", metavar="[QUERY]", help=query).required = False  # nargs="?" would not take one that stands behind options
    files = table.listed(table.suffixes(table.GENOME))
    output = f"a run directory; or a file {files}, written from the run directory OUT.run; or - (default), standard output, with --format"
    parser.add_argument("-o", dest="output", metavar="OUT", default="-", help=output)
    parser.add_argument("--rdotplot", metavar="FILE", help="write the format rdotplot beside the output")
    for way in table.MASKINGS:
        shown = "write the letters of the target that --masking masks beside the output; :soft: all small ones; +: with names" if not way else argparse.SUPPRESS
        parser.add_argument(f"--outputmasking{way}", metavar="FILE", help=shown)
    parser.add_argument("--keep-run", action="store_true", help="keep OUT.run, for `tidalign plot` and other formats")
    parser.add_argument(_OF_LASTZ, action="store_true", help=argparse.SUPPRESS)  # of tidalign-lastz: what LASTZ cuts, too, is whole
    _add_common(parser)


def name_caller(top: argparse.ArgumentParser, words: Sequence[str]) -> None:
    """Have what is wrong with the words of `tidalign genome` told in the name of the program that was called: tidalign-lastz hands its words on to it, and one
    process may do the calls of both."""
    commands = next(action.choices for action in top._actions if isinstance(action, argparse._SubParsersAction))
    commands["genome"].prog = "tidalign-lastz" if _OF_LASTZ in words else "tidalign genome"


def add_genomes(parser: argparse.ArgumentParser) -> None:
    """Add all arguments of `tidalign genomes`."""
    inputs = "a table of jobs: a header line with target, query and, if wanted, name, tabs between; with --all-vs-all: TARGETS QUERIES, two files, or one"
    parser.add_argument("inputs", metavar="JOBS.tsv", nargs="+", help=inputs)
    parser.add_argument("--all-vs-all", action="store_true", help=_ALL_VS_ALL)
    parser.add_argument("-o", dest="output", metavar="DIR", required=True, help="a folder: a file for each pair, and the run directory DIR/run")
    parser.add_argument("--merge", action="store_true", help="one file for all pairs")
    _add_common(parser)


def add_genome_index(parser: argparse.ArgumentParser) -> None:
    """Add all arguments of `tidalign genome-index`: of LASTZ's options all are taken, and those shown that say which words are indexed."""
    parser.add_argument("target", metavar="TARGET", help=_TARGET)
    parser.add_argument("-o", dest="output", metavar="OUT", required=True, help="a folder, as target.tgx")
    add_options(parser, [option if option.name in _OF_WORDS else replace(option, group=SEEDS, help=None) for option in OPTIONS])


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", metavar="FORMAT", help=f"{', '.join(table.names(table.GENOME))}; `general:score,name1,...` names the fields")
    add_device(parser, gpus="all; the first alone where there is little to do")
    add_workers(parser)
    add_shard(parser)
    parser.add_argument("--keep", metavar="STAGES", type=_kept, default=(), help=f"keep tables of {', '.join(_KEPT)} in the run directory (commas between)")
    add_new(parser)
    for number, side in ((1, "target"), (2, "query")):
        name = f"--action:{side}", f"--action{number}"
        parser.add_argument(*name, dest=f"{side}_actions", metavar="A", action="append", default=[], help=f"as [A] behind the name of each {side}")
    groups = add_options(parser)
    groups[OUTPUT].add_argument("--markend", action="store_true", help="end the output with a line that says so")


def with_actions(args: argparse.Namespace, target: str, query: str) -> tuple[str, str]:
    """Put the actions that are options behind names of files; those with brackets of their own as they are."""
    behind = ("".join(each if each.startswith("[") else f"[{each}]" for each in given) for given in (args.target_actions, args.query_actions))
    return target + next(behind), query + next(behind)


def sides_of(target: str, query: str | None, *, with_itself: bool) -> tuple[str, str]:
    """Give the specifiers of both sides: with itself, the query's is the target's. ValueError where there is one too many, or none; InputError
    where both are one pipe."""
    if with_itself and query is not None:
        raise ValueError("self=True takes the place of a query: leave one of them out")
    if query is None and not with_itself:
        raise ValueError("expected a query: name its file, give sequences by name, or self=True")
    if query is not None:
        if target == query and piped(query):
            raise InputError(query, *READ_ONCE)
        return target, query
    if Specifier.parse(target).separator:
        raise InputError(target, "no separator beside --self", "one", "leave it out: the pieces of a sequence are one query to LASTZ, and none here")
    return target, target


def check_genome(args: argparse.Namespace, error: Callable[[str], Any]) -> None:
    """Call error(message) for usage that one argument alone does not show; sets `format` (None: a run directory)."""
    try:
        check(args.options)
    except ValueError as problem:
        error(str(problem))
    if args.module == "index":
        return
    if args.module == "genomes":
        _check_genomes(args, error)
        return
    with_itself = bool(args.options.get("with_itself"))
    if with_itself and args.query is not None:
        error("--self takes the place of a query: name one or give --self, not both")
    if args.query is None and not with_itself:
        if sys.stdin is None or sys.stdin.isatty():
            error("expected a QUERY: name its file, hand it over on standard input, or give --self")
        args.query = "-"
    args.format = chosen(args, table.GENOME, error)
    asked = [f"--outputmasking{way}" for way in table.MASKINGS if "soft" not in way and vars(args)[f"outputmasking{way}"]]
    if asked and not args.options.get("masking"):
        error(f"{asked[0]} lists what --masking masks: give both, or none")
    check_shard(args, error)
    if args.scheduler and is_stream(args.output):
        error("workers of a scheduler need a run directory that they see: name a file or a run directory with -o")
    if args.keep_run and (not args.format or is_stream(args.output)):
        error("--keep-run goes with a file for -o; a run directory is always kept")
    if args.keep and is_stream(args.output):
        error("--keep needs a run directory: name one, or a file, with -o")
    if args.keep and args.format:
        args.keep_run = True


def _check_genomes(args: argparse.Namespace, error: Callable[[str], Any]) -> None:
    if len(args.inputs) > (2 if args.all_vs_all else 1):
        error("--all-vs-all takes one file or two, TARGETS and QUERIES" if args.all_vs_all else "expected one table of jobs; two files need --all-vs-all")
    try:
        check_many(args.options, all_vs_all=args.all_vs_all)
    except ValueError as problem:
        error(str(problem))
    if args.output == "-":
        error("-o takes a folder; `tidalign export DIR/run -o - --format maf` writes to standard output")
    args.format = named(args, table.GENOME, args.format or "maf", error)


def _kept(text: str) -> tuple[str, ...]:
    names = text.split(",")
    unknown = [name for name in names if name not in _KEPT]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(_KEPT)}, with commas between, found {shown(unknown[0])}")
    return tuple(names)
