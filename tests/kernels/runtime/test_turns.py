"""Turns at the GPU: one holder, or several who let each other; in the order in which they asked; and what is counted of it."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from math import inf

import pytest

from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.gpu import Gpu, GpuLost, Turns


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(16) as made:
        yield made


@pytest.mark.parametrize(("allowed", "most"), [([0] * 6, 1), ([1] * 6, 2), ([2, 3, 2, 3, 3, 3], 3), ([inf] * 6, 6), ([inf, 0, inf, 0, inf, 0], 1)])
def test_as_many_hold_it_as_all_of_them_let(pool: ThreadPoolExecutor, allowed: list[float], most: int) -> None:
    turns, at, seen, reached = Turns(), list[float](), list[int](), threading.Event()

    def hold(beside: float) -> None:
        with turns.hold(beside):
            at.append(beside)
            if len(at) >= most:
                reached.set()
            reached.wait(30)
            now = list(at)
            seen.append(len(now))
            assert turns.held and len(now) - 1 <= min(now)
            at.remove(beside)

    list(pool.map(hold, allowed))
    assert max(seen) == most and not turns.held


def test_turns_are_given_in_order(pool: ThreadPoolExecutor) -> None:
    """One who would be alone waits for those who were there, and those who ask later for it."""
    turns, order, over = Turns(), list[str](), threading.Event()

    def hold(name: str, beside: float) -> None:
        with turns.hold(beside):
            order.append(name)
            over.wait(60)

    done = []
    for place, (name, beside) in enumerate([("first", inf), ("beside it", inf), ("alone", 0), ("after it", inf), ("beside that", inf)]):
        done.append(pool.submit(hold, name, beside))
        while len(turns._held) + len(turns._waiting) <= place:
            time.sleep(0.001)
    assert order == ["first", "beside it"]
    over.set()
    for each in done:
        each.result()
    assert order[2] == "alone" and sorted(order[3:]) == ["after it", "beside that"]


def test_an_error_ends_a_turn() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="mine"), turns.hold():
        raise ValueError("mine")
    with turns.hold():
        assert turns.held


def test_seconds_with_two_holders_count_once(pool: ThreadPoolExecutor) -> None:
    gpu, both, alone = Gpu(), threading.Barrier(2), list[float]()

    def hold(_: int) -> None:
        with gpu.hold(1):
            began = time.perf_counter()
            both.wait(60)
            time.sleep(0.3)
            alone.append(time.perf_counter() - began)

    began = time.perf_counter()
    list(pool.map(hold, range(2)))
    assert max(alone) <= gpu.busy <= time.perf_counter() - began and gpu.turns == 2 and not gpu.held
    assert gpu.busy < sum(alone) - 0.2


def test_a_gpu_that_fails_is_lost_to_all_who_come_later(pool: ThreadPoolExecutor) -> None:
    gpu, inside, failed = Gpu(), threading.Event(), threading.Event()

    def beside() -> str:
        with gpu.hold(1):
            inside.set()
            assert failed.wait(60)
            return "its own calls say what became of them"

    other = pool.submit(beside)
    inside.wait(60)
    with pytest.raises(KernelError, match="an illegal memory access"), gpu.hold(1):
        raise KernelError("an illegal memory access")
    failed.set()
    assert other.result()
    for _ in range(2):
        with pytest.raises(GpuLost, match="lost its GPU: an illegal memory access"), gpu.hold(1):
            pass
    assert not gpu.held
