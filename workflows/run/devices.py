"""Choose who works on a run and on which devices: what `--workers`, `--scheduler`, `--device` and `--gpus` come to, and why."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

from tidalign.cluster.allocation.systems import JOBS, Allocation, allocation
from tidalign.cluster.errors import Hangs, NoWorkers
from tidalign.cluster.gpus import installed, shareable, usable
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import cores
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.device import CPU, DEVICES, GPU, Device
from tidalign.workflows.compiling import kept

if TYPE_CHECKING:
    from tidalign.workflows.estimate.forecast import Forecast
    from tidalign.workflows.estimate.tiny import Tiny

ASKED_CPU = "--device cpu"

WORTH_A_GPU = 1e9
"""Estimated work of a call in this process (`Aligner.work`) from which on a GPU is worth its start, a second or two: about ten seconds of a core."""

FEW_CORES, FEW_SECONDS = 4, 30.0
"""Cores up to which threads of this process do work of so many nominal seconds of each, which AVX-512 does in half the time: they begin at once, and share what
each worker loads for itself. Two cores search 60 proteins in 20,000 in 5.5 s, where workers take 7.2. What takes longer is worth workers, which what kills a
process does not end."""


@dataclass(frozen=True, slots=True)
class Resources:
    """Says what a run may use.

    workers: processes on this machine, 0 for this one alone; None: one for each core, or none at all for little work or where GPUs align.
    scheduler: address or file of a Dask scheduler whose workers are used instead; they must see the run directory and the input.
    device: `cpu`; `gpu`: this machine's GPUs, or those of the scheduler's workers, NoWorkers where there is none; `auto`: this machine's GPUs if it has any.
    gpus: how many of them, with a scheduler and in an allocation of each node; None: all. This process uses the first, or one
    or two workers each where the work is worth it (`RunKind.begins_here`, `RunKind.processes`).
    insecure: a scheduler of another machine may be talked to in the clear.
    cpu_workers: processes that align on cores beside the GPUs, with a scheduler and in an allocation on each node.
    scratch: folder of each node in which it keeps copies of what tasks read, or `auto`; None: none are kept (pipeline/store/staging.py).
    allocated: inside an allocation of several nodes (Slurm, PBS, LSF) all of them are used, where nothing above says otherwise (`placed`).
    """

    workers: int | None = None
    scheduler: str | Allocation | None = None
    device: str = "auto"
    gpus: int | None = None
    insecure: bool = False
    cpu_workers: int = 0
    scratch: str | None = None
    allocated: bool = True

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that none can be of."""
        for name, least, none in (("workers", 0, True), ("gpus", 1, True), ("cpu_workers", 0, False)):
            value = getattr(self, name)
            if not (none and value is None) and (not isinstance(value, Integral) or isinstance(value, bool) or value < least):
                raise ValueError(f"{name}: expected a whole number, {least} or more{', or None' * none}, not {value!r}")
        if not isinstance(self.scratch, str | None):
            raise ValueError(f"scratch: expected text, the path of a folder or auto, not {self.scratch!r}")


DEFAULT = Resources()


@dataclass(frozen=True)
class Gpus:
    """Says which GPUs a run uses. names: of the GPUs, by what CUDA_VISIBLE_DEVICES calls them; none: the CPU, or what a scheduler's workers have. why: these
    and no others.

    device: where kernels run. cores: workers beside them that use cores. shareable: whether several processes may have one of the GPUs at a time.
    """

    names: dict[str, str]
    why: str
    device: Device = CPU
    cores: int = 0
    shareable: bool = True

    @property
    def apart(self) -> bool:
        """Tell whether workers use them, not this process."""
        return len(self.names) > 1 or self.cores > 0

    def __str__(self) -> str:
        return ", ".join(sorted(self.names.values())) or CPU.name

    def first(self, why: str) -> "Gpus":
        """Take the first of the GPUs alone."""
        return replace(self, names=dict([*self.names.items()][:1]), why=why)

    def see_free(self) -> None:
        """Raise Hangs where this process has lost a GPU that is for one process at a time: no worker can have it before this one ends."""
        if GPU_OF_PROCESS.lost and not self.shareable:
            raise Hangs(
                f"this process has lost its GPU ({GPU_OF_PROCESS.lost}), which is for one process at a time by its compute mode; the same command goes on from "
                "here, with a worker process; with --device cpu on cores"
            )


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """Says how a run works on what was read while it reads on. ready: waits for the GPU of this process."""

    stop: Stop
    gpus: Gpus
    ready: Callable[[], object]


