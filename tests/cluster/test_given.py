"""`scheduler=` takes an address, a file, a Client and a cluster object, and says in a line what is wrong with others."""

from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from tidalign.cluster.address import address_of
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.given import KnownAddress, scheduler_of
from tidalign.cluster.private import credentials
from tidalign.cluster.start import start


@pytest.fixture(params=["tcp", "tls"])
def cluster(request: pytest.FixtureRequest) -> Any:
    security = credentials() if request.param == "tls" else None
    with LocalCluster(n_workers=1, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1", security=security) as local:
        assert local.scheduler_address.startswith(f"{request.param}://")
        yield local


def test_a_client_and_a_cluster_are_their_scheduler(cluster: Any) -> None:
    with Client(cluster, set_as_default=False) as client:
        for given in (client, cluster):
            known = scheduler_of(given)
            assert isinstance(known, KnownAddress) and known == cluster.scheduler_address == address_of(known)
            with start(scheduler=known) as workers:
                assert list(workers.everywhere(abs, -1).values()) == [1]
        assert client.submit(abs, -1).result() == 1  # it is the caller's still
        closed = client
    with pytest.raises(NoWorkers, match="the Client is closed or not connected"):
        scheduler_of(closed)


def test_text_and_paths_are_as_they_were(tmp_path: Path) -> None:
    assert scheduler_of(None) is None
    for text in ("tcp://127.0.0.1:8786", str(tmp_path / "scheduler.json")):
        assert scheduler_of(text) == text and not isinstance(scheduler_of(text), KnownAddress)
    assert scheduler_of(tmp_path / "scheduler.json") == str(tmp_path / "scheduler.json")


def test_workers_that_are_threads_are_refused() -> None:
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as local,
        pytest.raises(NoWorkers, match="threads of this process.* processes=True, or give none"),
    ):
        scheduler_of(local)


@pytest.mark.parametrize("given", [8786, ["tcp://a:1"], object()], ids=("number", "list", "object"))
def test_what_is_no_scheduler(given: Any) -> None:
    with pytest.raises(TypeError, match=r"expected the address or file of a Dask scheduler, a distributed.Client or a cluster, found"):
        scheduler_of(given)
