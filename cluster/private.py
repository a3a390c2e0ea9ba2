"""Keep the clusters that we start to ourselves: TLS with keys made for each, and nothing that answers HTTP."""

import errno
import os
import signal
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from distributed import Nanny, Scheduler, Worker
from distributed.security import Security

NO_ROUTES: dict[str, Any] = {"distributed.scheduler.http.routes": [], "distributed.worker.http.routes": []}
"""Settings of Dask's: nothing is loaded for pages that nobody can ask for."""


def credentials() -> Any:
    """Make the key and certificate of one cluster, a `Security`: whoever has them is one of it, nobody else gets a word in.

    As `Security.temporary` does, with a key of an elliptic curve, which is made in milliseconds. They are kept in memory and reach worker processes through
    pipes; for the moment in which OpenSSL reads them they are in a folder of this user's alone.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tidalign")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))  # clocks are set back
        .not_valid_after(now + timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    public = certificate.public_bytes(serialization.Encoding.PEM).decode()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()
    roles = {f"tls_{role}_{part}": text for role in ("client", "scheduler", "worker") for part, text in (("key", secret), ("cert", public))}
    return cast("Any", Security)(require_encryption=True, tls_ca_file=public, **roles)


def keep(security: Any, folder: Path) -> dict[str, Any]:
    """Write the key and certificate of a cluster into a folder of this user's alone; Dask's settings that name them."""
    if folder.stat().st_mode & 0o077:
        raise PermissionError(errno.EPERM, "others may look into it", str(folder))
    for name, text in (("certificate.pem", security.tls_ca_file), ("key.pem", security.tls_client_key)):
        with os.fdopen(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
    return kept(folder)


def kept(folder: Path) -> dict[str, Any]:
    """Give Dask's settings that name the files `keep` wrote."""
    certificate, key = str(folder / "certificate.pem"), str(folder / "key.pem")
    roles = {f"distributed.comm.tls.{role}.{part}": path for role in ("client", "scheduler", "worker") for part, path in (("key", key), ("cert", certificate))}
    return {"distributed.comm.require-encryption": True, "distributed.comm.tls.ca-file": certificate, **roles}


class _Mute:
    """A server of Dask's without the one for HTTP, which it starts whatever the settings say."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        pass


class _Scheduler(_Mute, Scheduler):
    pass


class _Worker(_Mute, Worker):
    pass


class MuteNanny(Nanny):
    """Starts a worker that does not answer HTTP."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        # What the process that workers are forked from has seen of the environment may be of an earlier call.
        env = dict(os.environ) | (options.get("env") or {})
        super().__init__(*arguments, **options | {"worker_class": _Worker, "env": env})


def end_worker(dask_worker: Any) -> None:
    """End a worker's process on its nanny, which is what Dask gives here: it starts another, as after a crash."""
    os.kill(dask_worker.pid, signal.SIGKILL)


def with_mute_scheduler(kind: type[Any]) -> type[Any]:
    """Make a kind of cluster whose scheduler does not answer HTTP."""

    class Cluster(kind):  # type: ignore[misc]
        async def _start(self) -> None:
            self.scheduler_spec["cls"] = _Scheduler
            await super()._start()

    return Cluster
