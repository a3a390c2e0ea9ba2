"""Count the processors that a job has on a node, and say where they are fewer than its workers with GPUs."""

import os
from collections.abc import Mapping

from tidalign.cluster.allocation.systems import SYSTEMS
from tidalign.cluster.task import cores

OF_A_GPU = 8
"""Processors that a job is to have for each GPU: two processes may share one, and have two tasks at a time each, beside what reads and writes."""

CROWDED = ".crowded"
"""Ends the name of a file in a run's folder, before it a node's, which says what `crowded` does of that."""


def processors(slots: int, environment: Mapping[str, str] = os.environ) -> int:
    """Count the processors that the job has on this node; slots: that its file of hosts says, 0 for none.

    SLURM_JOB_CPUS_PER_NODE says `72(x2),36` of all nodes. PBS has a line for each process of MPI's there, and in NCPUS the processors of one part of the job.
    """
    if "PBS_JOBID" in environment:
        slots = max(slots, int(environment.get("NCPUS") or 0))
    counts: list[int] = []
    for word in filter(None, environment.get("SLURM_JOB_CPUS_PER_NODE", "").split(",")):
        count, _, times = word.rstrip(")").partition("(x")
        counts += [int(count)] * int(times or 1)
    place = int(environment.get("SLURM_NODEID", "0"))
    return min(cores(), counts[place] if place < len(counts) else slots or cores())


def crowded(node: str, workers: int, slots: int = 0, environment: Mapping[str, str] = os.environ) -> str | None:
    """Say that a job has fewer processors on this node than so many workers with GPUs, and what asks for more; None where it has enough, or this is no job."""
    system = next((system for system in SYSTEMS.values() if environment.get(system.job)), None)
    if system is None or (found := processors(slots, environment)) >= workers:
        return None
    has = f"job {environment[system.job]} has {found} processor{'s' * (found > 1)} on {node} for {workers} workers with GPUs, which wait for each other"
    return f"{has}; ask for some {OF_A_GPU} a GPU: {system.more}"
