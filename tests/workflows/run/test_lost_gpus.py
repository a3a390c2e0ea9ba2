"""GPUs that fail for good, with stand-ins for them: the others do the work, and the report says which failed, when and why."""

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "cluster"))
from external import External
from genome_gpu_cases import answer, drive_apart, journal

from tidalign.kernels.runtime import compiler
from tidalign.pipeline.store import rundir
from tidalign.workflows.run import devices
from tidalign.workflows.status import Exit

PATH = os.pathsep.join([str(Path(__file__).parents[1] / "stand_in"), *filter(None, [os.environ.get("PYTHONPATH")])])


def breaking(run: Path, broken: Path, over: threading.Event) -> None:
    """Have the GPU broken once workers are there."""
    while not over.wait(0.01):
        if (run / "journal.jsonl").exists() and journal(run, "hired"):
            broken.touch()
            return


def test_a_gpu_that_fails_for_good_is_left_alone(tmp_path: Path, sides: Any, answers: Any) -> None:
    broken, over = tmp_path / "broken", threading.Event()
    watching = threading.Thread(target=breaking, args=(tmp_path / "run", broken, over))
    watching.start()
    environment = {"PYTHONPATH": PATH, "TIDALIGN_TEST_GPUS": "2", "TIDALIGN_TEST_BROKEN": f"1:{broken}", "TIDALIGN_TEST_SLOW": "2"}
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 2}, **environment)
    over.set()
    watching.join()
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    report = rundir.read_report(str(tmp_path / "run"))
    *lost, refused = report["faults"]
    assert 1 <= len(lost) <= 2  # what the worker had
    for each in lost:
        assert (each["gpu"], each["host"], each["why"]) == ("1", os.uname().nodename, "its worker died, or was cut off")
        assert each["task"].startswith("j000000") and each["seconds"] > 0
    assert "cannot use GPU 1 (cudaErrorDevicesUnavailable" in refused["why"]
    assert report["deaths"] <= 1  # not one for every tile that it is given; none where it died before it had begun the first


@pytest.mark.parametrize("gpus", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_without_any_gpu_the_run_ends_and_cores_go_on(gpus: int, tmp_path: Path, sides: Any, answers: Any) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    words = {"PYTHONPATH": PATH, "TIDALIGN_TEST_GPUS": str(gpus), "TIDALIGN_TEST_BROKEN": f"0,1:{broken}"}
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": gpus}, **words)
    assert "cannot use GPU" in said and "--device cpu" in said
    assert status != Exit.COMPLETE
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"device": "cpu"})
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]


def test_a_report_says_how_busy_each_gpu_was(tmp_path: Path, sides: Any) -> None:
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 2}, PYTHONPATH=PATH, TIDALIGN_TEST_GPUS="2", TIDALIGN_TEST_SLOW="2")
    assert status == Exit.COMPLETE, said
    gpus = rundir.read_report(str(tmp_path / "run"))["gpus"]
    assert set(gpus) <= {f"{os.uname().nodename}:{gpu}" for gpu in (0, 1)} and gpus
    held: dict[str, float] = {}
    for each in journal(tmp_path / "run", "done"):
        held[each["gpu_held"]] = max(held.get(each["gpu_held"], 0.0), each["busy"])
    assert all(gpu["share"] <= 1 for gpu in gpus.values())
    told = sum(gpu["busy"] for gpu in gpus.values())  # a second before the end
    assert 0 < told <= sum(held.values()) + 0.01


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[External]:
    """Start a scheduler of somebody's, with workers of two GPUs on this host."""
    monkeypatch.setenv("PYTHONPATH", PATH)
    monkeypatch.setenv("TIDALIGN_TEST_GPUS", "2")
    monkeypatch.setenv("DASK_DISTRIBUTED__DIAGNOSTICS__NVML", "False")  # the stand-in for it knows no more than the product asks
    (tmp_path / "cluster").mkdir()
    external = External(tmp_path / "cluster")
    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "2")
    for gpu in "01":
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", gpu)
        external.worker()
    external.wait_for_workers(2)
    yield external
    external.close()


def test_gpus_with_a_scheduler_are_those_of_each_host(scheduler: External, tmp_path: Path, sides: Any, answers: Any) -> None:
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"scheduler": scheduler.address, "gpus": 1})
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    report = rundir.read_report(str(tmp_path / "run"))
    assert (report["workers"], len({each["gpu_held"] for each in journal(tmp_path / "run", "done")})) == (1, 1)
    assert "is beyond --gpus 1" in report["faults"][0]["why"]


def test_a_worker_without_a_gpu_that_joins_late_gets_nothing(
    scheduler: External, tmp_path: Path, sides: Any, answers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    def join() -> None:
        while not over.wait(0.01):
            if (tmp_path / "run" / "journal.jsonl").exists() and journal(tmp_path / "run", "hired"):
                scheduler.worker()
                return

    monkeypatch.setenv("TIDALIGN_TEST_GPUS", "0")
    joining = threading.Thread(target=join)
    joining.start()
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"scheduler": scheduler.address}, TIDALIGN_TEST_SLOW="0")
    over.set()
    joining.join()
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    assert len({each["gpu_held"] for each in journal(tmp_path / "run", "done")}) <= 2


@pytest.mark.parametrize(("status", "refused"), [(2, False), (46, True)], ids=["others have its memory", "it is gone"])
def test_a_gpu_whose_memory_others_have_for_now_is_not_left_alone(status: int, refused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class DriverError(RuntimeError):
        pass

    def begin() -> None:
        error = DriverError("what the driver says")
        error.status = status  # type: ignore[attr-defined]
        raise error

    monkeypatch.setattr(compiler, "begin", begin)
    monkeypatch.setattr(devices, "usable", lambda _: {"0": "H200"})
    assert bool(devices.gpu_trouble()) is refused
