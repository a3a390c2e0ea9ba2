"""Go on where a file of a run is damaged: it is removed and made again."""

from collections.abc import Callable
from typing import TypeVar

from tidalign.pipeline.errors import Damaged, InputError, MissingInput
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.rundir import locked

A = TypeVar("A")


def mending(directory: str, call: Callable[[], A]) -> A:
    """Call again what met a damaged file of the run, which is removed, so that it is made again."""
    last: Damaged | None = None
    removed: set[str] = set()
    while True:
        try:
            return call()
        except Damaged as damaged:
            if damaged.path in removed:
                raise
            with locked(directory):
                rundir.mend(directory, damaged)
            removed.add(damaged.path)
            last = damaged
        except (InputError, MissingInput) as error:
            if last is None:
                raise
            raise Damaged(last.path, f"{last.found}; it cannot be made again", str(error)) from error
