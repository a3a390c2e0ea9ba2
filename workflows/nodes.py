"""Find jobs of PBS and LSF that have several nodes, of which a command uses the one that it is on, and tell how it uses all."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_JOBS = {"PBS": ("PBS_JOBID", "PBS_NODEFILE"), "LSF": ("LSB_JOBID", "LSB_DJOB_HOSTFILE")}
"""Batch systems: what their jobs have in the environment, the job's number and a file that names a node for each processor."""


def unused(environment: Mapping[str, str] = os.environ) -> str | None:
    """Say that a job has more nodes than a command uses, or give None."""
    for system, (number, file) in _JOBS.items():
        names = environment.get("LSB_HOSTS", "").split() if system == "LSF" else []
        with suppress(OSError):
            names = Path(environment.get(file, "")).read_text().split()
        if (job := environment.get(number)) and len(nodes := set(names)) > 1:
            way_out = "workflows/ssh/ssh.sh, as docs/cluster.md has it, uses all; --cluster none leaves this unsaid"
            return f"{system}'s job {job} has {len(nodes)} nodes, of which this one alone is used; {way_out}"
    return None
