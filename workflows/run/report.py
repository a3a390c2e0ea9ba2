"""What report.json says of a finished run, whatever its kind."""

import platform
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from importlib.metadata import version
from typing import Any, Self

from tidalign.workflows.status import Exit

_PACKAGES = ("tidalign", "numpy", "pyarrow", "numba", "dask", "distributed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """report.json; kinds of runs add what they count.

    run: id of the run. statuses: rows of each status. shortfalls: what a guard cut or a crash cost without a row of its own.
    seconds: what this call took, start to end; earlier calls that were cut short are not in it.
    device: `cpu`, or the names of the GPUs; device_why: these and no others.
    workers: processes that aligned, 0 for this one alone; deaths: workers that died with a task begun; retries: tasks started again.
    """

    run: str
    statuses: Mapping[str, int]
    shortfalls: tuple[Mapping[str, Any], ...] = ()
    seconds: float
    device: str
    device_why: str
    workers: int
    deaths: int
    retries: int
    command: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv))
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    @property
    def exit(self) -> Exit:
        """Give PARTIAL if something is capped, rejected or was given up."""
        return Exit.PARTIAL if self.statuses.get("capped") or self.statuses.get("rejected") or self.shortfalls else Exit.COMPLETE

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        known: dict[str, Any] = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        return cls(**known | {name: tuple(value) for name, value in known.items() if isinstance(value, list)})


def versions() -> dict[str, str]:
    """Give the versions of Python and of the packages that take part."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
