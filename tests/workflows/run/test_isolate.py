"""Halving does every item that can be done, and rejects each that cannot, alone."""

import pytest

from tidalign.workflows.run.isolate import TooManyRejected, isolate


@pytest.mark.parametrize("bad", [set(), {7}, {23}, {7, 8, 22}, set(range(7, 24))], ids=str)
def test_all_others_are_done_and_those_at_fault_rejected(bad: set[int]) -> None:
    done: list[int] = []
    rejected: list[tuple[int, str]] = []

    def attempt(a: int, b: int) -> str | None:
        if blamed := bad & set(range(a, b)):
            return f"died of {min(blamed)}"
        done.extend(range(a, b))
        return None

    assert isolate(7, 24, attempt, lambda a, reason: rejected.append((a, reason)), 17, "run", "pairs") == len(bad)
    assert done == [item for item in range(7, 24) if item not in bad]
    assert rejected == [(item, f"died of {item}") for item in sorted(bad)]


def test_more_than_may_be_rejected_end_it() -> None:
    rejected: list[int] = []
    with pytest.raises(TooManyRejected, match=r"run: more than 2 pairs kill their worker, the last one because it died; run `tidalign check`"):
        isolate(0, 9, lambda a, b: "died", lambda a, reason: rejected.append(a), 2, "run", "pairs")
    assert rejected == [0, 1]
