"""Start a server of `tidalign serve` for tests, and call `tidalign-lastz` with it, without it, and so that it must be used."""

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

LASTZ = [sys.executable, "-m", "tidalign.workflows.lastz"]

NOT_ALONE = 99
SERVED = f"""
import sys
from tidalign.workflows import lastz
lastz._alone = lambda: {NOT_ALONE}
sys.exit(lastz.main())
"""
"""Does a call, but for one that no server does."""


def environment(runtime: Path, **more: str) -> dict[str, str]:
    """Give the environment of a caller whose server, if there is one, is in this folder."""
    return {**os.environ, "XDG_RUNTIME_DIR": str(runtime), **more}


class Served:
    """Says where a server is, and makes calls with its environment."""

    def __init__(self, process: "psutil.Popen", surroundings: dict[str, str], log: Path) -> None:
        self.process, self.surroundings, self.log = process, surroundings, log

    def call(self, *words: object, alone: bool = False, must: bool = True, **options: Any) -> "subprocess.CompletedProcess[bytes]":
        """Make a call to its end. alone: without the server. must: it ends with `NOT_ALONE` if the server does not do it."""
        return ended(self.begin(*words, alone=alone, must=must, **options), options.get("input"))

    def begin(self, *words: object, alone: bool = False, must: bool = True, **options: Any) -> "subprocess.Popen[bytes]":
        """Begin a call."""
        given = dict(options)
        if given.pop("input", None) is not None:
            given["stdin"] = subprocess.PIPE
        surroundings = {**self.surroundings, **given.pop("env", {})}
        if alone:
            surroundings["XDG_RUNTIME_DIR"] = "/none"
        command = [sys.executable, "-c", SERVED] if must and not alone else LASTZ
        given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | given
        return subprocess.Popen([*command, *map(str, words)], env=surroundings, **given)

    def workers(self) -> list[psutil.Process]:
        """List its workers, ready or not."""
        return list(self.process.children())

    def ready(self) -> bool:
        """Tell whether it says that it can answer."""
        lock = Path(self.surroundings["XDG_RUNTIME_DIR"], "tidalign", "serve.lock")
        return self.process.poll() is None and lock.exists() and lock.read_text().startswith(f"{self.process.pid}\n(")

    def stop(self) -> "subprocess.CompletedProcess[bytes]":
        """Do `tidalign serve --stop`."""
        return subprocess.run([sys.executable, "-m", "tidalign", "serve", "--stop"], env=self.surroundings, capture_output=True, timeout=300)


def ended(process: "subprocess.Popen[bytes]", said: bytes | None = None) -> "subprocess.CompletedProcess[bytes]":
    """Wait for a call."""
    out, err = process.communicate(said, timeout=600)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


@contextmanager
def server(folder: Path, *words: str, ready: bool = True, **more: str) -> Iterator[Served]:
    """Have a server on cores, whose runtime folder is in `folder`, with these variables set, as its callers have them."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    surroundings, log = environment(runtime, **more), folder / "serve.log"
    with log.open("ab") as file:
        process = psutil.Popen([sys.executable, "-m", "tidalign", "serve", "--device", "cpu", *words], env=surroundings, stdout=file, stderr=file)
    served = Served(process, surroundings, log)
    try:
        if ready:
            until(lambda: served.ready() or process.poll() is not None)
            assert process.poll() is None, log.read_text()
        yield served
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(120)


def until(true: Any, what: Any = lambda: "", seconds: float = 600) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what()
        time.sleep(0.02)


def pair(folder: Path, letters: int = 2500, seed: int = 1) -> tuple[Path, Path]:
    """Write a target and a query that is like it in nine letters of ten."""
    rng = random.Random(seed)
    target = rng.choices("ACGT", k=letters)
    query = [rng.choice("ACGT") if rng.random() < 0.1 else letter for letter in target]
    return _written(folder / "target.fa", target), _written(folder / "query.fa", query)


def _written(path: Path, letters: Sequence[str]) -> Path:
    path.write_text(f">{path.stem}\n{''.join(letters)}\n")
    return path
