"""Run the stages of a unit on this process's GPU: the target's words, the search for them, and many anchors extended at once.

The GPU is held for each call of its kernels, not for longer: other tasks of the process have their turns in between. Kernels for CUDA are imported when
they are needed. DeviceLimit (or MemoryError) says that there is no room; the host does it then.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.runtime.errors import DeviceLimit, KernelError
from tidalign.kernels.seed.index import Positions
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.device import GPU
from tidalign.pipeline.genome.manifest import indexed
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import host
from tidalign.pipeline.genome.stages.guards import Budget, Heartbeat
from tidalign.pipeline.genome.stages.strands import Strands

if TYPE_CHECKING:
    from tidalign.kernels.gapped.device import DeviceExtender
    from tidalign.kernels.seed.device import DeviceIndex

T = TypeVar("T")

ANCHORS = 1 << 18
"""Anchors that the GPU gets at once."""

GUARDED = 1 << 12
"""The same where cells are limited, which is looked at in between."""

_SEEDING = threading.Lock()
"""Held while a query strand is seeded, which leaves state on the GPU between calls; waves of other units go in between."""


def ready(parameters: GenomeParameters, costs: Costs) -> None:
    """Compile what units need on this process's GPU, all at once, before the first of them asks for it."""
    from tidalign.kernels.gapped import device as gapped
    from tidalign.kernels.runtime import compiler
    from tidalign.kernels.seed import device as seed
    from tidalign.kernels.ungapped import device as ungapped

    compiler.ready([*seed.NEEDED, *ungapped.NEEDED, *(gapped.needed(costs) if parameters.gapped else ())])


class GpuWords:
    """Holds a target's words in memory of the GPU (`unit.Words`). A tile's arrays are the caller's to keep."""

    def __init__(self, index: "DeviceIndex") -> None:
        self._index, self.target, self.pattern = index, index.target, index.pattern

    def hits(self, query: Codes, parameters: GenomeParameters, **tile: int) -> Iterator[tuple[Positions, Positions]]:
        """Find all seed hits from query place `start` on."""
        from tidalign.kernels.seed import device

        return _one_at_a_time(device.hits(self._index, query, parameters.transitions, parameters.seed_filter, **tile))

    def records(self, query: Codes, parameters: GenomeParameters) -> "GpuRecords":
        """Make what is known of the diagonals before the first hit."""
        return GpuRecords(self.target, query, self.pattern.span, parameters)

    def segments(self, query: Codes, parameters: GenomeParameters, start: int = 0, records: Any = None) -> Iterator[tuple[Segments, Positions, int]]:
        """Extend used hits without gaps, or leave them as they are without `gfextend`; from query place `start` on, where diagonals are as `records` say."""
        from tidalign.kernels.ungapped import device

        found = device.segments(
            *(self._index, query),
            transitions=parameters.transitions,
            seed_filter=parameters.seed_filter,
            scoring=parameters.scoring,
            exact=parameters.mode == "exact",
            gapfree=(parameters.xdrop, parameters.hspthresh, parameters.entropy) if parameters.gfextend else None,
            start=start,
            records=records and records.known,
        )
        for segments, places in _one_at_a_time(found):
            yield segments, places, int(places[-1]) if len(places) else -1


class GpuRecords:
    """Holds what is known of a strand's diagonals on the GPU (`seeded.Known`), which is held for what is asked of it."""

    quick = True

    def __init__(self, target: Codes, query: Codes, span: int, parameters: GenomeParameters) -> None:
        from tidalign.kernels.ungapped import device

        xdrop = parameters.xdrop if parameters.gfextend else None
        self.known = device.Records(target, query, span, parameters.scoring, exact=parameters.mode == "exact", xdrop=xdrop)
        self.dtype = self.known.dtype

    @property
    def ahead(self) -> bool:
        """Tell whether more is known here than what was given tells."""
        return self.known.ahead

    def pause(self, due: Callable[[], bool]) -> None:
        """Have no tile begun ahead of what is given where it is time to write that down."""
        self.known.due = due

    def rest(self) -> tuple[Segments, int] | None:
        """Give the segments that nobody was given yet, and where they end; None: there are none, or the GPU was lost."""
        try:
            with GPU.turn():
                last = self.known.rest()
        except (KernelError, DeviceLimit, MemoryError):
            return None
        return (last[0], int(last[1][-1]) if len(last[1]) else -1) if last else None

    def state(self) -> Any:
        """Give what HitFilter.state gives."""
        with GPU.turn():
            return self.known.state()

    def restore(self, *state: Any) -> None:
        """Restore what another filter of the same sides knew."""
        with GPU.turn():
            self.known.restore(*state)


