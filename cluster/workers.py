"""Know the workers that there are: try those that join, ask them things, and say which may have tasks."""

import logging
import platform
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any, cast

import psutil

from tidalign.cluster.others import answering
from tidalign.cluster.private import end_worker

_METRIC = "tidalign"  # of a worker, what it told last

Trial = Callable[[Collection[str]], dict[str, str | None]]
"""Says of each of some workers what keeps it from the work, or None; nothing of those that have left, or are not ready."""


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """Says where a worker is: host, GPU by its name for CUDA, if it has one, and process."""

    host: str
    gpu: str | None
    pid: int


@dataclass
class Workers:
    """Live workers. `wanted`: how many there should be, None where someone else decides; `local`: the processes of this machine, if they are ours.

    connect: gives another client of the scheduler; None: there is no other. look: tells of nodes that are lost; None: nodes are somebody else's.
    trials: of workers that join; passed: how many of them, by worker; said: what they came to. places: where each worker is, or was. pools: what `pool` says,
    where not all are alike.
    tried: whether workers that join, or start again, are tried before they get a task: those of somebody else, and those with GPUs, which may fail for good.
    awaited: whether a trial said that some are ready before long. deaths: of workers, while they had tasks. over: whether all is done, and nobody waits for the
    end of those on this machine.
    """

    client: Any
    local: Any | None
    wanted: int | None
    connect: Callable[[], Any] | None = None
    look: Callable[[], object] | None = None
    tried: bool = True
    awaited = over = False
    deaths: int = 0
    trials: list[Trial] = field(default_factory=list)
    passed: dict[str, int] = field(default_factory=dict)
    said: dict[str, str | None] = field(default_factory=dict)
    places: dict[str, WorkerPlace] = field(default_factory=dict)
    pools: dict[str, tuple[float, bool]] = field(default_factory=dict)

    def pool(self, worker: str) -> tuple[float, bool]:
        """Tell as how many cores a worker is as fast, and whether it is on a core while others have GPUs."""
        return self.pools.get(worker, (1.0, False))

    def fit(self) -> dict[str, int]:
        """Give what `live` gives, without workers that a trial found something against; those that joined since are tried first."""
        threads = self.live()
        if not self.tried:
            return threads
        self.awaited = False
        for worker, trouble in self._try([worker for worker in threads if worker not in self.said]).items():
            logging.getLogger("tidalign").warning("worker %s, which has just joined, %s; it is not used", worker, trouble)
        return {worker: count for worker, count in threads.items() if self.said.get(worker, "has left") is None}

    def _try(self, workers: Collection[str]) -> dict[str, str]:
        """Have workers undergo the trials that each has not passed yet; gives what is wrong with them. Who says nothing is asked the same again later."""
        troubles = dict[str, str]()
        for number, trial in enumerate(self.trials):
            if asked := [worker for worker in workers if self.passed.get(worker, 0) == number and worker not in troubles]:
                said = trial(asked)
                troubles |= {worker: trouble for worker, trouble in said.items() if trouble}
                self.passed |= dict.fromkeys(said, number + 1)
        self.said |= {worker: troubles.get(worker) for worker in workers if worker in troubles or self.passed.get(worker, 0) == len(self.trials)}
        return troubles

    def hired(self) -> int:
        """Count the workers that nothing speaks against; one that did not answer when it was tried is tried again."""
        with answering(self.client):
            return len(self.fit())

    def refused(self) -> dict[str, str]:
        """List what a trial found against each worker, whether it is still there or not."""
        return {worker: trouble for worker, trouble in self.said.items() if trouble}

    def undergo(self, trial: Trial) -> dict[str, str]:
        """Try the workers that there are, and those that will join; gives what is wrong with the first ones."""
        self.trials.append(trial)
        self.said = {**self.refused()}  # who had passed is tried once more
        with answering(self.client):
            return self._try([worker for worker in self.live() if worker not in self.said])

    def live(self) -> dict[str, int]:
        """Ask the scheduler for the threads of each worker by address; OSError where it does not answer."""
        return cast("dict[str, int]", self.client.nthreads())

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call `function` on each worker; gives what it returns there, or the exception it raised."""
        return cast("dict[str, Any]", self.client.run(function, *arguments, on_error="return"))

    def on(self, workers: Collection[str], function: Callable[..., Any]) -> dict[str, Any]:
        """Call a function on some workers, as `everywhere` does on all."""
        return cast("dict[str, Any]", self.client.run(function, workers=list(workers), on_error="return"))

    def answers(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Call a function on each worker, as `everywhere` does. ClusterLost where the scheduler does not answer."""
        with answering(self.client):
            return self.everywhere(function, *arguments)

    def learn(self, workers: Collection[str]) -> None:
        """Learn the places of workers that are new, from their nannies, which answer whatever the workers are at."""
        if new := [worker for worker in workers if worker not in self.places]:
            answers = self.client.run(_place_of_worker, workers=new, nanny=True, on_error="return")
            self.places.update({worker: place for worker, place in answers.items() if isinstance(place, WorkerPlace)})

    def measure(self, workers: Collection[str], function: Callable[[], float]) -> None:
        """Let workers tell the scheduler, whenever they tell it that they live, what a function gives there."""
        self.client.run(_measure, function, workers=list(workers), on_error="return")

    def measured(self) -> dict[str, tuple[str, float]]:
        """Give, by worker that measures something, its place and what it told last."""
        said = {worker: each["metrics"].get(_METRIC) for worker, each in self.client.scheduler_info()["workers"].items() if worker in self.places}
        at = {worker: f"{self.places[worker].host}:{self.places[worker].gpu or 0}" for worker in said}
        return {worker: (at[worker], value) for worker, value in said.items() if isinstance(value, float)}

    def cpu_seconds(self, worker: str) -> float | None:
        """Ask how much CPU time the process of the worker at that address has used, as its nanny says; None where nobody says."""
        try:
            answer = self.client.run(_cpu_seconds_of_worker, workers=[worker], nanny=True, on_error="return")[worker]
        except Exception:  # it has just gone
            return None
        return answer if isinstance(answer, float) else None

    def end(self, worker: str) -> None:
        """End the process of the worker at that address, whatever it is at; its nanny starts another."""
        self.client.run(end_worker, workers=[worker], nanny=True, on_error="return")

    def prepare(self) -> None:
        """Tell the scheduler what its configuration may not say: a task whose worker dies comes back to us at once."""
        self.client.run_on_scheduler(_allow_no_failures)


def _measure(function: Callable[[], float], dask_worker: Any) -> None:
    dask_worker.metrics[_METRIC] = lambda _: function()


def _place_of_worker(dask_worker: Any) -> WorkerPlace:
    """Say, on a nanny, as `_cpu_seconds_of_worker` does, where its worker is."""
    return WorkerPlace(platform.node(), dask_worker.env.get("CUDA_VISIBLE_DEVICES", "").partition(",")[0] or None, dask_worker.pid)


def _cpu_seconds_of_worker(dask_worker: Any) -> float:
    """Measure a worker's CPU time on its nanny, which is what Dask gives here: it answers where its worker does not."""
    times = psutil.Process(dask_worker.pid).cpu_times()
    return float(times.user + times.system)


def _allow_no_failures(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 0
