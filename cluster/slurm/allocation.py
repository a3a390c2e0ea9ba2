"""A Slurm allocation of several nodes: a scheduler in this process, and workers on every node, started by srun.

As dask-jobqueue's SLURMRunner, but that the command itself is the one that starts the others: it runs once, in the job's script or the shell of salloc.
"""

import ipaddress
import json
import logging
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tidalign.cluster.errors import ClusterLost, NoWorkers

JOIN_SECONDS = 120.0
"""Seconds for the first worker of an allocation to join: Python and its libraries may come from a slow file system."""

LATE_JOIN_SECONDS = 10.0
"""Seconds more for those of the other nodes; who joins later is used all the same."""

MISSED_SECONDS = 30.0
"""Seconds without a worker of a node after which that is told: those that die are started again in less."""

LEAVE_SECONDS = 20.0
"""Seconds in which workers end once their work is over; Slurm kills 30 s (KillWait) after it asked."""

_INTERACTIVE = ("4294967290", "-6")
"""SLURM_STEP_ID of the shell that salloc opens on a node."""


@dataclass(frozen=True, slots=True)
class Allocation:
    """The nodes of a job of Slurm's. gpus: a worker for each GPU of a node, or for the first `each` of them, and so many on `cores` beside these; else a worker
    for each of its processors."""

    job: str
    nodes: int
    gpus: bool = False
    each: int | None = None
    cores: int = 0


def allocation(environment: Mapping[str, str] = os.environ) -> Allocation | None:
    """Find the allocation whose nodes are this process's to use: one of several nodes, in the script of the job or the shell of salloc.

    None elsewhere: with one node, which is used as any machine, and inside a step of srun's, which starts as many processes as it was told.
    """
    job, nodes, step = (environment.get(name, "") for name in ("SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_STEP_ID"))
    if not job or not nodes.isascii() or not nodes.isdigit() or int(nodes) < 2 or (step and step not in _INTERACTIVE):
        return None
    return Allocation(job, int(nodes))


class Nodes:
    """Watches the nodes of an allocation, whose workers are those of a scheduler that was started for them."""

    def __init__(self, allocation: Allocation, cluster: Any, srun: "subprocess.Popen[bytes]", log: Path) -> None:
        self.address = str(cluster.scheduler_address)
        self._job, self._cluster, self._srun, self._log = allocation.job, cluster, srun, log
        self._late_at, self._nodes = time.monotonic() + JOIN_SECONDS, allocation.nodes
        self._seen = dict[str, float]()
        self._missed = set[str]()

    def live(self) -> set[str]:
        """Name the nodes that have workers."""
        return {worker.name.rpartition("-")[0] for worker in list(self._cluster.scheduler.workers.values()) if isinstance(worker.name, str)}

    def look(self) -> None:
        """Warn of nodes whose workers are gone, or never came. ClusterLost where all are gone, and none will come back."""
        live, now = self.live(), time.monotonic()
        self._seen |= dict.fromkeys(live, now)
        self._missed -= live
        if not live and self._srun.poll() is not None:
            raise ClusterLost(f"no node of job {self._job} has workers any more, and srun has ended: {self.said()}; run the same command again to resume")
        warn, goes_on = logging.getLogger("tidalign").warning, "the run goes on with those of other nodes"
        if now > self._late_at:
            self._late_at = math.inf  # it is told once
            if lacking := self._nodes - len(self._seen):
                warn("%d of the %d nodes of job %s have had no workers so far (%s); %s", lacking, self._nodes, self._job, self.said(), goes_on)
        for node in sorted(node for node, last in self._seen.items() if node not in self._missed and now - last > MISSED_SECONDS):
            self._missed.add(node)
            warn("node %s of job %s has had no workers for %.0f s; %s", node, self._job, MISSED_SECONDS, goes_on)

    def said(self) -> str:
        """Give the last line that srun, or what it started, said."""
        lines = self._log.read_text(errors="replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")[:120]