def placed(resources: Resources, shared: Callable[[], int] = lambda: 1) -> Resources:
    """Take the workers of the allocation that this process has, if it has one of several nodes and nobody said who is to work. shared: tells how many workers
    each GPU has, where none are on cores."""
    found = allocation() if resources.allocated and JOBS & os.environ.keys() else None
    if found is None or resources.scheduler or resources.workers is not None:
        return resources
    if resources.device == "auto":
        try:
            usable(resources.gpus)
        except NoWorkers:
            if resources.gpus:
                raise
            return replace(resources, scheduler=found)
    cores = resources.cpu_workers
    found = replace(found, gpus=resources.device != CPU.name, each=resources.gpus, cores=cores, shared=1 if cores else shared())
    return replace(resources, scheduler=found)


def choose(resources: Resources, *, hires: bool = True) -> Gpus:
    """Choose this machine's GPUs that a run takes. Raises ValueError for what makes no sense together, NoWorkers where some are asked for and not there.

    hires: whether several take worker processes of Dask's, which this process may not be able to start.
    """
    device, gpus, scheduler = resources.device, resources.gpus, resources.scheduler
    if device not in ("auto", *DEVICES):
        raise ValueError(f"device {device!r}: expected 'auto', 'cpu' or 'gpu'")
    if gpus and (device == CPU.name or (isinstance(scheduler, str) and device != GPU.name)):
        raise ValueError("gpus counts GPUs, with a scheduler of each node: leave it out with device='cpu', and give device='gpu' with a scheduler")
    if resources.cpu_workers and device == CPU.name:
        raise ValueError("cpu_workers counts processes beside GPUs: leave it out with device='cpu'")
    if isinstance(scheduler, Allocation):
        of = f"{f'(--gpus {gpus} each) ' if gpus else ''}of the {scheduler.nodes} nodes of {scheduler.system}'s job {scheduler.job}"
        return Gpus({}, f"the GPUs {of}", GPU, resources.cpu_workers) if scheduler.gpus else Gpus({}, f"the processors {of}")
    if device == CPU.name:
        return Gpus({}, ASKED_CPU)
    if scheduler and device == GPU.name:
        return Gpus({}, "the scheduler's workers have them", GPU, resources.cpu_workers)
    if scheduler:
        return Gpus({}, "the scheduler's workers are used by their cores; --device gpu uses their GPUs")
    try:
        found = usable(gpus)
    except NoWorkers as error:
        if device == GPU.name or gpus:
            raise
        return Gpus({}, str(error).partition("; ")[0])
    chosen = Gpus(found, f"--gpus {gpus}" if gpus else "all that this machine has", GPU, resources.cpu_workers, shareable(gpus))
    if len(found) > 1 and hires and not chosen.cores and (why := _alone(resources)):
        return chosen.first(why)
    return chosen


def _alone(resources: Resources) -> str | None:
    """Say why this process starts no workers for several GPUs, or None: none are wanted, or it cannot and nobody asked for so many."""
    from tidalign.cluster.guard import may_start

    if resources.workers == 0:
        return "no worker processes are wanted"
    if resources.gpus:
        return None
    if not installed("dask_cuda"):
        return "several need dask-cuda, which is not installed"
    return None if may_start() else "worker processes cannot be started from here"


def of_process(asked: str, work: Callable[[], float]) -> Device:
    """Choose the device of a call that works in this process: the one that is asked for, or, for `auto`, its GPU where there is one and the work is worth it.

    Raises ValueError for an unknown name, NoWorkers where a GPU is asked for and none is usable.
    """
    if asked not in ("auto", *DEVICES):
        raise ValueError(f"device {asked!r}: expected 'auto' or {' or '.join(map(repr, DEVICES))}")
    if asked in DEVICES:
        if DEVICES[asked].takes_gpu:
            usable(1)
        return DEVICES[asked]
    try:
        return GPU if work() >= WORTH_A_GPU and usable(1) else CPU
    except NoWorkers:
        return CPU


