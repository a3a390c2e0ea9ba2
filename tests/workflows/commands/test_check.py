"""`tidalign check` passes here, and says what to do where it would not."""

from importlib.metadata import PackageNotFoundError

from tidalign.kernels.runtime import numba_internals
from tidalign.pipeline.device import CPU, GPU
from tidalign.workflows import cli
from tidalign.workflows.commands import check


def test_check(capsys) -> None:
    assert cli.main(["check"]) == 0
    written = capsys.readouterr()
    assert written.err == ""
    for word in ("tidalign 0.", "numba ", "distributed ", "processor: ", "GPUs: ", "8 of 8 known answers"):
        assert word in written.out


def test_a_wrong_answer_is_status_1(capsys, monkeypatch) -> None:
    pair = next(iter(check.KNOWN))
    monkeypatch.setitem(check.KNOWN, pair, check.KNOWN[pair] | {"edit": (3, "32=")})
    assert cli.main(["check"]) == 1
    written = capsys.readouterr().out
    assert "wrong: edit on the cpu: expected (3, '32=')" in written and "7 of 8" in written


def test_a_missing_package_is_status_69(capsys, monkeypatch) -> None:
    def version(name: str) -> str:
        if name == "numba":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(check, "version", version)
    assert cli.main(["check"]) == 69
    assert "missing: numba; install" in capsys.readouterr().err


def test_a_numba_that_keeps_kernels_otherwise_is_named(capsys, monkeypatch) -> None:
    monkeypatch.setattr(check, "_self_test", lambda device: check.Exit.COMPLETE)
    assert cli.main(["check"]) == 0
    assert "a way of its own" not in capsys.readouterr().out
    monkeypatch.setattr(numba_internals, "difference", lambda: "numba.core.caching.Cache.load_overload")
    assert cli.main(["check"]) == 0
    assert "keeps kernels in a way of its own (numba.core.caching.Cache.load_overload)" in capsys.readouterr().out


def test_cards_are_named_and_tested(capsys, monkeypatch) -> None:
    tested = []
    monkeypatch.setattr(check, "usable", lambda: {"0": "NVIDIA H200"})
    monkeypatch.setattr(check, "_self_test", lambda device: tested.append(device) or check.Exit.COMPLETE)
    assert cli.main(["check"]) == 0
    assert "GPUs: NVIDIA H200 (0)" in capsys.readouterr().out
    assert tested == [CPU, GPU]