def _one_at_a_time(tiles: Iterator[T]) -> Iterator[T]:
    """Pass on what the GPU makes, which is held while it makes each."""
    with _SEEDING:
        while True:
            with GPU.turn():
                tile = next(tiles, None)
            if tile is None:
                return
            yield tile


def words(directory: str, run: str, side: int, sequence: int | None) -> GpuWords:
    """Index the words of a target side, or of one sequence of it; kept for the next unit. Raises DeviceLimit where they do not fit the GPU."""
    with GPU.turn():  # of two units of one target the second finds it
        return _words(directory, run, side, sequence)


@lru_cache(maxsize=1)
def _words(directory: str, run: str, side: int, sequence: int | None) -> GpuWords:
    from tidalign.kernels.seed import device

    return GpuWords(device.build_index(*indexed(directory, run, side, sequence)))


def forget() -> None:
    """Keep no target's words: the GPU is another process's now."""
    _words.cache_clear()


class Extender:
    """Extends anchors of a unit ahead of its walk (`unit.FreeExtender`)."""

    def __init__(self, unit: Strands) -> None:
        self._kernels = _extender(unit)

    @property
    def taken_by_host(self) -> int:
        """How many anchors the GPU left to the host."""
        return self._kernels.taken_by_host

    def inspect(self, t: Integers, q: Integers) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Tell which anchors are sure to stay below the threshold, and what is looked at for that."""
        return self._kernels.inspect(t, q)

    def extend(self, t: Integers, q: Integers) -> Speculated:
        """Extend every anchor, and say what its extension looked at."""
        return self._kernels.extend(t, q, ranges=True)


def _extender(unit: Strands) -> "DeviceExtender":
    from tidalign.kernels.gapped.device import DeviceExtender

    return DeviceExtender(unit.target_codes, unit.query_codes, unit.bounds, unit.costs, GPU.turn)


def extend(unit: Strands, t: Any, q: Any, budget: Budget, beat: Heartbeat) -> Iterator[tuple[int, Extensions]]:
    """Extend anchors as `host.extend` does; of those that have to be extended half the boxes' cells count, too. From where the GPU has no room on the host
    does it."""
    if not len(t):
        return
    counted = unit.parameters.cells is not None
    at_once = GUARDED if counted else ANCHORS
    cells, at = 0, 0

    def batch(at: int) -> tuple[int, int, Extensions]:
        """Extend the anchors from `at` on: the place after them, what cells were looked at, alignments."""
        stop = min(at + at_once, len(t))
        below, boxes = extender.inspect(t[at:stop], q[at:stop])
        left = np.flatnonzero(~below)
        known = extender.extend(t[at:stop][left], q[at:stop][left], distinct=True, boxes=counted)
        boxes[left] = known.boxes
        looked_at = int((boxes[:, 0] * boxes[:, 1] + boxes[:, 2] * boxes[:, 3]).sum()) // 2
        return stop, looked_at, _moved(known.extensions, at + left[known.extensions.anchor])

    try:
        extender = _extender(unit)
        with ThreadPoolExecutor(1, "extend") as thread:  # extends the next ones while rows are made of these
            coming = thread.submit(batch, 0)
            while at < len(t) and not budget.spent(cells):
                beat(at)
                stop, looked_at, found = coming.result()
                cells += looked_at
                unit.counts["extended by the host for the GPU"] = extender.taken_by_host
                unit.counts["cells"] = cells
                if stop < len(t) and not budget.spent(cells):
                    coming = thread.submit(batch, stop)
                yield stop, found
                at = stop
    except (DeviceLimit, MemoryError):
        unit.counts["tiles extended by the host for lack of room"] += 1
        first = at
        for at, found in host.extend(unit, t[first:], q[first:], budget, lambda place: beat(first + place)):
            yield first + at, _moved(found, first + found.anchor)


def _moved(found: Extensions, anchors: Any) -> Extensions:
    """Give the same alignments other anchors."""
    return Extensions(**{**found.to_arrays(), "anchor": anchors})
