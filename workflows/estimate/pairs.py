"""Estimate a run over pairs: what there is of it, by kind of work, from lengths and the errors of a sample, whatever the device."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import Sequences, pack, reverse_complement, unpack
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.pipeline.device import CPU
from tidalign.pipeline.pairs.aligner import aligner_of
from tidalign.pipeline.pairs.pack import packed
from tidalign.workflows.estimate.rates import Rates

UNCUT_LETTERS = 32_768
"""Letters of the longer side up to which pairs are not cut from both ends (kernels/pairwise/), which is work of another kind."""

SAMPLE_SECONDS = 0.5
"""Nominal seconds of one core that a sample may take, but for `MIN_SAMPLE` pairs of it."""

MIN_SAMPLE, MAX_SAMPLE = 8, 512
"""Pairs of a sample."""

PREFIX_LETTERS = 10_000
"""Letters of each side of a sampled pair that are looked at: of longer pairs the errors of their begin are taken for those of all."""

CLOCK_SECONDS = 0.005
"""Seconds that the time of a sample may be wrong by."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairWork:
    """Hold how much work pairs are: counts of terms by kind of work (`Rates`), and steps, what their CIGARs and rows grow with."""

    kinds: dict[str, Counter[str]]

    def seconds(self, rates: Rates) -> float | None:
        """Give the seconds of one core, or one GPU; None where some of it was not measured there."""
        return sum(rates.of(kind, counts) for kind, counts in self.kinds.items()) if all(map(rates.knows, self.kinds)) else None

    @classmethod
    def sum(cls, works: Iterable["PairWork"]) -> "PairWork":
        """Add up the work of several."""
        kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for each in works:
            for kind, counts in each.kinds.items():
                kinds[kind].update(counts)
        return cls(dict(kinds))

    def total(self, term: str) -> float:
        """Sum a term over all kinds of work."""
        return sum(counts[term] for counts in self.kinds.values())


def counted(parameters: Any, query: Numbers, target: Numbers, penalties: Numbers | None, weights: Numbers) -> PairWork:
    """Count the work of sampled pairs: letters of both sides, penalties (None with scores), and how many pairs each stands for; float64[n] each.

    A wavefront of step s is as wide as s steps of the cheapest gap letter can reach on both sides, and as the free ends are from the begin: that times the
    steps, summed, are a pair's cells. The four terms are a pair (its start and its row), a letter (packed and compared), a step (a wavefront, however short)
    and a cell. By scores a pair's whole matrix is computed.
    """
    kinds: dict[str, Counter[str]] = {}
    terms = {"pair": np.ones(len(query)), "letter": query + target}
    if parameters.scored:
        scoring = Substitution.parse(parameters.scoring, parameters.alphabet)
        terms["cell"] = query * target
        return PairWork({f"scores {scoring.alphabet} {len(scoring.pieces)} {parameters.report}": _summed(terms, weights)})
    penalty = Penalties.parse(parameters.penalties)
    unit, cheapest = penalty.unit(), min(extend for _, extend in penalty.pieces)
    steps = np.zeros(len(query)) if penalties is None else penalties / unit
    free = np.zeros(len(query))
    if parameters.ends_free:
        free = sum((np.minimum(end, side) for end, side in zip(parameters.ends_free, (query, query, target, target), strict=True)), free) / 2
    terms |= {"step": steps, "cell": steps * (steps * unit / cheapest + free)}
    for long in (False, True):
        chosen = (np.maximum(query, target) > UNCUT_LETTERS) == long
        if chosen.any():
            kind = f"wavefront {penalty.model}{' long' if long else ''} {'penalty' if parameters.penalty_only else 'cigar'}"
            kinds[kind] = _summed({term: values[chosen] for term, values in terms.items()}, weights[chosen])
    return PairWork(kinds)


def _summed(terms: dict[str, Numbers], weights: Numbers) -> Counter[str]:
    return Counter({term: float((values * weights).sum()) for term, values in terms.items()})


