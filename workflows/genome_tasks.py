"""What runs on a worker of a genome run: one tile. The run directory says everything else."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from tidalign.pipeline import claims
from tidalign.pipeline.genome import parts, stages
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.unit import Unit

Counts = dict[str, int | float]

BEAT_SECONDS = 0.25
"""Between two signs of life."""


def perform(directory: str, run: str, tile: Tile, claim: str | None) -> Counts:
    """Do a tile and write what comes of it; returns what was done, in numbers. What is there already is left alone.

    claim: path of the claim that says how far the tile is, kept if the process dies; None where someone else watches.
    """
    began = time.perf_counter()
    manifest = read_manifest(directory)
    if manifest.run != run:
        raise RuntimeError(f"{directory}: holds run {manifest.run}, not {run}")
    with _claimed(claim, tile) as beat:
        counts = _STAGES[tile.stage](directory, run, tile, beat)
    return counts | {"seconds": round(time.perf_counter() - began, 3)}


@contextmanager
def _claimed(claim: str | None, tile: Tile) -> Iterator[stages.Beat]:
    """Tells the claim how far the tile is; takes it back at the end, or after an error that is nobody's fault but the program's."""
    said, at = time.monotonic(), tile.start

    def beat(place: int) -> None:
        nonlocal said, at
        if place != at:
            _test_hooks(tile, place)
        at = place
        if claim and time.monotonic() - said > BEAT_SECONDS:
            # A claim that is late still has in it what comes after.
            claims.write(claim, place, tile.stop)
            said = time.monotonic()

    try:
        if claim:
            claims.write(claim, tile.start, tile.stop)
        _test_hooks(tile, tile.start)
        yield beat
    except MemoryError:
        raise  # the claim stays: the tile is to blame
    except Exception:
        if claim:
            claims.remove(claim)
        raise
    if claim:
        claims.remove(claim)


def _units(directory: str, run: str, tile: Tile, beat: stages.Beat) -> Counts:
    """All of a few small units."""
    if parts.read_part(parts.part_path(f"{directory}/parts", tile.chunk, tile.start, tile.stop), run):
        return {}
    done = [stages.whole(Unit(directory, tile.job, number), partial(beat, number)) for number in range(tile.start, tile.stop)]
    stages.write_units(directory, run, tile, done)
    return {"units": len(done)}


def _seed(directory: str, run: str, tile: Tile, beat: stages.Beat) -> Counts:
    return {"anchors": stages.write_anchors(Unit(directory, tile.job, tile.unit), partial(beat, tile.start))}


def _walk(directory: str, run: str, tile: Tile, beat: stages.Beat) -> Counts:
    unit = Unit(directory, tile.job, tile.unit)
    whole = _whole_unit(tile)
    if not parts.read_part(parts.part_path(f"{directory}/parts", whole.chunk, whole.start, whole.stop), run):
        stages.write_units(directory, run, whole, [stages.walk(unit, stages.read_anchors(unit), beat, checkpoint=True)])
    stages.forget(unit)
    return {"walked": tile.stop}


def _extend(directory: str, run: str, tile: Tile, beat: stages.Beat) -> Counts:
    if not parts.read_part(parts.part_path(f"{directory}/extended", tile.chunk, tile.start, tile.stop), run):
        unit = Unit(directory, tile.job, tile.unit)
        rows, shortfalls = stages.extend(unit, stages.read_anchors(unit, tile.start, tile.stop), tile.start, beat)
        parts.write_part(f"{directory}/extended", run, tile.chunk, tile.start, tile.stop, rows, shortfalls)
    return {"extended": tile.stop - tile.start}


def _assemble(directory: str, run: str, tile: Tile, beat: stages.Beat) -> Counts:
    unit = Unit(directory, tile.job, tile.unit)
    whole = _whole_unit(tile)
    if not parts.read_part(parts.part_path(f"{directory}/parts", whole.chunk, whole.start, whole.stop), run):
        stages.write_units(directory, run, whole, [stages.assemble(unit)])
    stages.forget(unit)
    return {"units": 1}


def speculate(directory: str, run: str, job: int, unit: int, start: int, stop: int) -> int:
    """Extend anchors [start, stop) of a unit ahead of its walk; returns how many seemed worth it."""
    try:
        return stages.speculate(Unit(directory, job, unit), start, stop)
    except FileNotFoundError:
        return 0  # the walk is over, and its files are gone


def _whole_unit(tile: Tile) -> Tile:
    return Tile("units", tile.job, -1, tile.unit, tile.unit + 1)


_STAGES: dict[str, Callable[[str, str, Tile, stages.Beat], Counts]] = {
    "units": _units,
    "seed": _seed,
    "walk": _walk,
    "extend": _extend,
    "assemble": _assemble,
}


def _test_hooks(tile: Tile, place: int) -> None:
    """For tests of what kills workers: TIDALIGN_TEST_POISON and TIDALIGN_TEST_HANG name `chunk:place` at which the process kills itself, or stops;
    TIDALIGN_TEST_SLOW is a number of seconds to wait at each step."""
    if slow := os.environ.get("TIDALIGN_TEST_SLOW"):
        time.sleep(float(slow))
    for variable in ("TIDALIGN_TEST_POISON", "TIDALIGN_TEST_HANG"):
        chunk, _, number = os.environ.get(variable, "").partition(":")
        if chunk == tile.chunk and place == int(number):
            if variable.endswith("HANG"):
                time.sleep(1e6)
            os.kill(os.getpid(), signal.SIGKILL)
