"""A Slurm of two nodes on this machine: munged, slurmctld and two slurmd in a temporary folder, which nobody else can reach.

`python slurm_site.py FOLDER` starts one, with the GPUs of this machine, and says the environment that its commands need, until it is interrupted.
"""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scontrol", "sinfo", "squeue", "scancel")
"""Of Debian's slurm-wlm and munge."""

PATIENCE = 120.0
"""Seconds in which it starts on the busiest machine; on a quiet one it takes three."""

NODES = ("node1", "node2")

OVER = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL"}


def found(program: str) -> str | None:
    """Find a program; those of the superuser need not be on the path."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/local/sbin")


def objection() -> str | None:
    """Say what keeps a Slurm from being started here, or None."""
    if missing := [program for program in PROGRAMS if not found(program)]:
        return f"Slurm is not installed ({', '.join(missing)} not found; on Debian: apt-get install slurm-wlm munge)"
    return None if os.geteuid() == 0 else "slurmd starts jobs as their users and so needs root"


def started(**options: Any) -> Iterator["Site"]:
    """Start a Slurm for a fixture, and end it; skips where there can be none. options: of `Site`."""
    if why := objection():
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        site = Site(Path(folder), **options)
        yield site
        site.close()


def stand_ins(folder: Path, count: int) -> list[Path]:
    """Make files that stand for the devices of GPUs."""
    files = [folder / f"nvidia{number}" for number in range(count)]
    for file in files:
        file.symlink_to("/dev/null")  # Slurm takes devices alone
    return files


def gpus() -> list[Path]:
    """List the device files of this machine's GPUs."""
    return sorted(Path("/dev").glob("nvidia[0-9]*"), key=lambda path: int(path.name.removeprefix("nvidia")))


