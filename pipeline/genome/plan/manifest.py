"""manifest.json of a genome run: written when all sides are read; says which units there are and how they are gathered to tiles.

plan.json                          parameters and source (pipeline/store/rundir.py)
sides/s<k>/                        letters and codes of each file that is read (pipeline/genome/input/sides.py)
manifest.json                      sides, jobs, tiles
stages/<unit>.anchors.arrow        of a large unit, in the order they are extended; <unit>.walk.parquet: how far exact mode is with them
extended/<unit>.<a>-<b>.parquet    independent mode: rows of anchors [a, b) of a large unit
parts/<job>.<a>-<b>.parquet        rows of units [a, b) of a job, in LASTZ's order
kept/<stage>/<unit>.parquet        hits, hsps or anchors, where --keep asked for them
claims/, journal.jsonl, report.json, run.lock, SUCCESS or PARTIAL        as pipeline/store/rundir.py has them
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan.tiles import job_name, plan_tiles, strands
from tidalign.pipeline.store import manifest, rundir
from tidalign.pipeline.store.layout import GENOMES


@dataclass(frozen=True, slots=True)
class Job:
    """A target side against a query side.

    target, query: numbers of sides. sequence: the one sequence of the target that is meant, or None for all of it.
    first: `job` of its rows; each: every query sequence counts as a job of its own. units: how many. tiles: see `plan.plan_tiles`.
    """

    name: str
    target: int
    query: int
    sequence: int | None
    first: int
    each: bool
    units: int
    tiles: list[dict[str, Any]]

    def row_job(self, query: int) -> int:
        """The number that rows of a query sequence carry."""
        return self.first + query if self.each else self.first


@dataclass(frozen=True, slots=True)
class GenomeManifest(manifest.Manifest):
    """Hold what manifest.json says of a genome run: records of the sides, jobs, and the names of pairs of genomes, which `job` of a row counts."""

    parameters: GenomeParameters
    sides: list[dict[str, Any]]
    jobs: list[Job]
    names: list[str]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make one of what manifest.json holds."""
        own = values[GENOMES.kind]
        jobs = [Job(**job, units=units) for job, units in zip(own["jobs"], values["chunks"].values(), strict=True)]
        return cls(values["run"], GenomeParameters.from_json(values["parameters"]), values["source"], values["chunks"], own["sides"], jobs, own["names"])


Check = Callable[[GenomeManifest], None]
"""What a command has to say of the sides and names of a run before anything is aligned: raises InputError."""


def write_manifest(directory: str, sides: list[dict[str, Any]], check: Check | None = None) -> GenomeManifest:
    """Plan the work on sides that are all read, and write it down, unless `check` raises an error."""
    plan = rundir.read_plan(directory)
    run = rundir.run_id(plan["parameters"], plan["source"])
    parameters = GenomeParameters.from_json(plan["parameters"])
    places = {(side["role"], side["spec"]): side["id"] for side in sides}
    jobs: list[dict[str, Any]] = []
    chunks: dict[str, int] = {}
    names: list[str] = []
    for pair in plan["source"]["genomes"]:
        target, query = places["target", pair["target"]], places["query", pair["query"]]
        genome, queries = (load_side(directory, run, side)[0] for side in (target, query))
        lengths = queries.lengths.tolist()
        separate: list[tuple[int | None, int, list[str]]]
        if plan["source"]["all_vs_all"]:
            separate = [(i, int(genome.lengths[i]), [f"{genome.names[i]}__{name}" for name in queries.names]) for i in range(len(genome))]
        else:
            separate = [(None, int(genome.lengths.sum()), [pair["name"]])]
        for sequence, letters, named in separate:
            job = {"name": pair["name"], "target": target, "query": query, "sequence": sequence, "first": len(names), "each": sequence is not None}
            chunks[job_name(len(jobs))] = len(lengths) * len(strands(parameters))
            jobs.append(job | {"tiles": plan_tiles(letters, lengths, parameters)})
            names += named
    return manifest.write(directory, GenomeManifest, chunks, {"sides": sides, "jobs": jobs, "names": names}, check)


def read_manifest(directory: str) -> GenomeManifest:
    """Read manifest.json of a genome run. MissingInput where there is none."""
    return manifest.read(directory, GenomeManifest)
