"""Completion and the manual page have every command and option of the parser, and shells and groff take them."""

import argparse
import re
import shutil
import subprocess
import sys

import pytest

from tidalign.workflows.commands import completion, manual
from tidalign.workflows.options.arguments import commands


def completed(*words: str) -> list[str]:
    """Give what bash offers for the last of some words."""
    script = (
        completion.SHELLS["bash"]()
        + f'COMP_WORDS=({" ".join(f"{word!r}" for word in words)}); COMP_CWORD={len(words) - 1}; _tidalign; echo "${{COMPREPLY[@]}}"\n'
    )
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], capture_output=True, text=True, check=False)
    assert not done.stderr, done.stderr
    return done.stdout.split()


def test_bash_completes_commands_and_options() -> None:
    assert completed("tidalign", "ge") == ["genome", "genomes", "genome-index"]
    assert {*commands(), "--help", "--version", "--cluster", "--time", "--dry-run"} <= {*completed("tidalign", "")}
    assert completed("tidalign", "--cl") == ["--cluster"] and completed("tidalign", "--dry-run", "--fo") == ["--follow"]
    assert completed("tidalign", "estimate", "geno") == ["genome", "genomes", "genome-index"]
    assert completed("tidalign", "estimate", "pairs", "--penalti") == ["--penalties"]
    assert completed("tidalign", "pairs", "--pen") == ["--penalties", "--penalty-only"]
    assert completed("tidalign", "genome", "a.fa", "--gappedth") == ["--gappedthresh"]
    assert completed("tidalign", "--cluster", "none", "pairs", "--ends") == ["--ends-free"]


def test_bash_completes_values() -> None:
    assert completed("tidalign", "pairs", "--device", "") == ["auto", "cpu", "gpu"]
    assert completed("tidalign", "pairs", "--device", "=", "g") == ["gpu"]
    assert completed("tidalign", "pairs", "--device", "=") == ["auto", "cpu", "gpu"]
    assert completed("tidalign", "--cluster", "") == ["auto", "none", "slurm"]
    assert {"sam", "bam"} < {*completed("tidalign", "pairs", "--format", "")} and {"maf", "lav+text"} < {*completed("tidalign", "genome", "--format", "")}
    assert completed("tidalign", "completion", "") == ["bash", "fish", "zsh"]
    assert completed("tidalign", "pairs", "reads") == []  # bash's own, files


@pytest.mark.parametrize("shell", completion.SHELLS)
def test_every_option_is_there(shell: str) -> None:
    text = completion.SHELLS[shell]()
    for name, parser in commands().items():
        for action in (each for each in parser._actions if each.help != argparse.SUPPRESS):
            for option in action.option_strings:
                spelled = (f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}") if shell == "fish" else option
                assert spelled in text or (shell != "fish" and not option.startswith("--")), (name, option)
    program = shutil.which(shell)
    if program:
        assert not subprocess.run([program, "-n"], input=text, capture_output=True, text=True, check=True).stderr


def test_the_manual_has_all_that_help_has() -> None:
    page = manual.page().replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
    for name, parser in commands().items():
        section = page.partition(f".SS tidalign {name}\n")[2].partition("\n.SS ")[0]
        for action in (each for each in parser._actions if each.help != argparse.SUPPRESS):
            assert all(f"\\fB{option}\\fR" in section for option in action.option_strings), (name, action.option_strings)
            help = parser._get_formatter()._expand_help(action) if action.help else ""
            assert help in section
    assert "69 no usable GPU or workers" in page


@pytest.mark.skipif(not shutil.which("groff"), reason="no groff here")
def test_groff_takes_the_manual() -> None:
    done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=manual.page(), capture_output=True, text=True, check=True)
    text = re.sub(".\b", "", done.stdout)  # bold letters are struck twice
    assert not done.stderr and "--gappedthresh" in text and "OPTIONS BEFORE THE COMMAND" in text


def test_commands_print_them() -> None:
    for words, begin in ((["completion", "zsh"], "#compdef tidalign"), (["man"], ".TH TIDALIGN 1")):
        done = subprocess.run([sys.executable, "-m", "tidalign", *words], capture_output=True, text=True, check=True)
        assert done.stdout.startswith(begin) and not done.stderr
