"""Who follows a job is shown its log as it grows, letter by letter, and what it waits for."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.slurm import job


def at(monkeypatch: pytest.MonkeyPatch, *states: str, then: Callable[[], object] = lambda: None) -> None:
    """Have a job be at one of these after the other, whenever it is asked for. then: called before each answer."""
    coming = iter(states)

    def answer(*_: object, **__: object) -> "subprocess.CompletedProcess[str]":
        then()
        return subprocess.CompletedProcess([], 0, f"JobId=7 JobState={next(coming)} ExitCode=0:0\n", "")

    monkeypatch.setattr(job.subprocess, "run", answer)
    monkeypatch.setattr(job, "POLL_SECONDS", 0.0)


def test_who_follows_a_job_is_told_what_it_waits_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Once for each, and of its end where there is no log that tells it."""
    at(monkeypatch, "PENDING Reason=Priority", "PENDING Reason=Priority", "PENDING Reason=PartitionTimeLimit", "CANCELLED Reason=None")
    told, shown = list[str](), list[str]()
    assert job.follow("7", tmp_path / "log", shown.append, told.append) == 143
    assert (told, shown) == (["job 7: PENDING (Priority)", "job 7: PENDING (PartitionTimeLimit)", "job 7: CANCELLED"], [])
    at(monkeypatch, "RUNNING Reason=None", "COMPLETING Reason=None", "CANCELLED Reason=None")
    (tmp_path / "log").write_text("the command that goes on\n")
    told.clear()
    assert job.follow("7", tmp_path / "log", shown.append, told.append) == 143
    assert (told, shown) == (["job 7: RUNNING"], ["the command that goes on\n"])


@pytest.mark.parametrize("text", ["größer als 5 µm: 日本 𝄞\n", "plain\n"])
def test_a_letter_that_is_written_in_two_is_shown_whole(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The log is looked at after each byte of it."""
    log, written = tmp_path / "log", text.encode()
    coming = iter(range(1, len(written) + 1))
    at(monkeypatch, *["RUNNING Reason=None"] * (len(written) - 1), "COMPLETED Reason=None", then=lambda: log.write_bytes(written[: next(coming)]))
    shown = list[str]()
    assert job.follow("7", log, shown.append, lambda _: None) == 0
    assert "".join(shown) == text and [*filter(None, shown)] == [*text]


def test_what_is_no_letter_is_shown_as_such(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"a\xffb\n")
    at(monkeypatch, "COMPLETED Reason=None")
    shown = list[str]()
    assert job.follow("7", tmp_path / "log", shown.append, lambda _: None) == 0
    assert shown == ["a\ufffdb\n"]


@pytest.mark.parametrize(("there", "found"), [(False, "none"), (True, r"one that does not run \(.+\)")])
def test_where_slurm_cannot_be_asked_one_is_told(there: bool, found: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if there:
        (tmp_path / "scontrol").write_text("no program\n")
        (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    said = f"^job 7: expected scontrol, which says what a job is at, found {found}; set PATH to Slurm's commands; the job goes on, and its log says how far"
    with pytest.raises(NoWorkers, match=said):
        job.follow("7", tmp_path / "log", lambda _: None, lambda _: None)
