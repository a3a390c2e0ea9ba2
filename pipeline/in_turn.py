"""Make calls by threads, and give what they return in the order of the calls: how every output is made, and what lies before it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

T = TypeVar("T")
S = TypeVar("S")

WRITERS = 12
"""Threads that write an output, at most: more are hardly faster."""

ALWAYS = 2
"""Calls that are held however much room they take: one is made while what the one before it returned is taken."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """Hold a function that a thread calls, and how many ordinary calls need as much memory as this one."""

    do: Callable[[], T]
    room: int = 1

    def then(self, function: Callable[[Callable[[], T]], S]) -> "Call[S]":
        """Make one of the same room that calls `function`, given what this one calls."""
        return Call(partial(function, self.do), self.room)


def in_turn(calls: Iterable[Call[T]], threads: int) -> Iterator[T]:
    """Give what the calls return, in their order. At most `threads` of them run, or wait to be taken, and no more than take the room of as many ordinary
    ones, or two. Of errors the first in that order is raised; KeyboardInterrupt leaves behind what runs, which may wait for who reads its output."""
    if threads == 1:
        yield from (call.do() for call in calls)
        return
    coming: deque[tuple[Future[T], int]] = deque()
    taken = 0
    with _pool(threads) as pool:
        for call in calls:
            while len(coming) == threads or (len(coming) >= ALWAYS and taken + call.room > threads):
                first, room = coming.popleft()
                yield first.result()
                taken -= room
            coming.append((pool.submit(call.do), call.room))
            taken += call.room
        while coming:
            yield coming.popleft()[0].result()


def ahead(values: Iterable[T], threads: int) -> Iterator[T]:
    """Give values in their order, of which a thread makes the next while one is used; where one thread is to do all, it is made when it is asked for.
    KeyboardInterrupt leaves behind what runs."""
    if threads == 1:
        yield from values
        return
    iterator, end = iter(values), object()
    with _pool(1) as thread:
        coming: Future[Any] = thread.submit(next, iterator, end)
        while (value := coming.result()) is not end:
            coming = thread.submit(next, iterator, end)
            yield value


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Have threads that are waited for, but not by who is interrupted."""
    pool, left = ThreadPoolExecutor(threads), False
    try:
        yield pool
    except KeyboardInterrupt:
        left = True
        raise
    finally:
        pool.shutdown(wait=not left, cancel_futures=True)
