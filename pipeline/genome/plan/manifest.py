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
from functools import lru_cache
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan.tiles import plan_tiles, strands
from tidalign.pipeline.store import rundir


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
class Manifest:
    """What manifest.json says; see the module."""

    run: str
    parameters: GenomeParameters
    source: dict[str, Any]
    sides: list[dict[str, Any]]
    jobs: list[Job]
    names: list[str]
    """Of the pairs of genomes: what `job` of a row counts."""


Check = Callable[[Manifest], None]
"""What a command has to say of the sides and names of a run before anything is aligned: raises InputError."""


def write_manifest(directory: str, sides: list[dict[str, Any]], check: Check | None = None) -> Manifest:
    """Plan the work on sides that are all read, and write it down, unless `check` raises an error."""
    plan = rundir.read_plan(directory)
    run = rundir.run_id(plan["parameters"], plan["source"])
    parameters = GenomeParameters.from_json(plan["parameters"])
    places = {(side["role"], side["spec"]): side["id"] for side in sides}
    jobs: list[dict[str, Any]] = []
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
            jobs.append(job | {"units": len(lengths) * len(strands(parameters)), "tiles": plan_tiles(letters, lengths, parameters)})
            names += named
    manifest = {
        "format": plan["format"],
        "version": plan["version"],
        "run": run,
        "parameters": plan["parameters"],
        "source": plan["source"],
        "sides": sides,
        "jobs": jobs,
        "names": names,
    }
    planned = _parsed(manifest)
    if check:
        check(planned)
    rundir.write_json(f"{directory}/manifest.json", manifest)
    return planned


def read_manifest(directory: str) -> Manifest:
    """manifest.json of a genome run. MissingInput where there is none."""
    try:
        state = Path(directory, "manifest.json").stat()
    except FileNotFoundError as error:
        raise MissingInput(f"{directory}: the run stopped before its input was read; run the same command again to go on") from error
    return _load(directory, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=2)
def _load(directory: str, changed: int, size: int) -> Manifest:
    return _parsed(rundir.read_json(f"{directory}/manifest.json"))


def _parsed(values: dict[str, Any]) -> Manifest:
    parameters = GenomeParameters.from_json(values["parameters"])
    jobs = [Job(**job) for job in values["jobs"]]
    return Manifest(values["run"], parameters, values["source"], values["sides"], jobs, values["names"])
