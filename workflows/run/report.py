"""What a run did, for people and for the exit status."""

import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from tidalign.workflows.status import Exit

_PACKAGES = ("tidalign", "numpy", "pyarrow", "numba", "dask", "distributed")


@dataclass(frozen=True, slots=True)
class Report:
    """report.json.

    run: id of the run; pairs, bases: all of it, letters of both sides; statuses: rows of each status.
    aligned, seconds: pairs that this call aligned and what it took, start to end; earlier calls that were cut short are not in them.
    device: `cpu`, or the names of the GPUs; device_why: these and no others; by_host: pairs that the host took for a GPU.
    workers: processes that aligned, 0 for this one alone; deaths: workers that died with a task begun; retries: tasks started again.
    """

    run: str
    pairs: int
    bases: int
    statuses: Mapping[str, int]
    aligned: int
    seconds: float
    device: str
    device_why: str
    by_host: int
    workers: int
    deaths: int
    retries: int
    command: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def exit(self) -> Exit:
        """PARTIAL if a row is capped or rejected."""
        return Exit.PARTIAL if self.statuses.get("capped") or self.statuses.get("rejected") else Exit.COMPLETE

    def to_json(self) -> dict[str, Any]:
        rate = round(self.aligned / self.seconds) if self.seconds else 0
        return {**asdict(self), "pairs_per_second": rate}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Report":
        known = {name: value for name, value in values.items() if name in cls.__slots__}
        return cls(**{**known, "command": tuple(known["command"])})


def versions() -> dict[str, str]:
    """Of Python and of the packages that take part."""
    return {"python": platform.python_version(), **{name: version(name) for name in _PACKAGES}}
