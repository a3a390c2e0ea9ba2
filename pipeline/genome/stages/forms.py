"""Choose the form that the stages of a unit have on a device: functions of host.py or of gpu.py, which give the same rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import Positions, SeedPattern
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import host
from tidalign.pipeline.genome.stages.guards import Beat, Budget
from tidalign.pipeline.genome.stages.strands import Strands


class Words(Protocol):
    """The words of a target, and the search of a query strand for them.

    target: codes, uint8[n]. pattern: of its seeds.
    """

    @property
    def target(self) -> Codes: ...

    @property
    def pattern(self) -> SeedPattern: ...

    def hits(self, query: Codes, parameters: GenomeParameters, **tile: int) -> Iterator[tuple[Positions, Positions]]:
        """Find all seed hits tile by tile (`tile`: at most so many), in LASTZ's order: places in target and query, int64[k] each."""

    def segments(self, query: Codes, parameters: GenomeParameters) -> Iterator[tuple[Segments, Positions, int]]:
        """Extend used hits tile by tile: segments, the query place of each one's hit, and one up to which all are found."""


class Extender(Protocol):
    """The free extension of many anchors of a unit at once.

    taken_by_host: how many of them a GPU left to the host.
    """

    @property
    def taken_by_host(self) -> int: ...

    def inspect(self, t: Integers, q: Integers) -> tuple[npt.NDArray[np.bool_], Integers]:
        """Tell of anchors at (t, q) which are sure to stay below the threshold, bool[n], and what is looked at for that, int64[n, 4]."""

    def extend(self, t: Integers, q: Integers) -> Speculated:
        """Extend every anchor, and say what its extension looked at."""


@dataclass(frozen=True)
class Forms:
    """The stages of a unit on one device. Those of a GPU raise DeviceLimit where it has no room.

    words: the target's (directory, run, side, sequence), kept for the next unit.
    extend: anchors each on its own: (anchors that are done, alignments of some of them) until there are no more, or the budget is spent.
    extender: what extends anchors ahead of the unit's walk; None: other workers do, if there are any.
    """

    words: Callable[[str, str, int, int | None], Words]
    extend: Callable[[Strands, Any, Any, Budget, Beat], Iterator[tuple[int, Extensions]]]
    extender: Callable[[Strands], Extender] | None


HOST = Forms(host.words, host.extend, None)


def _on_gpu() -> Forms:
    from tidalign.pipeline.genome.stages import gpu

    return Forms(gpu.words, gpu.extend, gpu.Extender)


_FORMS: dict[str, Callable[[], Forms]] = {CPU.name: lambda: HOST, GPU.name: _on_gpu}


def forms(device: Device) -> Forms:
    """Give the stages' form on a device."""
    return _FORMS[device.name]()
