"""Numbers beyond sense: every option of every command that takes a value is given some, and says in a line what it expects."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.choices import MAX_FREE
from tidalign.workflows.cli import main
from tidalign.workflows.options import arguments
from tidalign.workflows.options.values import LARGEST_NUMBER
from tidalign.workflows.progress import LONGEST_MESSAGE

BEYOND = ("99999999999999999999", "-99999999999999999999", "nan", "inf", "1e400", "9" * 5000)

TEXTS = {
    *("output", "scheduler", "segments", "scores", "format", "pair", "query_column", "target_column", "action:target", "action:query", "rdotplot", "scratch"),
    *("region", "query_region", "multiqc"),
    *("log", "outputmasking", "outputmasking+", "outputmasking:dynamic", "outputmasking+:dynamic", "outputmasking:soft", "outputmasking+:soft"),
}
"""Options whose value is a name: any is legal."""

FORMS = {
    "penalties": ("linear:{},1", "linear:1,{}", "affine:4,{},2", "affine:4,6,{}", "affine2p:4,6,2,{},1", "affine2p:4,6,2,24,{}", "edit:{}"),
    "ends-free": ("{},0,0,0", "0,0,0,{}"),
    "seed": ("match{}", "half{}"),
    "maxwordcount": ("{}", "{}%"),
    "match": ("{}", "1,{}", "{},1"),
    "gap": ("{}", "400,{}", "{},1"),
    "ambiguous": ("n,{}", "n,{},1", "iupac,1,{}"),
    "chain": ("{},1", "1,{}"),
    "hspthresh": ("{}", "top{}", "top{}%"),
    "gappedthresh": ("{}", "top{}", "top{}%"),
    "querydepth": ("{}", "keep,nowarn:{}"),
    "exact": ("{}",),
    "mismatch": ("{}", "{},30", "2,{}"),
    "queryhsplimit": ("{}", "keep,nowarn:{}"),
    "allocate:traceback": ("{}", "{}k"),
    "filter": (
        "{}",
        "{},12",
        "2,{}",
        "identity:{}",
        "identity:{}..100",
        "coverage:0..{}",
        "nmatch:{}",
        "nmatch:{}%",
        "nmismatch:0..{}",
        "ngap:0..{}",
        "cgap:0..{}",
    ),
}
"""Where numbers stand in the value of an option; alone in that of any other."""

INPUTS = {
    "pairs": ["a.fq", "b.fa"],
    "partition": ["a.fq", "b.fa"],
    "genome": ["t.fa", "q.fa"],
    "genome-index": ["t.fa"],
    "genomes": ["jobs.tsv"],
    "search": ["q.fa", "d.fa"],
    "export": ["run"],
    "plot": ["run"],
}


def commands() -> Iterator[tuple[str, argparse.Action]]:
    """List each command with each of its options that takes a value."""
    for name, command in arguments.commands().items():
        for action in command._actions:
            if action.option_strings and action.nargs != 0 and action.help != "show this help message and exit":
                yield name, action


def key(action: argparse.Action) -> str:
    """Name an option as this module calls it."""
    name = next((name for name in action.option_strings if name.startswith("--")), action.dest)
    return name.removeprefix("--")


def cases() -> list[tuple[str, str]]:
    """List (command, option) with a place for the number."""
    found = []
    for command, action in commands():
        name = key(action)
        if {name, name.replace("-", "_")} & TEXTS or action.choices is not None or type(action).__name__ == "_Refuse":
            continue
        found += [(command, f"{action.option_strings[-1]}={form}") for form in FORMS.get(name, ("{}",))]
    return found


def test_every_option_is_here() -> None:
    names = {key(action) for _, action in commands()}
    assert FORMS.keys() <= names
    assert {"workers", "gpus", "step", "ydrop", "cells", "seconds", "identity", "matchcount", "gap-open", "queryhspbest"} <= names
    assert LARGEST_NUMBER == MAX_FREE


@pytest.mark.parametrize(("command", "option"), cases(), ids=lambda part: str(part))
def test_numbers_beyond_sense(command: str, option: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = [*INPUTS.get(command, []), *(["-o", "out.maf"] if command == "genome" else ["-o", "out"] if command in INPUTS else [])]
    for number in BEYOND:
        with pytest.raises(SystemExit) as ended:
            main([command, *arguments, option.format(number)])
        line, hint = capsys.readouterr().err.splitlines()
        assert ended.value.code == 2 and hint.startswith("see: "), line
        assert line.startswith(f"tidalign {command}: ") and len(line) < LONGEST_MESSAGE, line
        assert any(word in line for word in ("expected", "must", "at most", "takes")), line


@pytest.mark.parametrize("command", ["pairs", "partition"])
@pytest.mark.parametrize("penalties", ["affine:1000000,999999,999998", "linear:1000000,1"])
def test_penalties_too_far_apart(command: str, penalties: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "a.fq", "b.fa", "-o", "out", f"--penalties={penalties}"])
    line = capsys.readouterr().err.splitlines()[0]
    assert ended.value.code == 2 and "at most 1,023 times the greatest common divisor" in line and len(line) < LONGEST_MESSAGE


LEGAL = ("--step=2147483647", "--xdrop=1000000000", "--ydrop=1000000000", "--hspthresh=2147483647", "--hspthresh=-2147483647", "--gap=1000000000,1", "Y=1G")


@pytest.mark.parametrize("option", LEGAL)
def test_large_numbers_of_lastz_are_legal(option: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LASTZ takes them, and what they give is what it prints: all or nothing of a small pair."""
    monkeypatch.chdir(tmp_path)
    for name in "tq":
        Path(f"{name}.fa").write_text(f">{name}\n{'GATTACACCTGAGTCATTGCCA' * 4}\n")
    assert main(["genome", "t.fa", "q.fa", option, "-o", "out.maf", "--quiet", "--device", "cpu"]) == 0
    nothing = option in ("--hspthresh=2147483647", "--step=2147483647") and "s t" not in Path("out.maf").read_text()
    assert nothing or "s t" in Path("out.maf").read_text()


@pytest.mark.parametrize("option", ["--gap=2147483647,1", "--gap=1,2147483647", "--match=2147483647", "--ydrop=2147483647", "--ambiguous=n,2147483647,1"])
def test_costs_fit_together(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["genome", "t.fa", "q.fa", option, "-o", "out.maf"])
    line = capsys.readouterr().err.splitlines()[0]
    assert ended.value.code == 2 and "32 bits" in line and len(line) < LONGEST_MESSAGE


@pytest.mark.parametrize("line", ["gap_open_penalty = 99999999999999999999", "y_drop = 2147483647", "x_drop = " + "9" * 5000, "gap_open_penalty = 2147483647"])
def test_numbers_of_a_score_file(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "\n".join("  ".join(["91" if row == column else "-114" for column in range(4)]) for row in range(4))
    Path("scores").write_text(f"{line}\nA C G T\n{rows}\n")
    for name in "tq":
        Path(f"{name}.fa").write_text(f">{name}\n{'GATTACACCTGAGTCATTGCCA' * 4}\n")
    assert main(["genome", "t.fa", "q.fa", "--scores=scores", "-o", "out.maf", "--device", "cpu"]) == 65
    (said,) = capsys.readouterr().err.splitlines()
    assert "scores" in said and "expected" in said and len(said) < LONGEST_MESSAGE
    assert issubclass(InputError, ValueError)
