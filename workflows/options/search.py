"""Declare the arguments of `tidalign search` and `tidalign index`, and check what one alone does not show."""

import argparse

from tidalign.kernels.local.choices import REPORTS, SEARCH_SPANS
from tidalign.pipeline.formats import table
from tidalign.pipeline.pairs.choices import STRANDS
from tidalign.workflows.options.common import Error, add_device, add_new, add_scoring, add_shard, add_workers, check_shard, typed
from tidalign.workflows.options.scoring import scoring_of
from tidalign.workflows.options.values import integer


def add_search(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tidalign search`."""
    kinds = "FASTA or FASTQ (plain, gzip, bgzip), Parquet or Arrow with the columns `sequence` and `name`"
    parser.add_argument("queries", metavar="QUERIES", help=kinds)
    parser.add_argument("database", metavar="DATABASE", help="the same, or what `tidalign index` packed")
    files = table.listed(table.suffixes(table.SEARCH))
    written = f"a file {files}, written from the run directory OUT.run, which is then removed"
    place = f"a run directory; or {written}; or - (default), standard output, with --format"
    parser.add_argument("-o", dest="output", metavar="OUT", default="-", help=place)
    parser.add_argument("--top", metavar="N", type=typed(integer(1, 10**6)), default=10, help="hits of a query that are kept, the best (default: 10)")
    parser.add_argument("--min-score", metavar="S", type=typed(integer(-(2**31 - 1), 2**31 - 1)), default=1, help="least score of a hit (default: 1)")
    parser.add_argument("--strand", choices=STRANDS, help="of queries of DNA (default: both)")
    shape = "match:A,mismatch:-B,gap:O,E; a gap of n letters costs O+nE (gap:E linear, gap:O1,E1,O2,E2 two pieces)"
    add_scoring(parser, f"{shape} (default: match:2,mismatch:-3,gap:5,2; with --alphabet protein --matrix blosum62)", "dna")
    spans = "what must be aligned: nothing (local, the default), all of the query, of the target, an end of each (overlap), all of both (global)"
    parser.add_argument("--span", choices=SEARCH_SPANS, help=spans)
    parser.add_argument("--report", choices=REPORTS, help="scores alone, also where alignments begin and end, or CIGARs too (default)")
    letters = "a letter other than A, C, G, T equals nothing (default), or every letter"
    parser.add_argument("--ambiguous", choices=("mismatch", "match"), default="mismatch", help=letters)
    add_device(parser)
    add_workers(parser)
    add_new(parser)
    add_shard(parser)
    parser.add_argument(
        "--format", metavar="FORMAT", help=f"{', '.join(table.names(table.SEARCH) + table.compressed(table.SEARCH))}, where OUT's name says none"
    )
    parser.add_argument("--keep-run", action="store_true", help="keep OUT.run")


def add_index(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `tidalign index`."""
    parser.add_argument("database", metavar="DATABASE", help="FASTA or FASTQ (plain, gzip, bgzip), Parquet or Arrow with the columns `sequence` and `name`")
    parser.add_argument("-o", dest="output", metavar="OUT", required=True, help="a file, as database.tidx")
    parser.add_argument("--alphabet", choices=("dna", "protein"), default="dna", help="its letters (default: dna)")


def check_search(args: argparse.Namespace, error: Error) -> None:
    """Set `parameters`, or call error(message) for those that make no sense."""
    from tidalign.pipeline.search.parameters import SearchParameters

    check_shard(args, error)
    if args.format and args.report == "ends" and table.find(table.SEARCH, args.format).cigars:
        others = [format.suffix for format in table.formats(table.SEARCH) if format.suffix and not format.cigars]
        error(f"{args.format.upper()} needs CIGARs: leave --report ends out, or write {table.listed(others)}")
    try:
        given = {name: getattr(args, name) for name in ("span", "report", "strand", "alphabet") if getattr(args, name)}
        kept = {"top": args.top, "min_score": args.min_score, "ambiguous": args.ambiguous}
        args.parameters = SearchParameters(scoring=scoring_of(args, error), **given, **kept)
    except (ValueError, OSError) as wrong:
        error(str(wrong))
