"""Have the nodes of a run keep copies of what its tasks read (staging.py) while it works, and remove them at its end."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from tidalign.pipeline.store import rundir, staging
from tidalign.workflows.run.crew import Crew

CLOSE_SECONDS = 10.0
"""Seconds that removing copies may take workers: a scheduler that has gone does not answer, and time may be short."""


@contextmanager
def staged(crew: Crew, scratch: str) -> Iterator[None]:
    """Keep copies below a folder of each node: its path there, in which variables may stand, or `auto`. What kept a node from it is told in one line, and
    everything in the journal."""
    if scratch != staging.AUTO and scratch[:1] not in ("$", "~"):
        scratch = str(Path(scratch).absolute())  # workers have working directories of their own
    staging.begin(crew.directory, scratch)
    try:
        yield
    finally:
        Path(crew.directory, staging.MARK).unlink(missing_ok=True)
        said = [*_of_workers(crew, scratch), staging.end(crew.directory, scratch)]
        copies, size = (sum(each[name] for each in said) for name in ("copies", "bytes"))
        rundir.journal(crew.directory, "staged", copies=copies, bytes=size, hosts=sorted({each["host"] for each in said}))
        if troubles := sorted({each["trouble"] for each in said if each["trouble"]}):
            more = f" (and {len(troubles) - 1} more)" if len(troubles) > 1 else ""
            logging.getLogger("tidalign").warning("%s%s; the run directory was read in place of copies there", troubles[0], more)


def _of_workers(crew: Crew, scratch: str) -> list[dict[str, Any]]:
    """Remove the copies of each worker's node; what was made of them."""
    said: dict[str, Any] = {}

    def end() -> None:
        with suppress(Exception):  # whoever waits for tasks has told of a scheduler that has gone
            said.update(crew.everywhere(partial(staging.end, crew.directory, scratch)))

    ending = threading.Thread(target=end, name="scratch", daemon=True)
    ending.start()
    ending.join(CLOSE_SECONDS)
    return [each for each in said.copy().values() if isinstance(each, dict)]
