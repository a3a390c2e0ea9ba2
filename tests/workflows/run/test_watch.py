"""A process is judged by its CPU time: one that a busy machine keeps waiting does not hang."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest

from tidalign.workflows.run import watch
from tidalign.workflows.run.watch import Watch

SPIN, SLEEP = "while True: pass", "import time; time.sleep(1e4)"


@pytest.fixture
def process() -> Iterator[Callable[[str], "psutil.Popen"]]:
    """Start Python with a line of code, which it has come to."""
    begun: list[psutil.Popen] = []

    def start(code: str) -> "psutil.Popen":
        begun.append(psutil.Popen([sys.executable, "-c", f"print(flush=True)\n{code}"], stdout=subprocess.PIPE))
        begun[-1].stdout.readline()
        return begun[-1]

    yield start
    for each in begun:
        each.kill()
        each.wait()
        each.stdout.close()


def verdict(watched: Watch) -> str:
    while True:
        if spent := watched.hangs():
            return spent
        time.sleep(0.05)


def test_a_process_that_spins_hangs(process: Callable[[str], "psutil.Popen"]) -> None:
    spinning = process(SPIN)
    before = sum(spinning.cpu_times()[:2])
    assert verdict(Watch(spinning.pid, 1.0)) == "1 s of CPU time"
    assert sum(spinning.cpu_times()[:2]) - before >= 1


def test_a_process_that_sleeps_hangs_in_the_end(process: Callable[[str], "psutil.Popen"], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "STILL_SECONDS", 3.0)
    watched = Watch(process(SLEEP).pid, 1.0)
    assert [watched.hangs() for _ in range(7)] == [None] * 6 + ["3 s without CPU time"]


def test_a_process_that_is_kept_from_running_does_not_hang(process: Callable[[str], "psutil.Popen"]) -> None:
    spinning = process(SPIN)
    spinning.suspend()
    watched = Watch(spinning.pid, 1.0)
    for _ in range(8):
        time.sleep(0.25)  # twice its patience in all
        assert watched.hangs() is None
    spinning.resume()
    assert verdict(watched) == "1 s of CPU time"


def test_a_process_with_a_pulse_does_not_hang(process: Callable[[str], "psutil.Popen"], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "STILL_SECONDS", 1.0)
    spinning, sleeping = process(SPIN), process(SLEEP)
    beats = iter(range(1_000_000))
    watched = [Watch(each.pid, 1e-9, lambda: next(beats)) for each in (spinning, sleeping)]
    while sum(spinning.cpu_times()[:2]) < 0.5:
        assert [each.hangs() for each in watched] == [None, None]


def test_a_process_that_has_ended_does_not_hang(process: Callable[[str], "psutil.Popen"]) -> None:
    ended = process("pass")
    while ended.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    assert Watch(ended.pid, 100.0).hangs() is None
