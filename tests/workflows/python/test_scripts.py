"""A script that starts workers says in a sentence that it lacks its guard, and works with it."""

import subprocess
import sys
from pathlib import Path

import pytest

READS = ">a\nACGTACGTACGT\n>b\nGATTACAGATTACA\n"
WINDOWS = ">a\nACGTTCGTACGT\n>b\nGATTACACATTACA\n"
CALL = 'results = tidalign.align_pairs("q.fa", "t.fa", out="run", workers=2, device="cpu")'
SHOW = 'print(results.to_table(["cigar"])["cigar"].to_pylist())'
ANSWER = "['4=1X7=', '7=1X6=']"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "q.fa").write_text(READS)
    (tmp_path / "t.fa").write_text(WINDOWS)
    return tmp_path


def ran(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    (folder / "script.py").write_text(text)
    return subprocess.run([sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=600)


def test_without_the_guard_it_is_said_in_a_sentence(folder: Path) -> None:
    done = ran(folder, f"import tidalign\n\n{CALL}\n{SHOW}\n")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and len(lines) < 40, done.stderr
    assert lines[-1].endswith('put it under if __name__ == "__main__": or give workers=0')
    assert "script.py, line 3: worker processes import the script that starts them" in lines[-1] and len(lines[-1]) <= 300


@pytest.mark.parametrize("test", ['__name__ == "__main__"', '"__main__" == __name__', '__name__ in ("__main__",)'])
def test_with_the_guard_it_works(folder: Path, test: str) -> None:
    done = ran(folder, f"import tidalign\n\n\ndef work():\n    {CALL}\n    {SHOW}\n\n\nif {test}:\n    work()\n")
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr


def test_without_workers_it_needs_none(folder: Path) -> None:
    done = ran(folder, f"import tidalign\n{CALL.replace('workers=2', 'workers=0')}\n{SHOW}\n")
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr


def test_what_has_no_script_needs_no_guard(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", f"import tidalign\n{CALL}\n{SHOW}"], cwd=folder, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout.strip()) == (0, ANSWER), done.stderr
