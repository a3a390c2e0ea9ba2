"""Jobs of PBS and LSF: which of them have several nodes for a command to use, how these are named and started on, and what reaches them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tidalign.cluster.allocation import script
from tidalign.cluster.allocation.node import name_of_node
from tidalign.cluster.allocation.processors import crowded, processors
from tidalign.cluster.allocation.systems import SYSTEMS, Allocation, allocation, starter_of
from tidalign.cluster.errors import NoWorkers

FOUR = ("n1", "n1", "n2", "n2")


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    """Write the file of a job on two nodes with two processors each."""
    (tmp_path / "hosts").write_text("n1\nn1\nn2\nn2\n")
    return str(tmp_path / "hosts")


def test_jobs_of_several_nodes_are_found(hosts: str) -> None:
    pbs = {"PBS_JOBID": "7.head", "PBS_NODEFILE": hosts}
    for more in ({}, {"PBS_TASKNUM": "1", "PBS_NODENUM": "0"}):
        assert allocation(pbs | more) == Allocation("PBS", "7.head", 2, FOUR)
    assert allocation({"LSB_JOBID": "7", "LSB_DJOB_HOSTFILE": hosts, "LSB_MCPU_HOSTS": "n9 1"}) == Allocation("LSF", "7", 2, FOUR)
    assert allocation({"LSB_JOBID": "7", "LSB_DJOB_HOSTFILE": "/none", "LSB_MCPU_HOSTS": "n1 2 n2 2"}) == Allocation("LSF", "7", 2, FOUR)
    assert allocation({"LSB_JOBID": "7", "LSB_HOSTS": "n1 n1 n2 n3"}) == Allocation("LSF", "7", 3, ("n1", "n1", "n2", "n3"))


def test_what_is_one_of_several_processes_takes_no_nodes(hosts: str, tmp_path: Path) -> None:
    """Try what pbsdsh, blaunch and mpirun start; and jobs of one node, which are used as any machine."""
    (tmp_path / "one").write_text("n1\nn1\n")
    pbs, lsf = {"PBS_JOBID": "7", "PBS_NODEFILE": hosts}, {"LSB_JOBID": "7", "LSB_DJOB_HOSTFILE": hosts}
    for environment in (
        {},
        {"PBS_NODEFILE": hosts},
        pbs | {"PBS_NODEFILE": str(tmp_path / "one")},
        pbs | {"PBS_NODEFILE": str(tmp_path / "none")},
        {"PBS_JOBID": "7"},
        pbs | {"PBS_TASKNUM": "00000002", "PBS_NODENUM": "0"},
        pbs | {"PBS_TASKNUM": "40000001", "PBS_NODENUM": "1"},
        pbs | {"PBS_TASKNUM": "1", "OMPI_COMM_WORLD_RANK": "0"},
        lsf | {"LSF_PM_TASKID": "1"},
        lsf | {"PMI_RANK": "3"},
        {"LSB_JOBID": "7", "LSB_HOSTS": "n1 n1"},
        {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "n1 x n2"},
        {"LSB_JOBID": "7"},
    ):
        assert allocation(environment) is None, environment


def test_each_system_starts_a_program_on_every_node() -> None:
    pbs, lsf = Allocation("PBS", "7", 2, FOUR), Allocation("LSF", "7", 2, FOUR)
    words = ["/bin/sh", "/a folder/node.sh"]
    assert SYSTEMS["PBS"].starters["pbs_tmrsh"](pbs, words) == [["pbs_tmrsh", "n1", *words], ["pbs_tmrsh", "n2", *words]]
    assert SYSTEMS["PBS"].starters["pbsdsh"](pbs, words) == [["pbsdsh", "-u", *words]]
    assert SYSTEMS["LSF"].starters["blaunch"](lsf, words) == [["blaunch", "-n", "-z", "n1 n2", "/bin/sh", "'/a folder/node.sh'"]]
    ((*srun, last),) = SYSTEMS["Slurm"].starters["srun"](Allocation("Slurm", "7", 2), ["a"])
    assert srun[:5] == ["srun", "--nodes", "2", "--ntasks", "2"] and last == "a"


def test_what_starts_them_is_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoWorkers, match=r"job 7 has 2 nodes, and pbs_tmrsh and pbsdsh are not found; set PATH to PBS's commands, or give --cluster none"):
        starter_of(Allocation("PBS", "7", 2, FOUR))
    with pytest.raises(NoWorkers, match=r"job 7 has 2 nodes, and blaunch is not found; set PATH to LSF's"):
        starter_of(Allocation("LSF", "7", 2, FOUR))
    for name in ("pbsdsh", "pbs_tmrsh"):  # Torque has the one, OpenPBS both
        (tmp_path / name).touch(0o755)
        assert starter_of(Allocation("PBS", "7", 2, FOUR)) == name


@pytest.mark.parametrize(("own", "name"), [("n2", "n2"), ("N2.cluster.org", "n2"), ("n1", "n1.cluster"), ("n3.cluster", "n3.cluster")])
def test_a_node_has_the_name_that_the_system_gives_it(own: str, name: str) -> None:
    assert name_of_node(["n1.cluster", "n2"], {}, own) == name


def test_processors_of_a_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """PBS has a line for each process of MPI's, and says in NCPUS what a part of the job has."""
    monkeypatch.setattr("tidalign.cluster.allocation.processors.cores", lambda: 1000)
    assert (processors(3, {"LSB_JOBID": "7"}), processors(0, {"LSB_JOBID": "7"}), processors(3, {"NCPUS": "8"})) == (3, 1000, 3)
    assert [processors(slots, {"PBS_JOBID": "7", "NCPUS": "8"}) for slots in (1, 16)] == [8, 16]
    assert processors(2, {"PBS_JOBID": "7"}) == 2
    monkeypatch.setattr("tidalign.cluster.allocation.processors.cores", lambda: 4)
    assert processors(16, {"PBS_JOBID": "7"}) == 4


