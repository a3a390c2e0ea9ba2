"""Write and read manifest.json of a genome run: its sides, its jobs (target side against query side), and which tiles they make (plan.py).

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import Tile, job_name, plan_tiles, strands, unit_of
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES

TOGETHER_SECONDS = 1.0
"""Bounds the small jobs that are gathered to one tile: as long as makes a task's start, and the files that it writes, cheap, and leaves many to share."""


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

    def units_of(self, number: int, parameters: GenomeParameters) -> range:
        """Give its units whose rows carry a number: those of one query sequence, where each counts as a job."""
        count = len(strands(parameters))
        return range((number - self.first) * count, (number - self.first + 1) * count) if self.each else range(self.units)


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
"""Checks, for a command, the sides and names of a run before anything is aligned: raises InputError."""


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
