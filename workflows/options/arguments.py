"""The command line's arguments: what each command takes, and usage that one argument alone does not show."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tidalign import __version__
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.formats import table
from tidalign.workflows.options.common import (
    SCORED,
    STANDARD_OUTPUT,
    add_device,
    add_export,
    add_new,
    add_scores,
    add_workers,
    check_common,
    is_stream,
    options_of,
    standard,
    typed,
)
from tidalign.workflows.options.common import chosen as chosen_format
from tidalign.workflows.options.values import MOST, integer, wrong
from tidalign.workflows.progress import LONGEST, brief
from tidalign.workflows.status import Exit

_PICTURES = (".png", ".svg", ".pdf", ".html")

_PAIRS = """examples:
  tidalign pairs reads.fastq windows.fasta -o run           the run directory `run`; `tidalign export` and Python read it
  tidalign pairs reads.fastq windows.fasta -o out.sam       SAM; a killed command goes on from out.sam.run
  tidalign pairs pairs.parquet -o out.parquet --penalties edit
  tidalign pairs both.fastq.gz --interleaved -o out.paf --penalties affine2p:4,6,2,24,1
  tidalign pairs reads.fq windows.fa -o out.tsv --ends-free 0,0,16,16       up to 16 target letters free at either end
  tidalign pairs reads.fq windows.fa -o out.sam --scoring match:2,mismatch:-4,gap:4,2 --span local
  tidalign pairs a.faa b.faa -o out.tsv --matrix blosum62 --gap 11,1 --report score
  tidalign pairs reads.fq windows.fa -o run --scheduler tls://10.0.0.1:8786
"""

_PARTITION = """example:
  tidalign partition reads.fastq windows.fasta -o run && tidalign pairs reads.fastq windows.fasta -o run
"""

_GENOME = """examples:
  tidalign genome target.fa query.fa -o out.maf                            what LASTZ prints; a killed command goes on from out.maf.run
  tidalign genome 'target.fa[unmask]' query.2bit -o out.paf --step=20 --notransition
  tidalign genome target.fa query.fa -o out.axt K=2400 L=3000 Y=9400 --scores=HoxD55.q
  tidalign genome target.fa query.fa --format=general:score,name1,zstart1,end1 | head
  tidalign genome target.fa query.fa -o run --keep hsps && tidalign plot run -o dotplot.png
"""

_GENOMES = """examples:
  tidalign genomes jobs.tsv -o out --format axt --step=20                  out/NAME.axt for each line of jobs.tsv
  tidalign genomes --all-vs-all a.fa b.fa -o out --merge                   every sequence of a.fa with every one of b.fa, in out/all.maf
"""

_SEARCH = """examples:
  tidalign search genes.fa database.fa -o hits.m8                  the ten best of each gene, both strands, BLAST tabular
  tidalign search proteins.faa database.faa -o hits.tsv --matrix blosum62 --gap 11,1 --top 5
  tidalign index database.faa -o database.tidx --alphabet protein && tidalign search proteins.faa database.tidx -o run --alphabet protein
"""

_PLOT = """examples:
  tidalign genome target.fa query.fa -o run && tidalign plot run -o dotplot.png
  tidalign plot out/run -o dotplot.html --pair human__mouse                a page to zoom in
"""

_EXPORT = """examples:
  tidalign export run -o out.sam
  tidalign export run -o out.paf --cigar M
  tidalign export run -o - --format tsv | head
  tidalign export genome_run -o out.maf
"""

_EXITS = """exit status: 0 everything is aligned, 3 something was cut or given up (rows or report say why), 2 wrong usage, 65 bad input, 66 no input,
69 no usable GPU or workers, 73 cannot write, 74 disk full, 75 cluster lost, 78 the run directory is of other inputs, options or another version,
130 and 143 stopped by a signal, 1 a bug. After 69 to 75, 130 and 143 the same command goes on where it was."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        see = f"see: {self.prog} --help"
        self.exit(Exit.USAGE, f"{brief(f'{self.prog}: {message}', LONGEST - len(see) - 1)}\n{see}\n")


def _penalties(text: str) -> str:
    return str(Penalties.parse(text))


def _ends_free(text: str) -> tuple[int, ...]:
    fields = text.split(",")
    try:
        ends = tuple(map(integer(0), fields))
    except ValueError:
        ends = ()
    if len(ends) != 4:
        raise wrong(f"four whole numbers QB,QE,TB,TE, each from 0 to {MOST}", text)
    return ends


