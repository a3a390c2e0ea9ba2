"""Write and read manifest.json of any kind of run: written when the input is read; says what there is to do, and what the parts are counted against.

{format, version, kind, run, parameters, source, chunks: {chunk: how much its parts hold in all}, <kind>: {what this kind of run adds}}
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.store.files import read_json, write_json
from tidalign.pipeline.store.rundir import read_plan, run_id


@dataclass(frozen=True, slots=True)
class Manifest:
    """Hold what manifest.json says of any kind of run; each kind adds its own fields.

    run: what a part must carry to belong to the run. parameters, source: as in plan.json, in the types of the kind.
    chunks: for each chunk, in the order of the results, how much its parts must hold in all: rows of pairs, units of genomes.
    """

    run: str
    parameters: Any
    source: dict[str, Any]
    chunks: dict[str, int]

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make one of what manifest.json holds."""
        raise NotImplementedError


M = TypeVar("M", bound=Manifest)


def write(directory: str, kind: type[M], chunks: dict[str, int], section: dict[str, Any], check: Callable[[M], None] | None = None) -> M:
    """Write manifest.json of the run whose plan is there, with the section of its kind, unless `check` raises an error."""
    plan = read_plan(directory)
    common = {name: plan[name] for name in ("format", "version", "kind", "parameters", "source")}
    values = {**common, "run": run_id(plan["parameters"], plan["source"]), "chunks": chunks, plan["kind"]: section}
    manifest = kind.from_json(values)
    if check:
        check(manifest)
    write_json(_path(directory), values)
    return manifest


def written(directory: str) -> bool:
    """Tell whether the input was read to its end and manifest.json written."""
    return Path(_path(directory)).exists()


def read(directory: str, kind: type[M]) -> M:
    """Read manifest.json; once, as long as it does not change. MissingInput where there is none."""
    try:
        state = Path(_path(directory)).stat()
    except FileNotFoundError as error:
        raise MissingInput(f"{directory}: the run stopped before its input was read; run the same command again to go on") from error
    manifest: M = _load(directory, kind.from_json, state.st_mtime_ns, state.st_size)
    return manifest


@lru_cache(maxsize=2)
def _load(directory: str, parse: Callable[[dict[str, Any]], Any], changed: int, size: int) -> Any:
    return parse(read_json(_path(directory)))


def _path(directory: str) -> str:
    return f"{directory}/manifest.json"
