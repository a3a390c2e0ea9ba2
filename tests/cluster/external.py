"""A scheduler and workers of somebody else, as a user starts them by hand."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

HERE = str(Path(__file__).parent)


class External:
    """`dask scheduler` and `dask worker` processes on ports of their own."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        self.restart()

    def restart(self) -> None:
        """A scheduler on the port."""
        self.scheduler = self._dask("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--dashboard-address", "127.0.0.1:0")
        for _ in range(200):
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.1)
        raise TimeoutError("the scheduler did not start")

    def worker(self, *options: str, command: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """A worker of the scheduler; `command` is what starts it."""
        return self._dask("worker", self.address, "--no-dashboard", *(options or ("--nthreads", "1")), command=command)

    def cuda_worker(self) -> subprocess.Popen[bytes]:
        """What `dask cuda worker` starts: a worker for each card."""
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
        for process in self._processes[::-1]:
            process.terminate()
        for process in self._processes[::-1]:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
