"""A scheduler that somebody else started: connect to it, and see that its workers can do what we ask of them."""

import hashlib
import platform
import socket
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

from distributed import Client

import tidalign
from tidalign.cluster.errors import ClusterLost, NoWorkers

CONNECT_TIMEOUT = 30.0
"""Seconds to reach a scheduler, at the start or again after it went away, and for its first worker to appear."""

CLOSE_TIMEOUT = 20.0
"""Seconds that closing may take before worker processes are killed; results are on disk by then."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Give a client of the scheduler at an address, whose workers can do what we ask of them, for as long as the context lasts.

    Raises NoWorkers, and ClusterLost where the scheduler was there and goes away.
    """
    was_there = _listens(address)
    try:
        client = cast("Any", Client)(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        if was_there and not _listens(address):
            raise _lost(address) from error
        raise NoWorkers(f"{address}: no Dask scheduler answers there ({error}); start one with `dask scheduler`") from error
    try:
        with answering(client):
            _examine(client, address)
        yield client
    finally:
        with suppress(Exception):
            client.close(timeout=CLOSE_TIMEOUT)


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
    """SHA-256 over the Python and CUDA sources of the installed tidalign: workers must run the same ones."""
    root = Path(next(iter(tidalign.__path__)))
    digest = hashlib.sha256()
    for folder in ("kernels", "pipeline", "cluster", "workflows"):
        for path in sorted(path for path in (root / folder).rglob("*") if path.suffix in (".py", ".cu", ".cuh")):
            digest.update(str(path.relative_to(root)).encode() + path.read_bytes())
    return digest.hexdigest()


def _examine(client: Any, address: str) -> None:
    """NoWorkers unless the scheduler has workers and each can do what we ask of it; functions pass through the scheduler, so it needs them as well. Of workers
    that leave meanwhile nothing is said."""
    try:
        client.wait_for_workers(1, timeout=CONNECT_TIMEOUT)
    except TimeoutError as error:
        raise NoWorkers(f"{address}: the scheduler has no workers; start some with `dask worker {address} --nthreads 1`") from error
    for address, threads in client.nthreads().items():
        if threads != 1:
            raise NoWorkers(f"worker {address} runs {threads} tasks at a time; start workers with `--nthreads 1` and one process for each core")
    # Asked without running code of ours: functions do not travel between versions of Python.
    versions = client.get_versions()
    ours = {"python": platform.python_version_tuple()[:2], "distributed": tuple(version("distributed").split("."))}
    for who, found in _named(versions["scheduler"], versions["workers"]):
        theirs = {"python": tuple(found["host"]["python"].split(".")[:2]), "distributed": tuple(found["packages"]["distributed"].split("."))}
        for name in ours:
            if ours[name] != theirs[name]:
                raise NoWorkers(f"{who} has {name} {'.'.join(theirs[name])}, this process {'.'.join(ours[name])}; install the same on both")

    # Defined inside a function, and so sent by value to where there may be no tidalign.
    def digest() -> str | None:
        try:
            from tidalign.cluster.others import package_digest
        except ImportError:
            return None
        return package_digest()

    def has_nanny(dask_worker: Any) -> bool:
        return dask_worker.nanny is not None

    wanted = package_digest()
    for who, found in _named(client.run_on_scheduler(digest), client.run(digest, on_error="return")):
        if found != wanted and not isinstance(found, OSError):
            state = "has no tidalign" if found is None else f"could not be examined ({found!r})" if isinstance(found, Exception) else "has another tidalign"
            raise NoWorkers(f"{who} {state}; install tidalign {version('tidalign')} in the environment it runs in, then start it again")
    for address, guarded in client.run(has_nanny, on_error="return").items():
        if guarded is False:
            raise NoWorkers(f"worker {address} has no nanny to start it again when it dies; start it without `--no-nanny`")


def _named(scheduler: Any, workers: dict[str, Any]) -> list[tuple[str, Any]]:
    return [("the scheduler", scheduler), *((f"worker {address}", found) for address, found in workers.items())]
