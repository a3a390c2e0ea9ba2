"""Read what --scoring, or --matrix and --gap, say."""

import argparse
from pathlib import Path

from tidalign.kernels.scoring.substitution import GAPS, Substitution, parse_gap
from tidalign.workflows.options.common import Error


def scoring_of(args: argparse.Namespace, error: Error) -> str:
    """Give the scoring in its normal form; call error(message) where there is none."""
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
