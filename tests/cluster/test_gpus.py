"""What is said of GPUs, with a driver of the test's own."""

import os
import sys
import threading
import time
import types
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tidalign.cluster import gpus
from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpu_workers import with_own
from tidalign.cluster.gpus import usable
from tidalign.cluster.settings import OF_GPUS, PRELOAD, settings


class DriverError(Exception):
    pass


def driver(devices: list[str] | None) -> Any:
    """Make a pynvml of a machine with these devices; None: without a driver."""

    def init() -> None:
        if devices is None:
            raise DriverError("Driver Not Loaded")

    def by_index(i: int) -> int:
        if i >= len(devices or []):
            raise DriverError("Invalid Argument")
        return i

    module: Any = types.ModuleType("pynvml")
    module.__spec__ = types.SimpleNamespace(name="pynvml")
    module.NVMLError = DriverError
    module.nvmlInit = init
    module.nvmlDeviceGetCount = lambda: len(devices or [])
    module.nvmlDeviceGetHandleByIndex = by_index
    module.nvmlDeviceGetHandleByUUID = lambda uuid: int(uuid[-1])
    module.nvmlDeviceGetUUID = lambda handle: f"GPU-{handle}f0e-11"
    module.nvmlDeviceGetComputeMode = lambda handle: 3 if "exclusive" in (devices or [])[handle] else 0
    module.nvmlDeviceGetName = lambda handle: (devices or [])[handle]
    module.nvmlDeviceGetCudaComputeCapability = lambda handle: (
        [7, 5] if "T4" in (devices or [])[handle] else [8, 0] if "A100" in (devices or [])[handle] else [9, 0]
    )
    return module


def installed(monkeypatch: pytest.MonkeyPatch, devices: list[str] | None, visible: str | None = None) -> None:
    cupy: Any = types.ModuleType("cupy")
    cupy.__spec__ = types.SimpleNamespace(name="cupy")
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setitem(sys.modules, "pynvml", driver(devices))
    if visible is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)


def test_all_or_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ["H200", "A100"])
    assert usable() == {"0": "H200", "1": "A100"}
    assert usable(1) == {"0": "H200"}
    with pytest.raises(NoWorkers, match="3 GPUs wanted, 2 found; use fewer with --gpus"):
        usable(3)


@pytest.mark.parametrize(
    ("visible", "found"),
    [
        ("1", {"1": "A100"}),
        ("1,0", {"1": "A100", "0": "H200"}),
        (" 1, 0", {"1": "A100", "0": "H200"}),
        ("0,-1,1", {"0": "H200"}),
        ("0,7", {"0": "H200"}),
        ("0,,1", {"0": "H200"}),
        ("GPU-1", {"GPU-1f0e-11": "A100"}),
        ("GPU-1f0e-11, 0", {"GPU-1f0e-11": "A100", "0": "H200"}),
        ("MIG-1", {"MIG-1": "A100"}),
    ],
)
def test_only_the_visible(monkeypatch: pytest.MonkeyPatch, visible: str, found: dict[str, str]) -> None:
    installed(monkeypatch, ["H200", "A100"], visible)
    assert usable() == found


@pytest.mark.parametrize(
    ("devices", "visible", "message"),
    [
        (None, None, "no NVIDIA driver answers .Driver Not Loaded."),
        ([], None, "1 GPU wanted, 0 found"),
        (["H200"], "", "1 GPU wanted, 0 found with CUDA_VISIBLE_DEVICES="),
        (["H200"], "7", "1 GPU wanted, 0 found with CUDA_VISIBLE_DEVICES=7"),
        (["H200", "A100"], "GPU-", "1 GPU wanted, 0 found with CUDA_VISIBLE_DEVICES=GPU-"),
        (["Tesla T4"], None, "Tesla T4 has compute capability 7.5, 8.0 or later is needed"),
        (["H200", "Tesla T4"], None, "Tesla T4 has compute capability 7.5, 8.0 or later is needed"),
    ],
)
def test_none_is_said_with_the_way_out(monkeypatch: pytest.MonkeyPatch, devices: list[str] | None, visible: str | None, message: str) -> None:
    installed(monkeypatch, devices, visible)
    with pytest.raises(NoWorkers, match=f"{message}.*--device cpu"):
        usable()


def test_packages_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ["H200"])
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(NoWorkers, match=r"package cupy not found; install tidalign\[cuda12\]"):
        usable()


