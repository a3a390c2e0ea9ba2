"""The cards that a run uses: what `--device` and `--gpus` come to on this machine or a scheduler's workers, and why."""

from dataclasses import dataclass

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable
from tidalign.workflows.crew import Crew


@dataclass(frozen=True)
class Cards:
    """names: of the cards, by what CUDA_VISIBLE_DEVICES calls them; none: the CPU, or what a scheduler's workers have. why: these and no others."""

    names: dict[str, str]
    why: str

    def __str__(self) -> str:
        return ", ".join(sorted(self.names.values())) or "cpu"


def cards(device: str, gpus: int | None, scheduler: str | None) -> Cards:
    """This machine's cards that a run takes. Raises NoWorkers where some are asked for and cannot be had."""
    if device == "cpu":
        return Cards({}, "--device cpu")
    if scheduler:
        return Cards({}, "the scheduler's workers" + (" have them" if device == "gpu" else " are used by their cores; --device gpu uses their GPUs"))
    try:
        found = usable(gpus)
    except NoWorkers as error:
        if device == "gpu" or gpus:
            raise
        return Cards({}, str(error))
    return Cards(found, f"--gpus {gpus}" if gpus else "all that this machine has")


def cards_of_workers(crew: Crew) -> dict[str, str]:
    """The card of each hired worker. Raises NoWorkers where one has none."""
    found = crew.everywhere(usable)
    for worker, names in found.items():
        if not isinstance(names, dict):
            raise NoWorkers(f"worker {worker}: {names}; start GPU workers with `dask cuda worker`")
    return {worker: next(iter(names.values())) for worker, names in found.items()}
