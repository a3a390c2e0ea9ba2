"""The nodes of an allocation: a scheduler in this process, and workers on every node, started by the batch system.

As dask-jobqueue's SLURMRunner, but that the command itself is the one that starts the others: it runs once, in the job's script or an interactive shell.
"""

import asyncio
import ipaddress
import json
import logging
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from tidalign.cluster import forks
from tidalign.cluster.allocation import script
from tidalign.cluster.allocation.processors import CROWDED
from tidalign.cluster.allocation.systems import SYSTEMS, Allocation, starter_of
from tidalign.cluster.errors import ClusterLost, NoWorkers

JOIN_SECONDS = 120.0
"""Seconds for the first worker of an allocation to join: Python and its libraries may come from a slow file system."""

LATE_JOIN_SECONDS = 10.0
"""Seconds more for those of the other nodes; who joins later is used all the same."""

MISSED_SECONDS = 30.0
"""Seconds without a worker of a node after which that is told: those that die are started again in less."""

LEAVE_SECONDS = 20.0
"""Seconds in which workers end once their work is over; Slurm kills 30 s (KillWait) after it asked."""

DEATH_SECONDS = 60.0
"""Seconds without an answer of the scheduler after which what runs on a node ends, where it reads no input that ends with this process."""


@dataclass
class Starter:
    """Holds what started others on the nodes, and ends when they do. folder: where it and they write what they say, each into a file of its own."""

    name: str
    folder: Path
    processes: "list[subprocess.Popen[bytes]]" = field(default_factory=list)

    def start(self, lines: Sequence[Sequence[str]], *, holds_input: bool) -> None:
        """Run the command lines that start a program on each node."""
        given = subprocess.PIPE if holds_input else subprocess.DEVNULL
        # They go to all processes of a job, and what is ended may end what it started. srun has a say of its own in them.
        unmasked = signal.pthread_sigmask(signal.SIG_BLOCK, set() if holds_input else {signal.SIGTERM, *forks.OF_TERMINALS, *forks.OF_JOBS})
        try:
            with (self.folder / f"{self.name}.log").open("wb") as said:
                for line in lines:
                    # Ctrl-C of a terminal is for this process alone: it lets workers finish.
                    self.processes.append(subprocess.Popen(line, stdin=given, stdout=said, stderr=said, start_new_session=True))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, unmasked)

    def over(self) -> bool:
        """Tell whether nothing runs any more of what it started."""
        return all(process.poll() is not None for process in self.processes)

    def end(self) -> None:
        """Close its standard input, and wait; it is killed where that takes long."""
        until = time.monotonic() + LEAVE_SECONDS
        for process in self.processes:
            if process.stdin:
                with suppress(OSError):
                    process.stdin.close()
        for process in self.processes:
            try:
                process.wait(max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def said(self) -> str:
        """Give the last line that it, or what it started, said."""
        files = sorted(self.folder.glob("*.log"), key=lambda file: file.stat().st_mtime, reverse=True)
        lines = (line.strip() for file in files for line in reversed(file.read_text(errors="replace").split("\n")))
        return next(filter(None, lines), "it said nothing")[:120]


class Nodes:
    """Watches the nodes of an allocation, whose workers are those of a scheduler that was started for them."""

    def __init__(self, allocation: Allocation, cluster: Any, starter: Starter) -> None:
        self.address = str(cluster.scheduler_address)
        self._job, self._cluster, self._starter = allocation.job, cluster, starter
        self._late_at, self._nodes = time.monotonic() + JOIN_SECONDS, allocation.nodes
        self._seen = dict[str, float]()
        self._missed, self._asked = set[str](), set[str]()

    def live(self) -> set[str]:
        """Name the nodes that have workers."""
        return {worker.name.rpartition("-")[0] for worker in list(self._cluster.scheduler.workers.values()) if isinstance(worker.name, str)}

    def _said_by(self, node: str) -> str | None:
        """Read what a node wrote of too few processors."""
        with suppress(OSError):
            return (self._starter.folder / f"{node}{CROWDED}").read_text()
        return None

    def look(self) -> None:
        """Warn of nodes with too few processors, or whose workers are gone, or never came. ClusterLost where all are gone, and none will come back."""
        live, now = self.live(), time.monotonic()
        self._seen |= dict.fromkeys(live, now)
        self._missed -= live
        if not live and self._starter.over():
            ended = f"{self._starter.name} has ended: {self._starter.said()}"
            raise ClusterLost(f"no node of job {self._job} has workers any more, and {ended}; run the same command again to resume")
        warn, goes_on = logging.getLogger("tidalign").warning, "the run goes on with those of other nodes"
        if crowded := [text for node in sorted(live - self._asked) if (text := self._said_by(node))]:
            warn("%s%s", crowded[0], f" (so it is on {len(crowded)} nodes)" * (len(crowded) > 1))
        self._asked |= live
        if now > self._late_at:
            self._late_at = math.inf  # it is told once
            if lacking := self._nodes - len(self._seen):
                warn("%d of the %d nodes of job %s have had no workers so far (%s); %s", lacking, self._nodes, self._job, self._starter.said(), goes_on)
        for node in sorted(node for node, last in self._seen.items() if node not in self._missed and now - last > MISSED_SECONDS):
            self._missed.add(node)
            warn("node %s of job %s has had no workers for %.0f s; %s", node, self._job, MISSED_SECONDS, goes_on)


@contextmanager
def started(allocation: Allocation, folder: str, modules: Sequence[str]) -> Iterator[Nodes]:
    """Start workers on all nodes, for as long as the context lasts; gives the nodes, and the address of their scheduler, which Dask's configuration has the
    certificates for.

    folder: one that all nodes see; certificates lie below it, in a folder of this user's alone, until the end. modules: that tasks need.
    Raises NoWorkers where none joins, with what was said by the program that starts them.
    """
    starter = starter_of(allocation)
    import dask

    from tidalign.cluster.private import credentials, keep

    with ExitStack() as stack:
        security = credentials()
        try:  # 0700; it is removed at the end of the process, too, where that does not wait for this
            where = Path(folder).absolute()  # a node's working folder may be another
            own = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=".tidalign-cluster-", dir=where, ignore_cleanup_errors=True)))
            settings = keep(security, own)
        except OSError as error:
            raise NoWorkers(
                f"{folder}: no folder for the keys of workers can be made there, which all nodes see: {error.strerror}; "
                "choose another place with -o, or give --cluster none to use this node alone"
            ) from error
        stack.enter_context(dask.config.set(settings))
        cluster = stack.enter_context(_scheduler(security, address_of_node()))
        _tell(allocation, own, cluster.scheduler_address, modules)
        yield stack.enter_context(_workers(allocation, Starter(starter, own), cluster))


