"""A job whose time is over is started again and goes on; one that is cancelled stops in good order: in the end the bytes are those of an undisturbed run."""

import json
import subprocess
from pathlib import Path

import pytest
from ending import wait_until
from slurm_site import Site
from work import PAIRS, alone, command, program, script, submit, write_lengths

from tidalign.workflows.run.restarts import RESTARTS

SLOW_AT_FIRST = """slurm:
  nodes: 2
  cpus-per-node: 2
  time: '{time}'
  before: |
    if [ "${{SLURM_RESTART_COUNT:-0}}" = 0 ]; then export TIDALIGN_TEST_SLOW={slow}; fi
"""


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return alone(tmp_path_factory.mktemp("expected"), write_lengths)


def write(folder: Path, profile: str = "") -> dict[str, str]:
    """Write pairs of many lengths; gives the environment of who submits with this profile."""
    write_lengths(folder)
    if profile:
        (folder / "tidalign").mkdir(mode=0o700)
        (folder / "tidalign" / "cluster.yaml").write_text(profile)
    return {"XDG_CONFIG_HOME": str(folder)}


def events(folder: Path, name: str) -> list[dict[str, object]]:
    """Read what the journal says of one kind of event."""
    journal = folder / "out.sam.run" / "journal.jsonl"
    lines = map(json.loads, journal.read_text().splitlines() if journal.exists() else [])
    return [line for line in lines if line["event"] == name]


def submitted(site: Site, folder: Path, profile: str, *before: str) -> str:
    """Submit the pairs as a job; its number."""
    environment = site.environment | write(folder, profile)
    return program(folder, "--cluster", "slurm", *before, *PAIRS, "-o", "out.sam", "--keep-run", environment=environment).stdout.strip()


def check_resumed(site: Site, folder: Path, number: str, expected: bytes) -> None:
    """See that a job was started again and did each thing once."""
    assert site.wait_for(number)["JobState"] == "COMPLETED", (folder / f"out.sam.{number}.log").read_text()
    assert (folder / "out.sam").read_bytes() == expected
    done = [event["task"] for event in events(folder, "done")]
    restarts = int(site.job(number)["Restarts"])
    assert len(done) == len(set(done)) and 2 <= len(events(folder, "start")) <= 1 + restarts and not events(folder, "died")
    lines = [line for line in (folder / f"out.sam.{number}.log").read_text().splitlines() if not line.startswith("slurmstepd")]
    place = next(place for place, line in enumerate(lines) if f"Slurm starts job {number} again" in line)
    assert "SIGUSR1" in lines[place] and lines[place + 1].startswith("tidalign --requeue pairs")
    assert not list(folder.glob(".tidalign-cluster-*"))


