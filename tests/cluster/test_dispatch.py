"""Tasks on workers that are killed, hang and go away."""

import logging
import os
import signal
import socket
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from distributed import Client
from ending import survivors
from external import PATIENCE
from jobs import burn, die_once, hang_once, meet, refuse, square, wait_silently, whereabouts

from tidalign.cluster import others
from tidalign.cluster.dispatch import run as dispatch
from tidalign.cluster.dispatch.backlog import TASK_UNITS, Backlog
from tidalign.cluster.dispatch.run import run_on
from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.cluster.here import Threads
from tidalign.cluster.start import start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Queue, Task
from tidalign.cluster.workers import Workers


class Recorded:
    """Outcomes of tasks that are simply run again when they die."""

    def __init__(self, on_done: Callable[[], None] = lambda: None) -> None:
        self.results: dict[str, Any] = {}
        self.times: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()
        self.events: list[str] = []
        self.lost: list[dict[str, Any]] = []
        self._on_done = on_done

    def done(self, task: Task, result: Any) -> None:
        self.results[task.key] = result
        self.times[task.key] += 1
        self._on_done()

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        self.deaths[task.key] += 1
        return [task]

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        raise error

    def note(self, event: str, **details: Any) -> None:
        self.events.append(event)
        if event == "lost":
            self.lost.append(details)


@pytest.fixture(scope="module")
def two() -> Iterator[Workers]:
    with start(2) as workers:
        yield workers


def processes(workers: Workers) -> list[int]:
    return list(workers.everywhere(os.getpid).values())


def test_every_task_is_done_once(two: Workers) -> None:
    seen = Recorded()
    run_on(two, [Task(f"t{i}", square, (i,)) for i in range(40)], seen, Stop())
    assert seen.results == {f"t{i}": i * i for i in range(40)}
    assert set(seen.times.values()) == {1}


def test_a_task_whose_worker_dies_comes_back(two: Workers, tmp_path: Path) -> None:
    seen = Recorded()
    tasks = [Task(f"t{i}", square, (i, 0.05)) for i in range(20)] + [Task("killer", die_once, (str(tmp_path / "m"), 5), weight=9)]
    before = two.deaths
    run_on(two, tasks, seen, Stop())
    assert seen.results == {f"t{i}": i * i for i in range(20)} | {"killer": 5}
    assert seen.deaths["killer"] == two.deaths - before == 1
    assert set(seen.times.values()) == {1}


