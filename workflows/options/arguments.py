"""The command line's arguments: what each command takes, and usage that one argument alone does not show."""

import argparse
import os
import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import NoReturn

from tidalign import __version__
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.formats import table
from tidalign.pipeline.pairs.choices import AMBIGUOUS, STRANDS
from tidalign.workflows.options import place, texts
from tidalign.workflows.options.common import (
    SCORED,
    STANDARD_OUTPUT,
    add_device,
    add_export,
    add_logs,
    add_new,
    add_said,
    add_scores,
    add_shard,
    add_workers,
    check_common,
    check_shard,
    is_stream,
    options_of,
    standard,
    typed,
)
from tidalign.workflows.options.common import chosen as chosen_format
from tidalign.workflows.options.nearest import nearest
from tidalign.workflows.options.values import duration, ends_free, integer
from tidalign.workflows.progress import LONGEST_MESSAGE, brief
from tidalign.workflows.status import Exit


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        if meant := re.match(r"argument COMMAND: invalid choice: '(\S+)' \(choose from (.*)\)", message):
            commands = re.findall("[a-z-]+", meant[2])
            close = nearest(meant[1], commands)
            message = f"{meant[1]} is no command; " + (f"did you mean {close}?" if close else f"commands are {', '.join(commands)}")
        see = f"see: {self.prog} --help"
        said = brief(f"{self.prog}: {message}", LONGEST_MESSAGE - len(see) - 1)
        self.exit(Exit.USAGE, f"{said}\n{see}\n")


def _penalties(text: str) -> str:
    return str(Penalties.parse(text))


def _heuristic(text: str) -> str:
    return str(Heuristic.parse(text))


def _command(commands: "argparse._SubParsersAction[_Parser]", name: str, module: str, summary: str, epilog: str = "") -> _Parser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(module=module, error=parser.error, known=lambda: list(parser._option_string_actions))
    add_said(parser)
    if name != "estimate":  # its words are the command's
        add_logs(parser)
    return parser


def _add_run(parser: _Parser, output: str, default: str | None = None) -> None:
    """Add what `pairs` and `partition` share. default: of OUT; None: it must be given."""
    parser.add_argument("queries", metavar="QUERIES", help="FASTA or FASTQ (plain, gzip, bgzip); or one file of pairs: .seq, Parquet, Arrow, or --interleaved")
    parser.add_argument("targets", metavar="[TARGETS]", help="FASTA or FASTQ; record i is aligned with record i of QUERIES").required = False  # as in genome.py
    parser.add_argument("-o", dest="output", metavar="OUT", required=default is None, default=default, help=output)
    shapes = "edit, linear:X,G, affine:X,O,E or affine2p:X,O1,E1,O2,E2: mismatch X, a gap of n letters O+nE (default: affine:4,6,2)"
    parser.add_argument("--penalties", metavar="MODEL", type=typed(_penalties), help=shapes)
    free = "letters free of charge at the begin and end of query and target (default: 0,0,0,0, end to end)"
    parser.add_argument("--ends-free", metavar="QB,QE,TB,TE", type=typed(ends_free), help=free)
    parser.add_argument("--penalty-only", action="store_true", help="no CIGARs, which is faster")
    rules = "adaptive:LENGTH,DISTANCE,STEPS (adaptive alone is 10,50,1), band:LOW,HIGH, adaptive-band:LOW,HIGH,STEPS, xdrop:X,STEPS or zdrop:Z,STEPS"
    parser.add_argument("--heuristic", metavar="RULE", type=typed(_heuristic), help=f"keep promising diagonals only, by WFA2-lib's rules: {rules}")
    add_scores(parser)
    letters = "a letter other than A, C, G, T equals nothing (default), equals every letter, or is an error"
    parser.add_argument("--ambiguous", choices=AMBIGUOUS, default="mismatch", help=letters)
    parser.add_argument("--strand", choices=STRANDS, default="plus", help="both: also the query's reverse complement; the better is kept, + of equals")
    parser.add_argument("--interleaved", action="store_true", help="QUERIES holds query, target, query, target, ...")
    parser.add_argument("--same-names", action="store_true", help="refuse pairs whose two names differ")
    parser.add_argument("--query-column", metavar="NAME", default="query", help="column of a table with the queries (default: query)")
    parser.add_argument("--target-column", metavar="NAME", default="target", help="column of a table with the targets (default: target)")
    parser.add_argument("--allow-empty", action="store_true", help="an input without records gives an empty output instead of status 66")
    add_workers(parser)
    add_new(parser)