def _command(commands: "argparse._SubParsersAction[_Parser]", name: str, module: str, summary: str, epilog: str = "") -> _Parser:
    parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(module=module, error=parser.error)
    parser.add_argument("--quiet", action="store_true", help="no progress and no last line; errors only")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    return parser


def _add_run(parser: _Parser, output: str) -> None:
    """What `pairs` and `partition` share."""
    parser.add_argument("queries", metavar="QUERIES", help="FASTA or FASTQ (plain, gzip, bgzip); or one file of pairs: .seq, Parquet, Arrow, or --interleaved")
    parser.add_argument("targets", metavar="TARGETS", nargs="?", help="FASTA or FASTQ; record i is aligned with record i of QUERIES")
    parser.add_argument("-o", dest="output", metavar="OUT", required=True, help=output)
    shapes = "edit, linear:X,G, affine:X,O,E or affine2p:X,O1,E1,O2,E2: mismatch X, a gap of n letters O+nE (default: affine:4,6,2)"
    parser.add_argument("--penalties", metavar="MODEL", type=typed(_penalties), help=shapes)
    free = "letters free of charge at the begin and end of query and target (default: 0,0,0,0, end to end)"
    parser.add_argument("--ends-free", metavar="QB,QE,TB,TE", type=typed(_ends_free), help=free)
    parser.add_argument("--penalty-only", action="store_true", help="no CIGARs, which is faster")
    add_scores(parser)
    letters = "a letter other than A, C, G, T equals nothing (default), equals every letter, or is an error"
    parser.add_argument("--ambiguous", choices=("mismatch", "match", "error"), default="mismatch", help=letters)
    parser.add_argument("--strand", choices=("plus", "both"), default="plus", help="both: also the query's reverse complement; the better is kept, + of equals")
    parser.add_argument("--interleaved", action="store_true", help="QUERIES holds query, target, query, target, ...")
    parser.add_argument("--same-names", action="store_true", help="refuse pairs whose two names differ")
    parser.add_argument("--query-column", metavar="NAME", default="query", help="column of a table with the queries (default: query)")
    parser.add_argument("--target-column", metavar="NAME", default="target", help="column of a table with the targets (default: target)")
    parser.add_argument("--allow-empty", action="store_true", help="an input without records gives an empty output instead of status 66")
    add_workers(parser)
    add_new(parser)


def parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The parser of the whole command line. The arguments of the genome commands are there if one is `chosen`: they take a second to load."""
    top = _Parser(prog="tidalign", description="DNA alignment by the batch.", epilog=_EXITS, formatter_class=argparse.RawDescriptionHelpFormatter)
    top.add_argument("--version", action="version", version=f"tidalign {__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=_Parser)

    pairs = _command(commands, "pairs", "pairs", "align every query with its target", _PAIRS)
    files = table.listed(table.suffixes(table.PAIRS))
    _add_run(pairs, f"a run directory; or a file {files}, written from the run directory OUT.run, which is then removed; or -, standard output, with --format")
    add_device(pairs)
    pairs.add_argument("--format", metavar="FORMAT", help=f"{', '.join(table.names(table.PAIRS))}, where the name of OUT does not say it")
    add_export(pairs)
    pairs.add_argument("--keep-run", action="store_true", help="keep OUT.run")

    genome = _command(commands, "genome", "genome", "align two genomes as LASTZ does, with its options", _GENOME)
    genomes = _command(commands, "genomes", "genomes", "align many pairs of genomes, or of their sequences, in one run", _GENOMES)
    if chosen in ("genome", "genomes"):
        from tidalign.workflows.options.genome import add_genome, add_genomes

        add_genome(genome)
        add_genomes(genomes)

    search = _command(commands, "search", "search", "find the best hits of every query in a database, by scores", _SEARCH)
    index = _command(commands, "index", "index", "pack a database for `tidalign search` once")
    if chosen in ("search", "index"):
        from tidalign.workflows.options.search import add_index, add_search

        add_search(search)
        add_export(search, table.SEARCH)
        add_index(index)

    partition = _command(commands, "partition", "partition", "read and cut the input into chunks, the first stage of `tidalign pairs`", _PARTITION)
    _add_run(partition, "a run directory")

    export = _command(commands, "export", "export", "write the results of a finished run as one file", _EXPORT)
    export.add_argument("run", metavar="RUN", help="a run directory of `tidalign pairs`, `search` or `genome`")
    files = f"a file {files}, for a search also .m8, for genomes {table.listed(table.suffixes(table.GENOME))}; or - for standard output with --format"
    export.add_argument("-o", dest="output", metavar="OUT", required=True, help=files)
    export.add_argument("--format", metavar="FORMAT", help="format where the name of OUT does not say it: as its endings, or for genomes as `tidalign genome`")
    export.add_argument("--markend", action="store_true", help="genomes: end the output with a line that says so")
    export.add_argument("--pair", metavar="NAME", help="genomes: one pair of a run over many")
    add_export(export)

    plot = _command(commands, "plot", "plot", "draw a dot plot of a run over genomes", _PLOT)
    plot.add_argument("run", metavar="RUN", help="a run directory of `tidalign genome` or `tidalign genomes`")
    plot.add_argument("-o", dest="output", metavar="OUT", required=True, help="a picture .png, .svg or .pdf, or a page .html")
    plot.add_argument("--pair", metavar="NAME", help="one pair of a run over many")

    check = _command(commands, "check", "check", "show what is installed and test it on known answers; or look for damage in a run directory")
    check.add_argument("run", metavar="RUN", nargs="?", help="a run directory: name each of its files that is not what was written")
    check.add_argument("--compile", action="store_true", help="compile every kernel now, as for an image, and test all of them; no run compiles then")
    demo = _command(commands, "demo", "demo", "align real reads and genomes that come with tidalign")
    demo.add_argument("-o", dest="output", metavar="DIR", default="tidalign-demo", help="where to write (default: tidalign-demo)")
    return top


def parse(arguments: Sequence[str], top: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments, checked: what is wrong with them is said in the name of their command, and pointed to its help."""
    args, unknown = top.parse_known_args(arguments)
    if unknown:
        args.error(f"unrecognized arguments: {' '.join(unknown)}")
    check(args)
    return args


