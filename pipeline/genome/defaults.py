"""Parameters of a genome run from what a user gave: LASTZ's defaults, many of which follow from others (LASTZ.md 1)."""

import math
from typing import Any

from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.genome.input.scores import ScoreFile
from tidalign.pipeline.genome.parameters import GenomeParameters


def genome_parameters(
    *,
    scores: ScoreFile | None = None,
    match: tuple[int, int] | None = None,
    gap_open: int | None = None,
    gap_extend: int | None = None,
    ambiguous: tuple[str, int, int] | None = None,
    xdrop: int | None = None,
    ydrop: int | None = None,
    hspthresh: int | None = None,
    gappedthresh: int | None = None,
    seed: str | None = None,
    transitions: int | None = None,
    step: int | None = None,
    entropy: bool | None = None,
    **others: Any,
) -> GenomeParameters:
    """GenomeParameters where everything that is not given has LASTZ's default; what is given here goes before what a score file says.

    match: scores of a match and, as a penalty, of a mismatch, in place of a matrix; gap costs and thresholds then follow from them.
    gap_open, gap_extend, ambiguous: of Scoring. others: fields of GenomeParameters.

    Raises ValueError for values that make no sense, or not together.
    """
    gfextend, gapped = others.get("gfextend", True), others.get("gapped", True)
    of_hsps = [name for name, value in {"xdrop": xdrop, "hspthresh": hspthresh, "entropy": entropy or None}.items() if value is not None]
    if not gfextend and of_hsps:
        raise ValueError(f"nogfextend makes no HSPs, and {of_hsps[0]} is for them: leave one of the two out")
    if not gapped and (not others.get("trim", True) or any(value is not None for value in (ydrop, gappedthresh, gap_open, gap_extend))):
        raise ValueError("nogapped makes no gapped alignments: leave out ydrop, gappedthresh, gap and noytrim")
    if scores and match:
        raise ValueError("a score file and match scores exclude each other: leave one of them out")
    _at_least(1, xdrop=xdrop, ydrop=ydrop, step=step, match=min(match) if match else None)
    _at_least(0, gap_open=gap_open, gap_extend=gap_extend, ambiguous=min(ambiguous[1:]) if ambiguous else None)
    file = scores or ScoreFile()
    reward, penalty = match or (None, None)
    matrix, bad, fill, costs = file.matrix, file.bad, file.fill, (400, 30)
    if reward is not None and penalty is not None:
        matrix = tuple(tuple(reward if row == column else -penalty for column in range(4)) for row in range(4))
        # LASTZ's unit scores; in whole numbers, as 3.25 and 0.24375 of a penalty are not always what floats make of them.
        bad, fill, costs = -10 * penalty, -penalty, (-(-13 * penalty // 4), -(-39 * penalty // 160))
    gap_open, gap_extend = _chosen(gap_open, file.gap_open, costs[0]), _chosen(gap_extend, file.gap_extend, costs[1])
    xdrop = _chosen(xdrop, file.xdrop, 10 * file.first if penalty is None else math.isqrt(100 * penalty - 1) + 1)
    hspthresh = _chosen(hspthresh, file.hspthresh, 30 * reward if reward is not None else 3000)
    if xdrop < 1:
        raise ValueError(f"expected a score above 0 in the matrix's first row and column, or xdrop; found {file.first}")
    text = _chosen(seed, file.seed, GenomeParameters().seed)
    pattern = SeedPattern.parse(text).text
    # LASTZ looks for no transitions in words given as matchN, and half-weight seeds allow them everywhere.
    spaced = not text.startswith("match") and "1" in pattern
    return _made(
        seed=pattern,
        transitions=_chosen(transitions, file.transitions if seed is None else None, int(spaced)),
        step=_chosen(step, file.step, 1),
        scoring=Scoring(matrix, _chosen(bad, -1000), _chosen(fill, -100), gap_open, gap_extend, ambiguous),
        xdrop=xdrop,
        ydrop=_chosen(ydrop, file.ydrop, gap_open + 300 * gap_extend if penalty is None else 2 * xdrop),
        hspthresh=hspthresh,
        gappedthresh=_chosen(gappedthresh, file.gappedthresh, hspthresh if gfextend else 3000),
        entropy=entropy is not False,
        **others,
    )


def _chosen(*values: Any) -> Any:
    """The first that is not None."""
    return next(value for value in values if value is not None)


def _at_least(least: int, **given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < least:
            raise ValueError(f"expected {name} of at least {least}, found {value}")


def _made(**fields: Any) -> GenomeParameters:
    """The parameters, if their values fit together."""
    made = GenomeParameters(**fields)
    if made.transitions and "1" not in made.seed:
        raise ValueError(f"the seed {made.seed} allows transitions in every place already: leave transitions out")
    if made.seed_filter is not None and made.seed_filter[0] > len(made.seed):
        raise ValueError(f"the seed {made.seed} has {len(made.seed)} places and never {made.seed_filter[0]} matches: ask for fewer with filter")
    if made.chain and any(made.chain) and made.mode == "exact":
        raise ValueError("chaining with penalties is not LASTZ's best chain but what its search finds: use --chain without them, or --mode independent")
    if made.query_hsp_best is not None and made.query_hsp_limit is not None:
        raise ValueError("queryhspbest and queryhsplimit exclude each other: leave one of them out")
    return made