@cache
def parser(chosen: str | None = None, *, before: bool = True) -> argparse.ArgumentParser:
    """Make the parser of the whole command line. The arguments of a genome command are there if it is `chosen`: they take a second to load; those that stand
    before the command where something does."""
    raw = argparse.RawDescriptionHelpFormatter
    top = _Parser(prog="tidalign", description="DNA alignment by the batch.", epilog=texts.EXITS, formatter_class=raw, allow_abbrev=False)
    top.set_defaults(**place.DEFAULTS)
    if before:
        place.add(top)
    top.add_argument("--version", action="version", version=f"tidalign {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)

    pairs = _command(commands, "pairs", "pairs", "align every query with its target", texts.PAIRS)
    files = table.listed(table.suffixes(table.PAIRS))
    written = f"a file {files}, written from the run directory OUT.run, which is then removed"
    _add_run(pairs, f"a run directory; or {written}; or - (default), standard output, with --format", STANDARD_OUTPUT)
    add_device(pairs, gpus="all; the first alone where there is little to do")
    add_shard(pairs)
    pairs.add_argument("--format", metavar="FORMAT", help=f"{', '.join(table.names(table.PAIRS) + table.compressed(table.PAIRS))}, where OUT's name says none")
    add_export(pairs)
    pairs.add_argument("--keep-run", action="store_true", help="keep OUT.run")

    _command(commands, "genome", "genome", "align two genomes as LASTZ does, with its options", texts.GENOME)
    _command(commands, "genomes", "genomes", "align many pairs of genomes, or of their sequences, in one run", texts.GENOMES)
    _command(commands, "genome-index", "index", "read a target and index its words once, for many runs of `tidalign genome`", texts.GENOME_INDEX)
    if chosen in place.GENOMES:
        from tidalign.workflows.options.genome import add_genome, add_genome_index, add_genomes

        {"genome": add_genome, "genomes": add_genomes, "genome-index": add_genome_index}[chosen](commands.choices[chosen])

    search = _command(commands, "search", "search", "find the best hits of every query in a database, by scores", texts.SEARCH)
    index = _command(commands, "index", "index", "pack a database for `tidalign search` once")
    if chosen in ("search", "index"):
        from tidalign.workflows.options.search import add_index, add_search

        add_search(search)
        add_export(search, table.SEARCH)
        add_index(index)

    partition = _command(commands, "partition", "partition", "read and cut the input into chunks, the first stage of `tidalign pairs`", texts.PARTITION)
    _add_run(partition, "a run directory")

    export = _command(commands, "export", "export", "write the results of a finished run as one file", texts.EXPORT)
    export.add_argument("run", metavar="RUN", help="a run directory of `tidalign pairs`, `search` or `genome`")
    files = f"a file {files}, for a search also .m8, for genomes {table.listed(table.suffixes(table.GENOME))}; or - (default), standard output, with --format"
    export.add_argument("-o", dest="output", metavar="OUT", default=STANDARD_OUTPUT, help=files)
    export.add_argument("--format", metavar="FORMAT", help="format where the name of OUT does not say it: as its endings, or for genomes as `tidalign genome`")
    export.add_argument("--markend", action="store_true", help="genomes: end the output with a line that says so")
    export.add_argument("--pair", metavar="NAME", help="genomes: one pair of a run over many")
    add_export(export)

    estimate = _command(commands, "estimate", "estimate", "show what a command would take, in seconds and bytes, and do none of it", texts.ESTIMATE)
    estimate.add_argument("--json", action="store_true", help="as JSON")
    estimate.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="pairs, genome, genomes or search, with its arguments")

    merge = _command(commands, "merge", "merge", "put the shards of a run together: the same bytes as one run", texts.MERGE)
    merge.add_argument("runs", metavar="RUN", nargs="+", help="the run directory of each shard (of `tidalign genomes` DIR/run)")
    merge.add_argument("-o", dest="output", metavar="OUT", required=True, help="a run directory; or a file, as of `tidalign pairs` or `tidalign genome`")
    merge.add_argument("--format", metavar="FORMAT", help="format where the name of OUT does not say it")
    merge.add_argument("--markend", action="store_true", help="genomes: end the output with a line that says so")
    merge.add_argument("--keep-run", action="store_true", help="keep OUT.run")
    add_new(merge)
    add_export(merge)

    plot = _command(commands, "plot", "plot", "draw a dot plot of a run over genomes, or of a file of alignments", texts.PLOT)
    report = _command(commands, "report", "report", "show what a finished run did as a page, and as a table for MultiQC", texts.REPORT)
    if chosen in ("plot", "report"):
        from tidalign.workflows.options.looks import add_plot, add_report

        add_plot(plot)
        add_report(report)

    check = _command(commands, "check", "check", "show what is installed and test it on known answers; or look for damage in a run directory")
    check.add_argument("run", metavar="RUN", nargs="?", help="a run directory, or an index of genome-index: name each file that is not what was written")
    check.add_argument("--calibrate", action="store_true", help="measure cores and GPU, half a minute each, and what compiling takes, for estimates")
    check.add_argument("--compile", action="store_true", help="compile every kernel now, as for an image, and test all of them; no run compiles then")
    cluster = _command(commands, "cluster", "cluster", "write the profile of this site, for jobs of --cluster slurm, of what Slurm says of it")
    cluster.add_argument("action", choices=("init",), help="write ~/.config/tidalign/cluster.yaml")
    cluster.add_argument("--new", action="store_true", help="in place of the one that is there")
    serve = _command(commands, "serve", "serve", "keep processes ready that do the calls of tidalign-lastz, without its start-up", texts.SERVE)
    serve.add_argument("--stop", action="store_true", help="end the server; calls that run are finished, and given again, their callers do them by themselves")
    serve.add_argument("--workers", metavar="N", dest="processes", type=typed(integer(1, 4096)), help="processes (default: one a core, or two for each GPU)")
    serve.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="auto (default): the GPUs of this machine if it has any")
    serve.add_argument("--gpus", metavar="N", type=typed(integer(1, 1024)), help="how many GPUs (default: all)")
    serve.add_argument("--idle-timeout", metavar="T", type=typed(duration), help="end after 90s, 50m, 2h or 1d without a call (default: never)")
    completion = _command(commands, "completion", "completion", "print what has a shell complete tidalign's commands and options", texts.COMPLETION)
    completion.add_argument("shell", choices=("bash", "fish", "zsh"), help="the shell")
    _command(commands, "man", "manual", "print the manual page", texts.MANUAL)
    demo = _command(commands, "demo", "demo", "align real reads and genomes that come with tidalign")
    demo.add_argument("-o", dest="output", metavar="DIR", default="tidalign-demo", help="where to write (default: tidalign-demo)")
    return top


