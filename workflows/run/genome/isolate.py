"""Isolate the units and anchors that kill their process (isolate.py): each is a shortfall of a part without rows.

Children use this machine's cores in any case: what a GPU cannot do may still be done.
"""

import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.schema import EXTENDED, GENOME_ALIGNMENTS
from tidalign.pipeline.store import parts
from tidalign.workflows.run.child import try_in_child
from tidalign.workflows.run.genome.tasks import perform
from tidalign.workflows.run.isolate import isolate

DIVISIBLE = ("units", "extend")
"""Stages whose tiles are of units or anchors that do not need each other; a tile of the others is tried, and rejected, whole."""


def isolate_tile(directory: str, run: str, tile: Tile, patience: float, most: int) -> int:
    """Write parts for all of a tile; one that gives no sign of life for `patience` seconds of CPU time hangs.

    Returns how many units or anchors were rejected; TooManyRejected where there are more than `most`.
    """
    divisible = tile.stage in DIVISIBLE
    start, stop = (tile.start, tile.stop) if divisible else (0, 1)

    def part(a: int, b: int) -> Tile:
        return tile.cut(a, b, None) if divisible else tile

    return isolate(
        start,
        stop,
        lambda a, b: _try(directory, run, part(a, b), patience),
        lambda a, reason: _reject(directory, run, part(a, a + 1), reason),
        most,
        directory,
        "tiles",
    )


def _reject(directory: str, run: str, tile: Tile, reason: str) -> None:
    """Write a part without rows that names the reason."""
    where = tile.job, tile.unit
    if tile.stage == "units":
        ((job, _, start, _),) = read_manifest(directory).pieces(tile.cut(tile.start, tile.start + 1, None))
        where = job, start
    unit = Unit(directory, *where)
    shortfall: dict[str, Any] = {**unit.where(), "status": "rejected", "reason": reason}
    if tile.stage == "extend":
        shortfall["anchor"] = tile.start
        parts.write_part(f"{directory}/extended", run, tile.chunk, tile.start, tile.stop, EXTENDED, [], shortfalls=[shortfall])
        return
    whole = tile if tile.stage == "units" else Tile("units", tile.job, -1, tile.unit, tile.unit + 1)
    parts.write_part(f"{directory}/parts", run, whole.chunk, whole.start, whole.stop, GENOME_ALIGNMENTS, [], shortfalls=[shortfall])


def _try(directory: str, run: str, tile: Tile, patience: float) -> str | None:
    """Run a tile in a child process: gives None, or what became of the child."""
    beat = f"{directory}/beat.{secrets.token_hex(4)}.tmp"

    def pulse() -> object:
        try:
            return Path(beat).stat().st_mtime_ns
        except OSError:
            return None

    try:
        return try_in_child("tile", [directory, run, tile.to_json(), beat], patience, pulse)
    finally:
        Path(beat).unlink(missing_ok=True)


def do(order: Any, begun: Callable[[], object]) -> None:
    """Run one tile; in a child."""
    directory, run, tile, beat = order
    begun()
    perform(directory, run, replace(Tile(**tile), claim=beat))
