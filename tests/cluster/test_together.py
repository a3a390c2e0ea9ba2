"""Short tasks go to workers together, long ones alone; each is told of by itself, whatever becomes of the others. Slow workers get what they do in time."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from distributed.scheduler import KilledWorker
from jobs import die_once, refuse, square
from test_dispatch import Recorded

from tidalign.cluster.dispatch import run as dispatch
from tidalign.cluster.dispatch.flight import Flight
from tidalign.cluster.dispatch.run import run_on
from tidalign.cluster.dispatch.together import MAX_CALLS, TOGETHER_SECONDS, Pace, together
from tidalign.cluster.private import end_worker
from tidalign.cluster.start import start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Queue, Task
from tidalign.cluster.workers import Workers


@pytest.fixture(scope="module")
def two() -> Iterator[Workers]:
    with start(2) as workers:
        yield workers


@pytest.fixture
def sent(two: Workers, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Count the tasks of each call of the scheduler."""
    calls: list[int] = []
    real = two.client.submit

    def submit(function: Any, *arguments: Any, **more: Any) -> Any:
        calls.append(len(arguments[0]) if function is together else 1)
        return real(function, *arguments, **more)

    monkeypatch.setattr(two.client, "submit", submit)
    return calls


@pytest.fixture
def all_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tasks be short that take what they take on the busiest machine, where an answer of a scheduler alone takes longer than they may in all."""
    monkeypatch.setattr("tidalign.cluster.dispatch.together.TOGETHER_SECONDS", 1e4)


@pytest.mark.usefixtures("all_short")
def test_short_tasks_go_together(two: Workers, sent: list[int]) -> None:
    seen = Recorded()
    run_on(two, [Task(f"t{number}", square, (number,)) for number in range(600)], seen, Stop())
    assert seen.results == {f"t{number}": number * number for number in range(600)} and set(seen.times.values()) == {1}
    assert sum(sent) == 600 and len(sent) < 60 and max(sent) <= MAX_CALLS
    assert sent[:2] == [1, 1], "nobody knows yet what they take"


def test_long_tasks_go_alone(two: Workers, sent: list[int]) -> None:
    run_on(two, [Task(f"t{number}", square, (number, 0.15)) for number in range(12)], Recorded(), Stop())
    assert sent == [1] * 12


@pytest.mark.usefixtures("all_short")
def test_one_that_kills_its_worker_takes_no_other_with_it(two: Workers, sent: list[int], tmp_path: Path) -> None:
    seen = Recorded()
    pulses = [tmp_path / f"{number}" for number in range(300)]

    def task(number: int) -> Task:
        function, arguments = (die_once, (str(tmp_path / "died"), number)) if number == 200 else (die_once, (str(tmp_path), number))
        return Task(f"t{number}", function, arguments, pulse=lambda: pulses[number].exists() or None)

    pulses[200].touch()  # it alone has begun, as far as claims say
    run_on(two, [task(number) for number in range(300)], seen, Stop())
    assert seen.results == {f"t{number}": number for number in range(300)} and set(seen.times.values()) == {1}
    assert max(sent) > 1 and seen.deaths["t200"] == 1
    assert len(seen.lost) == 1


class Killed(Recorded):
    """Notes which tasks are said to have killed their worker."""

    def __init__(self) -> None:
        super().__init__()
        self.blamed: list[str] = []

    def died(self, task: Task, killed: bool) -> Any:
        self.blamed += [task.key] if killed else []
        return super().died(task, killed)


@pytest.mark.usefixtures("all_short")
def test_of_several_that_are_lost_the_one_that_had_begun_is_blamed(two: Workers, tmp_path: Path) -> None:
    seen = Killed()
    tasks = [Task(f"t{number}", die_once, (str(tmp_path), number)) for number in range(200)]
    tasks += [Task("killer", die_once, (str(tmp_path / "died"), -1), pulse=lambda: "begun", weight=-1.0)]
    run_on(two, tasks, seen, Stop())
    assert seen.blamed == ["killer"] and len(seen.results) == 201


class Refused(Recorded):
    """Takes errors as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.errors: dict[str, str] = {}

    def failed(self, task: Task, error: BaseException) -> Any:
        self.errors[task.key] = str(error)
        return []


