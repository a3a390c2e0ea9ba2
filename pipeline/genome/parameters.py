"""What a genome run computes: everything that can change an alignment, and nothing that cannot."""

import math
from dataclasses import asdict, dataclass, field
from typing import Any

from tidalign.kernels.scoring.scores import HOXD70, Scoring
from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.genome.input.scores import MOST_SCORE, ScoreFile

MODES = ("exact", "independent")

TRACEBACK_BYTES = 80 * 1024 * 1024
"""LASTZ's `--allocate:traceback`: one-byte cells a side may take before it is cut (exact mode)."""


_LONGEST_VECTOR = 64


@dataclass(frozen=True, slots=True)
class GenomeParameters:
    """Parameters of a genome run; the defaults are LASTZ's (LASTZ 1.04, `--help=defaults`).

    mode: `exact`, what LASTZ prints; or `independent`, every anchor a pure function of the sequences, never cut.
    seed: pattern of 1 (must match), T (match or transition) and 0 (ignored). transitions: care positions that may differ by a transition, 0..2.
    step: every step-th target position is indexed. max_word_count: words that occur more often are dropped: a number, or a percentile ("90%").
    strand: of the query, `both`, `plus` or `minus`.
    gfextend: gap-free x-drop extension of hits; hspthresh: least score of an HSP. entropy: scores of HSPs are scaled by their composition.
    hsp_cover: None, or how many letters of the target the best HSPs are to cover, in place of a threshold: a number, or a percentage ("50%"); gapped_follows:
    the least score of an alignment is then that of these.
    matching: None, or (mismatches, letters): stretches of so many mismatches at most and letters at least are taken for HSPs, with their length for score.
    chain: None, or the (diagonal, anti-diagonal) penalties of chaining HSPs. overlap: the penalty of a letter that two HSPs of a chain share, the score in the
    first row and column of the score file.
    gapped: gapped extension; without it, HSPs are the result. trim: ends are cut back to the best cell.
    inner: None, or the threshold of the search between alignments, of its HSPs and its alignments.
    traceback_bytes: exact mode cuts an extension where LASTZ's traceback buffer of this size ends.
    query_hsp_best: the n best HSPs of a query, both strands together, and those that tie. query_hsp_limit: a query with more than n HSPs gives nothing;
    with query_hsp_keep, what was found until then.
    filters: (name, lowest, highest), both included: identity, coverage, continuity and `nmatch%` in per cent, nmatch, nmismatch, ngap, cgap.
    seed_filter: None, or (matches, transversions): the least and the most that a seed's window may have; None: any number of transversions.
    with_itself: the query is the target, and only one half of their square is sought; mirror: what is found is given for the other half, too.
    per_query: extend anchors as they are found, until a query has so many alignments; None: all, by score.
    query_depth: None, or (depth, whether they are kept): alignments of a strand end where they pair more than `depth` times its letters.
    all_bounds: alignments below the threshold fence others, too.
    masking: letters of the target that so many alignments cover are masked for the queries that follow; None: none is.
    notrivial: leave out the alignment of a sequence with itself.
    cells, seconds: guards, limits of one tile; None: no limit.
    """

    mode: str = "exact"
    seed: str = "1110100110010101111"
    transitions: int = 1
    step: int = 1
    max_word_count: str | None = None
    seed_filter: tuple[int, int | None] | None = None
    strand: str = "both"
    scoring: Scoring = field(default_factory=Scoring)
    gfextend: bool = True
    xdrop: int = 910
    hspthresh: int = 3000
    entropy: bool = True
    hsp_cover: str | None = None
    gapped_follows: bool = False
    matching: tuple[int, int] | None = None
    chain: tuple[int, int] | None = None
    overlap: int = HOXD70[0][0]
    gapped: bool = True
    ydrop: int = 9400
    gappedthresh: int = 3000
    trim: bool = True
    inner: int | None = None
    traceback_bytes: int = TRACEBACK_BYTES
    query_hsp_best: int | None = None
    query_hsp_limit: int | None = None
    query_hsp_keep: bool = False
    filters: tuple[tuple[str, float, float], ...] = ()
    per_query: int | None = None
    query_depth: tuple[float, bool] | None = None
    all_bounds: bool = False
    with_itself: bool = False
    mirror: bool = True
    masking: int | None = None
    notrivial: bool = False
    cells: int | None = None
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "GenomeParameters":
        scoring = dict(values["scoring"])
        scoring["matrix"] = tuple(tuple(row) for row in scoring["matrix"])
        scoring["ambiguous"] = tuple(scoring["ambiguous"]) if scoring["ambiguous"] else None
        fixed = {name: tuple(values[name]) if values[name] is not None else None for name in ("chain", "seed_filter", "matching", "query_depth")}
        filters = tuple((name, low, high) for name, low, high in values["filters"])
        return cls(**{**values, **fixed, "filters": filters, "scoring": Scoring(**scoring)})