def sampled(parameters: Any, rows: Any, weights: Numbers, core: Rates) -> tuple[PairWork, float]:
    """Count the work of pairs of which `rows` (`schema.CHUNK`) are a sample, each standing for so many: aligned here, without CIGARs, for their errors; and
    tell how many times as long they took as the rates of a core say.

    With both strands a pair is two alignments without a CIGAR, one of them as a rule of unrelated letters, and one with it.
    """
    query, target = (rows[f"{side}_length"].to_numpy().astype(np.float64) for side in ("query", "target"))
    bare = replace(parameters, **({"report": "score"} if parameters.scored else {"penalty_only": True}))
    both = parameters.strand == "both"
    if parameters.scored:
        once = counted(parameters, query, target, None, weights)
        return PairWork.sum([once, counted(bare, query, target, None, 2 * weights)]) if both else once, 1.0
    sides, sample = tuple(packed(rows, side) for side in ("query", "target")), _Sample(bare, core)
    plus = sample.penalties(*sides)
    if not both:
        return counted(parameters, query, target, plus, weights), sample.pace
    minus = sample.penalties(reverse_complement(sides[0]), sides[1])
    tried = [counted(bare, query, target, each, weights) for each in (plus, minus)]
    return PairWork.sum([*tried, counted(parameters, query, target, np.minimum(plus, minus), weights)]), sample.pace


class _Sample:
    """Aligns sampled pairs for their penalties, and learns how fast this core is at pairs of their kind: errors that stand together take less than the same
    errors apart, and the rates may be of another core."""

    def __init__(self, parameters: Any, core: Rates) -> None:
        self._parameters, self._core = parameters, core
        self._align = aligner_of(parameters).on(CPU).align
        self._taken = self._expected = 0.0

    @property
    def pace(self) -> float:
        """Tell how many times as long the alignments took as the rates say; near 1 where they took no longer than a clock's error."""
        return (self._taken + CLOCK_SECONDS) / (self._expected + CLOCK_SECONDS)

    def penalties(self, query: Any, target: Any) -> Numbers:
        """Find the penalty of each pair; of one over `PREFIX_LETTERS` by that of its begin, whose ends are free as far as a side may be ahead of the other."""
        longer = np.maximum(query.lengths, target.lengths)
        long = longer > PREFIX_LETTERS
        found = np.zeros(len(longer))
        for chosen, ends, most in ((~long, self._parameters.ends_free, None), (long, (0, PREFIX_LETTERS // 20, 0, PREFIX_LETTERS // 20), PREFIX_LETTERS)):
            at = np.flatnonzero(chosen)
            if len(at):
                parameters = replace(self._parameters, ends_free=ends)
                found[at] = self._align(_begins(query, at, most), _begins(target, at, most), parameters).penalty * (longer[at] / most if most else 1)
        self._time(query, target, np.flatnonzero(~long)[::2], found)
        return found

    def _time(self, query: Any, target: Any, at: npt.NDArray[np.int64], penalties: Numbers) -> None:
        """Align some pairs once more, now that their kernels are loaded."""
        query, target = _begins(query, at, None), _begins(target, at, None)
        work = counted(self._parameters, query.lengths.astype(np.float64), target.lengths.astype(np.float64), penalties[at], np.ones(len(at)))
        if expected := work.seconds(self._core):
            began = time.thread_time()
            self._align(query, target, self._parameters)
            self._taken += time.thread_time() - began
            self._expected += expected


def _begins(side: Any, at: npt.NDArray[np.int64], most: int | None) -> Any:
    """Take the first letters of some sequences."""
    letters = unpack(side)
    bounds = ((letters.offsets[i], letters.offsets[i + 1]) for i in at)
    return pack(Sequences.from_strings([letters.letters[start : stop if most is None else min(stop, start + most)].tobytes() for start, stop in bounds]))


def places(weights: Numbers, budget: float) -> tuple[npt.NDArray[np.int64], Numbers]:
    """Choose rows whose estimated work is `weights`: evenly over the work, so that long pairs are looked at as much as they matter, and how many each stands
    for. budget: work that may be spent on them."""
    total = float(weights.sum())
    if not total:
        return np.zeros(0, np.int64), np.zeros(0)
    mean = float((weights * weights).sum()) / total  # of a chosen row
    count = int(min(max(budget / mean, MIN_SAMPLE), MAX_SAMPLE))
    if count >= len(weights):
        return np.arange(len(weights)), np.ones(len(weights))
    at = np.searchsorted(np.cumsum(weights), (np.arange(count) + 0.5) * total / count).clip(max=len(weights) - 1)
    return at, total / count / weights[at]