class Site:
    """A running Slurm. `environment` is what its commands need; `close` ends it.

    gpus: device files of GPUs, or others that stand in for them (`nvidia0`, ..), with which the nodes take turns. Slurm says in CUDA_VISIBLE_DEVICES which ones
    a job has, and keeps it from no other.
    """

    def __init__(self, folder: Path, cpus: int = 2, gpus: Sequence[Path] = ()) -> None:
        self.folder = folder
        self.gpus = {name: gpus[place :: len(NODES)] for place, name in enumerate(NODES)}
        self._processes: list[subprocess.Popen[bytes]] = []
        for name in ("state", "spool"):
            (folder / name).mkdir()
        self.configuration = folder / "slurm.conf"
        self.configuration.write_text(self._configured(cpus))
        files = [f"NodeName={name} Name=gpu File={path}" for name, paths in self.gpus.items() for path in paths]
        (folder / "gres.conf").write_text("\n".join(["AutoDetect=off", *files]) + "\n")
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # nothing of it is used; v2 wants controllers that a container does not give
        (folder / "prolog.sh").write_text(self._prolog())
        (folder / "prolog.sh").chmod(0o755)
        self.environment = os.environ | {"SLURM_CONF": str(self.configuration)}
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _configured(self, cpus: int) -> str:
        host = socket.gethostname()
        controller, *ports = free_ports(1 + len(NODES))
        nodes = [
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} RealMemory=1000 {self._gres(name)}"
            for name, port in zip(NODES, ports, strict=True)
        ]
        lines = [
            "ClusterName=tests",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={controller}",
            # Nothing of it is to be reached from elsewhere.
            "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            "CredType=cred/munge",
            f"AuthInfo=socket={self.folder}/munge.socket,cred_expire=5",  # so long a job waits that is put back into the queue
            f"StateSaveLocation={self.folder}/state",
            f"SlurmdSpoolDir={self.folder}/spool/%n",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid",
            f"SlurmdPidFile={self.folder}/slurmd.%n.pid",
            f"SlurmctldLogFile={self.folder}/slurmctld.log",
            f"SlurmdLogFile={self.folder}/slurmd.%n.log",
            "SlurmdParameters=config_overrides",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=2,sched_min_interval=0",
            "AccountingStorageType=accounting_storage/none",
            "JobAcctGatherType=jobacct_gather/none",
            "MpiDefault=none",
            *(["GresTypes=gpu", f"TaskProlog={self.folder}/prolog.sh"] if any(self.gpus.values()) else []),
            "ReturnToService=2",
            "KillWait=30",
            "MinJobAge=3600",
            *nodes,
            f"PartitionName=batch Nodes={','.join(NODES)} Default=YES MaxTime=60 DefaultTime=10 State=UP OverSubscribe=NO",
            f"PartitionName=long Nodes={NODES[0]} MaxTime=600 State=UP",
        ]
        return "\n".join(lines) + "\n"

    def _prolog(self) -> str:
        """Write the script of which Slurm puts into each task's environment what it prints: a node's GPUs count from 0 there, as on a machine of its own."""
        numbers = {name: " ".join(path.name.removeprefix("nvidia") for path in paths) for name, paths in self.gpus.items()}
        lines = [
            "#!/bin/sh",
            '[ -n "$CUDA_VISIBLE_DEVICES" ] || exit 0',
            'case "$SLURMD_NODENAME" in',
            *(f"{name}) set -- {own} ;;" for name, own in numbers.items()),
            "esac",
            'for place in $(echo "$CUDA_VISIBLE_DEVICES" | tr , " "); do eval "found=$found,\\${$((place + 1))}"; done',
            'echo "export CUDA_VISIBLE_DEVICES=${found#,}"',
        ]
        return "\n".join(lines) + "\n"

    def _gres(self, name: str) -> str:
        return f"Gres=gpu:{len(self.gpus[name])}" if self.gpus[name] else ""

    def _start(self) -> None:
        key = self.folder / "munge.key"
        key.touch(mode=0o400)
        key.chmod(0o600)
        key.write_bytes(secrets.token_bytes(128))
        own = {"socket": "munge.socket", "key-file": "munge.key", "log-file": "munge.log", "pid-file": "munge.pid", "seed-file": "munge.seed"}
        self._run("munged", "--foreground", "--force", "--num-threads=2", *(f"--{option}={self.folder / name}" for option, name in own.items()))
        self.wait((self.folder / "munge.socket").exists, "munged")
        self._run("slurmctld", "-D", "-i", "-f", str(self.configuration))
        for name in NODES:
            self._run("slurmd", "-D", "-N", name, "-f", str(self.configuration))
        self.wait(lambda: self.states() == dict.fromkeys(NODES, "idle"), "slurmctld and slurmd")

    def _run(self, program: str, *arguments: str) -> None:
        with (self.folder / f"{program}.out").open("ab") as out:
            command = [str(found(program)), *arguments]
            self._processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.environment, start_new_session=True))

    def states(self) -> dict[str, str]:
        """Ask sinfo what each node is at."""
        asked = self.ask("sinfo", "--noheader", "--Node", "--partition=batch", "--format=%N %T", check=False)
        return dict(line.split()[:2] for line in asked.splitlines() if len(line.split()) == 2)  # type: ignore[misc]

    def ask(self, *command: str, check: bool = True, **options: object) -> str:
        """Run a command of Slurm's, and give what it prints."""
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, **options)  # type: ignore[call-overload]
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr}")
        return str(done.stdout)

    def job(self, number: str) -> dict[str, str]:
        """Ask scontrol about a job."""
        words = self.ask("scontrol", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)

    def wait_for(self, number: str, *states: str) -> dict[str, str]:
        """Wait until a job is in one of these states, or over."""
        wanted = set(states) or OVER
        self.wait(lambda: self.job(number)["JobState"] in wanted | OVER, f"job {number}", 10 * PATIENCE)
        return self.job(number)

    def wait(self, ready: Callable[[], bool], what: str, patience: float = PATIENCE) -> None:
        """Wait until something is so. RuntimeError with the last lines of all logs where it never is, or a daemon has ended."""
        end = time.monotonic() + patience
        while not ready():
            ended = [process.args for process in self._processes if process.poll() is not None]
            if ended or time.monotonic() > end:
                logs = {path.name: path.read_text(errors="replace")[-1500:] for path in sorted(self.folder.glob("*.log")) + sorted(self.folder.glob("*.out"))}
                raise RuntimeError(f"{what} not ready; ended: {ended}; logs: {logs}")
            time.sleep(0.1)

    def close(self) -> None:
        """End all jobs, then the daemons."""
        if len(self._processes) == 2 + len(NODES):
            self.ask("scancel", "--user=root", check=False)
            end = time.monotonic() + 20
            while self.ask("squeue", "--noheader", check=False).strip() and time.monotonic() < end:
                time.sleep(0.2)
        for process in reversed(self._processes):
            process.terminate()
        for process in reversed(self._processes):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_ports(count: int) -> list[int]:
    """Find ports of this machine that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


if __name__ == "__main__":
    began = time.monotonic()
    site = Site(Path(sys.argv[1]).absolute(), gpus=gpus())
    try:
        print(f"ready after {time.monotonic() - began:.1f} s: export SLURM_CONF={site.configuration}", flush=True)
        time.sleep(1e6 if len(sys.argv) < 3 else float(sys.argv[2]))
    except KeyboardInterrupt:
        pass
    finally:
        site.close()
