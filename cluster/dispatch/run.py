"""Run tasks on workers that may die, hang or go away, a few at a time, and say what became of each.

Dask carries the messages and starts dead workers again; everything else is decided here and by the caller, because a scheduler cannot know
which of the tasks assigned to a dead worker was at fault (most had not even begun).
"""

import threading
import time
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from typing import Any

from distributed.scheduler import KilledWorker, NoValidWorkerError, NoWorkerError

from tidalign.cluster.dispatch.backlog import Backlog
from tidalign.cluster.dispatch.flight import Flight
from tidalign.cluster.dispatch.share import Pool, Share, fastest_first
from tidalign.cluster.dispatch.together import Pace, together
from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.here import Threads
from tidalign.cluster.others import Seeking
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Outcomes, Queue, Rank, Task, TaskKind
from tidalign.cluster.workers import Workers

POLL_SECONDS = 1.0
"""Seconds between looks at workers and at tasks that may hang."""

SHORT_HANDED_SECONDS = 30.0
"""Seconds with fewer workers than wanted after which more are started (Dask's own restart takes one): twice as many each time, for busy machines."""

SILENCE_FACTOR = 10.0
"""How much longer than its patience a task may say nothing while its worker uses little CPU time: on a busy machine it gets little, and one that
sleeps uses none. The worker's process does more than the task, so the two are not told apart by CPU time alone."""

DESERTED_SECONDS = 300.0
"""Seconds without a single worker after which the run gives up; it can be resumed."""


def run_on(
    workers: Workers,
    tasks: Iterable[Task] | Queue,
    outcomes: Outcomes,
    stop: Stop,
    threads: Threads | None = None,
    kinds: Collection[TaskKind] = ("work", "read"),
) -> None:
    """Run tasks, and those that their outcomes ask for, until none is left; as many at a time as workers have threads.

    threads: of this process, which run what they have room for beside the workers. kinds: of tasks that the workers take.
    ClusterLost or NoWorkers where no worker is left and none comes back; Stopped where `stop` was set.
    """
    queue = tasks if isinstance(tasks, Queue) else Queue(tasks)
    with Threads(lambda: {"here": 1}) if threads is None else threads as beside:
        _Run(workers, outcomes, stop, queue, beside, kinds).loop()