SURE = 2.0
"""Times as long as a core's work the start of a GPU must take for the core to be sooner by sizes alone."""


def at_once(gpus: Gpus, resources: Resources, look: Callable[[], "Tiny | None"]) -> Gpus | None:
    """Take the cores for what one of them has surely done before a GPU has started, where nobody said where to do it; None: that is not known. Cores whose
    kernels are not kept would compile for longer. look: at the input (workflows/estimate/tiny.py)."""
    if not gpus.names or not _left_to_chance(resources) or (tiny := look()) is None:
        return None
    from tidalign.workflows.estimate.rates import of_core, start

    (seconds, kernels), of_gpu = tiny, start(gpus.names.values())
    if of_gpu is None or SURE * seconds > of_gpu or not all(map(kept, kernels)):
        return None
    command = of_core().of("start", {"command": 1.0})
    return _on_cores(gpus, command + seconds, command + of_gpu)


def sooner(gpus: Gpus, resources: Resources, forecast: Callable[[], "Forecast | None"], small: float = 0.0) -> Gpus:
    """Take the cores where an estimate has it done sooner there, by rates of these GPUs that were measured here (`tidalign check --calibrate`), and nobody said
    where to do it. small: seconds of one core up to which threads of this process would do it, without the start of workers."""
    if not gpus.names or not _left_to_chance(resources):
        return gpus
    from tidalign.workflows.estimate.rates import measured

    if (rates := measured(gpus.names.values())) is None or (found := forecast()) is None or rates not in found.gpu:
        return gpus
    workers = found.sooner(cores()) if found.work > small else 0
    on_cores, on_gpus = found.seconds(workers), found.seconds_on(rates, len(gpus.names), cores())
    return gpus if on_gpus <= on_cores else _on_cores(gpus, on_cores, on_gpus)


def _left_to_chance(resources: Resources) -> bool:
    """Tell whether nobody said who is to work, and where."""
    return replace(resources, insecure=DEFAULT.insecure, allocated=DEFAULT.allocated, scratch=DEFAULT.scratch) == DEFAULT


def _on_cores(gpus: Gpus, on_cores: float, on_gpus: float) -> Gpus:
    """Take the cores, and say why in place of these GPUs."""
    return Gpus({}, f"by the estimate {on_cores:.1f} s for {on_gpus:.1f} s on {'the GPU' if len(gpus.names) == 1 else 'GPUs'}; --device chooses otherwise")


_NO_MEMORY = 2
"""cudaErrorMemoryAllocation"""


def gpu_trouble() -> str | None:
    """Find, on a worker, what keeps it from its GPU, or None."""
    from tidalign.kernels.runtime.compiler import begin

    name = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
    try:
        usable(1)
        begin()
    except NoWorkers as error:
        return f"has {error}; start GPU workers with `dask cuda worker`"
    except Exception as error:  # whatever a driver says that has lost its device
        if getattr(error, "status", None) == _NO_MEMORY:
            return None  # others have it for now
        return f"on {os.uname().nodename} cannot use GPU {name} ({' '.join(str(error).split())[:100]}); --device cpu does without"
    return None


def of_workers(gpus: Gpus, found: Mapping[str, Any], scheduler: str | Allocation) -> Gpus:
    """Name the GPUs of hired workers, as many of which share one as an allocation says, by what `usable` gave there. Raises NoWorkers where one has none."""
    most = scheduler.shared if isinstance(scheduler, Allocation) else 1
    of: dict[tuple[str, str], list[str]] = {}
    names: dict[str, str] = {}
    for worker, devices in sorted(found.items()):
        if not isinstance(devices, dict):
            raise NoWorkers(f"worker {worker}: {devices}; start GPU workers with `dask cuda worker`")
        device, name = next(iter(devices.items()))
        workers = of.setdefault((worker.rpartition(":")[0], device), [])  # of a host, by its address
        if len(workers) % most == 0:
            names[worker] = name
        workers.append(worker)
    return replace(gpus, names=names)


def device_of(report: Mapping[str, Any]) -> str:
    """Name the device of a run, by its report, for people; of the CPU why, unless it was asked for."""
    why = "" if report["device_why"] == ASKED_CPU else f" ({report['device_why']})"
    return f"the CPU{why}" if report["device"] == CPU.name else str(report["device"])
