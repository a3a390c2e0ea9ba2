"""The cards that a run uses: what `--device` and `--gpus` come to on this machine or a scheduler's workers, and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable
from tidalign.pipeline.device import CPU, DEVICES, GPU, Device
from tidalign.workflows.run.crew import Crew

ASKED_CPU = "--device cpu"


@dataclass(frozen=True)
class Cards:
    """names: of the cards, by what CUDA_VISIBLE_DEVICES calls them; none: the CPU, or what a scheduler's workers have. why: these and no others.
    device: what tasks run on."""

    names: dict[str, str]
    why: str
    device: Device

    def __str__(self) -> str:
        return ", ".join(sorted(self.names.values())) or CPU.name


def cards(device: str, gpus: int | None, scheduler: str | None) -> Cards:
    """This machine's cards that a run takes. Raises ValueError for what makes no sense together, NoWorkers where some are asked for and cannot be had."""
    if device not in ("auto", *DEVICES):
        raise ValueError(f"device {device!r}: expected 'auto', 'cpu' or 'gpu'")
    if gpus and (device == CPU.name or scheduler):
        raise ValueError("gpus counts GPUs of this machine: leave it out with device='cpu' and with a scheduler")
    if device == CPU.name:
        return Cards({}, ASKED_CPU, CPU)
    if scheduler and device == GPU.name:
        return Cards({}, "the scheduler's workers have them", GPU)
    if scheduler:
        return Cards({}, "the scheduler's workers are used by their cores; --device gpu uses their GPUs", CPU)
    try:
        found = usable(gpus)
    except NoWorkers as error:
        if device == GPU.name or gpus:
            raise
        return Cards({}, str(error).partition("; ")[0], CPU)
    return Cards(found, f"--gpus {gpus}" if gpus else "all that this machine has", GPU)


def cards_of_workers(crew: Crew) -> dict[str, str]:
    """The card of each hired worker. Raises NoWorkers where one has none."""
    found = crew.everywhere(usable)
    for worker, names in found.items():
        if not isinstance(names, dict):
            raise NoWorkers(f"worker {worker}: {names}; start GPU workers with `dask cuda worker`")
    return {worker: next(iter(names.values())) for worker, names in found.items()}


def device_of(report: Mapping[str, Any]) -> str:
    """Where a run was, of its report, for people; of the CPU why, unless it was asked for."""
    why = "" if report["device_why"] == ASKED_CPU else f" ({report['device_why']})"
    return f"the CPU{why}" if report["device"] == CPU.name else str(report["device"])
