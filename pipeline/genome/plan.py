"""Plan a genome run: jobs (target side against query side), units (a query sequence and strand of a job), tiles (what one task does); and its manifest.json.

plan.json                          parameters and source (pipeline/store/rundir.py)
sides/s<k>/                        letters and codes of files that are read (pipeline/genome/input/sides.py)
manifest.json                      sides, jobs, tiles
stages/<unit>.anchors.arrow        of a large unit, as they are extended, with their record, .json; <unit>.walk.parquet: how far exact mode is with them
stages/<unit>.inner.parquet        what the search between alignments has found when somebody stopped
stages/<unit>.<strand>.*.parquet   what was seeded until somebody stopped, or is seeded (pipeline/genome/stages/seeded.py)
extended/<unit>.<a>-<b>.parquet    independent mode: rows of anchors [a, b) of a large unit
parts/<job>.<a>-<b>.parquet        rows of units [a, b) of a chunk, in LASTZ's order: a job, or small jobs from this one on
kept/<stage>/<unit>.parquet        hits, hsps or anchors, where --keep asked for them
claims/, journal.jsonl, report.json, run.lock, SUCCESS or PARTIAL        as pipeline/store/rundir.py has them
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any, Self

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES

TILE_SECONDS = 4.0
"""Estimated seconds of work that units are gathered to; a unit above it is done in stages, each with a file of its own."""

SEEDS_HIT = 4e-7
"""Nominal seconds of one core for a seed hit, looked up and tried without gaps."""

LETTER = 1e-6
"""Nominal seconds for each letter of the shorter side: gapped extension along what both share."""

TOGETHER_SECONDS = 1.0
"""Of small jobs that are gathered to one tile: as long as makes the start of a task, and the files that it writes, cheap, and leaves many to share."""

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


@dataclass(frozen=True, slots=True)
class Job:
    """A target side against a query side.

    target, query: numbers of sides. sequence: the one sequence of the target that is meant, or None for all of it. skipped: query sequences that are left out,
    the first ones. first: `job` of its rows; each: every query sequence counts as a job of its own. units: how many.
    chunk, begin: the job that names its chunk, and where its units begin there: small jobs that follow each other are one chunk.
    tiles: of the chunk that it names, see `plan.plan_tiles`.
    """

    name: str
    target: int
    query: int
    sequence: int | None
    skipped: int
    first: int
    each: bool
    units: int
    chunk: int
    begin: int
    tiles: list[dict[str, Any]]

    def row_job(self, query: Any) -> Any:
        """Give the number that rows of a query sequence carry; of an array of them, theirs."""
        return self.first + query - self.skipped if self.each else self.first

    def unit_of(self, unit: int, parameters: GenomeParameters) -> tuple[int, str]:
        """Give the (query sequence, strand) of one of its units."""
        query, strand = unit_of(unit, parameters)
        return query + self.skipped, strand


@dataclass(frozen=True, slots=True)
class GenomeManifest(rundir.Manifest):
    """Hold what manifest.json says of a genome run: records of the sides, jobs, and the names of pairs of genomes, which `job` of a row counts."""

    parameters: GenomeParameters
    sides: list[dict[str, Any]]
    jobs: list[Job]
    names: list[str]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make one of what manifest.json holds."""
        own = values[GENOMES.kind]
        jobs = [Job(**job) for job in own["jobs"]]
        return cls(values["run"], GenomeParameters.from_json(values["parameters"]), values["source"], values["chunks"], own["sides"], jobs, own["names"])

    def side(self, number: int) -> dict[str, Any]:
        """Give the record of a side."""
        return self.sides[bisect_left(self.sides, number, key=lambda side: side["id"])]

    def chunk_jobs(self, chunk: int) -> range:
        """Give the jobs in the chunk that one of them names."""
        return range(chunk, bisect_right(self.jobs, chunk, chunk, key=lambda job: job.chunk))

    def pieces(self, tile: Tile) -> Iterator[tuple[int, int, int, int]]:
        """Give the units of a tile by job: its number, where its units begin in the chunk, and which of them."""
        jobs = self.chunk_jobs(tile.job)
        at = bisect_right(jobs, tile.start, key=lambda number: self.jobs[number].begin) - 1
        for number in jobs[at:]:
            job = self.jobs[number]
            start, stop = max(tile.start - job.begin, 0), min(tile.stop - job.begin, job.units)
            if stop <= 0:
                return
            if start < stop:
                yield number, job.begin, start, stop


