"""Plan the work of a genome run: units (a query sequence and strand of a job), and tiles of them (what one task does)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from tidalign.pipeline.genome.parameters import GenomeParameters

TILE_SECONDS = 4.0
"""Estimated seconds of work that units are gathered to; a unit above it is done in stages, each with a file of its own."""

SEEDS_HIT = 4e-7
"""Nominal seconds of one core for a seed hit, looked up and tried without gaps."""

LETTER = 1e-6
"""Nominal seconds for each letter of the shorter side: gapped extension along what both share."""

UNIT, UNIT_ALONE = 1e-4, 2e-3
"""Nominal seconds for each unit, however small: where many are done at once, and where each is done by itself."""

CHANCE_EXTENSION = 1.3e-3
"""Nominal seconds of the gapped extension of a chance seed (LASTZ's default scores)."""

STAGES = ("units", "seed", "walk", "extend", "assemble")


@dataclass(frozen=True, slots=True)
class Tile:
    """Says what one task does.

    stage: `units`: all of the units [start, stop) of the chunk that a job names; or a stage of one large unit: `seed` (its anchors; start and stop count
    letters of the query), `walk` (exact mode's extension of all of them), `extend` (independent mode's extension of anchors [start, stop)), `assemble`
    (independent mode's rows).
    `unit` is -1 for the stage `units`.
    claim: path of the claim that says how far it is, kept if the process dies at it; None where someone else watches.
    """

    stage: str
    job: int
    unit: int
    start: int
    stop: int
    claim: str | None = None

    @property
    def chunk(self) -> str:
        """What `start` and `stop` count in; names claims and parts."""
        return job_name(self.job) if self.stage == "units" else f"{unit_name(self.job, self.unit)}.{self.stage}"

    @property
    def key(self) -> str:
        """Names it in messages."""
        return f"{self.chunk}.{self.start}-{self.stop}"

    def cut(self, start: int, stop: int, claim: str | None) -> "Tile":
        """Cut out the same stage of [start, stop) alone."""
        return replace(self, start=start, stop=stop, claim=claim)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def job_name(job: int) -> str:
    """Name the job's parts."""
    return f"j{job:06d}"


def unit_name(job: int, unit: int) -> str:
    """Name the files of a unit's stages."""
    return f"{job_name(job)}.u{unit}"


def strands(parameters: GenomeParameters) -> str:
    """List the query's strands, in LASTZ's order: where it looks at the HSPs of both before it goes on, it goes on with - first."""
    limited = (parameters.query_hsp_best, parameters.query_hsp_limit, parameters.hsp_cover) != (None, None, None)
    return {"both": "-+" if limited else "+-", "plus": "+", "minus": "-"}[parameters.strand]


def unit_of(unit: int, parameters: GenomeParameters) -> tuple[int, str]:
    """Give (query sequence, strand) of a unit."""
    order = strands(parameters)
    return unit // len(order), order[unit % len(order)]


def chance_hits(target: int, query: int, parameters: GenomeParameters) -> float:
    """Estimate the hits by chance between so many letters of a target, of which each window is indexed, and of a query."""
    return target * query * _chance(parameters.seed, parameters.transitions)


@cache
def _chance(seed: str, transitions: int) -> float:
    """Compute the chance that two windows are a hit."""
    cares, halves = seed.count("1"), seed.count("T")
    words = (1, 1 + cares, 1 + cares + cares * (cares - 1) // 2)[transitions]
    return float(words / 4.0**cares / 2.0**halves)


def alone(parameters: GenomeParameters) -> bool:
    """Tell whether each unit is done by itself: something looks at all its HSPs, limits what it may take, or sorts its rows."""
    of_hsps = parameters.chain, parameters.query_hsp_best, parameters.query_hsp_limit, parameters.hsp_cover
    of_alignments = parameters.inner, parameters.per_query, parameters.query_depth, parameters.cells, parameters.seconds
    others = parameters.all_bounds, parameters.with_itself, parameters.mode != "exact" and parameters.gapped
    return any(each is not None for each in (*of_hsps, *of_alignments)) or any(others)


def unit_work(target: int, query: int, parameters: GenomeParameters) -> float:
    """Estimate the seconds of one core for a query sequence of `query` letters, on one strand, against a target side of `target` letters."""
    hits = chance_hits(target, query, parameters) / parameters.step
    extensions = hits * CHANCE_EXTENSION if parameters.gapped and not parameters.gfextend else 0.0
    return (UNIT_ALONE if alone(parameters) else UNIT) + hits * SEEDS_HIT + extensions + min(target, query) * LETTER


def plan_tiles(target: int, queries: Sequence[int], parameters: GenomeParameters) -> list[dict[str, Any]]:
    """Put units of a job, in order, into tiles [{start, stop, work, staged}]: small units together, a large one alone.

    target: letters of the target side; queries: of each query sequence. Units that choose among the HSPs of both strands stay together, and all where
    what one finds masks the target for the next.
    """
    both = len(strands(parameters)) if parameters.query_hsp_best or parameters.query_hsp_limit or parameters.hsp_cover or parameters.per_query else 1
    tiles: list[dict[str, Any]] = []
    if parameters.masking is not None:  # one after the other
        units = len(strands(parameters)) * len(queries)
        return [{"start": 0, "stop": units, "work": sum(work for *_, work in _groups(target, queries, parameters, 1)), "staged": False}] if units else []
    for start, stop, work in _groups(target, queries, parameters, both):
        staged = work > TILE_SECONDS and stop - start == 1 and (parameters.hsp_cover, parameters.per_query) == (None, None)
        last = tiles[-1] if tiles else None
        if last and not staged and not last["staged"] and last["work"] + work <= TILE_SECONDS:
            last["stop"], last["work"] = stop, last["work"] + work
        else:
            tiles.append({"start": start, "stop": stop, "work": work, "staged": staged})
    return tiles


def _groups(target: int, queries: Sequence[int], parameters: GenomeParameters, size: int) -> Iterator[tuple[int, int, float]]:
    count = len(strands(parameters))
    work = cache(lambda letters: size * unit_work(target, letters, parameters))  # many are of one length, and all have two strands
    for unit in range(0, len(queries) * count, size):
        yield unit, unit + size, work(queries[unit // count])
