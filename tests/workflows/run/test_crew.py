"""Workers that are hired meanwhile: once, with what goes wrong told to who needs them, and none left behind."""

import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tidalign.cluster import start
from tidalign.cluster import stop as stopping
from tidalign.cluster.dispatch import run as dispatch
from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Queue, Task
from tidalign.cluster.workers import Workers
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.workflows.run import trials
from tidalign.workflows.run.crew import Crew, Repeated
from tidalign.workflows.run.trials import Trials


class Two(Workers):
    """Two workers that reach everything."""

    def __init__(self) -> None:
        super().__init__(None, None, 2)

    def live(self) -> dict[str, int]:
        return {"a": 1, "b": 1}

    def on(self, workers: Collection[str], function: Callable[..., Any]) -> dict[str, Any]:
        return {worker: function() for worker in workers}

    def everywhere(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        return self.on(self.live(), lambda: function(*arguments))


@pytest.fixture
def let() -> threading.Event:
    """Set when workers may start."""
    return threading.Event()


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch, let: threading.Event) -> list[str]:
    events: list[str] = []

    @contextmanager
    def started(*_: Any) -> Iterator[Two]:
        let.wait()
        events.append(f"started in {threading.current_thread().name.partition('_')[0]}")
        yield Two()
        events.append("closed")

    monkeypatch.setattr(start, "start", started)
    return events


def crew(directory: Path) -> Crew:
    return Crew(Stop(), str(directory), __name__, 2, None)


def test_hired_once(tmp_path: Path, log: list[str], let: threading.Event) -> None:
    mine = crew(tmp_path)
    mine.begin_to_hire()
    mine.begin_to_hire()
    assert mine.size == 0 and log == []
    let.set()
    mine.hire()
    mine.hire()
    mine.begin_to_hire()
    assert (mine.size, log) == (2, ["started in hire"])
    mine.dismiss()
    assert log == ["started in hire", "closed"]


def test_work_goes_on_here_meanwhile(tmp_path: Path, log: list[str], let: threading.Event) -> None:
    mine = crew(tmp_path)
    mine.begin_to_hire()
    assert mine.map(abs, [-1, 2], here=True) == [1, 2]
    assert log == []
    let.set()
    mine.dismiss()


