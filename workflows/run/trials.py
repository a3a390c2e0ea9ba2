"""Try workers before they get a task: whether they reach the run directory, which GPU they have and whether it works, and how fast they are."""

import os
import platform
import secrets
import time
from collections import Counter
from collections.abc import Collection, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import beginning, usable
from tidalign.cluster.stop import Stop
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.busy import held
from tidalign.workflows.run.devices import gpu_trouble

if TYPE_CHECKING:
    from tidalign.cluster.workers import Workers

FIRST_SECONDS = 60.0
"""Seconds in which one of the workers that came has to answer."""


AGAIN_SECONDS = 0.05
"""Seconds until a worker that did not answer is asked again."""


class Trials:
    """Tries the workers of a run in `directory`, the first ones and those that join later (`Workers.undergo`).

    module: of the tasks. gpus, cores: how many workers with a GPU, and without one, are used of each host; None: all. speed: of a GPU whose is not known, in
    cores.
    """

    def __init__(self, workers: "Workers", directory: str, module: str, gpus: int | None, cores: int | None, speed: float) -> None:
        self._workers, self._directory, self._module, self._gpus, self._cores, self._speed = workers, directory, module, gpus, cores, speed
        self._at: dict[str, str] = {}
        self._named: dict[str, str | None] = {}
        self._speeds: Mapping[str, float] = {}

    def reach(self, workers: Collection[str]) -> dict[str, str | None]:
        """Find what keeps each worker from the run directory, or None; nothing of those that have left."""
        token = secrets.token_hex(16)
        path = Path(self._directory, f"probe.{token[:8]}.tmp")
        path.write_text(token)
        try:
            seen = self._workers.on(workers, partial(_reach, str(path), token, self._module))
        finally:
            path.unlink()
        found = {worker: seen[worker] for worker in workers if not isinstance(seen.get(worker, OSError()), OSError)}
        return {worker: trouble if trouble is None else str(trouble) for worker, trouble in found.items()}

    def hosts(self, stop: Stop) -> dict[str, int]:
        """Count the workers that answer on each host, once there is one, within `FIRST_SECONDS`: those that have died since they came are started again."""
        until = time.monotonic() + FIRST_SECONDS
        while True:
            self._workers.hired()
            answers, refused = self._workers.answers(platform.node), self._workers.refused()
            hosts = Counter(host for worker, host in answers.items() if isinstance(host, str) and worker not in refused)
            if hosts or stop.number is not None or time.monotonic() >= until:
                return dict(hosts)
            time.sleep(0.1)

    def first(self, stop: Stop) -> None:
        """Wait until one worker with a GPU may have tasks, for `FIRST_SECONDS` at most. Raises NoWorkers where GPUs are wanted and none of them can be used."""
        until = time.monotonic() + FIRST_SECONDS
        while not (some := self._with_gpus()) and self._workers.awaited and stop.number is None and time.monotonic() < until:
            time.sleep(AGAIN_SECONDS)
        refused = self._workers.refused()
        if refused and not (some or self._workers.awaited):
            raise NoWorkers("worker {} {}".format(*next(iter(refused.items()))))

    def _with_gpus(self) -> bool:
        """Tell whether nothing speaks against some worker that has a GPU."""
        self._workers.hired()
        return any(not trouble and not self.on_core(worker) for worker, trouble in self._workers.said.items())

    def gpus(self, workers: Collection[str]) -> dict[str, str | None]:
        """Find what keeps each worker from its GPU, or that its host has enough without it, or None; nothing of one on which CUDA has not begun. One without a
        GPU is for the cores."""
        crew = self._workers
        late = crew.on(workers, beginning)
        crew.awaited = True in late.values()
        if not (workers := [worker for worker in workers if late.get(worker) is not True]):
            return {}
        troubles, hosts, names = (crew.on(workers, function) for function in (gpu_trouble, platform.node, gpu_name))
        said = {worker: trouble and str(trouble) for worker, trouble in troubles.items() if isinstance(hosts.get(worker), str)}
        self._at |= {worker: hosts[worker] for worker in said}
        self._named |= {worker: name if isinstance(name := names.get(worker), str) else None for worker in said}
        for gpus, most, option in ((True, self._gpus, "gpus"), (False, self._cores, "cpu-workers")):
            self._choose(said, gpus, most, option)
        self._rank()
        crew.measure([worker for worker, trouble in said.items() if trouble is None and self._named[worker]], held)
        for worker, trouble in ((worker, trouble) for worker, trouble in said.items() if trouble):
            rundir.journal(self._directory, "lost", task="", host=hosts[worker], worker=worker, why=trouble)
        return said

    def _choose(self, said: dict[str, str | None], gpus: bool, most: int | None, option: str) -> None:
        """Choose at most so many workers of each host of those with a GPU, or without one where such are wanted."""
        crew = self._workers
        used = Counter(
            self._at[worker] for worker in crew.live() if worker in self._at and worker not in said and worker not in crew.refused() and self._is(worker, gpus)
        )
        for worker in sorted(worker for worker in said if self._is(worker, gpus) and (not said[worker] or not gpus)):
            if most == 0:
                continue  # what is wrong with it was said
            if most and used[self._at[worker]] >= most:
                said[worker] = f"on {self._at[worker]} is beyond --{option} {most}"
            else:
                said[worker] = None
                used[self._at[worker]] += 1

    def _is(self, worker: str, gpus: bool) -> bool:
        return bool(self._named[worker]) is gpus

    def on_core(self, worker: str) -> bool:
        """Tell whether a worker is on a core, beside others with GPUs."""
        return worker in self._named and self._named[worker] is None

    def pace(self, speeds: Mapping[str, float]) -> None:
        """Set how many cores each GPU, by name, is as fast as."""
        self._speeds = speeds
        self._rank()

    def _rank(self) -> None:
        for worker, name in list(self._named.items()):  # which grows while workers are hired
            self._workers.pools[worker] = (self._speeds.get(name, self._speed), False) if name else (1.0, True)


def gpu_name() -> str | None:
    """Name the GPU of a worker, on it; None: it has none."""
    try:
        return next(iter(usable(1).values()))
    except NoWorkers:
        return None


def _reach(path: str, token: str, module: str) -> str | None:
    """Find, on a worker, what keeps it from the run directory, or None. Loads a module, too."""
    host = os.uname().nodename
    import_module(module)
    try:
        if Path(path).read_text() != token:
            return f"on {host} sees another directory there"
        trial = Path(f"{path}.{os.getpid()}.tmp")
        trial.write_text(token)
        trial.unlink()
    except FileNotFoundError:
        return f"on {host} does not see it"
    except OSError as error:
        return f"on {host} cannot write there ({error.strerror})"
    return None