class _Run:
    """Runs tasks on workers: gives them out, looks whether they hang, and tells what became of each."""

    def __init__(self, workers: Workers, outcomes: Outcomes, stop: Stop, queue: Queue, threads: Threads, kinds: Collection[TaskKind]) -> None:
        self.workers, self.outcomes, self.stop, self.queue, self.beside, self.kinds = workers, outcomes, stop, queue, threads, kinds
        self.flights: dict[str, Flight] = {}
        self.pace, self.share = Pace(), Share()
        self.backlog = None if workers.local else Backlog(workers.client)
        self.submitted = self.asked = 0
        self.wake = threading.Event()
        self.beside.wake = self.wake.set
        self.fit: dict[str, int] = {}  # threads of each worker that may have tasks
        self.full_at = self.alive_at = time.monotonic()
        self.seeking = Seeking(workers.connect) if workers.connect else None

    def loop(self) -> None:
        looked = float("-inf")
        try:
            while self.queue or self.flights or self.beside:
                self.wake.clear()
                self._collect()
                self.beside.collect(self.queue, self.outcomes)
                if self.stop.number is not None and (not (self.flights or self.beside) or self.stop.at_once()):
                    raise Stopped(self.stop.number)
                if (late := time.monotonic() - looked >= POLL_SECONDS) or self.workers.awaited:
                    self._look_at_workers()
                if late:
                    self._look_at_tasks()
                    self.beside.look()
                    looked = time.monotonic()
                self._feed()
                if self.backlog and self.share.pools:
                    self.backlog.show(len(self.queue))
                if self.flights or self.queue or self.beside:
                    self.wake.wait(POLL_SECONDS / (10 if self.workers.awaited else 2))
        finally:
            with suppress(Exception):
                # Tasks that run finish all the same; those that do not must not begin.
                self.workers.client.cancel([flight.future for flight in self.flights.values()], force=True)
                if self.backlog:
                    self.backlog.show(0)

    def _feed(self) -> None:
        if self.stop.number is None:
            self.beside.feed(self.queue)
        pools: dict[Pool, list[str]] = {}
        # Dask, while it looks for a scheduler that it has lost, goes through the futures that it has, and must not be given more.
        for worker in self.fit if self.workers.client.status == "running" else ():
            pools.setdefault(self.workers.pool(worker), []).append(worker)
        self.share.pools = {pool: (len(workers), sum(self.fit[worker] for worker in workers)) for pool, workers in pools.items()}
        for place, pool in enumerate(fastest_first(pools)):
            room = self.share.pools[pool][1] - sum(flight.pool == pool for flight in self.flights.values())
            while self.stop.number is None and room > 0 and (tasks := self._next(pool, slower=place > 0)):
                self._submit(tasks, pool, self._among(pools[pool]))
                room -= 1
            if not place and self.stop.number is None:
                self._recall(pool, room)

    def _among(self, workers: list[str]) -> list[str]:
        """Choose which of some workers may have the next tasks: the one with the most room, where Dask may have them wait. It chooses among those of ours that
        are all alike, and started again under other names."""
        if not self.workers.tried:
            return workers
        has = Counter(worker for flight in self.flights.values() for worker in flight.among)
        return [max(workers, key=lambda worker: self.fit[worker] - has[worker])]

    def _next(self, pool: Pool, *, slower: bool) -> list[Task]:
        """Take from the queue the task that goes next to some workers, and those that go with it. slower: the fastest take the longest, these what `Share`
        says."""
        ranked: dict[str, Rank] = {"rank": self.share.rank(pool, self.queue)} if slower else {}
        if (first := self.queue.pop(self.kinds, **ranked)) is None:
            return []
        room = self.pace.room(first.function, pool, len(self.queue), sum(self.fit.values()))
        more = iter(lambda: self.queue.pop(self.kinds, like=first.function, **ranked), None)
        return [first, *islice(more, room - 1)]

    def _recall(self, pool: Pool, room: int) -> None:
        """Take tasks from cores where the fastest workers, which have room left and nothing else to do, have them done sooner: they are in the queue again once
        the cores' processes have ended."""
        now, room = time.monotonic(), 0 if pool[1] else room - sum(flight.recalled for flight in self.flights.values())
        begun = sorted((flight.began, key) for key, flight in self.flights.items() if flight.pool[1] and not flight.recalled)
        late = [key for began, key in begun if self._sooner(pool, self.flights[key], now - began)][: max(0, room)]
        at = {key: address for address, keys in self.workers.client.processing().items() for key in keys} if late else {}
        for key in late:
            if key in at:
                self.flights[key].recalled = True
                self.workers.end(at[key])

    def _sooner(self, pool: Pool, flight: Flight, since: float) -> bool:
        return all(task.on_core for task in flight.tasks) and self.share.sooner(pool, flight.tasks, flight.pool, since)

    def _submit(self, tasks: list[Task], pool: Pool, workers: list[str]) -> None:
        self.submitted += 1
        key = f"{tasks[0].key}-{self.submitted}"
        given = [task.on_core if pool[1] and task.on_core else (task.arguments, task.patience) for task in tasks]
        calls = [(task.function, arguments) for task, (arguments, _) in zip(tasks, given, strict=True)]
        function, arguments = calls[0] if len(calls) == 1 else (together, (calls,))
        among = {"workers": workers, "allow_other_workers": False} if self.workers.tried else {}
        future = self.workers.client.submit(function, *arguments, key=key, pure=False, retries=0, **among)
        future.add_done_callback(lambda _: self.wake.set())
        self.flights[key] = Flight(tasks, future, sum(patience for _, patience in given), pool, workers)

    def _collect(self) -> None:
        for key, flight in list(self.flights.items()):
            status = flight.future.status
            if status == "pending":
                continue
            if status == "finished":
                try:
                    result = flight.future.result(timeout=10)
                except TimeoutError:
                    continue  # its worker died with the result; it runs again and finds its work done
                except Exception as lost:
                    self._lost(key, False, f"its result did not arrive: {lost!r}")
                    continue
                self._land(key, result)
            elif status == "error":
                error = flight.future.exception(timeout=10)
                if isinstance(error, KilledWorker) and flight.recalled:
                    self.fit.pop(error.last_worker.address, None)  # until it is there again
                    self.outcomes.note("recalled", task=flight.tasks[0].key, seconds=round(time.monotonic() - flight.began, 3))
                    self.queue.push(self.flights.pop(key).tasks)
                elif isinstance(error, KilledWorker):
                    self._lost(key, True, flight.hung or "its worker died, or was cut off", error.last_worker.address)
                elif isinstance(error, NoWorkerError | NoValidWorkerError):
                    self._lost(key, False, "the workers that it was for left")
                elif len(flight.tasks) == 1:
                    self._land(key, None, error)
                else:  # what they say does not travel: each by itself
                    self._lost(key, False, f"what it said did not arrive: {error!r}")
            else:
                self._lost(key, False, "the workers that it was for left" if flight.left else "the scheduler went away")

    def _lost(self, key: str, killed: bool, why: str, worker: str = "") -> None:
        """Report where a task was lost, after which time and why, and retry or give up as the caller answers."""
        flight = self.flights.pop(key)
        self.fit.pop(worker, None)  # until it is there again
        self.workers.deaths += killed
        place = asdict(self.workers.places[worker]) if worker in self.workers.places else {"worker": worker}
        self.outcomes.note(
            "lost",
            task=flight.tasks[0].key,
            **{name: value for name, value in place.items() if value},
            seconds=round(time.monotonic() - flight.began, 3),
            why=why,
        )
        self.pace.learn(flight.tasks[0].function, flight.pool, float("inf"))
        # Of several one at most was being done: the one that says how far it is, else it is not known to have begun.
        begun = next((task for task in flight.tasks if task.pulse and task.pulse() is not None), flight.tasks[0])
        for task in flight.tasks:
            self.queue.push(self.outcomes.died(task, killed and task is begun))

    def _land(self, key: str, result: Any, error: BaseException | None = None) -> None:
        """Report what became of tasks that were done."""
        flight = self.flights.pop(key)
        said = [(result, error, time.monotonic() - flight.began)] if len(flight.tasks) == 1 else result
        for task, (found, failed, seconds) in zip(flight.tasks, said, strict=True):
            self.pace.learn(task.function, flight.pool, seconds)
            self.share.learn(flight.pool, task, seconds)
            self.queue.push((self.outcomes.failed(task, failed) if failed else self.outcomes.done(task, found)) or ())

    def _look_at_workers(self) -> None:
        if self.workers.look:
            self.workers.look()
        now, client = time.monotonic(), self.workers.client
        before, self.fit = len(self.fit), {}
        if self.seeking and (client := self.seeking.look(client)) is not self.workers.client:
            self._go_on(client)
        if client.status == "closed":
            raise ClusterLost("the scheduler went away and did not come back; run the same command again to resume")
        if client.status == "running":
            with suppress(OSError):
                self.fit = self.workers.fit()
                self.workers.learn(self.fit)
        if (live := len(self.fit)) and not before:
            with suppress(OSError):
                self.workers.prepare()  # perhaps another scheduler than before
        self.alive_at = now if live else self.alive_at
        if live != before:
            self.outcomes.note("workers", live=live)
        local, wanted = self.workers.local, self.workers.wanted
        if now - self.alive_at > DESERTED_SECONDS:
            raise (NoWorkers if local else ClusterLost)(
                f"no worker left, and none came back in {DESERTED_SECONDS:.0f} s; run the same command again to resume"
                + ("" if local else ", with workers running")
            )
        if wanted is not None and wanted <= len({str(self.workers.places.get(worker, worker)) for worker in self.workers.refused()}) and not live:
            raise NoWorkers(f"no worker is left: {next(iter(self.workers.refused().values()))}")
        if local is None or wanted is None or live >= wanted:
            self.full_at, self.asked = now, 0
        elif now - self.full_at > SHORT_HANDED_SECONDS * 2**self.asked:
            self.outcomes.note("short-handed", live=live, wanted=wanted)
            if self.asked and not live:
                local.scale(0)  # what brings workers back when asking for more does not
            local.scale(wanted)
            self.full_at, self.asked = now, self.asked + 1

    def _go_on(self, client: Any) -> None:
        """Go on with another client of the scheduler."""
        self.workers.client, self.backlog = client, Backlog(client)
        for key in list(self.flights):
            self._lost(key, False, "the scheduler went away")

    def _look_at_tasks(self) -> None:
        late = []
        for key, flight in self.flights.items():
            if self.workers.tried and self.fit and set(self.fit).isdisjoint(flight.among):
                flight.silent += POLL_SECONDS
                if flight.silent > 2 * POLL_SECONDS:  # it did not even begin
                    flight.left = True
                    self.workers.client.cancel([flight.future], force=True)
                continue
            pulse = flight.pulses()
            if pulse is None or pulse != flight.pulse:
                flight.pulse, flight.silent, flight.used = pulse, 0.0, None
                continue
            # Looks are counted, not the clock: who was stopped or starved along with the workers did not look.
            flight.silent += POLL_SECONDS
            if flight.silent > flight.patience:
                late.append(key)
        if not late:
            return
        at = {key: address for address, keys in self.workers.client.processing().items() for key in keys}
        for key in late:
            flight = self.flights[key]
            if key not in at:
                flight.silent = 0.0
            elif self._hangs(flight, at[key]):
                self.outcomes.note("hang", task=flight.tasks[0].key, worker=at[key], seconds=round(flight.silent))
                flight.hung = f"it gave no sign of life in {flight.silent:.0f} s, and its worker was restarted"
                flight.silent, flight.used = 0.0, None
                self.workers.client.restart_workers([at[key]], timeout=20, raise_for_error=False)

    def _hangs(self, flight: Flight, worker: str) -> bool:
        """Tell whether a task that is late has no excuse left."""
        used, patience = self.workers.cpu_seconds(worker), flight.patience
        if flight.used is None:
            flight.used = used
        spent = used - flight.used if used is not None and flight.used is not None else 0.0
        return spent > patience or flight.silent > SILENCE_FACTOR * patience