def test_this_process_reads_until_workers_are_there(tmp_path: Path, log: list[str], let: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """What works waits for them, and so does what they are to read."""
    at: list[str] = []

    class Seen(Repeated):
        def done(self, task: Task, result: Any) -> list[Task]:
            at.append(task.key)
            if task.key == "first":
                mine.begin_to_hire()
                return [Task("work", abs, (1,), weight=9), Task("second", abs, (2,), kind="read")]
            let.set()  # once it is told that the second was read: workers that are there sooner would be first
            return []

    def on_workers(workers: Any, queue: Queue, outcomes: Any, stop: Stop, threads: Any, kinds: Any) -> None:
        while task := queue.pop(kinds):
            at.append(f"worker: {task.key}")

    monkeypatch.setattr(dispatch, "run_on", on_workers)
    mine = Crew(Stop(), str(tmp_path), __name__, 2, None, 2, 1)
    mine.run([Task("first", abs, (1,), kind="read")], Seen(str(tmp_path)))
    mine.dismiss()
    assert at == ["first", "second", "worker: work"]
    assert log == ["started in hire", "closed"]


def test_nobody_is_left_who_was_hired_in_vain(tmp_path: Path, log: list[str], let: threading.Event) -> None:
    mine = crew(tmp_path)
    mine.begin_to_hire()
    threading.Timer(0.2, let.set).start()
    mine.dismiss()
    assert log == ["started in hire", "closed"]


def test_what_goes_wrong_is_told_to_who_needs_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def none(*_: Any) -> Iterator[Two]:
        raise NoWorkers("none could be started")
        yield

    monkeypatch.setattr(start, "start", none)
    mine = crew(tmp_path)
    mine.begin_to_hire()
    with pytest.raises(NoWorkers, match="none could be started"):
        mine.hire()
    mine.dismiss()
    again = crew(tmp_path)
    again.begin_to_hire()
    again.dismiss()


@pytest.mark.parametrize("staying", [["a"], ["a", "b"], []])
def test_workers_that_leave_before_they_begin(staying: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others do the work; where none is left it can be done later."""

    class Leaving(Two):
        def on(self, workers: Collection[str], function: Callable[..., Any]) -> dict[str, Any]:
            gone = OSError("Timed out trying to connect")
            return {worker: function() if worker in staying else gone for worker in workers}

    @contextmanager
    def started(*_: Any) -> Iterator[Leaving]:
        yield Leaving()

    monkeypatch.setattr(start, "start", started)
    mine = crew(tmp_path)
    if staying:
        mine.hire()
        assert mine.size == len(staying)
    else:
        monkeypatch.setattr(trials, "FIRST_SECONDS", 0.3)
        with pytest.raises(ClusterLost, match="every worker left"):
            mine.hire()
    mine.dismiss()


def test_all_workers_die_as_they_come_and_start_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for them, as where the process that workers are forked from was killed."""
    asked = 0

    class Restarting(Two):
        def live(self) -> dict[str, int]:
            nonlocal asked
            asked += 1
            return super().live() if asked > 9 else {}

    @contextmanager
    def started(*_: Any) -> Iterator[Restarting]:
        yield Restarting()

    monkeypatch.setattr(start, "start", started)
    mine = crew(tmp_path)
    mine.hire()
    assert mine.size == 2 and sum(mine.hosts.values()) == 2
    mine.dismiss()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_does_not_wait_for_those_who_are_coming(
    number: int, tmp_path: Path, log: list[str], let: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A scheduler, or srun, may say nothing for long; the second signal, or the end of the grace after the first, ends the wait."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.2)
    mine = crew(tmp_path)
    threading.Timer(0.3, lambda: (mine._stop.ask(number), mine._stop.abandon() if number == signal.SIGINT else None)).start()
    began = time.monotonic()
    with pytest.raises(Stopped):
        mine.hire()
    mine.dismiss()
    assert time.monotonic() - began < 60 and log == []
    let.set()


def test_others_are_hired_once_those_that_are_coming_were_let_go(tmp_path: Path, log: list[str], let: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Trials, "gpus", lambda _, workers: dict.fromkeys(workers))
    mine = crew(tmp_path)
    mine.replace(["0", "1"], 2)
    mine.begin_to_hire()
    threading.Timer(0.2, let.set).start()
    mine.replace(["0", "1", "0", "1"], 2)
    assert log == ["started in hire", "closed"]
    mine.hire()
    assert (mine.size, log[2:]) == (2, ["started in hire"])
    mine.dismiss()
    assert log[3:] == ["closed"]


@pytest.mark.parametrize("readers", [0, 1])
def test_workers_that_come_when_all_is_done_did_nothing(readers: int, tmp_path: Path, log: list[str], let: threading.Event) -> None:
    mine = Crew(Stop(), str(tmp_path), __name__, 2, None, 2, readers)
    mine.begin_to_hire(working=True)
    assert mine.map(abs, [-1, 2]) == [1, 2]
    threading.Timer(0.2, let.set).start()
    mine.dismiss()
    assert (mine.size, mine.hosts, log) == (0, {}, ["started in hire", "closed"])


def test_this_process_works_until_the_last_worker_is_there(tmp_path: Path, log: list[str], let: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:

    def gpus(trials: Trials, workers: Collection[str]) -> dict[str, None]:
        trials._workers.awaited = "b" in workers
        return {worker: None for worker in workers if worker == "a"}

    monkeypatch.setattr(Trials, "gpus", gpus)
    mine = crew(tmp_path)
    mine.replace(["0", "1"], 2)
    mine.begin_to_hire(working=True)
    assert mine.works and mine._room()["work"] == 2
    let.set()
    mine.hire()
    assert mine._workers
    assert mine._workers.awaited and mine.works and mine.size == 2
    with monkeypatch.context() as context:
        context.setattr(GPU_OF_PROCESS, "lost", "an illegal memory access was encountered")
        assert not mine.works, "it has no GPU to work with"
    mine._workers.deaths = 1
    assert not mine.works, "what a worker died of would end this process"
    mine._workers.deaths = 0
    mine._workers.trials[1:] = [lambda workers: dict.fromkeys(workers)]
    assert mine._workers.hired() == 2
    assert not mine.works and mine._room()["work"] == 0
    mine.dismiss()
    assert log == ["started in hire", "closed"]


def test_few_read_while_workers_start(tmp_path: Path, log: list[str], let: threading.Event) -> None:
    """Leave the interpreter to the thread that starts them. Four wait for each other, so fewer at a time would never end."""
    mine = Crew(Stop(), str(tmp_path), __name__, 2, None, readers=16)
    running, lock, at_once = [0], threading.Lock(), list[int]()
    four = threading.Barrier(4, timeout=600)

    def read() -> None:
        with lock:
            running[0] += 1
            at_once.append(running[0])
        four.wait()
        time.sleep(0.05)  # in which a fifth would begin, if it might
        with lock:
            running[0] -= 1

    class Reading(Repeated):
        def done(self, task: Task, result: Any) -> None:
            pass

    mine.begin_to_hire()
    mine.run([Task(f"read-{place}", read, (), kind="read") for place in range(12)], Reading(str(tmp_path)))
    let.set()
    mine.dismiss()
    assert max(at_once) == 4 and len(at_once) == 12


def test_those_with_gpus_are_waited_for_where_cores_are_ready(tmp_path: Path, log: list[str], let: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends where none of the GPUs that it is to use can be used, as without cores beside them."""
    looked = list[str]()

    def gpus(mine: Trials, workers: Collection[str]) -> dict[str, str | None]:
        looked.extend(workers)
        mine._workers.awaited = looked.count("a") < 3
        mine._named |= {"b": None}
        return {"b": None} if "b" in workers else {} if mine._workers.awaited else {"a": "cannot use GPU 0"}

    monkeypatch.setattr(Trials, "gpus", gpus)
    mine = crew(tmp_path)
    mine.replace(["0"], 2)
    let.set()
    with pytest.raises(NoWorkers, match="worker a cannot use GPU 0"):
        mine.hire()
    assert looked == ["a", "b", "a", "a"]
    mine.dismiss()
