"""A forecast that is made while others work: once they have taken long enough, and not at all where they have ended before."""

import threading

import pytest

from tidalign.cluster.task import THREAD
from tidalign.workflows.run.report import Beside


def over() -> bool:
    """Wait a while for threads that make forecasts; tell whether none is left."""
    threads = [thread for thread in threading.enumerate() if thread.name == THREAD]
    for thread in threads:
        thread.join(30)
    return not any(thread.is_alive() for thread in threads)


def test_it_is_there_once_it_was_made() -> None:
    beside = Beside(lambda: "a forecast")  # type: ignore[arg-type, return-value]
    assert over() and beside.forecast == "a forecast"  # type: ignore[comparison-overlap]


def test_what_fails_is_none() -> None:
    beside = Beside(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert over() and beside.forecast is None


@pytest.mark.parametrize("after", [0.05, 600.0])
def test_it_begins_after_a_while_unless_all_is_over(after: float) -> None:
    made = threading.Event()
    with Beside(made.set, after):  # type: ignore[arg-type]
        assert made.wait(30) if after < 1 else not made.is_set()
    assert over(), "it waits no longer than what it is used beside"
    assert made.is_set() is (after < 1)
