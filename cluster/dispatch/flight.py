"""Hold tasks that a worker has: what is known of how far they are, and what was done about it."""

import time
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from tidalign.cluster.dispatch.share import Pool
from tidalign.cluster.task import Task


@dataclass
class Flight:
    """Tasks on their way to one worker, mostly one: their future, their pulse, and the seconds since that changed.

    patience: of their worker. pool: which kind of workers they are for; among: those of them that may do them. used: CPU time of the worker when it had said
    nothing for as long as its patience. hung: why it was restarted. left: all that they were for left. recalled: others do
    them sooner, and it was ended.
    """

    tasks: list[Task]
    future: Any
    patience: float
    pool: Pool
    among: Collection[str]
    pulse: object = None
    silent: float = 0.0
    used: float | None = None
    hung: str | None = None
    left: bool = False
    recalled: bool = False
    began: float = field(default_factory=time.monotonic)

    def pulses(self) -> object:
        """Tell what changes whenever the tasks get on; None: none has begun."""
        said = [task.pulse() if task.pulse else None for task in self.tasks]
        return said if any(each is not None for each in said) else None
