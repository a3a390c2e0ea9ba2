"""Tasks in this process, and the two signals that stop a run."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from jobs import crash, log_in

from tidalign.cluster import here as in_this_process
from tidalign.cluster import stop as stopping
from tidalign.cluster.errors import Stopped
from tidalign.cluster.here import Threads, run_here
from tidalign.cluster.stop import Stop, on_signals
from tidalign.cluster.task import Queue, Task
from tidalign.cluster.worker import logged


class Recorded:
    def __init__(self) -> None:
        self.results: list[Any] = []

    def done(self, task: Task, result: Any) -> None:
        self.results.append((task.key, result))

    def died(self, task: Task, killed: bool) -> Iterable[Task]:
        raise AssertionError("nothing dies here")

    def failed(self, task: Task, error: BaseException) -> Iterable[Task]:
        if isinstance(error, ZeroDivisionError):
            return [Task("again", divmod, (7, 2), weight=9)]
        raise error

    def note(self, event: str, **details: Any) -> None:
        pass


def test_heavy_tasks_first_then_as_they_came() -> None:
    seen = Recorded()
    run_here([Task(name, str, (name,), weight=weight) for name, weight in (("a", 1), ("b", 5), ("c", 1), ("d", 2))], seen, Stop())
    assert [key for key, _ in seen.results] == ["b", "d", "a", "c"]


def test_what_a_failure_asks_for_is_run_and_other_failures_end_the_run() -> None:
    seen = Recorded()
    run_here([Task("zero", divmod, (7, 0), weight=3), Task("last", divmod, (9, 2))], seen, Stop())
    assert seen.results == [("again", (3, 1)), ("last", (4, 1))]
    with pytest.raises(TypeError):
        run_here([Task("wrong", divmod, ("a", 0)), Task("never", divmod, (1, 1))], seen, Stop())
    assert len(seen.results) == 2


def test_the_pulse_of_what_runs_in_this_thread_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it runs, and not when its outcome is told."""
    monkeypatch.setattr(in_this_process, "PULSE_SECONDS", 0.01)
    looked = threading.Event()

    class Told(Recorded):
        def done(self, task: Task, result: Any) -> None:
            super().done(task, result)
            assert "pulse" not in [thread.name for thread in threading.enumerate()]

    seen = Told()
    run_here([Task("a", looked.wait, (600,), pulse=looked.set), Task("b", threading.get_ident, ())], seen, Stop())
    assert seen.results == [("a", True), ("b", threading.get_ident())]


