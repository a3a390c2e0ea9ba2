"""Say what a run did: report.json, of what all kinds of runs have."""

import json
import platform
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Self

from tidalign.workflows.status import Exit


@cache
def versions() -> dict[str, str]:
    """Give the versions of Python and of the packages that take part."""
    return {"python": platform.python_version(), **{name: version(name) for name in ("tidalign", "numpy", "pyarrow", "numba", "dask", "distributed")}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Holds what report.json says; kinds of runs add what they count.

    run: id of the run. statuses: rows of each status. shortfalls: what a guard cut or a crash cost without a row of its own.
    seconds: what this call took, start to end; stages: of them, to `read`, to `start` workers or compile, to `work`. predicted: what an estimate said of these
        stages once the input was read; None where the work was too little to be worth one. calls, total_seconds: with all that were cut short before.
    device: `cpu`, or the names of the GPUs; device_why: these and no others. gpus: by host and name for CUDA, the seconds that each was `busy` in this call,
        and what `share` of its time.
    workers: processes that aligned, 0 for this one alone; hosts: how many on each; deaths: workers that died with a task begun; retries: tasks started again.
    faults: the first thousand tasks of all calls that were lost or failed: {task, host, gpu, pid, seconds since it was given out, why, retries: how often it
        had been lost before}; without what nobody knows.
    """

    run: str
    statuses: Mapping[str, int]
    shortfalls: tuple[Mapping[str, Any], ...] = ()
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    predicted: Mapping[str, float] | None = None
    calls: int = 1
    total_seconds: float = 0.0
    device: str
    device_why: str
    gpus: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    workers: int
    hosts: Mapping[str, int] = field(default_factory=dict)
    deaths: int
    retries: int
    faults: tuple[Mapping[str, Any], ...] = ()
    command: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv))
    versions: Mapping[str, str] = field(default_factory=lambda: versions())

    @property
    def exit(self) -> Exit:
        """Give PARTIAL if something is capped, rejected or was given up."""
        return Exit.PARTIAL if self.statuses.get("capped") or self.statuses.get("rejected") or self.shortfalls else Exit.COMPLETE

    @property
    def off(self) -> float | None:
        """Give the predicted seconds as a share of those that the same stages took; None without a prediction."""
        taken = sum(self.stages[stage] for stage in self.predicted or ())
        return round(sum(self.predicted.values()) / taken, 3) if self.predicted and taken else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"predicted_to_taken": self.off}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        known: dict[str, Any] = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        return cls(**known | {name: tuple(value) for name, value in known.items() if isinstance(value, list)})


def history(directory: str, most: int = 1000) -> tuple[int, float, list[dict[str, Any]]]:
    """Read of a run's journal how many calls it took, this one too, the seconds of all (of one that was killed, those to its last line), and tasks that were
    lost or failed, the first `most`, with how often each had been before."""
    count, seconds, began, last = 0, 0.0, 0.0, 0.0
    faults: list[dict[str, Any]] = []
    for line in Path(directory, "journal.jsonl").read_text(errors="replace").splitlines():
        try:
            said = json.loads(line)
            when, name = float(said.pop("time")), said.pop("event")
        except (ValueError, KeyError, TypeError, AttributeError):
            continue  # cut short by a kill
        if name == "start":
            count, seconds, began = count + 1, seconds + max(0.0, last - began), when
        elif name in ("lost", "failed") and len(faults) < most:
            before = sum(each["task"] == said.get("task") for each in faults)
            faults.append({"why": said.pop("error", ""), "task": "", **said, "retries": before})
        last = when
    return count, round(seconds + max(0.0, time.time() - began), 3), faults
