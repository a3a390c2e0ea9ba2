"""A job that finishes nothing in its time is started again three times, and no more; one that gets on always."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "cluster" / "slurm"))
from ending import wait_until
from work import PAIRS, outside, write_pairs

from tidalign.cluster.errors import Stopped
from tidalign.workflows import stopped
from tidalign.workflows.run.restarts import RESTARTS, in_vain


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Make what looks like a run directory with a part."""
    for name in ("parts", "claims", "logs", "stages"):
        (tmp_path / "run" / name).mkdir(parents=True)
    (tmp_path / "run" / "parts" / "j000000.0-1.parquet").write_text("a part")
    (tmp_path / "run" / "journal.jsonl").write_text('{"time": 1.0, "event": "start"}\n')
    return tmp_path / "run"


def call_again(run: Path, number: int) -> None:
    """Write what every call does."""
    for name in (
        "run.lock",
        "logs/host-1.log",
        f"claims/j000000.{number}-9.00000000",
        f"stages/j000000.u0.walk.parquet.{number}.tmp",
        "stages/j000000.u0.asked",
    ):
        (run / name).write_text(f"{number}")


def test_a_job_that_finishes_nothing_is_started_no_more(run: Path) -> None:
    answers = []
    for number in range(RESTARTS + 2):
        call_again(run, number)
        answers.append(in_vain(run, "7"))
    assert answers == [False] * RESTARTS + [True, True]


@pytest.mark.parametrize("name", ["parts/j000000.1-2.parquet", "stages/j000000.u0.walk.parquet", "manifest.json"])
def test_whatever_is_finished_counts(run: Path, name: str) -> None:
    """New, longer, or written again as long as it was: a checkpoint that is further on."""
    (run / name).touch()
    for number in range(4):
        assert [in_vain(run, "7") for _ in range(RESTARTS)] == [False] * RESTARTS
        (run / name).write_text("x" * min(number, 2))
        os.utime(run / name, ns=(number + 1, number + 1))


def test_another_job_has_restarts_of_its_own(run: Path) -> None:
    assert [in_vain(run, "7_1") for _ in range(RESTARTS + 1)][-1]
    assert [in_vain(run, "8") for _ in range(RESTARTS + 1)] == [False] * RESTARTS + [True]


def test_of_what_cannot_be_read_nobody_knows(run: Path) -> None:
    assert not any(in_vain(run.parent / "none", "7") for _ in range(RESTARTS + 1))
    assert [in_vain(run, "7") for _ in range(RESTARTS)] == [False] * RESTARTS
    journal = run / "journal.jsonl"
    journal.write_text(f"{journal.read_text()[:-20]}\n[1]\n")  # as a kill leaves it
    assert not in_vain(run, "7") and in_vain(run, "7")
    journal.unlink()
    assert not in_vain(run, "7")


def test_the_last_line_but_one_says_why(run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    asked = list[str]()
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(stopped, "put_back", asked.append)
    monkeypatch.setattr(stopped.signal, "signal", lambda *_: None)
    for _ in range(RESTARTS + 1):
        assert stopped.tell(Stopped(signal.SIGUSR1), ["--requeue", "pairs", "a", "b"], requeue=True, run=run) == 143
    *_, why, goes_on = capsys.readouterr().err.splitlines()
    assert asked == ["7"] * RESTARTS and goes_on == "tidalign --requeue pairs a b"
    said = f"job 7 is not started again, as nothing at all was finished in its last 3 restarts: give it more time, or look at its log and at {run}/logs; "
    assert said in why and why.endswith("; what is done is kept, and this goes on from here:")


IMPATIENT = """
import sys
from tidalign.cluster import stop
from tidalign.workflows.__main__ import main

stop.GRACE_SECONDS = 0.1
sys.exit(main())
"""


def test_a_command_whose_time_is_always_over(tmp_path: Path) -> None:
    """The time is over when it is at its first pairs; with a part more it would be put back once more."""
    write_pairs(tmp_path, 20)
    scontrol = tmp_path / "scontrol"
    scontrol.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\n')
    scontrol.chmod(0o755)
    words = [sys.executable, "-P", "-c", IMPATIENT, "--requeue", *PAIRS, "--workers", "1", "-o", "out.sam"]
    job = outside() | {"SLURM_JOB_ID": "7", "PATH": f"{tmp_path}:/usr/bin:/bin", "TIDALIGN_TEST_SLOW": "600"}
    claims, said = tmp_path / "out.sam.run" / "claims", list[str]()
    for _ in range(RESTARTS + 1):
        process = subprocess.Popen(words, cwd=tmp_path, env=job, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: claims.is_dir() and any(claims.iterdir()), process)
        process.send_signal(signal.SIGUSR1)
        said.append(process.communicate(timeout=600)[1])
        assert process.returncode == 143, said
    assert (tmp_path / "asked").read_text() == "requeue 7\n" * RESTARTS
    assert "Slurm starts job 7 again" in said[-2] and "job 7 is not started again" in said[-1]
    events = map(json.loads, (tmp_path / "out.sam.run" / "journal.jsonl").read_text().splitlines())
    assert sum(event["event"] == "time_over" for event in events) == RESTARTS
