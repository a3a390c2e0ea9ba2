"""A scheduler and workers of somebody else, as a user starts them by hand."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from distributed import Client
from ending import wait_until

HERE = str(Path(__file__).parent)

PATIENCE = 600.0
"""Seconds in which a scheduler answers on the busiest machine."""

_QUIET = ("--no-dashboard", "--dashboard-address", "127.0.0.1:0")


class External:
    """`dask scheduler` and `dask worker` processes on ports of their own."""

    def __init__(self, folder: Path, protocol: str = "tcp") -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"{protocol}://127.0.0.1:{self.port}"
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.restart()

    def restart(self) -> None:
        """Start a scheduler on the port; returns when it listens."""
        self.scheduler = self._dask("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--protocol", self.address.partition(":")[0], *_QUIET)
        wait_until(self._listens, self.scheduler)

    def _listens(self) -> bool:
        with socket.socket() as trial:
            return trial.connect_ex(("127.0.0.1", self.port)) == 0

    def wait_for_workers(self, count: int) -> None:
        """Wait until so many have joined: a busy machine takes longer than who connects waits."""
        with Client(self.address, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(count)

    def worker(self, *options: str, command: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """Start a worker of the scheduler; `command` is what starts it."""
        return self._dask("worker", self.address, "--no-dashboard", *(options or ("--nthreads", "1")), command=command)

    def cuda_worker(self) -> subprocess.Popen[bytes]:
        """Start what `dask cuda worker` starts: a worker for each GPU."""
        return self._start("cuda-worker", sys.executable, "-m", "dask_cuda.cli", self.address, "--no-dashboard", "--nthreads", "1")

    def _dask(self, *words: str, command: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        return self._start(words[0], *command, sys.executable, "-m", "dask", *words)

    def _start(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{name}-{len(self._processes)}.log").open("wb")
        with log:
            environment = os.environ | {"PYTHONPATH": os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])}
            process = subprocess.Popen(command, cwd=self._folder, stdout=log, stderr=log, env=environment)
        self._processes.append(process)
        return process

    def close(self) -> None:
        """End workers, then their scheduler, without which they would take long."""
        for group in ([process for process in self._processes if process is not self.scheduler], [self.scheduler]):
            for process in group:
                process.terminate()
            for process in group:
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
