"""Workers listen to this machine only, are refused with the way out where they cannot do the work, and are closed in bounded time."""

import os
import shutil
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from ending import survivors

import tidalign
from tidalign.cluster import start as starting
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.start import CLOSE_TIMEOUT, package_digest, start
from tidalign.cluster.task import cores


def family() -> list[psutil.Process]:
    return [psutil.Process(), *psutil.Process().children(recursive=True)]


def test_nothing_listens_beyond_this_machine() -> None:
    before = {child.pid for child in family()}
    with start(2) as workers:
        assert len(workers.live()) == workers.wanted == 2
        assert set(workers.live().values()) == {1}
        listening = [connection.laddr.ip for process in family() for connection in process.net_connections("inet") if connection.status == "LISTEN"]
        assert len(listening) >= 3
        assert set(listening) == {"127.0.0.1"}
        pids = set(workers.everywhere(os.getpid).values())
        processes = [psutil.Process(pid) for pid in pids]
    assert len(pids - before) == 2
    assert survivors(processes) == []


def test_closing_takes_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "CLOSE_TIMEOUT", 2.0)
    never = threading.Event()
    with start(1) as workers:
        worker = psutil.Process(next(iter(workers.everywhere(os.getpid).values())))
        local: Any = workers.local
        really_close = local.close
        monkeypatch.setattr(local, "close", lambda timeout: never.wait(600))
        began = time.monotonic()
    assert time.monotonic() - began < CLOSE_TIMEOUT
    assert survivors([worker]) == []
    never.set()
    really_close(timeout=600)


def test_one_worker_a_core_unless_told() -> None:
    assert cores() == len(os.sched_getaffinity(0))


def test_the_digest_sees_every_source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(starting.__file__).parent.parent
    for folder in ("kernels", "pipeline", "cluster", "workflows"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = package_digest()
    monkeypatch.setattr(tidalign, "__path__", [str(tmp_path)])
    assert package_digest() == before
    for path in (tmp_path / "kernels/scoring/penalties.py", tmp_path / "workflows/cli.py", tmp_path / "kernels/wavefront/wavefront.cuh"):
        path.write_text(path.read_text() + "\n")
        assert package_digest() != before
        before = package_digest()


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "CONNECT_TIMEOUT", 1.0)
    with pytest.raises(NoWorkers, match=r"tcp://127.0.0.1:1: no Dask scheduler answers"), start(scheduler="tcp://127.0.0.1:1"):
        pass


def test_a_scheduler_without_workers(external_alone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = starting.Client.wait_for_workers
    monkeypatch.setattr(starting.Client, "wait_for_workers", lambda client, count, timeout: wait(client, count, timeout / 30))
    with pytest.raises(NoWorkers, match=r"no workers; start some with `dask worker tcp://127.0.0.1:\d+ --nthreads 1`"), start(scheduler=external_alone.address):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nthreads", "3"), r"runs 3 tasks at a time; start workers with `--nthreads 1`"),
        (("--nthreads", "1", "--no-nanny"), r"no nanny .* without `--no-nanny`"),
    ],
)
def test_workers_of_the_wrong_kind(external_alone: Any, options: tuple[str, ...], said: str) -> None:
    external_alone.worker(*options)
    external_alone.wait_for_workers(1)
    with pytest.raises(NoWorkers, match=said), start(scheduler=external_alone.address):
        pass


def test_workers_with_another_tidalign(external: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "package_digest", lambda: "0" * 64)
    with pytest.raises(NoWorkers, match=r"the scheduler has another tidalign; install tidalign"), start(scheduler=external.address):
        pass


def test_a_scheduler_file(external: Any, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(f'{{"address": "{external.address}"}}')
    with start(scheduler=str(file)) as workers:
        assert workers.local is None
        assert len(workers.live()) == 2
