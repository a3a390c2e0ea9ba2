"""A scheduler that somebody else started: connect to it, and see that its workers can do what we ask of them."""

import hashlib
import platform
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from distributed import Client

import tidalign
from tidalign.cluster.dispatch.backlog import Backlog
from tidalign.cluster.errors import ClusterLost, NoWorkers
from tidalign.cluster.given import KnownAddress
from tidalign.cluster.gpus import TASKS_OF_A_GPU

CONNECT_TIMEOUT = 30.0
"""Seconds to reach a scheduler, at the start or again after it went away, and for its first worker to appear."""

LOST_SECONDS = 2 * CONNECT_TIMEOUT
"""Seconds without a scheduler after which the client that looks for it is given up: it closes by itself where nobody listens."""

CLOSE_TIMEOUT = 20.0
"""Seconds that closing may take before worker processes are killed; results are on disk by then."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the scheduler at an address, for as long as the context lasts.

    Raises NoWorkers, and ClusterLost where the scheduler was there and goes away.
    """
    was_there = _listens(address)
    try:
        security = {"security": address.security} if isinstance(address, KnownAddress) and address.security else {}
        client = _client(address, **security)
    except (OSError, ValueError, RuntimeError) as error:
        if was_there and not _listens(address):
            raise _lost(address) from error
        raise NoWorkers(f"{address}: no Dask scheduler answers there ({error}); start one with `dask scheduler`") from error
    try:
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=CLOSE_TIMEOUT)
        client.status = "closed"  # one that could not be would be waited for once more when the process ends


@contextmanager
def with_workers(client: Any, address: str) -> Iterator[None]:
    """Wait until a scheduler has a worker, and have it want one while the context lasts: an adaptive cluster that nobody wants anything of starts none,
    or takes away those that it has. NoWorkers where none comes, ClusterLost where the scheduler goes away."""
    wanted = Backlog(client)
    with answering(client):
        wanted.show(1)
        try:
            client.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
        except TimeoutError as error:
            raise NoWorkers(
                f"{address}: the scheduler has no workers, and none came in {CONNECT_TIMEOUT:.0f} s; start some with `dask worker {address} --nthreads 1`; "
                "an adaptive cluster that takes longer keeps some from the start with adapt(minimum=1)"
            ) from error
    try:
        yield
    finally:
        with suppress(Exception):
            wanted.show(0)


def begun(call: Callable[[], Any]) -> "Future[Any]":
    """Begin a call in a thread that may be left behind."""
    made: Future[Any] = Future()

    def make() -> None:
        try:
            made.set_result(call())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=make, daemon=True).start()
    return made


def _client(address: str, **security: Any) -> Any:
    """Make a client in bounded time: Dask waits for ever for a word of what takes its connection."""
    try:
        return begun(lambda: cast("Any", Client)(address, timeout=CONNECT_TIMEOUT, set_as_default=False, **security)).result(2 * CONNECT_TIMEOUT)
    except TimeoutError as error:
        raise OSError(f"what listens there said nothing for {2 * CONNECT_TIMEOUT:.0f} s") from error


class Seeking:
    """Finds a scheduler again whose client has been neither connected nor closed for `LOST_SECONDS`, as Dask's stays where whoever took its connection says
    nothing, or where it met a fault. connect: gives another client."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect, self._since = connect, 0.0
        self._coming: Future[Any] | None = None

    def look(self, client: Any) -> Any:
        """Give the client, or another one once that is there. ClusterLost where the scheduler does not answer."""
        if client.status in ("running", "closed"):
            self._since, self._coming = 0.0, None
            return client
        self._since = self._since or time.monotonic()
        if not self._coming and time.monotonic() - self._since > LOST_SECONDS:
            self._coming = begun(self._connect)
        if not (self._coming and self._coming.done()):
            return client
        try:
            return self._coming.result()
        except NoWorkers as error:
            raise ClusterLost("the scheduler went away and did not come back; run the same command again to resume") from error


def _listens(address: str) -> bool:
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError:
        return False
    return True


def _lost(address: str) -> ClusterLost:
    return ClusterLost(f"{address}: the scheduler went away; run the same command again to resume")


@contextmanager
def answering(client: Any) -> Iterator[None]:
    """Raise ClusterLost where the scheduler goes away while it is asked something, whatever Dask makes of that."""
    try:
        yield
    except (OSError, CancelledError) as error:
        raise _lost(client.scheduler.address) from error
    except (NoWorkers, ClusterLost):
        raise
    except Exception as error:
        if client.status == "running":
            raise
        raise _lost(client.scheduler.address) from error


def package_digest() -> str:
    """Compute SHA-256 over the Python and CUDA sources of the installed tidalign: workers must run the same ones."""
    root = Path(next(iter(tidalign.__path__)))
    digest = hashlib.sha256()
    for folder in ("kernels", "pipeline", "cluster", "workflows"):
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in (".py", ".cu", ".cuh")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def unfit(client: Any, workers: Collection[str]) -> dict[str, str | None]:
    """Find what keeps each of the workers from doing what we ask, or None; of those that leave meanwhile nothing is said.

    Raises NoWorkers where the scheduler cannot: functions pass through it.
    """
    threads, versions = client.nthreads(), client.get_versions()
    ours = {"python": platform.python_version_tuple()[:2], "distributed": tuple(version("distributed").split("."))}

    def differs(found: Any) -> str | None:
        theirs = {"python": tuple(found["host"]["python"].split(".")[:2]), "distributed": tuple(found["packages"]["distributed"].split("."))}
        different = [f"has {name} {'.'.join(theirs[name])}, this process {'.'.join(ours[name])}" for name in ours if ours[name] != theirs[name]]
        return f"{different[0]}; install the same on both" if different else None

    # Defined inside a function, and so sent by value to where there may be no tidalign.
    def digest() -> str | None:
        try:
            from tidalign.cluster.others import package_digest
        except ImportError:
            return None
        return package_digest()

    def seen(dask_worker: Any) -> tuple[bool, bool]:
        import os

        return dask_worker.nanny is not None, bool(os.environ.get("CUDA_VISIBLE_DEVICES"))

    wanted = package_digest()

    def other(found: Any) -> str | None:
        if found == wanted:
            return None
        state = "has no tidalign" if found is None else f"could not be examined ({found!r})" if isinstance(found, Exception) else "has another tidalign"
        return f"{state}; install tidalign {version('tidalign')} in the environment it runs in, then start it again"

    # Versions are asked for without running code of ours: functions do not travel between versions of Python.
    if trouble := differs(versions["scheduler"]) or other(client.run_on_scheduler(digest)):
        raise NoWorkers(f"the scheduler {trouble}")
    said = {worker: differs(versions["workers"][worker]) for worker in workers if worker in versions["workers"] and worker in threads}
    same = [worker for worker, trouble in said.items() if not trouble]
    digests, looks = (client.run(function, workers=same, on_error="return") if same else {} for function in (digest, seen))
    for worker in same:
        nanny, gpu = looks[worker] if isinstance(looks[worker], tuple) else (True, False)
        if threads[worker] > (TASKS_OF_A_GPU if gpu else 1):
            said[worker] = f"runs {threads[worker]} tasks at a time; start workers with `--nthreads 1` and one process for each core, or each GPU"
        elif isinstance(digests[worker], OSError):
            del said[worker]
        elif trouble := other(digests[worker]):
            said[worker] = trouble
        elif not nanny:
            said[worker] = "has no nanny to start it again when it dies; start it without `--no-nanny`"
    return said
