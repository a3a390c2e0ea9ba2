"""A forecast that is made while others work: once they have taken long enough, and not at all where they have ended before."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tidalign.cluster.here import THREAD
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.workflows.estimate.background import Background
from tidalign.workflows.run.pairs.run import Pairs

_LEFT_BEHIND = set[threading.Thread]()
"""Threads of the tests before this one, which may have given theirs up for good."""


@pytest.fixture(autouse=True)
def _left_behind() -> None:
    _LEFT_BEHIND.update(threading.enumerate())


def over() -> bool:
    """Wait a while for the threads that make this test's forecasts, which compile; tell whether none is left."""
    threads = [thread for thread in threading.enumerate() if thread.name == THREAD and thread not in _LEFT_BEHIND]
    for thread in threads:
        thread.join(600)
    return not any(thread.is_alive() for thread in threads)


def test_it_is_there_once_it_was_made() -> None:
    background = Background(lambda: "a forecast")  # type: ignore[arg-type, return-value]
    assert over() and background.forecast == "a forecast"  # type: ignore[comparison-overlap]


def test_what_fails_is_none() -> None:
    background = Background(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert over() and background.forecast is None


@pytest.mark.parametrize("after", [0.05, 600.0])
def test_it_begins_after_a_while_unless_all_is_over(after: float) -> None:
    made = threading.Event()
    with Background(made.set, after):  # type: ignore[arg-type]
        assert made.wait(600) if after < 1 else not made.is_set()
    assert over(), "it waits no longer than what it is used beside"
    assert made.is_set() is (after < 1)


def test_it_is_the_same_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it whatever the run has that no other process can have."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "pairs.seq").write_text(">ACGTACGTAC\n<ACGAACGTAC\n" * 500)
    kind = Pairs(inspect(str(tmp_path / "pairs.seq")), PairParameters(), check=lambda _: None)
    background, here = Background(kind.forecast, apart=True), kind.forecast()
    assert over() and background.forecast and here
    assert background.forecast.what == here.what and background.forecast.bytes == here.bytes
    for gpus in (None, {"NVIDIA H200"}):
        predicted, expected = background.forecast.predicted(gpus, 0, 1.0), here.predicted(gpus, 0, 1.0)
        assert predicted and expected and predicted.keys() == expected.keys()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_its_process_ends_with_the_one_that_asked(tmp_path: Path) -> None:
    """End with a process that does not wait, however long the forecast takes."""
    program = "import os, time; from tidalign.workflows.estimate.background import Background; from test_forecasts_in_background import endless\n"
    program += "background = Background(endless, apart=True)\nwhile not os.path.exists('begun'): time.sleep(0.01)\n"
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)}, check=True, timeout=600)
    child = int((tmp_path / "begun").read_text())
    late = time.monotonic() + 600
    while Path(f"/proc/{child}").exists() and time.monotonic() < late:
        time.sleep(0.01)
    assert not Path(f"/proc/{child}").exists()


def endless() -> None:
    """Never make a forecast."""
    Path("begun.tmp").write_text(str(os.getpid()))
    Path("begun.tmp").rename("begun")
    while True:
        time.sleep(1)
