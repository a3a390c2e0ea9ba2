"""What runs on a worker of a genome run: one tile. The run directory says everything else."""

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tidalign.cluster.errors import Stopped
from tidalign.cluster.stop import Stop
from tidalign.cluster.worker import inject, logged
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.fault import fault
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS, GpuLost
from tidalign.pipeline.device import CPU, DEVICES, Device, DeviceName
from tidalign.pipeline.genome import units as stages
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.genome.stages.guards import Due, Heartbeat, RowsAndShortfalls
from tidalign.pipeline.genome.stages.independent import extend_in_parts
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk import walk
from tidalign.pipeline.store import claims, parts
from tidalign.workflows.run import handover

Counts = dict[str, Any]

BEAT_SECONDS = 0.25
"""Between two signs of life."""


_claims: set[str] = set()
"""Of the tiles that this process is at."""

_claiming = threading.Lock()
"""Held by who writes or takes back a claim; by who has lost the GPU until the process ends, so that no other tile writes one that nobody would take back."""


_stop: Stop | None = None


@contextmanager
def heeding(stop: Stop) -> Iterator[None]:
    """Let tiles of this process end soon after `stop` says so: Stopped. Walks have written down how far they are."""
    global _stop
    _stop = stop
    try:
        yield
    finally:
        _stop = None


def perform(directory: str, run: str, tile: Tile, device: DeviceName = CPU.name) -> Counts:
    """Run a tile's stage and write what comes of it; returns what was done, in numbers, and with a GPU which one and how long it was busy for this process
    in all. What is there already is left alone."""
    began, on = time.perf_counter(), DEVICES[device]
    manifest = read_manifest(directory)
    if manifest.run != run:
        raise RuntimeError(f"{directory}: holds run {manifest.run}, not {run}")
    try:
        with logged(f"{directory}/logs", tile.key), _claimed(tile, on) as beat:
            counts = _STAGES[tile.stage](directory, run, tile, beat, on)
    except KernelError:
        with _claiming:
            try:
                if multiprocessing.parent_process() is not None:
                    for other in _claims:  # only the tile that was on the GPU is to blame
                        claims.remove(other)
            finally:
                handover.give_way()
        raise
    finally:
        if on.takes_gpu:
            handover.give_back()
    if on.takes_gpu:
        gpu = os.environ.get("CUDA_VISIBLE_DEVICES", "0").partition(",")[0]
        counts |= {"gpu_held": f"{os.uname().nodename}:{gpu} in process {os.getpid()}", "busy": round(GPU_OF_PROCESS.busy, 3)}
    return counts | {"seconds": round(time.perf_counter() - began, 3)}


@contextmanager
def _claimed(tile: Tile, device: Device) -> Iterator[Heartbeat]:
    """Tell the claim how far the tile is; take it back at the end, or after an error that is nobody's fault but the program's or another tile's."""
    said, at, claim = time.monotonic(), tile.start, tile.claim
    stop = _stop  # which a thread heeds that its run has left behind, and would take up the claim again that was withdrawn
    faults = any(name.startswith("TIDALIGN_TEST_") for name in os.environ)  # of thousands of units in a second none asks again

    def beat(place: int) -> None:
        nonlocal said, at
        if stop and stop.at_once():
            raise Stopped(stop.number or signal.SIGTERM)
        if faults and place != at:
            _inject(tile, place, device)
        at = place
        if claim and time.monotonic() - said > BEAT_SECONDS:
            with _claiming:
                claims.write(claim, place, tile.stop)  # one that is late still has in it what comes after
            said = time.monotonic()

    try:
        if claim:
            with _claiming:
                claims.write(claim, tile.start, tile.stop)
                _claims.add(claim)
        _inject(tile, tile.start, device)
        yield beat
    except Exception as error:
        if claim:
            with _claiming:
                _claims.discard(claim)
                if isinstance(error, GpuLost) or not isinstance(error, MemoryError | KernelError):
                    claims.remove(claim)
        raise  # where the claim stays, the tile is to blame
    if claim:
        with _claiming:
            _claims.discard(claim)
            claims.remove(claim)


