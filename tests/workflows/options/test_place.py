"""Options that stand before a command's name: those of where it is done stay there, those of every command are taken on either side."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidalign.workflows.cli import main
from tidalign.workflows.options.place import command_at, said_behind


@pytest.mark.parametrize(
    ("given", "behind"),
    [
        ("pairs a b --quiet", "pairs a b --quiet"),
        ("--quiet pairs a b", "pairs --quiet a b"),
        ("--threads 2 -v --log=x pairs a b", "pairs --threads 2 -v --log=x a b"),
        ("--cluster slurm --log x --time 50 pairs a", "--cluster slurm --time 50 pairs --log x a"),
        ("--dry-run --json --threads=3 genome a b", "--dry-run --json genome --threads=3 a b"),
        ("--nodes 2", "--nodes 2"),
        ("--version", "--version"),
        ("--what 3 pairs --quiet", "--what 3 pairs --quiet"),
        ("", ""),
    ],
)
def test_options_of_every_command_go_behind_it(given: str, behind: str) -> None:
    assert said_behind(given.split()) == behind.split()


def test_where_the_command_stands() -> None:
    assert command_at(["--time", "pairs", "genome"]) == 2 and command_at(["--time=pairs", "genome"]) == 1
    assert command_at(["--what", "pairs"]) is None and command_at(["--log", "x"]) is None and command_at([]) is None


def test_on_either_side_they_do_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.fa").write_text(">a\nACGTACGT\n")
    assert main(["--quiet", "--log", "log", "pairs", "a.fa", "a.fa", "-o", "x.tsv", "--device", "cpu"]) == 0
    assert capsys.readouterr().err == "" and Path("log").read_text().count("1 pair: 1 exact") == 0 and "begin in" in Path("log").read_text()


def test_estimates_take_them(tmp_path: Path, command: Callable[..., Any]) -> None:
    (tmp_path / "a.fa").write_text(">a\nACGTACGT\n")
    done = command("estimate", "--json", "--threads", "1", "pairs", tmp_path / "a.fa", tmp_path / "a.fa", "-o", tmp_path / "x")
    assert json.loads(done.stdout)["pairs"] == 1


def test_no_more_workers_than_cores(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["pairs", "a.fa", "a.fa", "-o", "x", "--threads", "1", "--workers", "4"])
    assert "--workers 4: expected no more than the cores of --threads 1; leave one of them out" in capsys.readouterr().err
