"""The Slurm that other tests use is one: jobs on both nodes, arrays, cancelling; and what cluster/ relies on is so."""

import shutil
import subprocess
from pathlib import Path

import pytest
from slurm_site import Site, free_ports, objection


def batch(site: Site, folder: Path, text: str, *options: str) -> str:
    """Submit a script; the job's number."""
    script = folder / "script.sh"
    script.write_text(f"#!/bin/bash\n{text}\n")
    return site.ask("sbatch", "--parsable", f"--output={folder}/%A.%a.out", f"--chdir={folder}", *options, str(script)).strip()


def test_nobody_misses_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert "apt-get install slurm-wlm munge" in str(objection())
    assert len(set(free_ports(5))) == 5


def test_a_job_runs_on_both_nodes_and_tasks_see_the_end_of_input(slurm: Site, tmp_path: Path) -> None:
    """An end of srun's input reaches each of its tasks: so they learn that who started them has died."""
    number = batch(slurm, tmp_path, "srun --ntasks-per-node=1 bash -c 'echo $SLURM_NODEID; cat; echo over' < <(sleep 0.2)", "--nodes=2")
    assert slurm.wait_for(number)["JobState"] == "COMPLETED"
    (output,) = tmp_path.glob("*.out")
    assert sorted(output.read_text().split()) == ["0", "1", "over", "over"]


def test_an_array_has_a_job_for_each_place(slurm: Site, tmp_path: Path) -> None:
    number = batch(slurm, tmp_path, "echo place $SLURM_ARRAY_TASK_ID", "--array=1-3")
    for place in "123":
        assert slurm.wait_for(f"{number}_{place}")["JobState"] == "COMPLETED"
        assert (tmp_path / f"{number}.{place}.out").read_text() == f"place {place}\n"


def test_a_job_is_cancelled(slurm: Site, tmp_path: Path) -> None:
    number = batch(slurm, tmp_path, "exec sleep 600")
    assert slurm.wait_for(number, "RUNNING")["JobState"] == "RUNNING"
    slurm.ask("scancel", number)
    assert slurm.wait_for(number)["JobState"] == "CANCELLED"


def test_it_listens_on_this_machine_alone(slurm: Site) -> None:
    listed = subprocess.run(["ss", "-H", "-ltnp"], capture_output=True, text=True, check=False).stdout
    theirs = [line.split()[3] for line in listed.splitlines() if "slurm" in line]
    assert [place for place in theirs if not place.startswith("127.0.0.1:")] == []
