"""Tell of compiling: how many kernels are kept, and a time that falls as long as nothing speaks against it."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tidalign.kernels.runtime.numba_cache import below
from tidalign.kernels.runtime.precompile import types
from tidalign.kernels.text import writing
from tidalign.kernels.text.precompiled import kernels as text_kernels
from tidalign.workflows import compiling
from tidalign.workflows.compiling import Kernels


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiling, "bases", lambda: SimpleNamespace(loaded=(tmp_path / "none", tmp_path)))
    (tmp_path / "a").mkdir()
    return tmp_path


def seconds(kernels: Kernels, others: int = 1000) -> tuple[str, int]:
    count, left = kernels.state(others).split(" kernels, about ")
    return count, int(left.removesuffix(" s left"))


def test_kernels_that_are_kept_are_counted(base: Path) -> None:
    kernels = Kernels({("a", "solve-1."): 3.0, ("a", "solve-12."): 1.0, ("b", "count-5."): 1.0}, Clock())
    assert seconds(kernels) == ("0 of 3", 5)
    for name in ("solve-1.ab.kernel.claim", "solve-12.cd.kernel.ef.tmp", "other-1.ab.kernel"):
        (base / "a" / name).touch()
    assert seconds(kernels) == ("0 of 3", 3), "of one that somebody compiles half is done, for all that is known"
    (base / "a" / "solve-12.cd.kernel").touch()
    assert seconds(kernels)[0] == "1 of 3"
    (base / "b").mkdir()
    for name in ("a/solve-1.ab.kernel", "b/count-5.ef.kernel"):
        (base / name).touch()
    assert seconds(kernels) == ("the last", 1), "small ones are in no list"


def test_the_time_left_follows_what_was_compiled(base: Path) -> None:
    """A machine that does two nominal seconds a second: it falls with the clock, sooner where kernels are done sooner, and stays at a second."""
    clock = Clock()
    kernels = Kernels({("a", f"f-{number}."): 2.0 for number in range(20)}, clock)
    told = [seconds(kernels)[1]]
    for number in range(20):
        clock.now += 1.0
        (base / "a" / f"f-{number}.ab.kernel").touch()
        told.append(seconds(kernels)[1])
    assert told[0] == 40 and told[4] == 21 and told[10] == 12 and told[-1] == 1
    assert all(before > after for before, after in zip(told[:-3], told[1:-2], strict=True))


def test_the_time_left_rises_only_by_much(base: Path) -> None:
    clock = Clock()
    kernels = Kernels({("a", f"f-{number}."): 1.0 for number in range(10)}, clock)
    told = [seconds(kernels)[1]]
    for clock.now in range(1, 13):
        told.append(seconds(kernels)[1])
    rises = [(before, after) for before, after in zip(told[:-1], told[1:], strict=True) if after > before]
    assert 1 <= len(rises) <= 3 and all(after >= 1.8 * before for before, after in rises), "of seconds that are rounded"


PAIRS, TEXT = ("tidalign.kernels.pairwise.precompiled", ()), ("tidalign.kernels.text.precompiled", (False, "seq"))


def test_kernels_are_those_of_the_run_that_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "LISTS", [])
    assert compiling.kernels() is None
    compiling.LISTS[:] = [PAIRS, TEXT]
    found = compiling.kernels()
    assert found
    assert "of 22 kernels" in found.state(0) or "the last kernels" in found.state(0)
    modules = {f"kernels.wavefront.{name}" for name in ("host", "rows", "trace", "solve", "batch")} | {
        f"kernels.text.{name}" for name in ("writing", "records", "lines")
    }
    assert {folder.rpartition("-")[0] for folder, _ in found._costs} == modules
    assert 5 < sum(found._costs.values()) < 30
    monkeypatch.setattr(compiling, "difference", lambda: "another numba")
    assert compiling.kernels() is None, "its files have other names"


def test_a_kernel_that_was_compiled_is_found_kept() -> None:
    kernel, examples = next(each for each in text_kernels(False) if each[0] is writing.write)
    kernel.compile(types(kernel, examples))
    begin = f"write-{kernel.py_func.__code__.co_firstlineno}."
    assert Kernels({(below(writing.__name__), begin): 1.0}).state(0).startswith("the last kernels")