def commands() -> dict[str, _Parser]:
    """Give the parser of each command, with all of its arguments, in the order of --help."""

    def made(chosen: str | None) -> dict[str, _Parser]:
        return next(action.choices for action in parser(chosen)._actions if isinstance(action, argparse._SubParsersAction))

    return {name: made(name)[name] for name in made(None)}


def parse(arguments: Sequence[str], top: argparse.ArgumentParser) -> argparse.Namespace:
    """Parse the arguments and check them: what is wrong with them is said in the name of their command, and pointed to its help."""
    args, unknown = top.parse_known_args(arguments)
    if unknown:
        name = place.belongs_before(unknown)
        stands = f"{name} stands before the command: tidalign {name} .. {args.module} .."
        args.error(stands if name else f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown, args.known())}")
    check(args)
    if arguments[0].startswith("-"):
        place.check(args, os.environ, args.error)
    return args


def _meant(unknown: Sequence[str], known: Iterable[str]) -> str:
    """Name the option that the first unknown one is nearest to."""
    name = next((word.partition("=")[0] for word in unknown if word.startswith("--")), "")
    close = nearest(name.removeprefix("--"), (option.removeprefix("--") for option in known))  # all begin alike
    return f"; did you mean --{close}?" if name and close else ""


def check(args: argparse.Namespace) -> None:
    """Check usage that one argument alone does not show; sets `format` of `pairs` and `export` (None: a run directory)."""
    check_common(args, args.error)
    if args.module in ("pairs", "partition", "genome", "export", "search", "merge"):
        args.output = standard(args.output)
    if args.module in ("pairs", "partition"):
        if any(getattr(args, name) is not None for name in SCORED):
            from tidalign.workflows.options.scoring import check_pairs_scores

            check_pairs_scores(args, args.error)
        if args.interleaved and args.targets:
            args.error("--interleaved takes one file")
    if args.module == "check" and args.run and (args.compile or args.calibrate):
        args.error(f"--{'compile' if args.compile else 'calibrate'} takes no run directory")
    if args.module == "partition":
        if is_stream(args.output):
            args.error("-o takes a run directory")
        if table.by_suffix(table.PAIRS, table.ending(args.output)):
            args.error(f"-o takes a run directory: {args.output}.run, with which `tidalign pairs -o {args.output}` goes on")
    if "options" in args:  # LASTZ's
        from tidalign.workflows.options.genome import check_genome

        check_genome(args, args.error)
    if args.module == "plot":
        from tidalign.workflows.options.looks import check_plot

        check_plot(args, args.error)
    if args.module == "export":
        _check_export(args)
    if args.module == "pairs":
        _check_pairs(args)
    if args.module == "search":
        from tidalign.workflows.options.search import check_search

        _check_output(args, table.SEARCH)
        check_search(args, args.error)