def test_threads_run_tasks_at_a_time_and_outcomes_are_told_in_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both tasks wait for each other, so one alone would never end; the pulse of what runs is looked at meanwhile."""
    monkeypatch.setattr(in_this_process, "PULSE_SECONDS", 0.01)
    met, looked = threading.Barrier(2, timeout=600), threading.Event()

    def meet() -> int:
        met.wait()
        looked.wait(600)
        return threading.get_ident()

    class Told(Recorded):
        def done(self, task: Task, result: Any) -> None:
            super().done(task, result)
            assert threading.get_ident() == here != result

    here, seen = threading.get_ident(), Told()
    run_here([Task(name, meet, (), pulse=looked.set) for name in "ab"], seen, Stop(), threads=2)
    assert looked.is_set()
    assert sorted(key for key, _ in seen.results) == ["a", "b"]


def test_what_fails_in_a_thread_asks_for_more_or_ends_the_run_when_the_others_have_ended() -> None:
    seen, ended = Recorded(), threading.Event()
    run_here([Task("zero", divmod, (7, 0), weight=3), Task("last", divmod, (9, 2))], seen, Stop(), threads=3)
    assert sorted(seen.results) == [("again", (3, 1)), ("last", (4, 1))]

    def slow() -> None:
        time.sleep(0.2)
        ended.set()

    with pytest.raises(TypeError):
        run_here([Task("wrong", divmod, ("a", 0)), Task("slow", slow, ())], seen, Stop(), threads=2)
    assert ended.is_set()


def test_a_signal_lets_threads_finish_and_starts_no_more() -> None:
    seen, stop, asked = Recorded(), Stop(), threading.Event()

    def ask() -> None:
        stop.ask(signal.SIGINT)
        asked.set()

    tasks = [Task("runs", asked.wait, (600,), weight=2), Task("asks", ask, (), weight=1), Task("never", divmod, (1, 1))]
    with pytest.raises(Stopped):
        run_here(tasks, seen, stop, threads=2)
    assert sorted(key for key, _ in seen.results) == ["asks", "runs"]


def test_a_signal_stops_between_two_tasks() -> None:
    seen = Recorded()
    with on_signals() as stop, pytest.raises(Stopped) as stopped:
        run_here([Task("first", os.kill, (os.getpid(), signal.SIGTERM), weight=1), Task("second", divmod, (1, 1))], seen, stop)
    assert stopped.value.number == signal.SIGTERM
    assert [key for key, _ in seen.results] == ["first"]


def test_the_second_signal_interrupts_and_the_third_is_ignored() -> None:
    before = signal.getsignal(signal.SIGINT)
    with on_signals() as stop:
        os.kill(os.getpid(), signal.SIGINT)
        assert (stop.number, stop.at_once()) == (signal.SIGINT, False)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_running_tasks_get_a_grace_period_after_sigterm(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(stopping, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    stop = Stop()
    stop.ask(signal.SIGTERM)
    clock[0] += stopping.GRACE_SECONDS - 0.1
    assert not stop.at_once()
    clock[0] += 0.1
    assert stop.at_once()


def test_other_threads_leave_signals_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    inside: list[Any] = []

    def work() -> None:
        with on_signals() as stop:
            inside.extend([signal.getsignal(signal.SIGINT), stop.number])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert inside == [before, None]


def test_a_worker_says_what_it_does_and_where_it_was_when_it_crashed(tmp_path: Path) -> None:
    worker = multiprocessing.get_context("spawn").Process(target=crash, args=(str(tmp_path),))
    worker.start()
    worker.join()
    (log,) = tmp_path.iterdir()
    text = log.read_text()
    assert log.name.endswith(f"-{worker.pid}.log") and "a hint" in text and "b00002 begins" in text and "b00002 ends" not in text
    assert "Segmentation fault" in text and "in crash" in text
    with logged(str(tmp_path / "none"), "x"):
        pass  # the command's own process has no log
    assert [*tmp_path.iterdir()] == [log]


def test_a_log_that_cannot_be_opened_leaves_that_of_another_run_alone(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    worker = multiprocessing.get_context("spawn").Process(target=log_in, args=[[str(tmp_path / name) for name in ("one", "gone")]])
    worker.start()
    worker.join()
    (log,) = (tmp_path / "one").iterdir()
    assert "a hint of one" in log.read_text() and "gone" not in log.read_text()
    assert worker.exitcode == 0 and [*tmp_path.iterdir()] == [tmp_path / "one"]


def test_tasks_of_a_kind_wait_for_room_of_their_own() -> None:
    """What reads goes on while what works waits for others; when these are there, what is left is theirs."""
    seen, stop, others, most, lock = Recorded(), Stop(), Future[None](), [0, 0], threading.Lock()
    both = threading.Barrier(2)

    def reads(place: int) -> None:
        with lock:
            most[0] += 1
            most[1] = max(most)
        if place < 2:
            both.wait(600)
        while place == 5 and len(seen.results) < 5:
            time.sleep(0.01)
        if place == 5:
            others.set_result(None)
        elif place > 5:
            others.result(600)
        with lock:
            most[0] -= 1

    queue = Queue([Task(f"work {place}", divmod, (place, 2), weight=9) for place in range(3)])
    queue.push(Task(f"read {place}", reads, (place,), kind="read") for place in range(20))
    with Threads(lambda: {"read": 2, "work": 0}) as threads:
        threads.run(queue, seen, stop, lambda: others)
        done = [key for key, _ in seen.results]
        assert 5 <= len(done) < 20 and all(key.startswith("read") for key in done)
        assert most[1] == 2
        assert len(queue) + len(threads) + len(done) == 23
    assert queue.pop(("work", "read")).key == "work 0"  # type: ignore[union-attr]
    assert Queue([Task("a", divmod, (1, 1), kind="here")]).pop(("work", "read")) is None


def test_an_interrupt_does_not_wait_for_a_thread_that_waits_for_ever() -> None:
    let, ended = threading.Event(), threading.Event()

    def waits() -> None:
        let.wait(600)
        ended.set()

    with pytest.raises(KeyboardInterrupt), Threads(lambda: {"here": 1}) as threads:
        threads.feed(Queue([Task("waits", waits, (), kind="here")]))
        raise KeyboardInterrupt
    assert not ended.is_set()
    let.set()
    assert ended.wait(600)


def test_a_stop_whose_time_is_over_does_not_wait_for_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM leaves a task that takes longer than it gives behind; Ctrl-C of a run that is patient waits for it."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.5)
    monkeypatch.setattr(stopping, "LEAVING_SECONDS", 0.5)
    let = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        stop, seen = Stop(), Recorded()
        let.clear()

        def ask(stop: Stop = stop, number: int = number) -> bool:
            stop.ask(number)
            if number == signal.SIGINT:
                threading.Timer(2, let.set).start()
            return let.wait(600)

        with pytest.raises(Stopped), Threads(lambda: {"work": 1}) as threads:
            threads.run(Queue([Task("long", ask, ()), Task("never", divmod, (1, 1))]), seen, stop)
        assert [key for key, _ in seen.results] == ([] if number == signal.SIGTERM else ["long"])
        assert let.is_set() == (number == signal.SIGINT)
        let.set()


def test_threads_that_heed_that_their_time_is_over_write_down_how_far_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them: the first to end does not take that time from the others."""
    monkeypatch.setattr(stopping, "GRACE_SECONDS", 0.2)
    stop, written = Stop(), list[float]()

    def heed(seconds: float) -> None:
        stop.ask(signal.SIGTERM)
        while not stop.at_once():
            time.sleep(0.01)
        time.sleep(seconds)
        written.append(seconds)
        raise Stopped(signal.SIGTERM)

    began = time.monotonic()
    with pytest.raises(Stopped), Threads(lambda: {"work": 2}) as threads:
        threads.run(Queue([Task(f"tile {seconds}", heed, (seconds,)) for seconds in (0.5, 2.0)]), Recorded(), stop)
    assert written == [0.5, 2.0] and time.monotonic() - began < stopping.LEAVING_SECONDS


def test_no_thread_is_left_that_the_end_of_a_script_would_meet() -> None:
    with Threads(lambda: {"work": 2}) as threads:
        threads.wake = lambda: time.sleep(0.3)  # the thread's, when its task is done
        threads.run(Queue([Task(f"work {place}", divmod, (place, 2)) for place in range(2)]), Recorded(), Stop())
    assert len(threads._threads) == 2 and not any(thread.is_alive() for thread in threads._threads)


def test_who_waits_for_others_alone_can_be_stopped() -> None:
    stop = Stop()
    stop.ask(signal.SIGTERM)
    with Threads(lambda: {}) as threads, pytest.raises(Stopped):
        threads.run(Queue([Task("work", divmod, (1, 1))]), Recorded(), stop, Future[None])
