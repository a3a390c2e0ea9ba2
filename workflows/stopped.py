"""What is said of a run that was stopped before its end, and what goes on with it: the same command, or Slurm, which starts its job again."""

import shlex
import signal
from collections.abc import Sequence
from pathlib import Path

from tidalign.cluster.errors import Stopped
from tidalign.cluster.slurm.job import own
from tidalign.cluster.slurm.job import requeue as put_back
from tidalign.workflows.progress import line, say

TIME_IS_OVER = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)
"""Signals after which a job is started again where that is asked for; SIGTERM means that it was cancelled."""


def tell(stopped: Stopped, arguments: Sequence[str], *, requeue: bool, run: Path | None = None) -> int:
    """Print what stopped the command with these arguments, and, as the last line, which one goes on; gives the exit status. run: its directory."""
    job = own()
    again = "what is done is kept, and this goes on from here:"
    if requeue and job and stopped.number in TIME_IS_OVER:
        again = f"{_started_again(job, run)}; {again}"
    say(f"{stopped.why}; {again}")
    line(going_on(arguments))
    return stopped.status


def _started_again(job: str, run: Path | None) -> str:
    """Have Slurm start a job again, unless that leads to nothing; says what becomes of it."""
    from tidalign.workflows.run.restarts import RESTARTS, in_vain  # which the run has loaded, and the command line does without

    if run and in_vain(run, job):
        way_out = f"give it more time, or look at its log and at {run}/logs"
        return f"job {job} is not started again, as nothing at all was finished in its last {RESTARTS} restarts: {way_out}"
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Slurm ends the job for that
    trouble = put_back(job)
    return f"job {job} could not be put into the queue again ({trouble})" if trouble else f"Slurm starts job {job} again"


def going_on(arguments: Sequence[str]) -> str:
    """Write the command that goes on: the same one, which throws nothing away."""
    return shlex.join(["tidalign", *(word for word in arguments if word != "--new")])