@pytest.mark.usefixtures("all_short")
def test_an_error_is_of_its_task_alone(two: Workers, sent: list[int]) -> None:
    seen = Refused()
    # A function that sometimes fails: divmod by zero.
    run_on(two, [Task(f"t{number}", divmod, (number, number % 7)) for number in range(300)], seen, Stop())
    assert seen.results == {f"t{number}": divmod(number, number % 7) for number in range(300) if number % 7}
    assert set(seen.errors) == {f"t{number}" for number in range(300) if not number % 7} and max(sent) > 1
    run_on(two, [Task("full", refuse, ("no room",))], seen, Stop())
    assert "no room" in seen.errors["full"]


def test_how_many_go_together() -> None:
    pace = Pace()
    assert pace.room(square, "core", 1000, 2) == 1, "nobody knows what it takes"
    pace.learn(square, "core", TOGETHER_SECONDS / 10)
    assert pace.room(square, "core", 1000, 2) == 10
    assert pace.room(square, "core", 8, 2) == 3, "the last ones are shared"
    assert pace.room(square, "gpu", 1000, 2) == 1 == pace.room(refuse, "core", 1000, 2)
    pace.learn(square, "core", 10 * TOGETHER_SECONDS)
    assert pace.room(square, "core", 1000, 2) == 1
    pace.learn(square, "core", 0.0)
    assert pace.room(square, "core", 1000, 2) == 1, "one that was long is not forgotten at once"
    for _ in range(100):
        pace.learn(square, "core", 0.0)
    assert pace.room(square, "core", 1000, 2) == MAX_CALLS
    pace.learn(square, "core", float("inf"))
    assert pace.room(square, "core", 1000, 2) == 1
    pace.learn(square, "core", 0.0)
    assert pace.room(square, "core", 1000, 2) == MAX_CALLS


def test_a_queue_gives_what_fits() -> None:
    queue = Queue([Task(f"t{number}", square, (number,), weight=number, seconds=number, sort=f"{number % 2}") for number in range(10)])
    assert queue.seconds == {"0": 20, "1": 25}

    def fits(task: Task) -> float | None:
        return task.weight if task.seconds <= 4.5 else None

    def shortest(task: Task) -> float | None:
        return -task.seconds if task.sort == "0" else None

    asked = (fits, fits, shortest, lambda _: None)
    assert [task and task.key for task in (queue.pop(("work",), rank) for rank in asked)] == ["t4", "t3", "t0", None]
    assert queue.pop(("work",), like=refuse) is None
    left = [task.key for task in iter(lambda: queue.pop(("work",), like=square), None)]
    assert left == ["t9", "t8", "t7", "t6", "t5", "t2", "t1"]
    assert queue.seconds == {"0": 0, "1": 0}


# ---- workers of different speeds


class Clock:
    """Stands for the time, which passes while somebody waits, and for that alone: a busy machine makes nobody slower."""

    def __init__(self) -> None:
        self.now, self._numbers = 0.0, count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        self._due.append((self.now + seconds, next(self._numbers), then))

    def passes(self, until: float) -> bool:
        """Come to what is due next, and do it; False where that is later."""
        at, _, then = first = min(self._due, default=(float("inf"), 0, lambda: None))
        self.now = min(at, until)
        if at > until:
            return False
        self._due.remove(first)
        then()
        return True