def genome_parameters(
    *,
    scores: ScoreFile | None = None,
    match: tuple[int, int] | None = None,
    gap_open: int | None = None,
    gap_extend: int | None = None,
    ambiguous: tuple[str, int, int] | None = None,
    xdrop: int | None = None,
    ydrop: int | None = None,
    hspthresh: int | str | None = None,
    gappedthresh: int | str | None = None,
    seed: str | None = None,
    transitions: int | None = None,
    step: int | None = None,
    entropy: bool | None = None,
    **others: Any,
) -> GenomeParameters:
    """Make GenomeParameters where everything that is not given has LASTZ's default; what is given here goes before what a score file says.

    match: scores of a match and, as a penalty, of a mismatch, in place of a matrix; gap costs and thresholds then follow from them.
    gap_open, gap_extend, ambiguous: of Scoring. others: fields of GenomeParameters.

    Raises ValueError for values that make no sense, or not together.
    """
    gfextend, gapped = others.get("gfextend", True), others.get("gapped", True)
    of_hsps = [name for name, value in {"xdrop": xdrop, "hspthresh": hspthresh, "entropy": entropy or None}.items() if value is not None]
    if not gfextend and of_hsps:
        raise ValueError(f"nogfextend makes no HSPs, and {of_hsps[0]} is for them: leave one of the two out")
    matching = others.get("matching") if gfextend else None
    if matching and (xdrop, hspthresh) != (None, None):
        raise ValueError("exact and mismatch take the place of xdrop and hspthresh: leave these out")
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
    cover = hspthresh.removeprefix("top") if isinstance(hspthresh, str) else None
    if isinstance(gappedthresh, str) and cover is None:
        raise ValueError("gappedthresh=top.. goes with hspthresh=top..: give a score, or both so")
    follows = cover is not None and (isinstance(gappedthresh, str) or (gappedthresh is None and file.gappedthresh is None))
    gappedthresh = None if isinstance(gappedthresh, str) else gappedthresh
    hspthresh = _chosen(None if isinstance(hspthresh, str) else hspthresh, file.hspthresh, 30 * reward if reward is not None else 3000)
    least = hspthresh if gfextend and not matching else 30 * reward if reward is not None and matching and not matching[0] else 3000
    hspthresh = matching[1] if matching else hspthresh
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
        overlap=_chosen(reward, file.first),
        scoring=Scoring(matrix, _chosen(bad, -1000), _chosen(fill, -100), gap_open, gap_extend, ambiguous, scores is not None),
        xdrop=xdrop,
        ydrop=_chosen(ydrop, file.ydrop, gap_open + 300 * gap_extend if penalty is None else 2 * xdrop),
        hspthresh=hspthresh,
        gappedthresh=_chosen(gappedthresh, file.gappedthresh, least),
        entropy=entropy is not False,
        hsp_cover=cover,
        gapped_follows=follows,
        **others,
    )


def _chosen(*values: Any) -> Any:
    """Choose the first that is not None."""
    return next(value for value in values if value is not None)


def _at_least(least: int, **given: int | None) -> None:
    for name, value in given.items():
        if value is not None and value < least:
            raise ValueError(f"expected {name} of at least {least}, found {value}")


