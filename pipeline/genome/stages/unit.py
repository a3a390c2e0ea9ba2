"""Hold a unit of a genome run, one query sequence on one strand against a target side, what its stages need of both, and their form on its device."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tidalign.kernels.extension.costs import Costs, Integers
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.kernels.letters.nucleotides import Codes, reverse_complement
from tidalign.kernels.seed.index import Positions, SeedPattern
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.sequences import Queries, turned
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.manifest import read_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import unit_name
from tidalign.pipeline.genome.stages import host
from tidalign.pipeline.genome.stages.covering import LEAST
from tidalign.pipeline.genome.stages.guards import Budget, Heartbeat
from tidalign.pipeline.genome.stages.itself import SelfWords, Square
from tidalign.pipeline.genome.stages.masked import MaskedTarget
from tidalign.pipeline.genome.stages.seeded import Known
from tidalign.pipeline.genome.stages.strands import Strands

OF_HSPS, OF_DEPTH = "queries left out for their HSPs", "strands left out for their depth"
"""Names of what a run counts for `query_hsp_limit` and `query_depth`."""


class Words(Protocol):
    """The words of a target, and the search of a query strand for them.

    target: codes, uint8[n]. pattern: of its seeds.
    """

    @property
    def target(self) -> Codes: ...

    @property
    def pattern(self) -> SeedPattern: ...

    def hits(self, query: Codes, parameters: GenomeParameters, **tile: int) -> Iterator[tuple[Positions, Positions]]:
        """Find all seed hits tile by tile (`tile`: at most so many), in LASTZ's order: places in target and query, int64[k] each. `start`: the query place from
        which on they are sought."""

    def records(self, query: Codes, parameters: GenomeParameters) -> Known:
        """Make what is known of diagonals before the first hit."""

    def segments(self, query: Codes, parameters: GenomeParameters, start: int = 0, records: Any = None) -> Iterator[tuple[Segments, Positions, int]]:
        """Extend used hits tile by tile: segments, the query place of each one's hit, and one up to which all are found. start: the query place of the first;
        records: what is known of diagonals there, and becomes known."""


class FreeExtender(Protocol):
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
    extend: Callable[[Strands, Any, Any, Budget, Heartbeat], Iterator[tuple[int, Extensions]]]
    extender: Callable[[Strands], FreeExtender] | None


_WRONG_THERE = "LASTZ mirrors such HSPs of the strand minus at wrong places; give one of these"

HOST = Forms(host.words, host.extend, None)


def _on_gpu() -> Forms:
    from tidalign.pipeline.genome.stages import gpu

    return Forms(gpu.words, gpu.extend, gpu.Extender)


_FORMS: dict[str, Callable[[], Forms]] = {CPU.name: lambda: HOST, GPU.name: _on_gpu}


def forms(device: Device) -> Forms:
    """Give the stages' form on a device."""
    return _FORMS[device.name]()


@lru_cache(maxsize=1)
def costs_of(parameters: GenomeParameters) -> Costs:
    """Give the costs of extensions. Made once for all units, as are the tables that are made of them."""
    scoring = parameters.scoring
    return Costs(
        scoring.plain(),
        scoring.gap_open,
        scoring.gap_extend,
        parameters.ydrop,
        parameters.gappedthresh,
        parameters.trim,
        parameters.traceback_bytes if parameters.mode == "exact" else None,
        of_hsps=parameters.gfextend and not parameters.matching and not parameters.hsp_cover and parameters.hspthresh >= parameters.gappedthresh,
    )


@lru_cache(maxsize=1)
def _unbounded(costs: Costs) -> Costs:
    """Give the same costs where alignments of any score are kept, as fences of others (`all_bounds`)."""
    return replace(costs, threshold=LEAST)