@contextmanager
def started(allocation: Allocation, folder: str, modules: Sequence[str]) -> Iterator[Nodes]:
    """Start workers on all nodes, for as long as the context lasts; gives the nodes, and the address of their scheduler, which Dask's configuration has the
    certificates for.

    folder: one that all nodes see; certificates lie below it, in a folder of this user's alone, until the end. modules: that tasks need.
    Raises NoWorkers where none joins, with what srun said.
    """
    if not shutil.which("srun"):
        raise NoWorkers(f"job {allocation.job} has {allocation.nodes} nodes, and srun is not found; set PATH to Slurm's commands, or give --cluster none")
    import dask

    from tidalign.cluster.private import credentials, keep

    with ExitStack() as stack:
        security = credentials()
        try:  # 0700; it is removed at the end of the process, too, where that does not wait for this
            own = stack.enter_context(tempfile.TemporaryDirectory(prefix=".tidalign-cluster-", dir=folder, ignore_cleanup_errors=True))
            settings = keep(security, Path(own))
        except OSError as error:
            raise NoWorkers(
                f"{folder}: no folder for the keys of workers can be made there, which all nodes see: {error.strerror}; "
                "choose another place with -o, or give --cluster none to use this node alone"
            ) from error
        stack.enter_context(dask.config.set(settings))
        cluster = stack.enter_context(_scheduler(security, address_of_node()))
        Path(own, "scheduler.json").write_text(
            json.dumps(
                {"address": cluster.scheduler_address, "modules": list(modules), "gpus": allocation.gpus, "each": allocation.each, "cores": allocation.cores}
            )
        )
        yield stack.enter_context(_workers(allocation, own, cluster))


def address_of_node(environment: Mapping[str, str] = os.environ) -> str:
    """Give the address at which the other nodes reach this one: what Slurm itself uses, but for a name that means this machine alone."""
    from distributed.utils import get_ip

    name, said = environment.get("SLURMD_NODENAME"), ""
    if name and shutil.which("scontrol"):
        shown = subprocess.run(["scontrol", "--oneliner", "show", "node", name], capture_output=True, text=True, check=False).stdout
        said = next((word.partition("=")[2] for word in shown.split() if word.startswith("NodeAddr=")), "")
    with suppress(ValueError):
        return str(ipaddress.ip_address(said))
    with suppress(OSError):
        found = socket.gethostbyname(said or socket.gethostname())
        if not ipaddress.ip_address(found).is_loopback:
            return found
    return str(cast("Any", get_ip)())


@contextmanager
def _scheduler(security: Any, host: str) -> Iterator[Any]:
    from distributed import SpecCluster

    from tidalign.cluster.private import with_mute_scheduler

    spec = {"cls": None, "options": {"host": host, "protocol": "tls", "dashboard": False, "security": security}}
    try:
        cluster = with_mute_scheduler(SpecCluster)(workers={}, scheduler=spec, security=security, silence_logs=logging.CRITICAL)
    except (OSError, RuntimeError) as error:
        raise NoWorkers(f"no scheduler could be started at {host}: {error}; give --cluster none to use this node alone") from error
    try:
        yield cluster
    finally:
        closing = threading.Thread(target=_close, args=(cluster,), daemon=True)
        closing.start()
        closing.join(LEAVE_SECONDS)


def _close(cluster: Any) -> None:
    with suppress(Exception):
        cluster.close(timeout=LEAVE_SECONDS / 2)


@contextmanager
def _workers(allocation: Allocation, own: str, cluster: Any) -> Iterator[Nodes]:
    """Start node.py on each node, by srun. It ends when its standard input does, so also when this process dies."""
    nodes = str(allocation.nodes)
    layout = ("--nodes", nodes, "--ntasks", nodes, "--ntasks-per-node=1", "--overlap", "--no-kill", "--kill-on-bad-exit=0", "--wait=0", "--cpu-bind=none")
    log = Path(own, "srun.log")
    with log.open("wb") as said:
        # Ctrl-C of a terminal is for this process alone: it lets workers finish.
        command = ["srun", *layout, sys.executable, "-P", "-m", "tidalign.cluster.slurm.node", own]
        srun = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=said, stderr=said, start_new_session=True)
    try:
        found = Nodes(allocation, cluster, srun, log)
        _await(allocation, found, srun)
        yield found
    finally:
        if srun.stdin:
            with suppress(OSError):
                srun.stdin.close()
        try:
            srun.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            srun.kill()
            srun.wait()


def _await(allocation: Allocation, nodes: Nodes, srun: "subprocess.Popen[bytes]") -> None:
    """Wait for workers: for the first one, then a little for a node's that is late."""
    began = first = time.monotonic()
    while True:
        live = nodes.live()
        now = time.monotonic()
        if len(live) >= allocation.nodes or (live and now - first > LATE_JOIN_SECONDS):
            return
        if not live:
            first = now
            if srun.poll() is not None or now - began > JOIN_SECONDS:
                what = f"srun started no workers on the {allocation.nodes} nodes of job {allocation.job}"
                raise NoWorkers(f"{what}: {nodes.said()}; --cluster none uses this node alone")
        time.sleep(0.05)
