"""A command as a job of Slurm's: its script, submitted, followed and put into the queue again."""

import codecs
import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.slurm.site import Profile

POLL_SECONDS = 2.0
"""Seconds between questions to Slurm, whose controller serves many."""

_OVER = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL", "REVOKED")
_STATUSES = {"COMPLETED": 0, "CANCELLED": 143, "TIMEOUT": 143, "PREEMPTED": 143, "DEADLINE": 143, "NODE_FAIL": 75, "BOOT_FAIL": 75}
"""Exit statuses of jobs whose command has not given one."""


def script(command: Sequence[str], profile: Profile, *, name: str, folder: str, log: str, requeue: bool) -> str:
    """Write the script of the job that does a command in a folder. log: of what it says, with %j for the job's number and %% for a %.

    The command takes the place of the script's shell (exec), so that Slurm's signals reach it: SIGUSR1 before the time is over, SIGTERM where it is cancelled.
    """
    asked = {
        "job-name": name,
        "chdir": folder,
        "output": log,
        "open-mode": "append",
        "nodes": profile.nodes,
        "ntasks-per-node": 1,
        "cpus-per-task": profile.cpus,
        "gpus-per-node": profile.gpus_per_node or None,
        "time": profile.time,
        "partition": profile.partition,
        "account": profile.account,
        "signal": f"B:USR1@{_notice(profile)}",
    }
    lines = [f"#SBATCH --{option}={_quoted(str(value))}" for option, value in asked.items() if value is not None]
    lines += [f"#SBATCH {option}" for option in profile.whole_nodes]
    lines += ["#SBATCH --no-kill"]  # a node that fails is done without
    lines += [f"#SBATCH --{'' if requeue else 'no-'}requeue", *(f"#SBATCH {option}" for option in profile.options)]
    return "\n".join(["#!/bin/bash", *lines, *profile.before.splitlines(), f"exec {shlex.join(command)}"]) + "\n"


def _quoted(value: str) -> str:
    """Quote a value as sbatch reads it in a script: by double quotes, where it has blanks."""
    if '"' in value or "\n" in value:
        raise NoWorkers(f"{value!r}: a job's script cannot name it; use a folder without quotes and line feeds in its name")
    return f'"{value}"' if re.search(r"\s|#", value) else value


def seconds(time: str) -> int:
    """Read a time as Slurm has it: minutes, M:S, H:M:S, D-H, D-H:M, D-H:M:S."""
    days, dash, rest = time.rpartition("-")
    numbers = list(map(int, rest.split(":")))
    units = (3600, 60, 1) if dash or len(numbers) == 3 else (60, 1)
    return int(days or 0) * 86400 + sum(number * unit for number, unit in zip(numbers, units, strict=False))


def _notice(profile: Profile) -> int:
    """Say how many seconds before its end a run is told: of a short job no more than half of it."""
    limited = profile.time and profile.time[0].isdigit()  # UNLIMITED has no half
    return min(profile.notice, max(1, seconds(profile.time or "") // 2)) if limited else profile.notice


def submit(text: str) -> str:
    """Submit a script to Slurm; gives the job's number. Raises NoWorkers with what sbatch says against it."""
    if not shutil.which("sbatch"):
        raise NoWorkers("no Slurm here: sbatch is not found; run this on a login node of the cluster, or show the script with --dry-run")
    # What this process has of a job around it, or of an srun, is not for the new one.
    outside = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_") or name in ("SLURM_CONF", "SLURM_CLUSTERS")}
    done = subprocess.run(["sbatch", "--parsable"], input=text, capture_output=True, text=True, check=False, env=outside)
    if done.returncode:
        way_out = "--nodes, --gpus-per-node, --cpus-per-node and --partition before the command ask for others; see the script with --dry-run"
        raise NoWorkers(f"sbatch: {' '.join(done.stderr.split())[:200]}; {way_out}")
    return done.stdout.strip().partition(";")[0]


def follow(number: str, log: Path, show: Callable[[str], None], tell: Callable[[str], object]) -> int:
    """Show a job's log as it grows, until the job is over; its exit status. A job that is put into the queue again is waited for. tell: of what the job is at,
    and for what it waits, whenever that changes."""
    shown, told, decoder = 0, "", codecs.getincrementaldecoder("utf-8")("replace")  # a letter may be written in two
    while True:
        state, reason, status = _state(number)
        if log.exists():
            with log.open("rb") as file:
                file.seek(shown)
                text = file.read()
            shown += len(text)
            if text:
                show(decoder.decode(text))
        said = f"job {number}: {state}{f' ({reason})' if reason else ''}"
        if said != told and not (shown and state in (*_OVER, "COMPLETING")):  # the last line is the log's: the command that goes on
            tell(told := said)
        if state in _OVER:
            return status
        time.sleep(POLL_SECONDS)


def _state(number: str) -> tuple[str, str, int]:
    """Ask for a job's state, why Slurm has it in that, and the exit status that it comes to. Raises NoWorkers where nobody knows the job, or can be asked."""
    for attempt in range(5):
        try:
            asked = subprocess.run(["scontrol", "--oneliner", "show", "job", number], capture_output=True, text=True, check=False)
        except OSError as error:
            found = "none" if isinstance(error, FileNotFoundError) else f"one that does not run ({error.strerror})"
            way_out = "set PATH to Slurm's commands; the job goes on, and its log says how far it is"
            raise NoWorkers(f"job {number}: expected scontrol, which says what a job is at, found {found}; {way_out}") from error
        said = dict(word.split("=", 1) for word in asked.stdout.split() if "=" in word)
        if "JobState" in said:
            status, _, signalled = said.get("ExitCode", "0:0").partition(":")
            code = int(status) or (128 + int(signalled) if int(signalled or 0) else _STATUSES.get(said["JobState"], 1))
            return said["JobState"], said.get("Reason", "None").replace("None", ""), code
        time.sleep(POLL_SECONDS * attempt)
    raise NoWorkers(f"job {number}: Slurm does not know it any more ({' '.join(asked.stderr.split())[:100]}); its log says how it ended")


def own(environment: Mapping[str, str] = os.environ) -> str | None:
    """Name the job that this process is in, as Slurm's commands take it; None where it is in none."""
    array, place = (environment.get(f"SLURM_ARRAY_{name}") for name in ("JOB_ID", "TASK_ID"))
    # SLURM_JOB_ID of one of an array's jobs is the number of the whole array, which is not to be put back with it.
    return f"{array}_{place}" if array and place else environment.get("SLURM_JOB_ID")


def requeue(number: str) -> str | None:
    """Ask Slurm to start this job again; gives what it says against that, or None. The job ends by it, a moment later."""
    try:
        done = subprocess.run(["scontrol", "requeue", number], capture_output=True, text=True, check=False)
    except OSError as error:
        return str(error)
    return " ".join(done.stderr.split())[:120] or "scontrol failed" if done.returncode else None
