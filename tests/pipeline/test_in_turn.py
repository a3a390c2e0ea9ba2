"""Calls made by threads: their results come in order, and no more of them are held than there is room for."""

import threading
import time
from collections.abc import Iterator

import pytest

from tidalign.pipeline.in_turn import Call, ahead, in_turn


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_calls(threads: int) -> None:
    def late(i: int) -> int:
        time.sleep((7 * i % 5) / 1000)
        return i

    assert list(in_turn((Call(lambda i=i: late(i)) for i in range(40)), threads)) == list(range(40))  # type: ignore[misc]


@pytest.mark.parametrize(("rooms", "most"), [([1] * 30, 4), ([2] * 30, 2), ([100] * 10, 2), ([1, 1, 9, 1, 1, 1, 1, 1, 1], 4)])
def test_no_more_are_held_than_have_room(rooms: list[int], most: int) -> None:
    """Four threads; two calls are held however large they are."""
    held, largest, lock = 0, 0, threading.Lock()

    def do() -> None:
        nonlocal held, largest
        with lock:
            held += 1
            largest = max(largest, held)
        time.sleep(0.005)

    def calls() -> Iterator[Call[None]]:
        for room in rooms:
            yield Call(do, room)

    for _ in in_turn(calls(), 4):
        with lock:
            held -= 1
    assert held == 0 and 1 < largest <= most + 1  # a result that was given is counted until the next is asked for


def test_the_first_error_in_order_is_raised_and_no_other_call_begins() -> None:
    begun: list[int] = []

    def do(i: int) -> int:
        begun.append(i)
        if i in (3, 4):
            raise ValueError(str(i))
        return i

    taken: list[int] = []
    with pytest.raises(ValueError, match="^3$"):
        taken.extend(in_turn((Call(lambda i=i: do(i)) for i in range(100)), 3))  # type: ignore[misc]
    assert len(begun) < 10


def test_who_is_interrupted_waits_for_no_call() -> None:
    free = threading.Event()

    def calls() -> Iterator[Call[bool]]:
        yield Call(lambda: free.wait(600))
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        next(in_turn(calls(), 2))
    assert time.monotonic() - began < 300
    free.set()


@pytest.mark.parametrize("threads", [1, 2])
def test_ahead_makes_one_more(threads: int) -> None:
    """The next value is being made while this one is used; of one thread it is made when it is asked for. An error comes in its place."""
    made = threading.Event()

    def values() -> Iterator[int]:
        yield 1
        made.set()
        yield 2
        raise ValueError("no third")

    given = ahead(values(), threads)
    assert next(given) == 1
    assert made.wait(0.2 if threads == 1 else 10) == (threads > 1)
    assert next(given) == 2
    with pytest.raises(ValueError, match="no third"):
        next(given)


def test_ahead_is_left_in_the_middle() -> None:
    ended = threading.Event()

    def values() -> Iterator[int]:
        try:
            yield from range(10)
        finally:
            ended.set()

    source = values()
    given = ahead(source, 2)
    assert next(given) == 0
    given.close()
    source.close()
    assert ended.is_set()


def test_who_is_interrupted_waits_for_no_value() -> None:
    free = threading.Event()

    def values() -> Iterator[int]:
        yield 1
        free.wait(600)
        yield 2

    began, given = time.monotonic(), ahead(values(), 2)
    assert next(given) == 1
    with pytest.raises(KeyboardInterrupt):
        given.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert time.monotonic() - began < 300
    free.set()
