"""Order the tiles of a run whose calls end before its work does, as in the slots of a batch system: what is small does not wait behind the largest."""

import os
import signal
import time
from collections.abc import Mapping

from tidalign.workflows.run.report import history

UnitPlace = tuple[int, int]
"""A job, and where one of its planned tiles begins."""


def time_left(environment: Mapping[str, str] = os.environ) -> float:
    """Tell the seconds until this call is stopped, by its own clock (`--stop-after`) or by Slurm; infinity where nobody said so."""
    clock, _ = signal.getitimer(signal.ITIMER_REAL)
    ends = environment.get("SLURM_JOB_END_TIME", "")
    return min(clock or float("inf"), float(ends) - time.time() if ends.isdecimal() else float("inf"))


def foremost(directory: str, work: Mapping[UnitPlace, float], workers: int) -> set[UnitPlace] | None:
    """Choose what half of the workers begin with: the largest of what is left, of which some stage is done in each slot. The others, or who works alone, take
    the smallest first. None where all is done before time is over, as far as is known: then the longest go first, and all end at about the same time.

    work: seconds that are left of each planned tile. A run that was begun by an earlier call had slots too short for it.
    """
    if sum(work.values()) / max(1, workers) < time_left() and history(directory)[0] < 2:
        return None
    return set(sorted(work, key=lambda unit: (-work[unit], unit))[: workers // 2])


def order(seconds: float, pending: float, *, first: bool) -> float:
    """Tell the weight of a task: the longest of what goes first; after all of that the one after which least is left of its unit."""
    return seconds if first else -pending