Check = Callable[[GenomeManifest], None]
"""What a command has to say of the sides and names of a run before anything is aligned: raises InputError."""


def write_manifest(directory: str, sides: list[dict[str, Any]], check: Check | None = None, source: dict[str, Any] | None = None) -> GenomeManifest:
    """Plan the work on sides that are all read, and write it down, unless `check` raises an error. source: with jobs that were added to those of the plan."""
    plan = rundir.read_plan(directory)
    parameters = GenomeParameters.from_json(plan["parameters"])
    jobs, names = _jobs(directory, rundir.run_of(plan), source or plan["source"], parameters, {(side["role"], side["spec"]): side["id"] for side in sides})
    _gather(jobs, parameters)
    chunks: dict[str, int] = {}
    for job in jobs:
        chunks[job_name(job["chunk"])] = job["begin"] + job["units"]
    return rundir.write_manifest(directory, GenomeManifest, chunks, {"sides": sides, "jobs": jobs, "names": names}, check, source)


def _jobs(
    directory: str, run: str, source: dict[str, Any], parameters: GenomeParameters, places: dict[tuple[str, str], int]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Make the jobs of a source, each a chunk by itself, and the names of its pairs."""
    jobs: list[dict[str, Any]] = []
    names: list[str] = []
    for pair in source["genomes"]:
        target, query = places["target", pair["target"]], places["query", pair["query"]]
        genome, queries = (load_side(directory, run, side)[0] for side in (target, query))
        if parameters.with_itself and len(queries) > 1 and not queries.together:
            raise InputError(pair["target"], "one sequence", f"{len(queries)}", "--self takes all as one with [multiple] behind the file's name")
        if source.get("triangle") and len(genome) < 2:
            raise InputError(pair["target"], "two sequences or more, to be aligned with each other", "one", "name a second file, of queries")
        lengths = queries.lengths.tolist() if source["all_vs_all"] else queries.sought()
        separate: list[tuple[int | None, int, int, list[str]]] = [(None, 0, int(genome.lengths.sum()), [pair["name"]])]
        if source["all_vs_all"]:
            skipped = (i + 1 if source.get("triangle") else 0 for i in range(len(genome)))
            separate = [(i, skip, int(genome.lengths[i]), [f"{genome.names[i]}__{name}" for name in queries.names[skip:]]) for i, skip in enumerate(skipped)]
        for sequence, skip, letters, named in separate:
            tiles = plan_tiles(letters, lengths[skip:], parameters)
            if named:
                job = {"name": pair["name"], "target": target, "query": query, "sequence": sequence, "skipped": skip, "first": len(names)}
                job |= {"each": sequence is not None, "units": len(lengths[skip:]) * len(strands(parameters)), "chunk": len(jobs), "begin": 0, "tiles": tiles}
                jobs.append(job)
                names += named
    return jobs, names


def _gather(jobs: list[dict[str, Any]], parameters: GenomeParameters) -> None:
    """Put small jobs that follow each other into one chunk, as one tile of it. Jobs behind them change nothing but where the last chunk ends."""
    open_: dict[str, Any] | None = None
    into: dict[str, Any] = {}
    for job in jobs:
        (tile, *more) = job["tiles"] or [None]
        small = tile is not None and not more and not tile["staged"] and tile["work"] <= TOGETHER_SECONDS and parameters.masking is None
        if small and open_ and into["work"] + tile["work"] <= TOGETHER_SECONDS:
            job |= {"chunk": open_["chunk"], "begin": into["stop"], "tiles": []}
            into["stop"], into["work"] = into["stop"] + tile["stop"], into["work"] + tile["work"]
        else:
            open_, into = (job, tile) if small else (None, {})


def read_manifest(directory: str) -> GenomeManifest:
    """Read manifest.json of a genome run. MissingInput where there is none."""
    return rundir.read_manifest(directory, GenomeManifest)


def indexed(directory: str, run: str, side: int, sequence: int | None) -> tuple[Codes, SeedPattern, int, str | None]:
    """Give what `build_index` takes: a target's codes, and the pattern, step and most frequent word of the run."""
    parameters = read_manifest(directory).parameters
    codes = load_side(directory, run, side, sequence)[1]
    return codes, SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count
