"""Declare the arguments of alignment by scores, which several commands share, and check them."""

import argparse
from pathlib import Path

from tidalign.workflows.options.common import Error, typed
from tidalign.workflows.options.values import integer

SPANS = ("local", "query", "target", "overlap", "global", "extension")
REPORTS = ("score", "ends", "cigar")
_SCORED = ("gap", "span", "alphabet", "report", "zdrop", "end_bonus")
"""Of alignment by scores (kernels/local/pairs.py; here, so that --help loads no kernels), and options that go with --scoring and --matrix alone."""


def add_scoring(parser: argparse.ArgumentParser, shape: str, letters: str) -> None:
    """Add --scoring, --matrix, --gap and --alphabet. shape: what --scoring is; letters: what the alphabet is where nothing says it."""
    parser.add_argument("--scoring", metavar="SCORES", help=f"{shape}; n:S says what N scores")
    parser.add_argument("--matrix", metavar="NAME", help="align by BLOSUM45, 50, 62, 80 or 90, PAM30, 70 or 250, or by a file in NCBI's format")
    parser.add_argument("--gap", metavar="O,E", help="gaps with --matrix, as in --scoring (default: BLAST's for the matrix, 11,1 for BLOSUM62)")
    parser.add_argument("--alphabet", choices=("dna", "protein"), help=f"letters with scores (default: those of the matrix, else {letters})")


def add_scores(parser: argparse.ArgumentParser) -> None:
    """Add --scoring and what goes with it in `tidalign pairs`."""
    shape = "match:A,mismatch:-B,gap:O,E: align by scores in place of penalties; a gap of n letters costs O+nE (gap:E linear, gap:O1,E1,O2,E2 two pieces)"
    add_scoring(parser, shape, "dna")
    spans = "with scores, what must be aligned: nothing (local, the default), all of the query, of the target, an end of each (overlap), all of both (global)"
    parser.add_argument("--span", choices=SPANS, help=f"{spans}, or the first letters of both (extension)")
    parser.add_argument("--report", choices=REPORTS, help="with scores, the score alone, also where alignments begin and end, or CIGARs too (default)")
    parser.add_argument("--zdrop", metavar="Z", type=typed(integer(0, 10**9)), help="stop an extension by minimap2's rule: heuristic (default: never)")
    bonus = "what an extension may score less to reach the query's end (default: 0)"
    parser.add_argument("--end-bonus", metavar="B", type=typed(integer(0, 10**9)), help=bonus)


def check_pairs_scores(args: argparse.Namespace, error: Error) -> None:
    """Call error(message) where arguments of scores make no sense; sets `scoring` to what --scoring, or --matrix and --gap, say."""
    if not args.scoring and not args.matrix:
        if given := next((name for name in _SCORED if getattr(args, name) is not None), None):
            error(f"--{given.replace('_', '-')} goes with --scoring or --matrix")
        return
    others = {"penalties": args.penalties, "ends-free": args.ends_free, "penalty-only": args.penalty_only}
    if given := next((name for name, value in others.items() if value), None):
        error(f"--{given} is of penalties: leave it out with --scoring and --matrix" + ("; --report ends gives no CIGARs" if given == "penalty-only" else ""))
    from tidalign.pipeline.pairs.scored import ScoreParameters

    try:
        args.scoring = scoring_of(args, error)
        ScoreParameters(args.scoring, args.alphabet or "", args.span or "local", args.report or "cigar", args.ambiguous, args.zdrop, args.end_bonus or 0)
    except (ValueError, OSError) as wrong:
        error(str(wrong))


def scoring_of(args: argparse.Namespace, error: Error) -> str:
    """Give what --scoring, or --matrix and --gap, say in its normal form; empty where nothing is said. Calls error(message), or raises ValueError."""
    from tidalign.kernels.scoring.substitution import GAPS, Substitution, parse_gap

    if args.scoring and (args.matrix or args.gap):
        error("--scoring has the gap in it, as in match:2,mismatch:-4,gap:4,2: leave --matrix and --gap out")
    if not args.scoring and not args.matrix:
        if args.gap:
            error("--gap goes with --matrix")
        return ""
    if args.scoring:
        return str(Substitution.parse(args.scoring, args.alphabet))
    pieces = parse_gap(args.gap) if args.gap else None
    if args.matrix.upper() in GAPS:
        return str(Substitution.named(args.matrix, pieces, args.alphabet))
    if not Path(args.matrix).is_file():
        error(f"--matrix {args.matrix}: expected one of {', '.join(GAPS)}, or a file in NCBI's format")
    if pieces is None:
        error("--matrix with a file needs --gap, as in --gap 11,1")
    return str(Substitution.read(args.matrix, pieces or (), args.alphabet))
