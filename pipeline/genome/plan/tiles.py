"""What a genome run is made of: jobs (a target side against a query side), units (a query sequence and strand of a job), tiles (what one task does)."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tidalign.pipeline.genome.parameters import GenomeParameters

TILE_SECONDS = 4.0
"""Estimated seconds of work that units are gathered to; a unit above it is done in stages, each with a file of its own."""

SEEDS_HIT = 4e-7
"""Nominal seconds of one core for a seed hit, looked up and tried without gaps."""

LETTER = 1e-6
"""Nominal seconds for each letter of the shorter side: gapped extension along what both share."""

CHANCE_EXTENSION = 1.3e-3
"""Nominal seconds of the gapped extension of a chance seed (LASTZ's default scores)."""

STAGES = ("units", "seed", "walk", "extend", "assemble")


@dataclass(frozen=True, slots=True)
class Tile:
    """What one task does.

    stage: `units`: all of the units [start, stop) of a job; or a stage of one large unit: `seed` (its anchors), `walk` (exact mode's extension of all of them),
    `extend` (independent mode's extension of anchors [start, stop)), `assemble` (independent mode's rows). `unit` is -1 for the stage `units`.
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
        """The same stage of [start, stop) alone."""
        return replace(self, start=start, stop=stop, claim=claim)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def job_name(job: int) -> str:
    """Names the job's parts."""
    return f"j{job:06d}"


def unit_name(job: int, unit: int) -> str:
    """Names the files of a unit's stages."""
    return f"{job_name(job)}.u{unit}"


def strands(parameters: GenomeParameters) -> str:
    """The query's strands, in LASTZ's order: where it looks at the HSPs of both before it goes on, it goes on with - first."""
    limited = parameters.query_hsp_best is not None or parameters.query_hsp_limit is not None
    return {"both": "-+" if limited else "+-", "plus": "+", "minus": "-"}[parameters.strand]


def unit_of(unit: int, parameters: GenomeParameters) -> tuple[int, str]:
    """(query sequence, strand) of a unit."""
    order = strands(parameters)
    return unit // len(order), order[unit % len(order)]


def unit_work(target: int, query: int, parameters: GenomeParameters) -> float:
    """Estimated seconds of one core for a query sequence of `query` letters, on one strand, against a target side of `target` letters."""
    cares = sum(letter == "1" for letter in parameters.seed)
    halves = sum(letter == "T" for letter in parameters.seed)
    words = (1, 1 + cares, 1 + cares + cares * (cares - 1) // 2)[parameters.transitions]
    hits = words * target * query / 4.0**cares / 2.0**halves / parameters.step
    extensions = hits * CHANCE_EXTENSION if parameters.gapped and not parameters.gfextend else 0.0
    return hits * SEEDS_HIT + extensions + min(target, query) * LETTER


def plan_tiles(target: int, queries: Sequence[int], parameters: GenomeParameters) -> list[dict[str, Any]]:
    """Units of a job, in order, as tiles [{start, stop, work, staged}]: small units together, a large one alone.

    target: letters of the target side; queries: of each query sequence. Units that choose among the HSPs of both strands stay together.
    """
    both = len(strands(parameters)) if parameters.query_hsp_best or parameters.query_hsp_limit else 1
    tiles: list[dict[str, Any]] = []
    for start, stop, work in _groups(target, queries, parameters, both):
        staged = work > TILE_SECONDS and stop - start == 1
        last = tiles[-1] if tiles else None
        if last and not staged and not last["staged"] and last["work"] + work <= TILE_SECONDS:
            last["stop"], last["work"] = stop, last["work"] + work
        else:
            tiles.append({"start": start, "stop": stop, "work": work, "staged": staged})
    return tiles


def _groups(target: int, queries: Sequence[int], parameters: GenomeParameters, size: int) -> Iterator[tuple[int, int, float]]:
    count = len(strands(parameters))
    for unit in range(0, len(queries) * count, size):
        yield unit, unit + size, size * unit_work(target, queries[unit // count], parameters)