@pytest.mark.parametrize(
    ("environment", "slots", "few", "more"),
    [
        ({"SLURM_JOB_ID": "7", "SLURM_JOB_CPUS_PER_NODE": "1(x2)", "SLURM_NODEID": "1"}, 0, "1 processor", "sbatch --cpus-per-task=N or --exclusive"),
        ({"PBS_JOBID": "7", "NCPUS": "3"}, 1, "3 processors", "ncpus=N in qsub -l select"),
        ({"LSB_JOBID": "7"}, 2, "2 processors", r"bsub -n N with span\[ptile=N\]"),
    ],
    ids=["Slurm", "PBS", "LSF"],
)
def test_too_few_processors_are_told_of(environment: dict[str, str], slots: int, few: str, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidalign.cluster.allocation.processors.cores", lambda: 1000)
    text = crowded("node1", 4, slots, environment)
    assert re.match(f"job 7 has {few} on node1 for 4 workers with GPUs, which wait for each other; ask for some 8 a GPU: {more}", text or "")
    assert crowded("node1", int(few[0]), slots, environment) is None
    assert crowded("node1", 4, slots, {}) is None, "a machine that no batch system shares out has what it has"


def test_the_environment_of_the_command_reaches_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also what is hard to quote; but for what each node has by itself."""
    (folder := tmp_path / "a 'folder'").mkdir(mode=0o700)
    odd = "a 'b' \"c\" $d\n\udce9"
    mine = {"ODD": odd, "PATH": "/mine", "LD_LIBRARY_PATH": "/lib", "PBS_TASKNUM": "1", "LSB_HOSTS": "n1", "UID": "5", "BASH_FUNC_a%%": "() { :; }"}
    gpus = {"CUDA_VISIBLE_DEVICES": "0,1", "CUDA_CACHE_PATH": "/cache"}
    monkeypatch.chdir(tmp_path)
    before = os.umask(0o027)
    try:
        path = script.write(folder, [sys.executable, "-c", SEEN], mine | gpus | {"TMPDIR": str(tmp_path)})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600

    def seen(**own: str) -> dict[str, str]:
        subprocess.run(["/bin/sh", str(path)], env=own, cwd="/", check=True)
        (log,) = folder.glob("*.log")
        assert log.name == f"{os.uname().nodename}.log"
        found: dict[str, str] = eval(log.read_text())  # what the program below printed
        log.unlink()
        return found

    found = seen(PBS_TASKNUM="2", TMPDIR="/own")
    assert found["ODD"] == odd and (found["PATH"], found["LD_LIBRARY_PATH"], found["PBS_TASKNUM"]) == ("/mine", "/lib", "2")
    assert (found["CUDA_VISIBLE_DEVICES"], found["CUDA_CACHE_PATH"], found["TMPDIR"]) == ("0,1", "/cache", str(tmp_path))
    assert (found["folder"], found["mask"]) == (str(tmp_path), "0o27") and found.keys().isdisjoint(("LSB_HOSTS", "BASH_FUNC_a%%"))
    assert seen(CUDA_VISIBLE_DEVICES="GPU-2")["CUDA_VISIBLE_DEVICES"] == "GPU-2" and seen(CUDA_VISIBLE_DEVICES="")["CUDA_VISIBLE_DEVICES"] == ""
    path.unlink()
    script.write(folder, [sys.executable, "-c", SEEN], {"TMPDIR": str(tmp_path / "none")})
    assert seen(TMPDIR="/own")["TMPDIR"] == "/own"


SEEN = "import os; print(dict(os.environ) | {'folder': os.getcwd(), 'mask': oct(os.umask(0))})"
