"""Read what --scoring, --matrix, --gap and what goes with them say, and the same of keywords."""

import argparse
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import shown
from tidalign.workflows.options.common import SCORED, Error
from tidalign.workflows.options.nearest import check_flags

_PENALISED = ("penalties", "ends_free", "penalty_only", "heuristic")
_UNSAID = {"penalty_only": False, "alphabet": "", "end_bonus": 0}
"""Keywords that say nothing by another value, too, than None."""


def pair_parameters(scoring: str | None, ambiguous: str, strand: str, **options: Any) -> Any:
    """Make the parameters that keywords of `align` and `align_pairs` say. ValueError where they make no sense, or are of both kinds."""
    from tidalign.pipeline.pairs import models
    from tidalign.pipeline.pairs.aligner import PairParameters
    from tidalign.pipeline.pairs.scored import ScoreParameters

    for name, value in (("scoring", scoring), ("heuristic", options["heuristic"])):
        if not isinstance(value, str | None):
            raise ValueError(f"{name}: expected text, not {value!r}")
    scoring = read_scoring(scoring, options["alphabet"])
    check_flags(penalty_only=options["penalty_only"])
    for name, read in (("penalties", models.text), ("ends_free", models.ends)):
        options[name] = None if options[name] is None else read(options[name])
    given = {name: value for name, value in options.items() if value is not None and value != _UNSAID.get(name)}
    for name in given:
        if scoring is not None and name in _PENALISED:
            raise ValueError(f"{name} {_of_penalties('scoring', name, 'report=' + repr('ends'))}")
        if scoring is None and name not in _PENALISED:
            raise ValueError(f"{name} goes with scoring")
    given |= {"ambiguous": ambiguous, "strand": strand}
    return PairParameters(**given) if scoring is None else ScoreParameters(scoring, **given)


def read_scoring(scoring: Any, alphabet: str | None) -> Any:
    """Give a scoring that a caller named: as it is, or of `FILE,gap:11,1` what the matrix in the file says. Raises ValueError where it is none."""
    from tidalign.kernels.scoring.substitution import GAPS, Substitution, parse_gap

    if not isinstance(scoring, str):
        return scoring  # who makes parameters of it says what is wrong
    path, named, gap = scoring.rpartition(",gap:")
    return str(Substitution.read(path, parse_gap(gap), alphabet or None)) if named and path.upper() not in GAPS and _is_file(path) else scoring


def _of_penalties(scores: str, name: str, without: str) -> str:
    """Say why an option does not go with scores."""
    no_cigars = f"; {without} gives no CIGARs" if name == "penalty_only" else ""
    return f"is for alignment by penalties: leave it out with {scores}{no_cigars}"


def check_pairs_scores(args: argparse.Namespace, error: Error) -> None:
    """Call error(message) where arguments of scores, some of which are given, make no sense; sets `scored` to what they say."""
    if args.scoring is None and args.matrix is None:
        first = next(name for name in SCORED if getattr(args, name) is not None)
        error(f"--{first.replace('_', '-')} goes with --scoring or --matrix")
    if given := next((name for name in _PENALISED if getattr(args, name)), None):
        error(f"--{given.replace('_', '-')} {_of_penalties('--scoring and --matrix', given, '--report ends')}")
    from tidalign.pipeline.pairs.scored import ScoreParameters

    try:
        args.scoring = scoring_of(args, error)
        told = args.alphabet or "", args.span or "local", args.report or "cigar", args.ambiguous, args.zdrop, args.end_bonus or 0, args.strand, args.band
        args.scored = ScoreParameters(args.scoring, *told)
    except (ValueError, OSError) as wrong:
        error(str(wrong))


def scoring_of(args: argparse.Namespace, error: Error) -> str:
    """Give what --scoring, or --matrix and --gap, say in its normal form; empty where nothing is said. Calls error(message), or raises ValueError."""
    from tidalign.kernels.scoring.substitution import GAPS, Substitution, parse_gap

    if args.scoring is not None and (args.matrix is not None or args.gap is not None):
        error("--scoring has the gap in it, as in match:2,mismatch:-4,gap:4,2: leave --matrix and --gap out")
    if args.scoring is None and args.matrix is None:
        if args.gap is not None:
            error("--gap goes with --matrix")
        return ""
    if args.scoring is not None:
        return str(Substitution.parse(args.scoring, args.alphabet))
    pieces = None if args.gap is None else parse_gap(args.gap)
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
