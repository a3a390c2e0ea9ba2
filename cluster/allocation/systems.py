"""Batch systems whose jobs have several nodes: how a job's nodes are found in its environment, and what starts a program on each of them."""

import os
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tidalign.cluster.errors import NoWorkers

_INTERACTIVE = ("4294967290", "-6")
"""SLURM_STEP_ID of the shell that salloc opens on a node."""

_OF_MPI = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK")
"""Variables that a process has of which mpirun started several: on the first node it forks them itself, and the batch system marks none."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """Holds the nodes of a job of `system`, one of `SYSTEMS`.

    hosts: their names, each as often as the job has processors there; none: the system says that on each node. gpus: a worker for each GPU of a node, or for
    the first `each` of them, or `shared` workers for each, and so many on `cores` beside these; else a worker for each of its processors.
    """

    system: str
    job: str
    nodes: int
    hosts: tuple[str, ...] = ()
    gpus: bool = False
    each: int | None = None
    cores: int = 0
    shared: int = 1


@dataclass(frozen=True, slots=True)
class System:
    """Says how a batch system is used.

    job: the variable that has a job's number. find: gives number and hosts of the nodes in an environment; 0 in that of a task, one of several that were
    started at once. starters: programs that start others on the nodes, of which the first that is there is taken, each with what gives its command lines.
    holds_input: whether what is started reads the standard input of what starts it, and so sees that end. more: what has a job ask for more processors.
    """

    job: str
    find: Callable[[Mapping[str, str]], tuple[int, tuple[str, ...]]]
    starters: Mapping[str, Callable[[Allocation, Sequence[str]], list[list[str]]]]
    more: str
    holds_input: bool = False


def _of_slurm(environment: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    nodes, step = environment.get("SLURM_JOB_NUM_NODES", ""), environment.get("SLURM_STEP_ID")
    return (0 if not (nodes.isascii() and nodes.isdigit()) or (step and step not in _INTERACTIVE) else int(nodes)), ()


def _of_pbs(environment: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Read the file of nodes, of a script or an interactive shell: that is the first task of the first node. Others were started by pbsdsh and the like."""
    if environment.get("PBS_TASKNUM", "1") != "1" or environment.get("PBS_NODENUM", "0") != "0":
        return 0, ()
    return _counted(_lines(environment.get("PBS_NODEFILE")), environment)


def _of_lsf(environment: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    """Read the hosts of a job, but in a task of blaunch's, which has a number."""
    if environment.get("LSF_PM_TASKID"):
        return 0, ()
    words = environment.get("LSB_MCPU_HOSTS", "").split()  # node1 4 node2 4
    counted = [host for host, count in zip(words[::2], words[1::2], strict=False) if count.isdigit() for _ in range(int(count))]
    return _counted(_lines(environment.get("LSB_DJOB_HOSTFILE")) or counted or environment.get("LSB_HOSTS", "").split(), environment)


def _lines(file: str | None) -> list[str]:
    """Give the first word of each line of a file; none of one that cannot be read."""
    with suppress(OSError):
        return [line.split()[0] for line in Path(file or "").read_text().splitlines() if line.strip()]
    return []


def _counted(hosts: Sequence[str], environment: Mapping[str, str]) -> tuple[int, tuple[str, ...]]:
    return (0, ()) if any(name in environment for name in _OF_MPI) else (len(set(hosts)), tuple(hosts))


def _srun(allocation: Allocation, program: Sequence[str]) -> list[list[str]]:
    nodes = str(allocation.nodes)
    layout = ("--nodes", nodes, "--ntasks", nodes, "--ntasks-per-node=1", "--overlap", "--no-kill", "--kill-on-bad-exit=0", "--wait=0", "--cpu-bind=none")
    return [["srun", *layout, *program]]


def _pbs_tmrsh(allocation: Allocation, program: Sequence[str]) -> list[list[str]]:
    return [["pbs_tmrsh", host, *program] for host in dict.fromkeys(allocation.hosts)]


def _pbsdsh(_: Allocation, program: Sequence[str]) -> list[list[str]]:
    return [["pbsdsh", "-u", *program]]  # Torque's: once on each node, which pbs_tmrsh's has no option for


def _blaunch(allocation: Allocation, program: Sequence[str]) -> list[list[str]]:
    """Quote the words, as for rsh: a shell of the node reads them."""
    return [["blaunch", "-n", "-z", " ".join(dict.fromkeys(allocation.hosts)), *map(shlex.quote, program)]]


_MORE_OF_SLURM = "sbatch --cpus-per-task=N or --exclusive, tidalign --cluster slurm --cpus-per-node N"

SYSTEMS = {
    "Slurm": System("SLURM_JOB_ID", _of_slurm, {"srun": _srun}, _MORE_OF_SLURM, holds_input=True),
    "PBS": System("PBS_JOBID", _of_pbs, {"pbs_tmrsh": _pbs_tmrsh, "pbsdsh": _pbsdsh}, "ncpus=N in qsub -l select, ppn=N of Torque"),
    "LSF": System("LSB_JOBID", _of_lsf, {"blaunch": _blaunch}, "bsub -n N with span[ptile=N]"),
}

JOBS = frozenset(system.job for system in SYSTEMS.values())
"""Variables of which a process inside a job has one."""


def allocation(environment: Mapping[str, str] = os.environ) -> Allocation | None:
    """Find the allocation whose nodes are this process's to use: one of several nodes, in the script of the job or an interactive shell.

    None elsewhere: with one node, which is used as any machine, and where the system or mpirun starts as many processes as it was told.
    """
    for name, system in SYSTEMS.items():
        if job := environment.get(system.job):
            nodes, hosts = system.find(environment)
            if nodes > 1:
                return Allocation(name, job, nodes, hosts)
    return None


def starter_of(allocation: Allocation) -> str:
    """Name the program that starts others on the nodes. NoWorkers where there is none."""
    starters = SYSTEMS[allocation.system].starters
    if found := next(filter(shutil.which, starters), None):
        return found
    missing = f"{' and '.join(starters)} {'is' if len(starters) == 1 else 'are'} not found"
    raise NoWorkers(f"job {allocation.job} has {allocation.nodes} nodes, and {missing}; set PATH to {allocation.system}'s commands, or give --cluster none")
