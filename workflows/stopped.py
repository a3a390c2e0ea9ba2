"""What is said of a run that was stopped before its end, and what goes on with it: the same command, or Slurm, which starts its job again."""

import shlex
import signal
from collections.abc import Sequence

from tidalign.cluster.errors import Stopped
from tidalign.cluster.slurm.job import own
from tidalign.cluster.slurm.job import requeue as put_back
from tidalign.workflows.progress import line, say

TIME_IS_OVER = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)
"""Signals after which a job is started again where that is asked for; SIGTERM means that it was cancelled."""


def tell(stopped: Stopped, arguments: Sequence[str], *, requeue: bool) -> int:
    """Print what stopped the command with these arguments, and, as the last line, which one goes on; gives the exit status."""
    job = own()
    again = "what is done is kept, and this goes on from here:"
    if requeue and job and stopped.number in TIME_IS_OVER:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Slurm ends the job for that
        trouble = put_back(job)
        again = f"job {job} could not be put into the queue again ({trouble}); {again}" if trouble else f"Slurm starts job {job} again; {again}"
    say(f"{stopped.why}; {again}")
    line(going_on(arguments))
    return stopped.status


def going_on(arguments: Sequence[str]) -> str:
    """Write the command that goes on: the same one, which throws nothing away."""
    return shlex.join(["tidalign", *(word for word in arguments if word != "--new")])