class Event:
    """Stands for a `threading.Event` where a `Clock` does for the time."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._is_set = clock, False

    def set(self) -> None:
        self._is_set = True

    def clear(self) -> None:
        self._is_set = False

    def wait(self, seconds: float) -> None:
        until = self._clock.now + seconds
        while not self._is_set and self._clock.passes(until):
            pass


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(dispatch, "time", made)
    monkeypatch.setattr(dispatch, "Flight", lambda *arguments: Flight(*arguments, began=made.now))
    monkeypatch.setattr(dispatch, "threading", SimpleNamespace(Event=lambda: Event(made)))
    return made


class FakeFuture:
    def __init__(self) -> None:
        self.status, self._result = "pending", None
        self._then: Any = None

    def add_done_callback(self, then: Any) -> None:
        self._then = then

    def end(self, result: Any) -> None:
        self._result, self.status = result, "finished"
        self._then(self)

    def result(self, timeout: float) -> Any:
        return self._result


class FakeClient:
    """Does a task on the first of its workers that is free, in seconds of one core divided by that worker's speed."""

    status = "running"

    def __init__(self, speeds: dict[str, float], clock: Clock) -> None:
        self._speeds, self._clock, self.free, self.did = speeds, clock, dict.fromkeys(speeds, True), list[tuple[str, float, bool]]()

    def submit(self, function: Any, *arguments: Any, workers: list[str], **_: Any) -> FakeFuture:
        future, several = FakeFuture(), function is together
        calls = [each for _, each in arguments[0]] if several else [arguments]
        worker = next(each for each in workers if self.free[each])
        self.free[worker] = False

        def end() -> None:
            self.free[worker] = True
            self.did += [(worker, seconds, on == "core") for seconds, on in calls]
            future.end([(None, None, seconds / self._speeds[worker]) for seconds, _ in calls] if several else None)

        self._clock.after(sum(seconds for seconds, _ in calls) / self._speeds[worker], end)
        return future

    def run(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {}

    def cancel(self, *_: Any, **__: Any) -> None:
        pass

    def processing(self) -> dict[str, Any]:
        return {}

    def run_on_scheduler(self, *_: Any) -> None:
        pass


class FakeWorkers(Workers):
    def live(self) -> dict[str, int]:
        return dict.fromkeys(self.pools, 1)


def test_slow_workers_get_what_they_do_in_time(clock: Clock) -> None:
    """Two GPUs, one of half the other's speed, and two cores: all are done at about the same time, and each does what it does in a second."""
    speeds = {"fast": 40.0, "half": 20.0, "core0": 1.0, "core1": 1.0}
    client = FakeClient(speeds, clock)
    pools = {worker: (speed, speed == 1.0) for worker, speed in speeds.items()}
    workers = FakeWorkers(client, object(), 4, said=dict.fromkeys(speeds), pools=pools)
    lengths = [0.2 + 0.05 * (number % 9) for number in range(180)] + [8.0] * 6
    tasks = [Task(f"t{n}", square, (length, "gpu"), length, seconds=length, on_core=((length, "core"), 60.0)) for n, length in enumerate(lengths)]
    run_on(workers, tasks, Recorded(), Stop())
    ideal = sum(lengths) / sum(speeds.values())
    did: Counter[str] = Counter()
    for worker, seconds, on_core in client.did:
        did[worker] += seconds
        assert on_core == worker.startswith("core"), "arguments are those of its kind"
    took = max(did[worker] / speed for worker, speed in speeds.items())  # without what a busy machine adds
    assert took < 1.6 * ideal + 0.5, "8 s of a core, begun at the end, would be far more"
    assert sum(did.values()) == pytest.approx(sum(lengths))
    assert did["core0"] > 0 and did["core1"] > 0 and 1.2 < did["fast"] / did["half"] < 3.5


def test_cores_do_all_where_no_gpu_is_left(clock: Clock) -> None:
    client = FakeClient({"core0": 100.0}, clock)
    workers = FakeWorkers(client, object(), 2, said={"core0": None}, pools={"core0": (1.0, True)})
    run_on(workers, [Task("long", square, (50.0, "gpu"), 50.0, seconds=50.0, on_core=((50.0, "core"), 60.0))], Recorded(), Stop())
    assert client.did == [("core0", 50.0, True)]


class Ended(FakeClient):
    """Says which of its workers has what, and notes those whose process is ended."""

    def __init__(self, speeds: dict[str, float], clock: Clock) -> None:
        super().__init__(speeds, clock)
        self.at, self.ended = dict[str, list[str]](), list[str]()

    def submit(self, function: Any, *arguments: Any, workers: list[str], key: str = "", **more: Any) -> FakeFuture:
        (worker,) = workers
        self.at[worker] = [key]
        return super().submit(function, *arguments, workers=workers, **more)

    def processing(self) -> dict[str, Any]:
        return self.at

    def run(self, function: Any, *_: Any, workers: Any = (), **__: Any) -> dict[str, Any]:
        self.ended += workers if function is end_worker else ()
        return {}


@pytest.mark.parametrize(("seconds", "ended"), [(1.5, []), (600.0, ["core"])])
@pytest.mark.parametrize("length", range(140, 160))
def test_a_core_that_is_in_time_is_left_alone(length: int, seconds: float, ended: list[str], clock: Clock) -> None:
    """However much of its last task is left when nothing is left for the GPU, whose last tasks are half as long as those before. The clock is the test's: on a
    busy machine nobody is in time."""
    client = Ended({"gpu": 100.0, "core": 1.0}, clock)
    workers = FakeWorkers(client, object(), 2, said=dict.fromkeys(("gpu", "core")), pools={"gpu": (100.0, False), "core": (1.0, True)})
    on_gpu = [5.0] * (length - 30) + [2.5] * 30
    tasks = [Task(f"t{n}", square, (on_gpu[n], "gpu"), 2.0, seconds=2.0, on_core=((seconds, "core"), 1e4), sort="extend") for n in range(length)]
    run_on(workers, tasks, Recorded(), Stop())
    assert client.ended == ended and len(client.did) == length
    assert sum(on_core for *_, on_core in client.did) == (1 if ended else pytest.approx(5, abs=1))


class Dying(Ended):
    """Has the task of a worker whose process is ended die with it, and says when each worker was given one."""

    def __init__(self, speeds: dict[str, float], clock: Clock) -> None:
        super().__init__(speeds, clock)
        self.futures, self.given = dict[str, FakeFuture](), list[tuple[str, float]]()

    def submit(self, function: Any, *arguments: Any, workers: list[str], **more: Any) -> FakeFuture:
        self.futures[workers[0]] = future = super().submit(function, *arguments, workers=workers, **more)
        self.given.append((workers[0], self._clock.now))
        return future

    def run(self, function: Any, *arguments: Any, workers: Any = (), **more: Any) -> dict[str, Any]:
        for worker in workers if function is end_worker else ():
            future: Any = self.futures[worker]
            died = KilledWorker("t", SimpleNamespace(address=worker), 0)
            future.status, future.exception, self.free[worker] = "error", lambda timeout, died=died: died, True
            future._then(future)
        return super().run(function, *arguments, workers=workers, **more)


def test_a_worker_whose_process_was_ended_gets_nothing_until_it_is_there_again(clock: Clock) -> None:
    """Leave what becomes ready just then to others: it would wait for a worker that is gone, and be told of as lost."""
    client, recalled = Dying({"gpu": 100.0, "core": 1.0}, clock), list[float]()
    workers = FakeWorkers(client, object(), 2, said=dict.fromkeys(("gpu", "core")), pools={"gpu": (100.0, False), "core": (1.0, True)})

    def tasks(name: str) -> list[Task]:
        return [Task(f"{name}{n}", square, (5.0, "gpu"), 2.0, seconds=2.0, on_core=((600.0, "core"), 1e4), sort="extend") for n in range(150)]

    class More(Recorded):
        def note(self, event: str, **details: Any) -> None:
            super().note(event, **details)
            if event == "recalled" and not recalled:
                recalled.append(clock.now)
                queue.push(tasks("u"))

    queue, seen = Queue(tasks("t")), More()
    run_on(workers, queue, seen, Stop())
    assert recalled and len(seen.times) == 300 and not seen.lost
    assert [at for worker, at in client.given if worker == "core"][1] > recalled[0]
