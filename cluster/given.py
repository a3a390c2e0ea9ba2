"""Take what a caller's own code holds of Dask, a `Client` or a cluster object, as the scheduler whose workers are used."""

from typing import TYPE_CHECKING, Any

from tidalign.cluster.errors import NoWorkers

if TYPE_CHECKING:
    from os import PathLike

    from distributed import Client
    from distributed.deploy.cluster import Cluster

    SchedulerLike = str | PathLike[str] | Client | Cluster | None
else:
    SchedulerLike = Any
"""What `scheduler=` takes."""


class KnownAddress(str):
    """The address of a scheduler that the caller is connected to already, or that it has started: it was chosen, and is talked to as it is by them."""

    security: Any = None
    """Their `distributed.Security`: with TLS the certificates."""


def scheduler_of(given: Any) -> str | None:
    """Read what `scheduler=` is given: an address or a file as text, a `pathlib.Path`, a `distributed.Client`, a cluster object, or None.

    Raises NoWorkers for one that is closed or not there, TypeError for anything else.
    """
    if given is None or isinstance(given, str):
        return given
    if hasattr(given, "__fspath__"):
        return str(given.__fspath__())
    client = hasattr(given, "scheduler_info") and hasattr(given, "submit")
    if not client and not hasattr(given, "scheduler_address"):
        raise TypeError(f"scheduler: expected the address or file of a Dask scheduler, a distributed.Client or a cluster, found {type(given).__name__}")
    kind = type(given).__name__
    if getattr(given, "asynchronous", False):
        raise TypeError(f"scheduler: expected a {kind} that is not asynchronous: this call blocks, and would block its event loop")
    found = (getattr(given.scheduler, "address", None) if client else given.scheduler_address) if _runs(given) else None
    if not found:
        raise NoWorkers(f"scheduler: the {kind} is closed or not connected; make a new one")
    if str(found).startswith("inproc://"):
        raise NoWorkers(f"scheduler: the {kind}'s workers are threads of this process, which one crash would end; make it with processes=True, or give none")
    known = KnownAddress(found)
    known.security = getattr(given, "security", None)
    return known


def _runs(given: Any) -> bool:
    return getattr(getattr(given, "status", None), "name", getattr(given, "status", None)) == "running"
