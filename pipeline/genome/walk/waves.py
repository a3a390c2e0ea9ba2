"""Extend anchors ahead of a unit's walk by what takes many at once, a GPU: free extensions in waves of falling score.

While the walk commits a wave on the host, the next is made. Most anchors lie on an alignment that better ones have found, and are left out; so are all but one
of many in one place, until it is known what that one finds. What is left out and needed all the same is the walk's own work. The walk's result
does not depend on what is extended here, and what is extended does not depend on how far the walk is.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np

from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import REJECTED, UNDECIDED, Speculated
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.pipeline.genome.stages.anchors_file import places
from tidalign.pipeline.genome.stages.guards import Heartbeat
from tidalign.pipeline.genome.stages.unit import FreeExtender

if TYPE_CHECKING:
    from tidalign.pipeline.genome.stages.unit import Unit

FIRST_WAVE = 1 << 10
"""Anchors of the first wave, after which the walk can begin; each is twice the one before."""

LARGEST_WAVE = 1 << 20
"""Most anchors of a wave: some tens of megabytes of the host."""

EXTENDED_AT_ONCE = 1 << 8
"""So many anchors are extended at once wherever they are."""

SMALL_WAVE_AT_ONCE = 1 << 11
"""Most anchors that are extended at once, of small waves."""

AT_ONCE_BITS = 6
"""Of a wave, so many times halved, may be extended at once: a GPU takes about as long for the longest alignment as for thousands."""

STOP_SECONDS = 0.25
"""Seconds between two looks at whether to stop, of a walk that waits for a wave."""

LEFT_TO_WALK = 1 << 5
"""So many that are not about an alignment of their wave after all are left to the walk: it has done them before a GPU has, which takes as long for few
as for many."""

NEIGHBOURHOOD_BITS = ((14, 9), (12, 8), (10, 7), (8, 6))
"""Bits of target places and of diagonals of a neighbourhood of which one anchor is extended at a time: smaller ones each time, in the end all that are
left."""


class Waves:
    """Tells what is known of a unit's anchors (ANCHORS, all of them) ahead of its walk, which begins at anchor `at` and keeps `kept` there.

    extender: makes what extends them. beat: is called with the walk's place while it waits; what it raises ends the wait.
    """

    def __init__(self, unit: "Unit", extender: Callable[["Unit"], FreeExtender], anchors: Any, at: int, kept: Extensions, beat: Heartbeat) -> None:
        self._beat, self._over = beat, Event()
        self._waves = _waves(unit, extender, anchors, at, kept, self._over)
        self._thread = ThreadPoolExecutor(1, "waves")
        self._coming: Future[tuple[int, Speculated | None] | None] = self._thread.submit(next, self._waves, None)
        self._start = self._stop = at
        self._known: Speculated | None = None

    def __enter__(self) -> "Waves":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.shutdown(cancel_futures=True)

    def at(self, place: int) -> tuple[int, Speculated | None]:
        """Say up to where the walk may go in one piece from anchor `place`, and what is known of these anchors."""
        if place == self._stop:
            while not wait([self._coming], STOP_SECONDS).done:
                self._beat(place)
            if (wave := self._coming.result()) is not None:
                self._start, (self._stop, self._known) = place, wave
                self._coming = self._thread.submit(next, self._waves, None)
        return self._stop, self._known.after(place - self._start) if self._known else None


def _waves(
    unit: "Unit", extender: Callable[["Unit"], FreeExtender], anchors: Any, at: int, kept: Extensions, over: Event
) -> Iterator[tuple[int, Speculated | None]]:
    """Extend one wave after the other: (stop, what is known of the anchors up to it) of each. over: nobody wants more."""
    paths = Paths()
    for one in kept:
        paths.keep(one.ends, one.ops, one.lengths)
    size = FIRST_WAVE
    threads = ThreadPoolExecutor(unit.device.helpers, "near")
    try:
        made = extender(unit)
        while at < len(anchors):
            stop = min(at + size, len(anchors))
            wave = extend_wave(made, paths, *places(anchors, at, stop), over, threads)
            unit.counts["extended by the host for the GPU"] = made.taken_by_host
            yield stop, wave
            at, size = stop, min(2 * size, LARGEST_WAVE)
    except (DeviceLimit, MemoryError):
        unit.counts["strands extended by the host for lack of room"] += 1
        while at < len(anchors):
            at = min(at + LARGEST_WAVE, len(anchors))
            yield at, None


def extend_wave(extender: FreeExtender, paths: Paths, t: Integers, q: Integers, over: Event, threads: ThreadPoolExecutor) -> Speculated:
    """Extend a range of anchors; those that seem to lie on `paths`, or on better ones of their own, are not, nor is any once this is `over`.

    threads: tell which do. What is found is added to `paths`.
    """
    # All of them, as a GPU rejects one sooner than it is known here where it lies; what it cannot reject, the walk need not try to.
    below, boxes = extender.inspect(t, q)
    known = np.where(below, REJECTED, UNDECIDED)
    left = np.flatnonzero(~below)
    left = left[~paths.near(t[left], q[left], threads=threads)]
    parts, places = [Speculated.nothing(0)], [left[:0]]
    neighbourhoods = iter(NEIGHBOURHOOD_BITS)
    most = max(SMALL_WAVE_AT_ONCE, len(t) >> AT_ONCE_BITS)
    while len(left) > (LEFT_TO_WALK if len(parts) > 1 else 0) and not over.is_set():
        chosen, left = _spread_out(left, t, q, next(neighbourhoods, None), most)
        found = extender.extend(t[chosen], q[chosen])
        known[chosen], boxes[chosen] = found.known, found.boxes
        at, before = chosen[found.extensions.anchor], len(paths)
        paths.keep_apart(t[at], q[at], found.extensions)
        parts.append(found)
        places.append(chosen)
        left = left[~paths.near(t[left], q[left], before, threads)]
    together = Speculated.concat(parts).spread(np.concatenate(places), len(t))
    return Speculated(known, boxes, together.extensions, together.range_offsets, together.ranges)


def _spread_out(anchors: Integers, t: Integers, q: Integers, neighbourhood: tuple[int, int] | None, most: int) -> tuple[Integers, Integers]:
    """Give the anchors to extend now, the first of each neighbourhood (None: all), at most `most`; and those that wait. Both in their order."""
    if len(anchors) <= EXTENDED_AT_ONCE:
        return anchors, anchors[:0]
    first = np.arange(len(anchors))
    if neighbourhood is not None:
        cells = (t[anchors] >> neighbourhood[0] << 32) + ((t[anchors] - q[anchors]) >> neighbourhood[1])
        first = np.sort(np.unique(cells, return_index=True)[1])
    waiting = np.ones(len(anchors), np.bool_)
    waiting[first[:most]] = False
    return anchors[~waiting], anchors[waiting]