class Cuda:
    """A CUDA driver of a machine with these devices."""

    def __init__(self, devices: list[str], failing: str = "") -> None:
        self.devices, self.failing, self.retained, self.mode = devices, failing, 0, 0
        self.seen: list[str] = []

    def see(self, name: str, value: str) -> None:
        """Hear, as the driver's own environment, which of them it is to see."""
        assert name == "CUDA_VISIBLE_DEVICES"
        self.seen = value.split(",")

    def __getattr__(self, name: str) -> Any:
        if name == self.failing:
            return lambda *_: 999
        return getattr(self, f"_{name}")

    def _cuInit(self, flags: int) -> int:
        return 0

    def _cuDeviceGetCount(self, count: Any) -> int:
        count._obj.value = len(self.seen or self.devices)
        return 0

    def _cuDeviceGet(self, device: Any, place: int) -> int:
        device._obj.value = place
        return 0

    def _cuDeviceGetName(self, name: Any, length: int, device: Any) -> int:
        name.value = self.devices[device.value].encode()
        return 0

    def _cuDeviceGetAttribute(self, value: Any, which: int, device: Any) -> int:
        value._obj.value = {75: 7 if "T4" in self.devices[device.value] else 9, 20: self.mode}[which]
        return 0

    def _cuDevicePrimaryCtxRetain(self, context: Any, device: Any) -> int:
        self.retained += 1
        return 0


def begun(monkeypatch: pytest.MonkeyPatch, cuda: Cuda, count: int | None, wanted: int | None) -> dict[str, str]:
    monkeypatch.setattr(gpus, "_known", None)
    monkeypatch.setattr(gpus, "_beginning", None)
    monkeypatch.setattr(gpus, "_one", {})
    monkeypatch.setattr(gpus.ctypes, "CDLL", lambda name: cuda)
    monkeypatch.setattr(gpus, "os", types.SimpleNamespace(environ=os.environ, putenv=cuda.see))
    with TemporaryDirectory() as folder:
        monkeypatch.setattr(gpus, "_DEVICES", folder)
        for number in range(len(cuda.devices)):
            Path(folder, f"0000:{number:02}:00.0").mkdir()
        gpus.begin(count)
    try:
        return usable(wanted)
    finally:
        assert gpus._beginning
        gpus._beginning.join()  # it says which GPU there is before it has the context that is asked for below


@pytest.mark.parametrize(("visible", "called"), [(None, "0"), ("3", "3"), ("GPU-0", "GPU-0")])
def test_cuda_begins_on_one_gpu(monkeypatch: pytest.MonkeyPatch, visible: str | None, called: str) -> None:
    installed(monkeypatch, [], visible)  # NVML is not asked
    cuda = Cuda(["H200"])
    assert begun(monkeypatch, cuda, None, None) == {called: "H200"}
    assert cuda.retained == 1


def test_cuda_does_not_begin_on_an_old_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ["Tesla T4"])
    cuda = Cuda(["Tesla T4"])
    with pytest.raises(NoWorkers, match="Tesla T4 has compute capability 7.5"):
        begun(monkeypatch, cuda, None, None)
    assert cuda.retained == 0


@pytest.mark.parametrize("count", [None, 2, 1])
def test_cuda_begins_on_the_first_of_two(monkeypatch: pytest.MonkeyPatch, count: int | None) -> None:
    installed(monkeypatch, ["H200", "A100"])
    cuda = Cuda(["H200", "A100"])
    assert begun(monkeypatch, cuda, count, count) == dict([("0", "H200"), ("1", "A100")][:count])
    assert (cuda.retained, cuda.seen) == (1, ["0"])


@pytest.mark.parametrize(("visible", "found"), [("1,0", {"1": "A100", "0": "H200"}), ("1,7", {"1": "A100"}), (" 1 , 0,", {"1": "A100", "0": "H200"})])
def test_cuda_begins_on_the_first_that_is_listed(monkeypatch: pytest.MonkeyPatch, visible: str, found: dict[str, str]) -> None:
    """It sees that one, which is sooner; who asks for all finds all."""
    installed(monkeypatch, ["H200", "A100"], visible)
    cuda = Cuda(["H200", "A100"])
    assert begun(monkeypatch, cuda, None, None) == found
    assert (cuda.retained, cuda.seen) == (1, ["1"])


def test_processes_of_a_host_begin_one_after_the_other(tmp_path: Path) -> None:
    """The first has its GPU while the others wait; who waits too long goes on."""
    entered, path = list[float](), tmp_path / "begin.lock"

    def enter() -> None:
        with gpus._turn(path):
            entered.append(time.monotonic())
            time.sleep(0.2)

    threads = [threading.Thread(target=enter) for _ in range(3)]  # flock tells files apart that were opened apart, in one process too
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(later - sooner >= 0.2 for sooner, later in pairwise(entered)) and len(entered) == 3


def test_workers_of_a_run_have_one_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = list[Any]()
    monkeypatch.setattr(gpus, "begin", lambda count, turns: begun.append((count, turns)))
    for name in ("worker-a", "worker-b"):
        gpus.dask_setup(types.SimpleNamespace(local_directory=str(tmp_path / name)))
    assert begun == [(1, tmp_path / "begin.lock")] * 2