class Unit:
    """Unit `number` of job `job` of the run in `directory`.

    device: a core, or this process's GPU: it makes a difference of speed only. forms: of the stages there.
    query_index, strand: which query sequence. joint: all of them are one query ([multiple]), which the host does, whatever the device. name: of its files.
    bounds: the target's pieces, int64[m, 2]. masked: the target as it is after the units before this one (--masking), which the host does, too.
    """

    masked: MaskedTarget | None = None
    _costs: Costs | None = None

    def __init__(self, directory: str, job: int, number: int, device: Device = CPU) -> None:
        manifest = read_manifest(directory)
        self.directory, self.run, self.number = directory, manifest.run, number
        self.device = device
        self.counts: Counter[str] = Counter()
        """What was done for it, in numbers."""
        self.parameters = manifest.parameters
        self.segments: str | None = manifest.source["segments"]
        self.keep: list[str] = manifest.source["keep"]
        self.job_number, self.job = job, manifest.jobs[job]
        self.name = unit_name(job, number)
        self.query_index, self.strand = self.job.unit_of(number, self.parameters)
        self.target, self.target_codes = load_side(directory, manifest.run, self.job.target, self.job.sequence)
        self.query, self._every_query = load_side(directory, manifest.run, self.job.query)
        self.joint = self.query.joint and not self.job.each
        self.forms = HOST if self.joint or self.parameters.all_bounds else forms(device)
        self.bounds = self.target.bounds()

    @property
    def row_job(self) -> int:
        """What the rows' column `job` says."""
        return int(self.job.row_job(self.query_index))

    @cached_property
    def query_codes(self) -> Codes:
        """Of the query sequence on its strand."""
        if self.joint:
            return self._every_query if self.strand == "+" else turned(self._every_query)
        start, length = self.query.starts[self.query_index], self.query.lengths[self.query_index]
        codes = self._every_query[start : start + length]
        return codes if self.strand == "+" else reverse_complement(codes)

    @property
    def origin(self) -> int:
        """Give the place in LASTZ's memory at which the query's codes begin, on either strand."""
        return 0 if self.joint else self.query.origin(self.query_index)

    @property
    def query_bounds(self) -> Integers:
        """Where the query's sequences are, int64[m, 2]: all that a [multiple] joins, on either strand in the same places."""
        if not self.joint:
            return np.array([[0, len(self.query_codes)]], np.int64)
        return np.stack([self.query.starts, self.query.starts + self.query.lengths], axis=1)

    def queries(self, stop: int, letters: int) -> Queries:
        """Load the strands of the units from this one on, up to number `stop`, of so many letters or one more strand."""
        codes, strands = load_side(self.directory, self.run, self.job.query)[1], []
        for number in range(self.number, stop):
            i, strand = self.job.unit_of(number, self.parameters)
            one = codes[self.query.starts[i] : self.query.starts[i] + self.query.lengths[i]]
            strands.append((i, strand, one if strand == "+" else reverse_complement(one)))
            letters -= len(one)
            if letters <= 0:
                break
        return Queries.joined(strands)

    @property
    def costs(self) -> Costs:
        """What gapped extension needs to know."""
        costs = self._costs or costs_of(self.parameters)
        return _unbounded(costs) if self.parameters.all_bounds else costs

    @property
    def least(self) -> int:
        """The least score of an alignment that is shown."""
        return (self._costs or costs_of(self.parameters)).threshold

    def limit(self, lowest: int) -> None:
        """Set the least score of an alignment, where no other is given (`--hspthresh=top..`)."""
        if self.parameters.gapped_follows:
            self._costs = replace(costs_of(self.parameters), threshold=lowest)

    def mask(self, masked: MaskedTarget) -> None:
        """Replace the target by what is left of it after the units before this one."""
        self.masked, self.target_codes, self.forms = masked, masked.codes, HOST

    def words(self) -> Words:
        """Give the target's words; they are kept for the next unit. Raises DeviceLimit where they do not fit the GPU."""
        parameters = self.parameters
        if self.masked is not None or parameters.with_itself or parameters.matching is not None or parameters.hsp_cover is not None:
            return self.words_here()
        return self.forms.words(self.directory, self.run, self.job.target, self.job.sequence)

    def words_here(self) -> Words:
        """Give the target's words on the host, whatever the device."""
        words = host.words(self.directory, self.run, self.job.target, self.job.sequence)
        words = words if self.masked is None else self.masked.words(words)
        return SelfWords(words, self.square, mirrors=self.mirrors and not self.parameters.gapped) if self.parameters.with_itself else words

    @property
    def mirrors(self) -> bool:
        """Tell whether what is found comes with its mirror image (--self)."""
        return self.parameters.with_itself and self.parameters.mirror

    @cached_property
    def square(self) -> Square:
        """Of the target and the strand, where these are of one genome."""
        if self.mirrors and not self.parameters.gapped and self.strand == "-" and int(self.target.starts[0]):
            raise InputError("--self", "the strand plus, --nomirror, or alignments with gaps", "--nogapped of several sequences", _WRONG_THERE)
        return Square(self.target.starts, self.target.lengths, 0 if self.joint else int(self.target.starts[0]), self.strand == "-")

    def where(self) -> dict[str, Any]:
        """Name the unit in a report."""
        name = ", ".join(self.query.names[:3]) + (", ..." if len(self.query) > 3 else "") if self.joint else self.query.names[self.query_index]
        return {"job": self.row_job, "query_name": name, "strand": self.strand}