def _tell(allocation: Allocation, own: Path, address: str, modules: Sequence[str]) -> None:
    """Write down what node.py is to know. patience: seconds that it waits for a scheduler that does not answer; None: it ends with its standard input."""
    said = {"address": address, "modules": list(modules)} | {name: getattr(allocation, name) for name in ("gpus", "each", "shared", "cores")}
    more = {"hosts": Counter(allocation.hosts), "patience": None if SYSTEMS[allocation.system].holds_input else DEATH_SECONDS}
    (own / "scheduler.json").write_text(json.dumps(said | more))


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
def _workers(allocation: Allocation, starter: Starter, cluster: Any) -> Iterator[Nodes]:
    """Start node.py on each node. It ends when its standard input does, or the scheduler says so, and in both cases also when this process dies."""
    system, over = SYSTEMS[allocation.system], asyncio.Event()
    cluster.scheduler.handlers["over"] = over.wait
    program = [sys.executable, "-P", "-m", "tidalign.cluster.allocation.node", str(starter.folder)]
    if not system.holds_input:
        program = ["/bin/sh", str(script.write(starter.folder, program))]
    try:
        starter.start(system.starters[starter.name](allocation, program), holds_input=system.holds_input)
        found = Nodes(allocation, cluster, starter)
        _await(allocation, found, starter)
        found.look()
        yield found
    finally:
        cluster.loop.add_callback(over.set)
        starter.end()


def _await(allocation: Allocation, nodes: Nodes, starter: Starter) -> None:
    """Wait for workers: for the first one, then a little for a node's that is late."""
    began = first = time.monotonic()
    while True:
        live = nodes.live()
        now = time.monotonic()
        if len(live) >= allocation.nodes or (live and now - first > LATE_JOIN_SECONDS):
            return
        if not live:
            first = now
            if starter.over() or now - began > JOIN_SECONDS:
                what = f"{starter.name} started no workers on the {allocation.nodes} nodes of job {allocation.job}"
                raise NoWorkers(f"{what}: {starter.said()}; --cluster none uses this node alone")
        time.sleep(0.05)