def test_a_worker_with_room_gets_the_next_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give none of two, which have two tasks at a time, a third one while the other has one, and fewer to one that is slow."""
    given: dict[Any, str] = {}

    class Future:
        status = "pending"

        def add_done_callback(self, _: Any) -> None:
            pass

        def result(self, timeout: float) -> None:
            pass

    def submit(*_: Any, workers: list[str], **__: Any) -> Future:
        (worker,), future = workers, Future()
        given[future] = worker
        return future

    monkeypatch.setattr(dispatch.Pace, "room", lambda *_: 1)
    client: Any = SimpleNamespace(status="running", submit=submit, processing=dict)
    queue = Queue([Task(f"t{i}", square, (i,)) for i in range(20)])
    with Threads(dict) as threads:
        run = dispatch._Run(Workers(client, object(), 2), Recorded(), Stop(), queue, threads, ("work",))
        run.fit = {"a": 2, "b": 2}
        run._feed()
        assert Counter(given.values()) == {"a": 2, "b": 2}
        for _ in range(4):
            next(future for future, worker in given.items() if worker == "b" and future.status == "pending").status = "finished"
            run._collect()
            run._feed()
            assert Counter(worker for future, worker in given.items() if future.status == "pending") == {"a": 2, "b": 2}
    assert Counter(given.values()) == {"a": 2, "b": 6}
    assert len(queue) == 12


@pytest.mark.parametrize("kinds", [("work",), ("work", "read")])
def test_threads_of_this_process_work_beside_the_workers(kinds: Any, two: Workers) -> None:
    """Each takes the tasks that are for it, and what one gives the other may do."""

    class Following(Recorded):
        def done(self, task: Task, result: Any) -> Any:
            super().done(task, result)
            return [Task(f"of {task.key}", os.getpid, ())] if task.kind == "read" else ()

    seen = Following()
    tasks = [Task(f"{kind} {place}", os.getpid, (), kind=kind) for kind in ("work", "read", "here") for place in range(5)]  # type: ignore[arg-type]
    run_on(two, tasks, seen, Stop(), Threads(lambda: {"here": 2, "read": 0 if "read" in kinds else 1}), kinds)
    workers, here = set(processes(two)), {os.getpid()}
    places = {kind: {pid for key, pid in seen.results.items() if key.startswith(kind)} for kind in ("work", "read", "here", "of")}
    assert places["work"] <= workers and places["of"] <= workers and places["here"] == here
    assert places["read"] <= workers if "read" in kinds else places["read"] == here
    assert len(seen.results) == 20 and set(seen.times.values()) == {1}


def pulse_of(beats: Path) -> Callable[[], str | None]:
    return lambda: beats.read_text() if beats.exists() else None


@pytest.mark.parametrize("spin", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_task_that_hangs_gets_its_worker_restarted(two: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spin: bool) -> None:
    """One that spins when it has used its patience; one that sleeps much later."""
    monkeypatch.setattr(dispatch, "SILENCE_FACTOR", 1e9 if spin else 4.0)
    beats = tmp_path / "beats"
    seen = Recorded()
    two.client.wait_for_workers(2)
    before = processes(two)
    hangs = Task("hangs", hang_once, (str(tmp_path / "m"), str(beats), spin), pulse=pulse_of(beats), patience=1.0)
    run_on(two, [hangs, *(Task(f"t{i}", square, (i, 0.1)) for i in range(50))], seen, Stop())
    assert seen.results["hangs"] == "done"
    assert seen.deaths["hangs"] == 1
    assert "hang" in seen.events
    (lost,) = seen.lost
    assert (lost["task"], lost["host"]) == ("hangs", os.uname().nodename) and lost["pid"] in before and lost["seconds"] > 1.0
    assert lost["why"].startswith("it gave no sign of life in ")
    assert len(seen.results) == 51
    assert len(set(before) & set(processes(two))) == 1, "the other worker was left alone"


def test_a_task_that_is_kept_waiting_keeps_its_worker(two: Workers, tmp_path: Path) -> None:
    beats = tmp_path / "beats"
    seen = Recorded()
    run_on(two, [Task("waits", wait_silently, (str(beats), 5.0), pulse=pulse_of(beats), patience=1.0)], seen, Stop())
    assert (seen.results, seen.deaths["waits"]) == ({"waits": "done"}, 0)
    assert "hang" not in seen.events


def test_workers_tell_their_cpu_time(two: Workers) -> None:
    two.client.wait_for_workers(2)
    worker = next(iter(two.live()))
    used = two.cpu_seconds(worker)
    assert used is not None and used > 0
    two.client.submit(burn, 0.5, workers=[worker]).result()
    assert (two.cpu_seconds(worker) or 0) >= used + 0.4
    assert two.cpu_seconds("tcp://127.0.0.1:1") is None


def test_an_error_ends_the_run_at_once(two: Workers) -> None:
    with pytest.raises(OSError, match="no room") as raised:
        run_on(two, [Task("fails", refuse, ("no room",), weight=2), *(Task(f"t{i}", square, (i, 0.2)) for i in range(200))], Recorded(), Stop())
    assert raised.value.errno == 28


def test_stop_lets_running_tasks_finish_and_starts_no_more(two: Workers) -> None:
    stop = Stop()
    seen = Recorded(on_done=lambda: stop.ask(signal.SIGINT))
    with pytest.raises(Stopped, match="SIGINT"):
        run_on(two, [Task(f"t{i}", square, (i, 0.3)) for i in range(20)], seen, stop)
    assert 1 <= len(seen.results) <= 3


def test_without_workers_a_run_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "DESERTED_SECONDS", 3.0)
    monkeypatch.setattr(dispatch, "SHORT_HANDED_SECONDS", 1e9)
    with start(1) as workers, pytest.raises(NoWorkers, match="no worker left"):
        run_on(workers, [Task(f"t{i}", square, (i, 0.2)) for i in range(200)], Recorded(on_done=lambda: workers.local and workers.local.scale(0)), Stop())


def test_lost_workers_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "SHORT_HANDED_SECONDS", 1.0)
    removed: list[bool] = []

    def remove_all() -> None:
        if not removed and workers.local:
            removed.append(True)
            workers.local.scale(0)

    with start(1) as workers:
        seen = Recorded(on_done=remove_all)
        run_on(workers, [Task(f"t{i}", square, (i, 0.1)) for i in range(20)], seen, Stop())
    assert seen.results == {f"t{i}": i * i for i in range(20)}
    assert "short-handed" in seen.events


@pytest.mark.slow
def test_two_deaths_a_lost_worker_timeout_apart() -> None:
    """Under Dask's default settings the second kill, 14.6 s after the first, loses the only worker for good."""
    with start(1) as workers:
        kills = [time.monotonic() + 1, time.monotonic() + 15.6]

        def kill() -> None:
            if kills and time.monotonic() > kills[0]:
                kills.pop(0)
                os.kill(processes(workers)[0], signal.SIGKILL)

        seen = Recorded(on_done=kill)
        run_on(workers, [Task(f"t{i}", square, (i, 0.1)) for i in range(230)], seen, Stop())
        time.sleep(16)
        assert len(workers.live()) == 1
    assert kills == []
    assert seen.results == {f"t{i}": i * i for i in range(230)}


