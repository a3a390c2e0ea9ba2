"""Waiting for a device, with a driver of the test's own: what it says of an event decides whether a batch goes on, waits, or ends in its error, and what it
has fetched once goes first."""

import sys
import types
from typing import Any

import numpy as np
import pytest

from tidalign.kernels.runtime import lanes as device_lane

ILLEGAL_ADDRESS, NOT_READY = 700, 600


class DriverError(Exception):
    pass


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Set what the driver answers when asked for events, one after the other."""
    said: list[int] = []
    runtime = types.SimpleNamespace(
        eventQuery=lambda event: said.pop(0), CUDARuntimeError=DriverError, getDevice=lambda: 0, memcpyAsync=lambda *_: None, memcpyDeviceToHost=2
    )

    class Stream:
        ptr = 1

        def __init__(self, non_blocking: bool, priority: int = 0) -> None:
            self.priority = priority

        def __enter__(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    event = lambda disable_timing: types.SimpleNamespace(ptr=2, record=lambda stream: None, done=False)  # noqa: E731
    cuda: Any = types.ModuleType("cupy.cuda")
    cuda.runtime, cuda.Stream, cuda.Event = runtime, Stream, event
    cupy: Any = types.ModuleType("cupy")
    cupy.cuda = cuda
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(device_lane, "_pinned", lambda size: np.zeros(size + 256, np.uint8))
    monkeypatch.setattr(device_lane, "_idle", {0: []})
    return said


def fetch(done: list[str]) -> Any:
    def job(mine: device_lane.Lane) -> device_lane.Steps[None]:
        array = types.SimpleNamespace(nbytes=8, dtype=np.dtype(np.int64), shape=(1,), data=types.SimpleNamespace(ptr=3))
        yield from mine.fetch(array)
        done.append("fetched")

    return job


def test_a_batch_goes_on_when_the_device_is_done(answers: list[int]) -> None:
    answers += [NOT_READY, NOT_READY, 0]
    done: list[str] = []
    device_lane.run([fetch(done)])
    assert (done, answers) == (["fetched"], [])


def test_an_error_of_the_device_ends_the_wait(answers: list[int]) -> None:
    answers += [NOT_READY, ILLEGAL_ADDRESS]
    done: list[str] = []
    with pytest.raises(DriverError, match="700"):
        device_lane.run([fetch(done)])
    assert done == []


def test_what_follows_a_fetch_goes_before_what_others_begin_with(answers: list[int]) -> None:
    priorities: list[int] = []

    def job(mine: device_lane.Lane) -> device_lane.Steps[None]:
        for _ in range(2):
            priorities.append(mine.stream.priority)
            yield from fetch([])(mine)
        priorities.append(mine.stream.priority)

    answers += [NOT_READY, 0, 0]
    device_lane.run([job])
    answers += [0, 0]
    device_lane.run([job])  # on the same lane
    assert [priority < 0 for priority in priorities] == [False, True, True] * 2
