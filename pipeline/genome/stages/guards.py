"""What a stage of a genome run says while it runs and when it is done, and limits of what it may take."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages.strands import Strands

Heartbeat = Callable[[int], None]
"""Called with how far a tile is."""

CUT_SECONDS = 20.0
"""Of work that is not on disk, at most, where it can be divided: what a kill costs."""


class Due:
    """Tells when what was done is to be on disk: some time after the last time, and when somebody wants to stop (`stopped` gives the error that says so)."""

    def __init__(self, stopped: Callable[[], BaseException | None] = lambda: None) -> None:
        self._stopped, self._since = stopped, time.monotonic()

    def __call__(self) -> bool:
        return time.monotonic() - self._since >= CUT_SECONDS or self._stopped() is not None

    def done(self) -> None:
        """Go on after all was written, or stop."""
        self._since = time.monotonic()
        if error := self._stopped():
            raise error


RowsAndShortfalls = tuple[Iterator[Any], list[dict[str, Any]]]
"""Tables of rows (`GENOME_ALIGNMENTS`), made as they are asked for, and what was cut or given up, all of which is there when the rows are."""


class Budget:
    """Says what a tile may take of cells and seconds of gapped extension (`--cells`, `--seconds`)."""

    def __init__(self, parameters: GenomeParameters) -> None:
        self._cells, self._seconds = parameters.cells, parameters.seconds
        self._began = time.monotonic()

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return self._cells is not None or self._seconds is not None

    def cells_left(self, used: int) -> int | None:
        """Count the cells that are left; None: no limit."""
        return None if self._cells is None else self._cells - used

    def spent(self, cells: int) -> bool:
        """Tell whether there is nothing left after so many cells."""
        return (self._cells is not None and cells >= self._cells) or (self._seconds is not None and time.monotonic() - self._began >= self._seconds)

    def shortfall(self, unit: Strands, at: int, stop: int, what: str = "anchors", done: str = "extended") -> dict[str, Any]:
        """Describe for the report the anchors that the guard left."""
        limits = {"cells": self._cells, "seconds": self._seconds}
        limit = " and ".join(f"--{name}={value:g}" for name, value in limits.items() if value is not None)
        return {**unit.where(), "status": "capped", "reason": f"guard {limit}: {what} {at:,} to {stop:,} of this tile were not {done}"}