def _check_sums(made: GenomeParameters) -> None:
    """See that what kernels add up in 32 bits fits there, whatever their vectors: a row's best value, a y-drop below it and a gap as long as a vector."""
    scoring = made.scoring
    scores = [*(score for row in scoring.matrix for score in row), scoring.bad, scoring.fill, *(scoring.ambiguous or ("", 0, 0))[1:]]
    largest, deepest = max(0, *scores), max(map(abs, scores))
    sums = made.ydrop + largest + _LONGEST_VECTOR * scoring.gap_extend + 1, made.xdrop + largest, scoring.gap_open + scoring.gap_extend, deepest
    if max(sums) > MOST_SCORE:
        costs = f"xdrop {made.xdrop}, ydrop {made.ydrop}, gap costs {scoring.gap_open}, {scoring.gap_extend} and scores up to {deepest}"
        raise ValueError(f"expected scores and costs that fit in 32 bits together, found {costs}: give smaller ones")


def _made(**fields: Any) -> GenomeParameters:
    """Make the parameters, if their values fit together."""
    made = GenomeParameters(**fields)
    _check_sums(made)
    if made.inner is not None and (made.mode != "exact" or not made.gapped):
        raise ValueError("inner searches between the gapped alignments of exact mode: leave it out, or nogapped or --mode independent")
    if made.inner is not None and made.query_hsp_limit is not None:
        raise ValueError("queryhsplimit and inner exclude each other: leave one of them out")
    if made.with_itself and made.mode != "exact":
        raise ValueError("self is for exact mode: leave it out, or --mode independent, or give the same file twice")
    if made.masking is not None and made.mode != "exact":
        raise ValueError("masking counts the alignments of exact mode, in its order: leave it out, or --mode independent")
    if made.masking is not None and made.strand == "both" and (made.query_hsp_best, made.query_hsp_limit, made.hsp_cover) != (None, None, None):
        both = "queryhspbest, queryhsplimit and hspthresh=top"
        raise ValueError(f"masking changes the target between the strands that {both} look at together: leave it out, or give a strand")
    if made.transitions and "1" not in made.seed:
        raise ValueError(f"the seed {made.seed} allows transitions in every place already: leave transitions out")
    if made.seed_filter is not None and made.seed_filter[0] > len(made.seed):
        raise ValueError(f"the seed {made.seed} has {len(made.seed)} places and never {made.seed_filter[0]} matches: ask for fewer with filter")
    if made.chain is not None and made.mode != "exact" and made.overlap < 0:
        raise ValueError(f"expected a score of at least 0 in the matrix's first row and column where HSPs are chained; found {made.overlap}")
    if made.query_hsp_best is not None and made.query_hsp_limit is not None:
        raise ValueError("queryhspbest and queryhsplimit exclude each other: leave one of them out")
    if made.per_query is not None:
        _check_immediate(made)
    if (made.query_depth is not None or made.all_bounds) and (made.mode != "exact" or made.per_query is not None):
        raise ValueError("querydepth and allgappedbounds are for alignments that fence each other: leave them out, or limitperquery or --mode independent")
    if made.all_bounds and not made.gapped:
        raise ValueError("allgappedbounds is for gapped alignments: leave it or nogapped out")
    if made.hsp_cover is not None and (made.mode != "exact" or (made.query_hsp_best, made.query_hsp_limit) != (None, None)):
        raise ValueError("hspthresh=top chooses the HSPs of a query in exact mode: leave queryhspbest and queryhsplimit out, and --mode independent")
    return made


def _check_immediate(made: GenomeParameters) -> None:
    """See that nothing is asked of the HSPs of a strand, or of all alignments, where these end with the first ones."""
    if made.mode != "exact":
        raise ValueError("limitperquery and anyornone take the first alignments in exact mode's order: leave them out, or --mode independent")
    names = {"chain": made.chain, "inner": made.inner, "masking": made.masking, "queryhspbest": made.query_hsp_best, "queryhsplimit": made.query_hsp_limit}
    wrong = [name for name, value in (names | {"hspthresh=top": made.hsp_cover, "self": made.with_itself or None}).items() if value is not None]
    if not made.gapped and any(name == "nmismatch" for name, *_ in made.filters):
        wrong.append("filter=nmismatch of nogapped")
    if wrong:
        raise ValueError(f"limitperquery and anyornone take the first alignments that are found: leave them out, or {wrong[0]}")
