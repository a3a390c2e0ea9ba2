"""Describe the devices that alignments are made on, a core or a GPU: what differs between them is asked of a `Device`, and no name is compared; and count the
cores, and the memory, that a process may use.

A run's device is chosen in one place (workflows/run/devices.py); tasks carry its name, and who does them looks it up in `DEVICES`.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

DeviceName = Literal["cpu", "gpu"]

ROOT = Path("/")
"""Holds the files in which the system tells a process what it may use: the tests have others."""


@dataclass(frozen=True)
class Device:
    """A kind of device: its name, and what a run does differently on it. Rows are the same on all.

    takes_gpu: whether a process that aligns has a GPU to itself: workers are as many as GPUs, the GPU may lack room that the host has, and it extends
        anchors ahead of a walk, which other workers do for a core.
    speed: about how many times as fast as a core it is: what is worth the look at a sample depends on it.
    batch_work, batch_rows: of a call of the kernels over pairs, at most: estimated wavefront cells (under a second of the device: what a crash can be
        blamed on) and pairs.
    task_work, task_rows: the same of a task over pairs, for which ranges of several chunks are put together; 0: each range is a task of its own.
    ahead: ranges of pairs read before they are needed. readers: threads that read them.
    writers: parts of pairs made text and written at a time; as many more may wait for it.
    helpers: threads beside the one of a unit of genomes: they extend anchors between fences ahead of exact mode's walk, and make rows of what the GPU extends.
    tile_anchors: of a tile of independent extension. slice_seconds: between two signs of life of exact mode's walk.
    """

    name: DeviceName
    takes_gpu: bool
    speed: float
    batch_work: float
    batch_rows: int
    task_work: float
    task_rows: int
    ahead: int
    readers: int
    writers: int
    helpers: int
    tile_anchors: int
    slice_seconds: float

    def turn(self, beside: int = 0) -> AbstractContextManager[None]:
        """Hold this process's GPU while kernels run: one task's at a time, or beside so many that let others, too. Raises GpuLost where another's have failed.
        A core needs no turns."""
        from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS  # the command line asks for names of devices, and is to load little

        return GPU_OF_PROCESS.hold(beside) if self.takes_gpu else nullcontext()


CPU = Device(
    name="cpu",
    takes_gpu=False,
    speed=1.0,
    batch_work=1e8,
    batch_rows=65_536,
    task_work=0.0,
    task_rows=0,
    ahead=1,
    readers=1,
    writers=1,
    helpers=1,
    tile_anchors=1 << 10,
    slice_seconds=0.25,  # who works ahead of a walk should know where it is
)

GPU = Device(
    name="gpu",
    takes_gpu=True,
    speed=100.0,
    batch_work=2e10,
    batch_rows=1 << 20,
    task_work=2e10,  # half a second where a tenth of the letters differ: all GPUs are done at about the same time
    task_rows=1 << 20,
    ahead=12,
    readers=4,
    writers=12,  # alignments are made faster than some ten cores write them
    helpers=8,  # of two strands at a time, on 16 cores: they wait while the strand's own thread walks
    tile_anchors=1 << 20,
    slice_seconds=4.0,  # of the waves, large ones, each slice makes copies
)

DEVICES: dict[str, Device] = {device.name: device for device in (CPU, GPU)}


def cores() -> int:
    """Count the processor cores this process may use, by the very rule of `cluster.task.cores`, which this folder does not know."""
    asked = os.environ.get("TIDALIGN_CORES") or str(1 << 20)
    if not (asked.isascii() and asked.isdigit() and int(asked)):
        raise ValueError(f"TIDALIGN_CORES={asked}: expected a whole number, 1 or more; set one, or unset it to use all cores")
    here = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    times = [*_limits("cpu", "cpu.max"), *_limits("cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us")]
    return min([here, int(asked), *(-(-int(quota) // int(period)) for quota, period in times if quota.isdigit())])


def memory() -> int:
    """Count the bytes of memory this process may use: the machine's, or its container's."""
    import psutil  # as every run loads this module, and few ask

    kept = (*_limits("memory", "memory.max"), *_limits("memory", "memory.limit_in_bytes"))
    return min([int(psutil.virtual_memory().total), *(int(most) for (most,) in kept if most.isdigit())])


def _limits(controller: str, *names: str) -> Iterator[list[str]]:
    """List what files of these names say in the cgroups of this process, its own and those around it, of either version: what a container, or a service, may
    use. Nothing where there are none."""
    try:
        groups = (ROOT / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return
    for _, controllers, own in (group.split(":", 2) for group in groups):
        if controllers and controller not in controllers.split(","):
            continue
        for top in dict.fromkeys((controller, controllers) if controllers else ("", "unified")):
            for path in (Path(own), *Path(own).parents):  # a container may see its own as the uppermost, and still be told the whole path
                with suppress(OSError):
                    yield [word for name in names for word in Path(f"{ROOT}/sys/fs/cgroup/{top}{path}/{name}").read_text().split()]


def may_take_gpu(asked: str) -> bool:
    """Tell whether the device that is asked for (a name, or `auto`) may come to a GPU."""
    return asked not in DEVICES or DEVICES[asked].takes_gpu


def sure_of_gpu(asked: str) -> bool:
    """Tell whether the device that is asked for is a GPU in any case."""
    return asked in DEVICES and DEVICES[asked].takes_gpu
