"""`tidalign check` passes here, and says what to do where it would not."""

import subprocess
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest

from tidalign.workflows import check, cli


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
    assert "wrong: edit: expected (3, '32=')" in written and "7 of 8" in written


def test_a_missing_package_is_status_69(capsys, monkeypatch) -> None:
    def version(name: str) -> str:
        if name == "numba":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(check, "version", version)
    assert cli.main(["check"]) == 69
    assert "missing: numba; install" in capsys.readouterr().err


CARD = ((0, "NVIDIA H200, 570.10\n"), ["NVIDIA H200 driver 570.10"])
BROKEN = ((9, "NVIDIA-SMI has failed\n"), [])


@pytest.mark.parametrize(("answer", "found"), [CARD, BROKEN], ids=["a card", "a broken driver"])
def test_cards(answer: tuple[int, str], found: list[str], monkeypatch) -> None:
    monkeypatch.setattr(check.shutil, "which", lambda name: "/usr/bin/nvidia-smi")
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: SimpleNamespace(returncode=answer[0], stdout=answer[1]))
    assert check._gpus() == found
