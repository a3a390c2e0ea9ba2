"""Which schedulers are talked to: those of this machine, others by TLS or where one insists; what is none is refused at once, in one line."""

import socket
import time
from pathlib import Path
from typing import Any

import dask
import pytest
from external import External

from tidalign.cluster.address import address_of
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.private import credentials
from tidalign.cluster.start import start
from tidalign.workflows import cli

TLS = "distributed.comm.tls."


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of another machine."""
    known = socket.getaddrinfo

    def resolve(host: str, *more: Any, **others: Any) -> Any:
        return known("192.0.2.7" if host == "elsewhere" else host, *more, **others)

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    return "elsewhere"


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "tcp://localhost:8786", "tcp://127.8.9.1:1", "tcp://[::1]:8786"])
def test_this_machine_is_talked_to(address: str) -> None:
    assert address_of(address) == address
    assert address_of(address.removeprefix("tcp://")) == address


def test_in_the_clear_on_this_machine_is_warned_of(caplog: pytest.LogCaptureFixture) -> None:
    address_of("tcp://127.0.0.1:8786", insecure=True)
    assert not caplog.messages
    address_of("tcp://127.0.0.1:8786")
    (said,) = caplog.messages
    assert said.startswith("tcp://127.0.0.1:8786: without TLS other users of this machine can run code as you") and "give tls://127.0.0.1:8786" in said


@pytest.mark.parametrize("scheme", ["tcp://", ""])
def test_another_machine_is_refused_in_the_clear(scheme: str, elsewhere: str) -> None:
    for host in (elsewhere, "192.0.2.7", "[2001:db8::7]", "0.0.0.0"):
        with pytest.raises(NoWorkers, match=r"must use TLS.*give tls://\S+:8786, or give --insecure"):
            address_of(f"{scheme}{host}:8786")
        assert address_of(f"{scheme}{host}:8786", insecure=True) == f"tcp://{host}:8786"


def test_a_scheduler_file_is_read_and_its_address_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text('{"address": "tcp://127.0.0.1:8786"}')
    assert address_of(str(file)) == "tcp://127.0.0.1:8786"
    file.write_text('{"address": "tcp://192.0.2.7:8786"}')
    with pytest.raises(NoWorkers, match="must use TLS"):
        address_of(str(file))
    for text in ("", "[]", "{}", "address"):
        file.write_text(text)
        with pytest.raises(NoWorkers, match=r"scheduler.json: expected the address .* found a file without one"):
            address_of(str(file))


@pytest.mark.parametrize(
    "words",
    ["nonsense", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:x", "127.0.0.1:99999", "ucx://127.0.0.1:1", "a b:1", "/no/such/file"],
)
def test_what_is_no_address_is_refused_at_once(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("q.fa", "t.fa"):
        (tmp_path / name).write_text(">a\nACGT\n")
    began = time.process_time()
    status = cli.main(["pairs", str(tmp_path / "q.fa"), str(tmp_path / "t.fa"), "-o", str(tmp_path / "run"), "--device", "cpu", "--scheduler", words])
    assert time.process_time() - began < 10
    (said,) = capsys.readouterr().err.splitlines()
    assert status == 69 and said.startswith(f"tidalign: {words}: ") and "expected the address of a Dask scheduler" in said


def test_insecure_is_of_a_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["pairs", "q.fa", "t.fa", "-o", "run", "--insecure"])
    assert "--insecure goes with --scheduler" in capsys.readouterr().err


@pytest.fixture
def certificates(tmp_path: Path) -> dict[str, str]:
    """Settings of Dask's that name files with certificates for every role."""
    made, settings = credentials(), {}
    for name, text in (("key", made.tls_client_key), ("cert", made.tls_client_cert)):
        (tmp_path / name).write_text(text)
        settings |= {f"{TLS}{role}.{name}": str(tmp_path / name) for role in ("scheduler", "worker", "client")}
    return settings | {f"{TLS}ca-file": str(tmp_path / "cert")}


def test_tls_without_certificates_is_refused_at_once(certificates: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(NoWorkers, match=r"TLS needs certificates: set ca-file, client.cert and client.key"):
        address_of("tls://127.0.0.1:8786")
    with dask.config.set(certificates):
        assert address_of("tls://192.0.2.7:8786") == "tls://192.0.2.7:8786"
        assert not caplog.messages
        (tmp_path / "key").unlink()
        with pytest.raises(NoWorkers, match=r"certificates cannot be used .*No such file"):
            address_of("tls://127.0.0.1:8786")
        (tmp_path / "key").write_text("none")
        with pytest.raises(NoWorkers, match="certificates cannot be used"):
            address_of("tls://127.0.0.1:8786")


def test_encryption_that_is_required_is_missed_at_once() -> None:
    with dask.config.set({"distributed.comm.require-encryption": True}), pytest.raises(NoWorkers, match=r"requires encryption .*give tls://127.0.0.1:8786"):
        address_of("tcp://127.0.0.1:8786")


def test_a_scheduler_with_certificates(certificates: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in certificates.items():
        monkeypatch.setenv(f"DASK_{name.replace('-', '_').replace('.', '__').upper()}", value)
    cluster = External(tmp_path, "tls")
    try:
        with dask.config.set(certificates):
            cluster.worker()
            cluster.wait_for_workers(1)
            with start(scheduler=address_of(cluster.address)) as workers:
                assert len(workers.live()) == 1
    finally:
        cluster.close()
