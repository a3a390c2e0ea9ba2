"""Say what a run takes on so many cores or GPUs, from how much work it is and what a unit of it takes there."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tidalign.cluster.gpus import HIRE_SECONDS
from tidalign.pipeline.in_turn import WRITERS
from tidalign.workflows.estimate.rates import Rates, is_stored

PROCESS = 240e6
"""Bytes of a process that has loaded what it needs."""

EXPORTED = 150e6
"""Bytes of text that a core makes and writes in a second."""

GPU_WORKERS = 2.0
"""Seconds until workers with GPUs are there, while the input is read."""

UNSEEN = "none in what was looked at"
"""Said of what there may be all the same: windows of genomes that were chosen blindly seldom have an alignment."""

SHARES = 50
"""Shares of a run of which one is little work, and says what all take."""

DIVISIBLE_TASKS = 4096
"""Tasks from which on they are taken for divisible: how they fall does not show."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Say how much a run is, and what that takes.

    what: counts for people, by name. read: seconds of one core to read the input; readers: how many can do so at once.
    tasks: [(seconds of one core, how many such)]. gpu: seconds of one GPU for all tasks, by the rates of each that is known; host: seconds of one core beside
    it. export: seconds of one core. bytes: in, out, disk (most at a time) and memory of a process. sample: what was looked at. core: rates of one.
    threads: tasks that one process does at a time, without workers. timed: work that was timed on a core here, and of which nothing is known on GPUs.
    """

    what: Mapping[str, float]
    read: float
    readers: int
    tasks: Sequence[tuple[float, int]]
    gpu: Mapping[Rates, float]
    host: float
    export: float
    bytes: Mapping[str, float]
    sample: str
    core: Rates
    threads: int = 1
    timed: str = ""

    def sooner(self, cores: int, share: float = 1.0) -> int:
        """Choose how many workers, none or one a core, have a share of the work done sooner than one core."""
        start = self.core.of("start", {"workers": 1.0})
        return cores if start + share * makespan(self.tasks, cores) < share * self.work else 0

    def predicted(self, gpus: Collection[str] | None, workers: int, share: float) -> dict[str, float] | None:
        """Predict the seconds of each stage of a run with so many workers, or on GPUs of these names, of whose work a share is left. None for unknown GPUs."""
        stages = self.stages(workers)
        stages["work"] *= share
        if gpus is not None:
            known = [seconds for rates, seconds in self.gpu.items() if rates.device in gpus]
            if not known:
                return None
            read = self.read / max(1, min(max(self.threads, workers), self.readers))  # by threads of this process, however few GPUs have workers
            start = max(0.0, GPU_WORKERS - read) if workers else 0.0
            stages = {"read": read, "start": start, "work": share * known[0] / (len(gpus) if workers else 1)}
        return {name: round(seconds, 3) for name, seconds in stages.items()}

    @property
    def work(self) -> float:
        """Give the seconds of one core for all tasks."""
        return sum(seconds * count for seconds, count in self.tasks)

    def speeds(self) -> dict[str, float]:
        """Tell as how many cores each GPU that is known is as fast."""
        return {rates.device: self.work / seconds for rates, seconds in self.gpu.items() if seconds}

    def stages(self, workers: int) -> dict[str, float]:
        """Give the seconds of each stage with so many workers; 0: this process alone."""
        read = self.read / max(1, min(workers or self.threads, self.readers))
        start = max(0.0, self.core.of("start", {"workers": 1.0}) - read) if workers else 0.0
        return {"read": read, "start": start, "work": makespan(self.tasks, workers or self.threads)}

    def seconds(self, workers: int) -> float:
        """Give the seconds of the whole command on cores: with so many workers, or 0 for this process alone."""
        return self.core.of("start", {"command": 1.0}) + sum(self.stages(workers).values()) + self.export / min(WRITERS, self.threads)

    def seconds_on(self, gpu: Rates, gpus: int, cores: int) -> float:
        """Give the seconds of the whole command on so many GPUs of a host with so many cores: reading, then what is slower of kernels and what goes on around
        them; of little work the first GPU does all."""
        start = self.core.of("start", {"command": 1.0}) + gpu.of("start", {"device": 1.0})
        gpus = gpus if self.gpu[gpu] > HIRE_SECONDS else 1
        read = max(self.read / max(1, min(cores, self.readers)), GPU_WORKERS if gpus > 1 else 0.0)
        return start + read + max(self.gpu[gpu] / gpus, self.host / cores) + self.export / min(WRITERS, cores)


def makespan(tasks: Sequence[tuple[float, int]], workers: int) -> float:
    """Give the seconds until the last of some tasks, [(seconds, how many)], is done: the longest first, each by the next worker that is free."""
    total = sum(seconds * count for seconds, count in tasks)
    if workers == 1 or sum(count for _, count in tasks) > DIVISIBLE_TASKS:
        return total / workers
    busy = [0.0] * workers
    for seconds, count in sorted(tasks, reverse=True):
        for _ in range(count):
            heapq.heapreplace(busy, busy[0] + seconds)
    return max(busy)


def table(forecast: Forecast, cores: int) -> list[tuple[str, str]]:
    """Make the lines of a table for people: what there is, what it takes and where that is known from."""
    lines = [(name.replace("_", " "), _number(value) if value else UNSEEN) for name, value in forecast.what.items()]
    lines += [
        (f"bytes {name.replace('_', ' ')}" if name in ("in", "out") else name.replace("_", " "), _bytes(value) if value else UNSEEN)
        for name, value in forecast.bytes.items()
    ]
    lines += [("core seconds", f"reading {forecast.read:.1f}, work {forecast.work:.1f}, writing the output {forecast.export:.1f}")]
    lines += [(_crew(count), duration(forecast.seconds(count))) for count in sorted({0, 1, cores})]
    for gpu in forecast.gpu:
        of = f"{gpu.device}{' (stored figures, not of this machine)' if is_stored(gpu) else ''}"
        lines += [(f"{count} GPU{'s' * (count > 1)}", f"{duration(forecast.seconds_on(gpu, count, cores))}, {of}") for count in (1, 2, 4)]
    if not forecast.gpu:
        share = f"a run on GPUs with --shard 1/{SHARES} does a part, and {SHARES} times `work` in its report.json is what all takes"
        measure = "no figures for this work: `tidalign check --calibrate` on a machine with one measures and keeps them"
        lines += [("GPUs", f"not known, as {forecast.timed} was timed on a core; {share}" if forecast.timed else measure)]
    known = (
        f"stored figures of {forecast.core.device}: `tidalign check --calibrate` measures this machine" if is_stored(forecast.core) else forecast.core.measured
    )
    return [*lines, ("known from", f"{forecast.sample}; {known}")]


def values(forecast: Forecast, cores: int) -> dict[str, Any]:
    """Give the same as JSON: bytes as numbers, seconds by how many workers (0: one process) or GPUs."""
    return {
        **forecast.what,
        "bytes": dict(forecast.bytes),
        "core_seconds": {"read": forecast.read, "work": forecast.work, "export": forecast.export},
        "seconds": {
            "workers": {str(count): forecast.seconds(count) for count in sorted({0, 1, cores})},
            "gpus": {gpu.device: {str(count): forecast.seconds_on(gpu, count, cores) for count in (1, 2, 4)} for gpu in forecast.gpu},
        },
        "sample": forecast.sample,
        "rates": [{"device": each.device, "measured": each.measured, "stored": is_stored(each)} for each in (forecast.core, *forecast.gpu)],
    }


def _crew(workers: int) -> str:
    return f"{workers} worker{'s' * (workers > 1)}" if workers else "one process"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value < 1e7 else f"{value:,.3g}" if value < 1e5 else f"{value:.3g}"


def _bytes(value: float) -> str:
    power = next(power for power in range(5, -1, -1) if value >= 1000**power or not power)
    return f"{value / 1000**power:.{0 if not power else 1}f} {('B', 'kB', 'MB', 'GB', 'TB', 'PB')[power]}"


def duration(seconds: float) -> str:
    """Write a time as people do: `0.9 s`, `3:07` (minutes) or `2:03:07` (hours)."""
    from tidalign.workflows.progress import duration as whole

    return f"{seconds:.1f} s" if seconds < 60 else whole(seconds)