@pytest.mark.slow
def test_the_scheduler_is_lost(external: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", 15.0)
    with start(scheduler=external.address) as workers, pytest.raises(ClusterLost, match="scheduler went away"):
        run_on(workers, [Task(f"t{i}", square, (i, 0.1)) for i in range(400)], Recorded(on_done=external.scheduler.kill), Stop())


def test_the_scheduler_comes_back(external: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    again: list[Any] = []

    def restart() -> None:
        if not again:
            external.scheduler.kill()
            external.scheduler.wait()
            again.append(external.restart())
            external.worker()  # the old ones ended with their scheduler

    seen = Recorded(on_done=restart)
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", PATIENCE)  # that it starts again in time is no matter here
    with start(scheduler=external.address) as workers:
        run_on(workers, [Task(f"t{i}", square, (i, 0.05)) for i in range(40)], seen, Stop())
    assert seen.results == {f"t{i}": i * i for i in range(40)}


def test_a_scheduler_whose_place_another_takes_for_a_while_comes_back(external: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask's client waits for ever for the greeting of what takes its connection and says nothing: another one goes on."""
    again: list[Any] = []

    def restart() -> None:
        if again:
            return
        external.scheduler.kill()
        external.scheduler.wait()
        with socket.socket() as listener:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", external.port))
            listener.listen()
            listener.settimeout(2.0)
            ours: set[Any] = set()
            while workers.client.status != "connecting" or ours.isdisjoint(address for _, address in again):  # workers of the old scheduler come, too
                with suppress(TimeoutError):
                    again.append(listener.accept())
                    continue
                ours = {tuple(each.laddr) for each in psutil.Process().net_connections("tcp")}
        external.restart()
        external.worker()

    seen = Recorded(on_done=restart)
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", PATIENCE)
    monkeypatch.setattr(others, "LOST_SECONDS", 3.0)
    with start(scheduler=external.address) as workers:
        first = workers.client
        run_on(workers, [Task(f"t{i}", square, (i, 0.05)) for i in range(40)], seen, Stop())
        assert workers.client is not first and first.status == "connecting"
        for connection, _ in again:
            connection.close()
    assert seen.results == {f"t{i}": i * i for i in range(40)}
    for lost in seen.lost:
        assert lost["why"].startswith(("the scheduler went away", "the workers that it was for left", "its result did not arrive")), lost


def test_workers_die_with_their_client(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom tidalign.cluster.start import start\nimport os\n"
        "if __name__ == '__main__':\n with start(2) as w:\n  print(*w.everywhere(os.getpid).values(), flush=True)\n  time.sleep(600)\n"
    )
    script = tmp_path / "client.py"
    script.write_text(code)
    client = psutil.Popen([sys.executable, str(script)], stdout=-1, text=True)
    pids = [int(word) for word in client.stdout.readline().split()]
    family = client.children(recursive=True)
    assert len(pids) == 2
    assert set(pids) <= {process.pid for process in family}
    client.kill()
    client.wait()
    client.stdout.close()
    assert survivors(family) == []


def test_workers_that_join_late_are_tried_as_the_first_ones(external: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that pass share the work, others get none of it; where those that pass leave, what they had not begun goes to others."""
    joined: list[str] = []
    warned: list[str] = []
    monkeypatch.setattr(logging.getLogger("tidalign"), "warning", lambda text, *words: warned.append(text % words))

    def join() -> None:
        if not joined:
            before = set(workers.live())
            external.worker("--nthreads", "1", "--no-nanny")
            external.worker()
            external.wait_for_workers(4)
            joined.extend(set(workers.live()) - before)

    with start(scheduler=external.address) as workers:
        where: dict[str, str] = {}

        class Where(Recorded):
            def done(self, task: Task, result: Any) -> None:
                where[task.key] = result
                join()

        run_on(workers, [Task(f"t{i}", whereabouts, (0.2,)) for i in range(80)], Where(), Stop())
        bare = [worker for worker in joined if workers.said[worker]]
        assert len(joined) == 2 and len(bare) == 1 and "no nanny" in str(workers.said[bare[0]])
    assert len(where) == 80 and set(where.values()) == set(workers.said) - set(bare)
    assert len(warned) == 1 and warned[0].startswith(f"worker {bare[0]}, which has just joined, has no nanny")


def test_a_worker_that_is_not_ready_gets_tasks_once_it_is(external: Any) -> None:
    """Others work meanwhile, and it is asked again before long."""
    asked: list[str] = []

    def ready(workers: Collection[str]) -> dict[str, str | None]:
        asked.extend(workers)
        hired.awaited = late in workers and asked.count(late) < 9
        return {worker: None for worker in workers if worker != late or not hired.awaited}

    with start(scheduler=external.address) as hired:
        late, other = sorted(hired.live())
        assert hired.undergo(ready) == {} and set(hired.said) == {other}
        assert (set(hired.fit()), hired.awaited) == ({other}, True)
        seen: list[str] = []

        class Where(Recorded):
            def done(self, task: Task, result: Any) -> None:
                seen.append(result)

        run_on(hired, [Task(f"t{i}", whereabouts, (0.1,)) for i in range(30)], Where(), Stop())
        assert set(seen[:2]) == {other} and set(seen) == {other, late} and not hired.awaited
        assert asked.count(late) == 9 and seen.index(late) < 25, "looked at every tenth of a second"


def test_an_adaptive_cluster_starts_workers_for_what_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for as many as it may have, also where it starts with none, and for no more than one once nothing waits."""
    from distributed import LocalCluster

    monkeypatch.setattr(others, "CONNECT_TIMEOUT", PATIENCE)  # that its first worker starts in time is no matter here
    with LocalCluster(n_workers=0, threads_per_worker=1, processes=True, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        cluster.adapt(minimum=0, maximum=2, interval="200ms")
        with start(scheduler=cluster.scheduler_address) as workers:
            time.sleep(2)  # after which an adaptive cluster has taken away what nobody wants
            assert workers.live()
            outcomes = Recorded()
            run_on(workers, [Task(f"t{number}", meet, (str(tmp_path),)) for number in range(12)], outcomes, Stop())
            assert len(outcomes.results) == 12 and len(set(outcomes.results.values())) == 2
            assert not outcomes.deaths, "nobody died of it"
            assert len([key for key in workers.client.run_on_scheduler(_keys) if "waiting" in key]) == TASK_UNITS
        with Client(cluster, set_as_default=False) as client:
            assert not [key for key in client.run_on_scheduler(_keys) if "waiting" in key]


def _keys(dask_scheduler: Any) -> list[str]:
    return [str(key) for key in dask_scheduler.tasks]


def test_what_waits_is_shown_to_nobody_once_the_scheduler_is_gone() -> None:
    class Gone:
        status = "closed"

        def submit(self, *_: Any, **__: Any) -> None:
            raise RuntimeError("Client is closed")

    backlog = Backlog(Gone())
    backlog.show(3)
    Gone.status = "running"
    with pytest.raises(RuntimeError, match="closed"):
        backlog.show(3)