def test_a_job_is_started_again_when_it_is_told_that_its_time_is_over(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    number = submitted(slurm, tmp_path, SLOW_AT_FIRST.format(time=30, slow=3), "--requeue")
    slurm.wait(lambda: events(tmp_path, "done"), "a task", 600)
    slurm.ask("scancel", "--batch", "--signal=USR1", number)
    slurm.wait(lambda: slurm.job(number)["Restarts"] == "1" or slurm.job(number)["JobState"] == "COMPLETED", "its second start", 600)
    check_resumed(slurm, tmp_path, number, expected)
    assert slurm.job(number)["Restarts"] == "1"


def test_of_an_array_only_the_job_whose_time_is_over_is_started_again(slurm: Site, tmp_path: Path) -> None:
    """The last job of an array has the number of the whole array."""
    write(tmp_path)
    text = '[ "${SLURM_RESTART_COUNT:-0}" != 0 ] || export TIDALIGN_TEST_SLOW=600\n'
    text += script("--requeue", *PAIRS, "--workers", "1", "-o", "NAME").replace("NAME", "$SLURM_ARRAY_TASK_ID.sam")
    number = submit(slurm, tmp_path, text, "--array=1-2", "--requeue", "--nodes=1", "--cpus-per-task=2")
    slurm.wait(lambda: all(list(tmp_path.glob(f"{place}.sam.run/claims/*")) for place in (1, 2)), "a claim of both", 600)
    assert slurm.job(f"{number}_2")["JobId"] == number
    slurm.ask("scancel", "--batch", "--signal=USR1", f"{number}_2")
    assert slurm.wait_for(f"{number}_2", "COMPLETED")["Restarts"] == "1", (tmp_path / "log").read_text()
    other = slurm.job(f"{number}_1")
    assert (other["Restarts"], other["JobState"]) == ("0", "RUNNING")
    assert f"Slurm starts job {number}_2 again" in (tmp_path / "log").read_text()
    slurm.ask("scancel", number)


@pytest.mark.slow
def test_a_job_is_started_again_when_its_time_is_over(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    """Tells a job of two minutes one minute before its end, or up to half a minute sooner, since Slurm looks that often.

    So a later start has half a minute to itself; where a busy machine needs longer for it, the job is started once more.
    """
    number = submitted(slurm, tmp_path, SLOW_AT_FIRST.format(time=2, slow=25), "--requeue")
    slurm.wait(lambda: slurm.job(number)["Restarts"] != "0" or slurm.job(number)["JobState"] == "COMPLETED", "its second start", 600)
    check_resumed(slurm, tmp_path, number, expected)


@pytest.mark.slow
def test_a_job_that_finishes_nothing_is_started_no_more(slurm: Site, tmp_path: Path) -> None:
    """Three restarts in a row leave the run directory as it was, and the next is not asked for."""
    profile = "slurm: {nodes: 2, cpus-per-node: 2, time: '30', before: export TIDALIGN_TEST_SLOW=600}\n"
    number, claims = submitted(slurm, tmp_path, profile, "--requeue"), tmp_path / "out.sam.run" / "claims"
    for restart in range(RESTARTS + 1):
        slurm.wait(lambda restart=restart: slurm.job(number)["Restarts"] == str(restart) and claims.is_dir() and any(claims.iterdir()), "a claim", 600)  # type: ignore[misc]
        slurm.ask("scancel", "--batch", "--signal=USR1", number)
        slurm.wait(lambda: slurm.job(number)["JobState"] != "RUNNING", "its end", 600)
    over = slurm.wait_for(number)
    assert (over["JobState"], over["ExitCode"], over["Restarts"]) == ("FAILED", "143:0", str(RESTARTS))
    *_, why, goes_on = (tmp_path / f"out.sam.{number}.log").read_text().strip().splitlines()
    assert f"job {number} is not started again, as nothing at all was finished in its last {RESTARTS} restarts: give it more time" in why
    assert goes_on.startswith("tidalign --requeue pairs")


def test_a_job_is_cancelled_and_the_command_goes_on(slurm: Site, tmp_path: Path, expected: bytes) -> None:
    profile = SLOW_AT_FIRST.format(time=30, slow=3)
    environment = slurm.environment | write(tmp_path, profile)
    words = command("--cluster", "slurm", "--requeue", "--follow", *PAIRS, "-o", "out.sam", "--keep-run")
    following = subprocess.Popen(words, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: events(tmp_path, "done"), following)
    number = slurm.ask("squeue", "--noheader", "--format=%i").split()[0]
    slurm.ask("scancel", "--full", number)
    out, said = following.communicate(timeout=600)
    assert (following.returncode, out.strip()) == (143, number), said
    assert slurm.job(number)["Restarts"] == "0"
    *_, why, goes_on = said.strip().splitlines()
    assert why == "tidalign: stopped by SIGTERM; what is done is kept, and this goes on from here:"
    assert not list((tmp_path / "out.sam.run" / "claims").iterdir()) and not list(tmp_path.glob(".tidalign-cluster-*"))
    done = [event["task"] for event in events(tmp_path, "done")]
    program(tmp_path, *goes_on.split()[2:])
    assert (tmp_path / "out.sam").read_bytes() == expected
    assert set(done).isdisjoint(event["task"] for event in events(tmp_path, "done")[len(done) :])


def test_the_log_of_a_job_has_the_name_that_is_said(slurm: Site, tmp_path: Path) -> None:
    """Also where its path has what Slurm puts other words for."""
    (folder := tmp_path / "50%j").mkdir()
    environment = slurm.environment | write(folder, "slurm: {nodes: 1}\n")
    done = program(folder, "--cluster", "slurm", "--follow", *PAIRS, "-o", "%A.sam", environment=environment)
    number = done.stdout.strip()
    (log,) = folder.glob("*.log")
    assert log.name == f"%A.sam.{number}.log" and log.read_text().splitlines()[-1] in done.stderr
    assert f"job {number}: " in done.stderr.replace(f"job {number}: submitted", "")


def test_a_clock_of_ones_own(tmp_path: Path, expected: bytes) -> None:
    write(tmp_path)
    slow = {"TIDALIGN_TEST_SLOW": "3"}
    said = program(tmp_path, "--stop-after", "3s", *PAIRS, "-o", "out.sam", "--new", status=143, environment=slow).stderr
    assert said.splitlines()[-2:] == [
        "tidalign: stopped by --stop-after; what is done is kept, and this goes on from here:",
        f"tidalign --stop-after 3s {' '.join(PAIRS)} -o out.sam",
    ]
    program(tmp_path, *PAIRS, "-o", "out.sam")
    assert (tmp_path / "out.sam").read_bytes() == expected


def test_what_throws_a_run_away_does_so_once(tmp_path: Path) -> None:
    """A job with --new that is started again goes on."""
    write(tmp_path)
    program(tmp_path, *PAIRS, "-o", "run")
    made = [path.stat().st_ino for path in (tmp_path / "run" / "parts").iterdir()]
    program(tmp_path, *PAIRS, "-o", "run", "--new", environment={"SLURM_RESTART_COUNT": "1"})
    assert [path.stat().st_ino for path in (tmp_path / "run" / "parts").iterdir()] == made
    assert (tmp_path / "run" / "SUCCESS").exists()
