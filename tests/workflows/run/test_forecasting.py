"""A forecast that is made while others work: once they have taken long enough, and not at all where they have ended before."""

import threading

import pytest

from tidalign.workflows.run.forecasting import Beside


def test_it_is_there_once_it_was_made() -> None:
    made = threading.Event()

    def make() -> str:
        made.set()
        return "a forecast"

    beside = Beside(make)  # type: ignore[arg-type]
    assert made.wait(60)
    for thread in threading.enumerate():
        if thread is not threading.main_thread() and thread.name == "tasks":
            thread.join(60)
    assert beside.forecast == "a forecast"


def test_what_fails_is_none() -> None:
    beside = Beside(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert beside.forecast is None


@pytest.mark.parametrize("after", [0.05, 600.0])
def test_it_begins_after_a_while_unless_all_is_over(after: float) -> None:
    made, waited = threading.Event(), threading.Event()
    with Beside(made.set, after):  # type: ignore[arg-type]
        waited.wait(0.0 if after > 1 else 0.5)
    assert made.is_set() is (after < 1)
    assert all(thread.name != "tasks" or not thread.is_alive() or thread.join(60) is None for thread in threading.enumerate())