def _check_export(args: argparse.Namespace) -> None:
    """End the command for usage that is wrong whatever kind of run RUN turns out to be."""
    suffix = Path(args.output).suffix.lower()
    found = {kind: table.by_name(kind, args.format or table.ending(args.output)) for kind in table.ELSEWHERE}
    for elsewhere in table.ELSEWHERE.values():
        if not args.format and suffix in elsewhere and not any(found.values()):
            args.error(f"cannot write {suffix}: {elsewhere[suffix]}")
    if args.output == STANDARD_OUTPUT and not args.format:
        args.error("standard output needs a --format, such as --format=sam; or name a file with -o")
    if not args.format and not any(found.values()):
        args.error(f"no format in {args.output!r}: end it in {table.listed(table.suffixes(*found))}, or give --format")
    wrong = [table.refused(kind, format, options_of(args)) for kind, format in found.items() if format]
    if wrong and wrong[0] and all(wrong):
        args.error(f"--{': '.join(wrong[0])}")


def _check_pairs(args: argparse.Namespace) -> None:
    """Set `format`, and end the command for usage that goes against it."""
    _check_output(args, table.PAIRS)
    check_shard(args, args.error)
    if args.format and (args.penalty_only or args.report == "ends") and table.find(table.PAIRS, args.format).cigars:
        others = [format.suffix for format in table.formats(table.PAIRS) if format.suffix and not format.cigars]
        args.error(f"{args.format.upper()} needs CIGARs: leave {'--report ends' if args.report else '--penalty-only'} out, or write {table.listed(others)}")
    if args.format == "bam" and args.scoring and args.scored.alphabet == "protein":
        args.error("BAM holds no proteins: write .sam, .paf or .tsv")
    if args.cs and (args.penalty_only or args.report in ("score", "ends")):
        args.error(f"--cs needs CIGARs: leave {f'--report {args.report}' if args.report else '--penalty-only'} or --cs out")


def _check_output(args: argparse.Namespace, kind: str) -> None:
    """Set `format` of a command that ends in a run directory or a file."""
    args.format = chosen_format(args, kind, args.error)
    if args.scheduler and is_stream(args.output):
        args.error("workers of a scheduler need a run directory that they see: name a file or a run directory with -o")
    if args.keep_run and (not args.format or is_stream(args.output)):
        args.error("--keep-run goes with a file for -o; a run directory is always kept")
    if args.format and args.report == "score" and table.find(kind, args.format).placed:
        others = [format.suffix for format in table.formats(kind) if format.suffix and not format.placed]
        args.error(f"{args.format.upper()} needs places: leave --report score out, or write {table.listed(others)}")