def _due() -> Due:
    """Make a Due by which what is done of a tile is written when it should not be lost, and at once when the run is to stop."""
    stop = _stop
    return Due(lambda: Stopped(stop.number) if stop and stop.number is not None else None)


def _units(directory: str, run: str, tile: Tile, beat: Heartbeat, device: Device) -> Counts:
    """Run all of a few small units."""
    counts: Counter[str] = Counter()
    due = _due()
    for start, stop in parts.left(f"{directory}/parts", run, tile.chunk, tile.start, tile.stop):
        left = tile.cut(start, stop, tile.claim)
        stages.write_units(directory, run, left, stages.small(directory, left, device, beat, counts, due), due)
        counts["units"] += stop - start
    stages.forget_all(directory, tile)
    return dict(counts)


def _seed(directory: str, run: str, tile: Tile, beat: Heartbeat, device: Device) -> Counts:
    unit = Unit(directory, tile.job, tile.unit, device)
    return {"anchors": anchoring.write_anchors(unit, lambda place: beat(min(place, tile.stop - 1))), **unit.counts}


def _walk(directory: str, run: str, tile: Tile, beat: Heartbeat, device: Device) -> Counts:
    unit = Unit(directory, tile.job, tile.unit, device)
    _write_whole(unit, lambda: walk.walk(unit, anchoring.read_anchors(unit), beat, checkpoint=True, shared=True))
    return {"walked": tile.stop, **unit.counts}


def _extend(directory: str, run: str, tile: Tile, beat: Heartbeat, device: Device) -> Counts:
    unit = Unit(directory, tile.job, tile.unit, device)
    due = _due()
    for start, stop in parts.left(f"{directory}/extended", run, tile.chunk, tile.start, tile.stop):
        extend_in_parts(unit, anchoring.read_anchors(unit, start, stop), start, beat, due)
    return {"extended": tile.stop - tile.start, **unit.counts}


def _assemble(directory: str, run: str, tile: Tile, beat: Heartbeat, device: Device) -> Counts:
    unit = Unit(directory, tile.job, tile.unit, device)
    _write_whole(unit, lambda: stages.assemble(unit))
    return {"units": 1}


def _write_whole(unit: Unit, done: Callable[[], RowsAndShortfalls]) -> None:
    """Write the part of a large unit, unless it is there, and forget what lay between its stages."""
    whole = Tile("units", unit.job_number, -1, unit.number, unit.number + 1)
    if not parts.read_part(parts.part_path(f"{unit.directory}/parts", whole.chunk, whole.start, whole.stop), unit.run):
        stages.write_units(unit.directory, unit.run, whole, iter([(whole.stop, *done())]), Due())
    stages.forget(unit)


def _forget_words() -> None:
    from tidalign.pipeline.genome.stages.gpu import forget

    forget()


handover.KEPT.append(_forget_words)


def extend_range_ahead(directory: str, run: str, job: int, unit: int, start: int, stop: int) -> int:
    """Extend anchors [start, stop) of a unit ahead of its walk; returns how many seemed worth it."""
    try:
        return walk.extend_range_ahead(Unit(directory, job, unit), start, stop)
    except FileNotFoundError:
        return 0  # the walk is over, and its files are gone


_STAGES: dict[str, Callable[[str, str, Tile, Heartbeat, Any], Counts]] = {
    "units": _units,
    "seed": _seed,
    "walk": _walk,
    "extend": _extend,
    "assemble": _assemble,
}


def _inject(tile: Tile, place: int, device: Device) -> None:
    """Inject faults of tests, whose places are `chunk:place`."""

    def fault_here() -> None:
        if device.takes_gpu:
            with device.turn():
                fault(wait=True)

    inject(lambda: [f"{tile.chunk}:{place}"], fault_here)
