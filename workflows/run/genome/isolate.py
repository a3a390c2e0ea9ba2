"""Find what kills a tile's process: halve its units or anchors in child processes until the one at fault stands alone, do the others, give that one up.

Children use this machine's cores in any case: what a card cannot do may still be done.

`python -m tidalign.workflows.run.genome.isolate` is the child: it does one tile and exits; it may crash freely.
"""

import secrets
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidalign.pipeline.genome.plan.tiles import Tile
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.units import empty_rows
from tidalign.pipeline.schema import EXTENDED
from tidalign.pipeline.store import parts
from tidalign.workflows.run.child import serve, try_in_child
from tidalign.workflows.run.genome.tasks import perform
from tidalign.workflows.run.pairs.isolate import TooManyRejected


def isolate_tile(directory: str, run: str, tile: Tile, patience: float, most: int) -> int:
    """Write parts for all of a tile, trying it in child processes and halving what dies or gives no sign of life for `patience` seconds.

    Returns how many units or anchors were given up; TooManyRejected where there are more than `most`.
    """
    rejected = 0
    tiles = [tile]
    while tiles:
        tried = tiles.pop()
        reason = _try(directory, run, tried, patience)
        if reason is None:
            continue
        if tried.stage in ("units", "extend") and tried.stop - tried.start > 1:
            middle = (tried.start + tried.stop) // 2
            tiles += [Tile(tried.stage, tried.job, tried.unit, a, b) for a, b in ((middle, tried.stop), (tried.start, middle))]
            continue
        rejected += 1
        if rejected > most:
            raise TooManyRejected(f"{directory}: more than {most} tiles kill their worker, the last one because it {reason}; run `tidalign check`")
        _reject(directory, run, tried, reason)
    return rejected


def _reject(directory: str, run: str, tile: Tile, reason: str) -> None:
    """Write a part without rows that says why."""
    unit = Unit(directory, tile.job, tile.start if tile.stage == "units" else tile.unit)
    shortfall: dict[str, Any] = {**unit.where(), "status": "rejected", "reason": reason}
    if tile.stage == "extend":
        shortfall["anchor"] = tile.start
        parts.write_part(f"{directory}/extended", run, tile.chunk, tile.start, tile.stop, EXTENDED.empty_table(), shortfalls=[shortfall])
        return
    whole = tile if tile.stage == "units" else Tile("units", tile.job, -1, tile.unit, tile.unit + 1)
    parts.write_part(f"{directory}/parts", run, whole.chunk, whole.start, whole.stop, empty_rows(), shortfalls=[shortfall])


def _try(directory: str, run: str, tile: Tile, patience: float) -> str | None:
    """Do a tile in a child process: None, or what became of the child."""
    beat = f"{directory}/beat.{secrets.token_hex(4)}.tmp"

    def pulse() -> object:
        try:
            return Path(beat).stat().st_mtime_ns
        except OSError:
            return None

    try:
        return try_in_child("tidalign.workflows.run.genome.isolate", [directory, run, tile.to_json(), beat], patience, pulse)
    finally:
        Path(beat).unlink(missing_ok=True)


def _work(order: Any, begun: Callable[[], None]) -> None:
    directory, run, tile, beat = order
    begun()
    perform(directory, run, Tile(**tile), beat)


if __name__ == "__main__":
    sys.exit(serve(_work))
