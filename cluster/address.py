"""Say which scheduler an address means, and whether we may talk to it: what a scheduler is sent, or sends, is run as code."""

import ipaddress
import json
import logging
import socket
from pathlib import Path
from typing import Any, cast

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.given import KnownAddress

EXPECTED = "expected the address of a Dask scheduler, as tls://host:8786, or a scheduler file"


def address_of(scheduler: str, *, insecure: bool = False) -> str:
    """Give the address, with scheme, host and port, that `--scheduler` says, or the scheduler file that it names.

    insecure: allow another machine without TLS, and do not warn of this one.
    Raises NoWorkers for what is no address, for another machine without TLS, for TLS without certificates, and where Dask is to use TLS and is not. The
    scheduler is not asked.
    """
    if isinstance(scheduler, KnownAddress):
        return scheduler
    import dask  # by none who have no scheduler

    address = scheduler if "://" in scheduler or not Path(scheduler).exists() else _in_file(scheduler)
    scheme, separated, place = address.rpartition("://")
    host, _, port = place.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535 or (separated and scheme not in ("tcp", "tls")):
        raise NoWorkers(f"{scheduler}: {EXPECTED}")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NoWorkers(f"{scheduler}: no machine of that name is known ({error}); {EXPECTED}") from error
    if scheme == "tls":
        _see_certificates(scheduler)
    elif dask.config.get("distributed.comm.require-encryption", None):
        raise NoWorkers(f"{scheduler}: Dask's configuration requires encryption (distributed.comm.require-encryption); give tls://{place}")
    elif not insecure:
        _see_who_else(scheduler, place, all(ipaddress.ip_address(str(each[4][0]).partition("%")[0]).is_loopback for each in found))
    return f"{scheme or 'tcp'}://{place}"


def _see_who_else(scheduler: str, place: str, here: bool) -> None:
    """Refuse a scheduler of another machine that is talked to in the clear, and warn of one of this machine."""
    way_out = f"configure Dask for it and give tls://{place}, or give --insecure"
    if not here:
        raise NoWorkers(f"{scheduler}: a scheduler of another machine must use TLS, as anybody on the network could run code as you; {way_out}")
    logging.getLogger("tidalign").warning("%s: without TLS other users of this machine can run code as you; %s", scheduler, way_out)


def _in_file(path: str) -> str:
    try:
        return str(json.loads(Path(path).read_text())["address"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise NoWorkers(f"{path}: {EXPECTED}, found a file without one") from error


def _see_certificates(scheduler: str) -> None:
    """Check that Dask's configuration names certificates that can be read"""
    from distributed.security import Security

    names = "ca-file, client.cert and client.key of distributed.comm.tls in Dask's configuration (~/.config/dask/*.yaml)"
    try:
        ready = cast("Any", Security)().get_connection_args("client")["ssl_context"] is not None
    except (OSError, ValueError) as error:
        raise NoWorkers(f"{scheduler}: the certificates cannot be used ({error}); see {names}") from error
    if not ready:
        raise NoWorkers(f"{scheduler}: TLS needs certificates: set {names}")