def test_a_worker_names_its_gpu_while_cuda_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask NVML, which answers though CUDA may hang; and say that it has not begun."""
    installed(monkeypatch, ["H200"])
    let = threading.Event()
    for name, value in (("_known", None), ("_beginning", None), ("_begin", lambda *_: let.wait(60))):
        monkeypatch.setattr(gpus, name, value)
    gpus.dask_setup(types.SimpleNamespace(local_directory=str(tmp_path / "worker")))
    assert gpus.beginning() and gpus.usable() == {"0": "H200"}
    let.set()
    assert gpus._beginning
    gpus._beginning.join(60)
    assert not gpus.beginning()


def test_a_turn_that_does_not_come_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpus, "TURN_SECONDS", 0.2)
    began = time.monotonic()
    with gpus._turn(tmp_path / "begin.lock"), gpus._turn(tmp_path / "begin.lock"), gpus._turn(tmp_path / "nowhere" / "begin.lock"):
        assert 0.2 <= time.monotonic() - began < 5
    assert (tmp_path / "begin.lock").exists()


def test_nobody_knows_which_gpus_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide nothing from CUDA, as where /proc is another's."""
    installed(monkeypatch, ["H200", "A100"])
    monkeypatch.setattr(Path, "mkdir", lambda *_: None)
    cuda = Cuda(["H200", "A100"])
    assert begun(monkeypatch, cuda, None, None) == {"0": "H200", "1": "A100"}
    assert (cuda.retained, cuda.seen) == (1, [])


def test_what_is_for_one_process_is_left_to_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, ["H200", "H200"])
    cuda = Cuda(["H200", "H200"])
    assert len(usable()) == 2 and gpus.shareable()
    cuda.mode = 3
    assert len(begun(monkeypatch, cuda, None, None)) == 2 and cuda.retained == 0
    installed(monkeypatch, ["H200 exclusive", "H200 exclusive"])
    assert not gpus.shareable()
    installed(monkeypatch, ["H200", "H200 exclusive"])
    assert not gpus.shareable() and gpus.shareable(1), "the first alone is looked at where it is all that is wanted"
    installed(monkeypatch, ["H200 exclusive"])
    cuda = Cuda(["H200 exclusive"])
    cuda.mode = 3
    assert len(begun(monkeypatch, cuda, None, None)) == 1 and cuda.retained == 0, "the only one is a worker's where a run goes on after a death"
    installed(monkeypatch, [])
    assert not gpus.shareable(), "NVML is not asked of the only one"
    cuda.mode = 0
    assert len(begun(monkeypatch, cuda, None, None)) == 1 and cuda.retained == 1 and gpus.shareable()


@pytest.mark.parametrize("failing", ["cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName"])
def test_where_cuda_does_not_begin_the_driver_says_why(monkeypatch: pytest.MonkeyPatch, failing: str) -> None:
    installed(monkeypatch, None)
    with pytest.raises(NoWorkers, match="no NVIDIA driver answers"):
        begun(monkeypatch, Cuda(["H200"], failing), None, None)


class Cluster:
    """Gives the workers that dask-cuda would have: one for each device, which sees all, its own first."""

    def __init__(self, devices: list[int | str]) -> None:
        self.cuda_visible_devices = devices
        self.worker_spec: dict[Any, Any] = {}
        self.new_spec = {"cls": None, "options": {"nthreads": 2, "preload": ["dask_cuda.initialize"], "plugins": {"RMM"}}}

    def new_worker_spec(self) -> dict[Any, Any]:
        free = [device for device in self.cuda_visible_devices if device not in self.worker_spec]
        if not free:
            raise ValueError("Can not scale beyond visible devices")
        place = self.cuda_visible_devices.index(free[0])
        seen = ",".join(map(str, [*self.cuda_visible_devices[place:], *self.cuda_visible_devices[:place]]))
        return {free[0]: self.new_spec | {"options": self.new_spec["options"] | {"env": {"CUDA_VISIBLE_DEVICES": seen}}}}  # type: ignore[operator]


@pytest.mark.parametrize(("devices", "names"), [([0, 1], ["0", "1"]), (["GPU-1f0e", "GPU-0f0e"], ["GPU-1f0e", "GPU-0f0e"])])
def test_workers_see_their_own_gpu_alone(devices: list[int | str], names: list[str]) -> None:
    """Those that share one, too, and those beside them none."""
    cluster = with_own(Cluster, [*names, *names])(devices)
    for _ in range(2 * len(names) + 1):
        cluster.worker_spec |= cluster.new_worker_spec()
    options = [worker["options"] for worker in cluster.worker_spec.values()]
    assert [each["env"] for each in options] == [{"CUDA_VISIBLE_DEVICES": name} for name in [*names, *names, ""]]
    assert [each.get("preload") for each in options] == [OF_GPUS] * 4 + [None], "Dask's settings say it of the last"
    assert settings()["distributed.worker.preload"] == [PRELOAD] and [each["nthreads"] for each in options] == [2, 2, 2, 2, 1]