def check(args: argparse.Namespace) -> None:
    """Usage that one argument alone does not show; sets `format` of `pairs` and `export` (None: a run directory)."""
    check_common(args, args.error)
    if args.module in ("pairs", "partition", "genome", "export", "search"):
        args.output = standard(args.output)
    if args.module in ("pairs", "partition"):
        if any(getattr(args, name) is not None for name in SCORED):
            from tidalign.workflows.options.scoring import check_pairs_scores

            check_pairs_scores(args, args.error)
        if args.interleaved and args.targets:
            args.error("--interleaved takes one file")
    if args.module == "check" and args.run and args.compile:
        args.error("--compile takes no run directory")
    if args.module == "partition" and is_stream(args.output):
        args.error("-o takes a run directory")
    if args.module in ("genome", "genomes"):
        from tidalign.workflows.options.genome import check_genome

        check_genome(args, args.error)
    if args.module == "plot" and Path(args.output).suffix.lower() not in _PICTURES:
        args.error(f"no picture in {args.output!r}: end it in {', '.join(_PICTURES)}")
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
    if not args.format and not any(found.values()):
        args.error(f"no format in {args.output!r}: end it in {table.listed(table.suffixes(*found))}, or give --format")
    wrong = [table.refused(kind, format, options_of(args)) for kind, format in found.items() if format]
    if wrong and wrong[0] and all(wrong):
        args.error(f"--{': '.join(wrong[0])}")


def _check_pairs(args: argparse.Namespace) -> None:
    """Set `format`, and end the command for usage that goes against it."""
    _check_output(args, table.PAIRS)
    if args.format and (args.penalty_only or args.report == "ends") and table.find(table.PAIRS, args.format).cigars:
        others = [format.suffix for format in table.formats(table.PAIRS) if format.suffix and not format.cigars]
        args.error(f"{args.format.upper()} needs CIGARs: leave {'--report ends' if args.report else '--penalty-only'} out, or write {table.listed(others)}")


def _check_output(args: argparse.Namespace, kind: str) -> None:
    """Set `format` of a command that ends in a run directory or a file."""
    args.format = chosen_format(args, kind, args.error)
    if args.output == STANDARD_OUTPUT and not args.format:
        args.error("standard output needs a --format, such as --format=sam; or name a file or a run directory with -o, and see `tidalign export`")
    if args.scheduler and is_stream(args.output):
        args.error("workers of a scheduler need a run directory that they see: name a file or a run directory with -o")
    if args.keep_run and (not args.format or is_stream(args.output)):
        args.error("--keep-run goes with a file for -o; a run directory is always kept")
    for name, value in options_of(args).items():
        if value != table.OPTIONS[name][0] and not args.format:
            args.error(f"--{name} goes with a file for -o; `tidalign export --{name}` writes one from a run directory")
    if args.format and args.report == "score" and table.find(kind, args.format).placed:
        others = [format.suffix for format in table.formats(kind) if format.suffix and not format.placed]
        args.error(f"{args.format.upper()} needs places: leave --report score out, or write {table.listed(others)}")
