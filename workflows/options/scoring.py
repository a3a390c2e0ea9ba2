"""Read what --scoring, --matrix, --gap and what goes with them say."""

import argparse
from pathlib import Path

from tidalign.pipeline.errors import shown
from tidalign.workflows.options.common import SCORED, Error


def check_pairs_scores(args: argparse.Namespace, error: Error) -> None:
    """Call error(message) where arguments of scores, some of which are given, make no sense; sets `scored` to what they say."""
    if not args.scoring and not args.matrix:
        first = next(name for name in SCORED if getattr(args, name) is not None)
        error(f"--{first.replace('_', '-')} goes with --scoring or --matrix")
    others = {"penalties": args.penalties, "ends-free": args.ends_free, "penalty-only": args.penalty_only, "heuristic": args.heuristic}
    if given := next((name for name, value in others.items() if value), None):
        no_cigars = "; --report ends gives no CIGARs" if given == "penalty-only" else ""
        error(f"--{given} is for alignment by penalties: leave it out with --scoring and --matrix{no_cigars}")
    from tidalign.pipeline.pairs.scored import ScoreParameters

    try:
        args.scoring = scoring_of(args, error)
        told = args.alphabet or "", args.span or "local", args.report or "cigar", args.ambiguous, args.zdrop, args.end_bonus or 0, args.strand
        args.scored = ScoreParameters(args.scoring, *told)
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
    if not _is_file(args.matrix):
        error(f"--matrix {shown(args.matrix)}: expected one of {', '.join(GAPS)}, or a file in NCBI's format")
    if pieces is None:
        error("--matrix with a file needs --gap, as in --gap 11,1")
    return str(Substitution.read(args.matrix, pieces or (), args.alphabet))


def _is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # longer than a path can be
        return False
