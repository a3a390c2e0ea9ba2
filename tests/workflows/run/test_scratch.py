"""Runs that keep copies of what tasks read on each node: read once from the run directory, the same bytes whatever happens, nothing left."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import chaos
from ending import wait_until
from genome_gpu_cases import answer, drive_apart, journal

from tidalign.pipeline.store import staging
from tidalign.workflows.status import Exit

HERE = Path(__file__).parents[1]


def counted(said: Path) -> dict[str, str]:
    """Give the environment of a command whose processes, and all that they start, write down what they open."""
    return {"TIDALIGN_TEST_OPENED": str(said), "PYTHONPATH": os.pathsep.join([str(HERE / "opened"), *filter(None, [os.environ.get("PYTHONPATH")])])}


def opened(said: Path, run: Path, folder: str) -> Counter[str]:
    """Count how often files of a folder of a run directory were opened to be read once they were written; and by how many processes."""
    lines = [line.split(" ", 1)[1] for line in said.read_text().splitlines()]
    return Counter(path.removeprefix(f"{run}/") for path in lines if path.startswith(f"{run}/{folder}/") and ".tmp/" not in path)


def genome(folder: Path, sides: tuple[str, str], **options: Any) -> Counter[str]:
    said = folder / "opened.txt"
    status, error = drive_apart(folder / "run", sides, "exact", {"device": "cpu", "workers": 2, **options}, **counted(said))
    assert status == Exit.COMPLETE, error
    found = opened(said, folder / "run", "sides")
    return Counter({path: count for path, count in found.items() if path.rpartition("/")[2] in ("letters", "codes")})


def test_sides_are_read_once_a_node(tmp_path: Path, sides: Any, answers: Any) -> None:
    (tmp_path / "scratch").mkdir()
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    plain = genome(tmp_path / "without", sides)
    copied = genome(tmp_path / "with", sides, scratch=str(tmp_path / "scratch"))
    assert len(copied) == len(plain) == 2  # of one folder, as the files are small
    assert min(plain.values()) >= 4, "each of three processes looks at it and maps it"
    assert set(copied.values()) == {1}
    assert answer(tmp_path / "with" / "run") == answer(tmp_path / "without" / "run") == answers["exact"]
    assert list((tmp_path / "scratch").iterdir()) == []
    assert not (tmp_path / "with" / "run" / staging.MARK).exists()
    (staged,) = journal(tmp_path / "with" / "run", "staged")
    assert (staged["copies"], len(staged["hosts"])) == (1, 1)
    assert staged["bytes"] == sum(path.stat().st_size for path in (tmp_path / "with" / "run" / "sides").rglob("*") if path.is_file())


def test_a_scratch_folder_that_is_not_there_is_one_line(tmp_path: Path, sides: Any, answers: Any) -> None:
    status, error = drive_apart(tmp_path / "run", sides, "exact", {"device": "cpu", "workers": 2, "scratch": str(tmp_path / "none")})
    assert status == Exit.COMPLETE
    assert [line for line in error.splitlines() if line] == [
        f"{tmp_path / 'none'} on {os.uname().nodename}: No such file or directory; the run directory was read in place of copies there"
    ]
    assert answer(tmp_path / "run") == answers["exact"]


def pairs(folder: Path, **environment: str) -> "subprocess.Popen[bytes]":
    """Start a run over pairs on two workers, in a process of its own, with copies in `scratch`."""
    (folder / "scratch").mkdir(exist_ok=True)
    code = "import chaos, sys; sys.exit(chaos.drive(*sys.argv[1:4], workers=2, scratch=sys.argv[4]).exit)"
    words = [sys.executable, "-c", code, *(str(folder / name) for name in ("run", "q.fa", "t.fa", "scratch"))]
    path = os.pathsep.join([str(HERE), *sys.path])
    return subprocess.Popen(words, env=os.environ | {"PYTHONPATH": path} | environment)


def test_a_worker_that_dies_leaves_no_copies(tmp_path: Path) -> None:
    """Its pair is isolated by child processes, which read copies, too."""
    made = chaos.simulate(tmp_path, 120, seed=3)
    process = pairs(tmp_path, TIDALIGN_TEST_POISON="17")
    assert process.wait() == Exit.PARTIAL
    found = {row["ordinal"]: (row["penalty"], row["cigar"], row["status"]) for row in chaos.rows(str(tmp_path / "run"))}
    assert found.pop(17)[2] == "rejected"
    assert found == {ordinal: (penalty, cigar, "exact") for ordinal, penalty, cigar in chaos.expected(made) if ordinal != 17}
    assert list((tmp_path / "scratch").iterdir()) == []


def test_what_a_killed_run_leaves_the_next_call_removes(tmp_path: Path) -> None:
    made = chaos.simulate(tmp_path, 120, seed=3)
    process = pairs(tmp_path, TIDALIGN_TEST_SLOW="0.5")
    wait_until(lambda: len(list(tmp_path.glob("run/parts/*.parquet"))) > 2, process)
    process.kill()
    process.wait()
    assert list((tmp_path / "scratch").iterdir()) and (tmp_path / "run" / staging.MARK).exists()
    process = pairs(tmp_path)
    assert process.wait() == Exit.COMPLETE
    assert [(row["ordinal"], row["penalty"], row["cigar"]) for row in chaos.rows(str(tmp_path / "run"))] == chaos.expected(made)
    assert list((tmp_path / "scratch").iterdir()) == [] and not (tmp_path / "run" / staging.MARK).exists()
    assert len(journal(tmp_path / "run", "staged")) == 1
