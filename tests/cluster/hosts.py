"""Hosts on this machine: network namespaces with names and addresses of their own, on a switch that any of them can be pulled from."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml
from ending import wait_until

from tidalign.cluster.private import credentials, keep

HERE = str(Path(__file__).parent)

PORT = 8786

_NAMED = 'hostname "$1"; shift; exec "$@"'


def objection() -> str | None:
    """Say what keeps hosts from being made here, or None."""
    if missing := [program for program in ("ip", "unshare", "hostname") if not shutil.which(program)]:
        return f"{', '.join(missing)} not found"
    if os.geteuid() != 0:
        return "network namespaces are root's to make"
    trial = f"trial-{os.getpid()}"
    if (made := subprocess.run(["ip", "netns", "add", trial], capture_output=True, text=True, check=False)).returncode:
        return f"no network namespace can be made: {made.stderr.strip()}"
    _ip("netns", "del", trial)
    return None


def _ip(*words: str) -> str:
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True).stdout


class Hosts:
    """As many hosts, which reach each other and nothing else. `close` ends what runs on them.

    environment: of their processes, whose Dask speaks TLS with a key made for them.
    """

    def __init__(self, folder: Path, count: int = 2) -> None:
        self.folder = folder
        self.names = [f"host{number}" for number in range(count)]
        self.addresses = {name: f"10.97.0.{number + 1}" for number, name in enumerate(self.names)}
        self._switch = f"{os.getpid()}-switch"
        self._processes: list[subprocess.Popen[bytes]] = []
        self._secure()
        _ip("netns", "add", self._switch)
        _ip("-n", self._switch, "link", "add", "switch", "type", "bridge", "forward_delay", "0")
        _ip("-n", self._switch, "link", "set", "switch", "up")
        for name in self.names:
            self._add(name)

    def _secure(self) -> None:
        own = self.folder / "dask"
        own.mkdir(mode=0o700)
        settings: dict[str, Any] = {}
        for name, value in keep(credentials(), own).items():
            *path, last = name.split(".")
            place = settings
            for word in path:
                place = place.setdefault(word, {})
            place[last] = value
        (own / "dask.yaml").write_text(yaml.safe_dump(settings))
        path = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")} | {"DASK_CONFIG": str(own), "PYTHONPATH": path}

    def _space(self, name: str) -> str:
        return f"{os.getpid()}-{name}"

    def _add(self, name: str) -> None:
        space = self._space(name)
        _ip("netns", "add", space)
        _ip("-n", space, "link", "add", "net0", "type", "veth", "peer", "name", name, "netns", self._switch)
        _ip("-n", space, "addr", "add", f"{self.addresses[name]}/24", "dev", "net0")
        for link in ("lo", "net0"):
            _ip("-n", space, "link", "set", link, "up")
        _ip("-n", self._switch, "link", "set", name, "up")
        self.join(name)

    def cut(self, name: str) -> None:
        """Let nothing through to and from a host; nobody is told."""
        _ip("-n", self._switch, "link", "set", name, "nomaster")

    def join(self, name: str) -> None:
        """Let it through again."""
        _ip("-n", self._switch, "link", "set", name, "master", "switch")

    def lose(self, name: str) -> None:
        """Have a host gone: all that runs there ends at once, and says no word to the others."""
        self.cut(name)
        for pid in _ip("netns", "pids", self._space(name)).split():
            os.kill(int(pid), signal.SIGKILL)

    def on(self, name: str, *command: str) -> list[str]:
        """Give the command line that runs a command on a host."""
        return ["ip", "netns", "exec", self._space(name), "unshare", "--uts", "sh", "-c", _NAMED, "sh", name, *command]

    def run(self, name: str, *command: str, log: str, pipe: bool = False, **environment: str) -> "subprocess.Popen[bytes]":
        """Start a command on a host; what it writes is added to a file of the folder. pipe: to its standard input."""
        with (self.folder / log).open("ab") as out:
            given = subprocess.PIPE if pipe else subprocess.DEVNULL
            process = subprocess.Popen(self.on(name, *command), cwd=self.folder, env=self.environment | environment, stdin=given, stdout=out, stderr=out)
        self._processes.append(process)
        return process

    @property
    def scheduler_address(self) -> str:
        """Where the scheduler of the first host listens."""
        return f"tls://{self.addresses[self.names[0]]}:{PORT}"

    def scheduler(self) -> "subprocess.Popen[bytes]":
        """Start a scheduler on the first host; returns when it listens."""
        name = self.names[0]
        words = ("-m", "dask", "scheduler", "--host", self.addresses[name], "--port", str(PORT), "--protocol", "tls", "--no-dashboard", "--no-show")
        process = self.run(name, sys.executable, *words, "--dashboard-address", "127.0.0.1:0", log="scheduler.log")
        wait_until(lambda: f":{PORT} " in self._listeners(name), process)
        return process

    def _listeners(self, name: str) -> str:
        return "".join(
            f":{int(line.split()[1].rpartition(':')[2], 16)} "
            for line in subprocess.run(
                ["ip", "netns", "exec", self._space(name), "cat", "/proc/net/tcp"], capture_output=True, text=True, check=True
            ).stdout.splitlines()[1:]
            if line.split()[3] == "0A"
        )

    def worker(self, name: str, **environment: str) -> "subprocess.Popen[bytes]":
        """Start a worker of the scheduler, with its nanny, on a host."""
        return self.run(
            name, sys.executable, "-m", "dask", "worker", self.scheduler_address, "--nthreads", "1", "--no-dashboard", log=f"worker.{name}.log", **environment
        )

    def close(self) -> None:
        """End all that runs there, and the hosts."""
        for name in self.names:
            self.lose(name)
        for process in self._processes:
            process.wait()
        for name in self.names:
            _ip("netns", "del", self._space(name))
        _ip("netns", "del", self._switch)
