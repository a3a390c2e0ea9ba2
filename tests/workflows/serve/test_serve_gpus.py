"""Give a server's workers all GPUs, whether Dask's workers could be started or not, and each as many as may have it at a time."""

from typing import Any

import pytest

from tidalign.workflows import cli
from tidalign.workflows.run import devices
from tidalign.workflows.serve import server
from tidalign.workflows.status import Exit


@pytest.mark.parametrize(("shareable", "count"), [(True, 4), (False, 2)])
def test_workers_of_two_gpus(shareable: bool, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []

    class Seen(server.Server):
        def run(self) -> None:
            made.append(self)

    monkeypatch.setattr(server, "Server", Seen)
    monkeypatch.setattr(devices, "usable", lambda _: {"0": "H200", "1": "H200"})
    monkeypatch.setattr(devices, "shareable", lambda _: shareable)
    monkeypatch.setattr(devices, "installed", lambda name: not (shareable and name == "dask_cuda"))
    assert cli.main(["serve", "--quiet"]) == Exit.COMPLETE
    assert [each.count for each in made] == [count]
