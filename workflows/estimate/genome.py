"""Estimate a run over genomes: what there is of it, by kind of work, from windows of both sides that are seeded and extended here."""

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.device import Device
from tidalign.pipeline.genome.input.folders import read_all
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import GenomeManifest, write_manifest
from tidalign.pipeline.genome.parameters import MODES, GenomeParameters
from tidalign.pipeline.genome.plan import strands
from tidalign.pipeline.genome.stages import host
from tidalign.pipeline.genome.stages.anchoring import find, schema_of
from tidalign.pipeline.genome.stages.independent import extend
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.walk import walk
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.workflows.estimate.rates import Counts, Rates

WINDOW, WINDOWS = 1 << 16, 12
"""Letters of a window of the query, in which an alignment is mostly whole, and how many are looked at."""

TARGET, TARGET_WINDOW = 1 << 25, 1 << 20
"""Letters of the target that are indexed at most, and of its windows."""

MAX_SEQUENCES = 96
"""Sequences of a side that is no larger than that which are looked at, at most."""

SAMPLE_ANCHORS = 1500
"""Anchors of a window's strand that are extended at most where each is extended on its own, or every hit is one: chosen at random."""

SAMPLE_SECONDS = 1.0
"""That finding these may take, and extending them, of all jobs that are looked at: of fewer windows, and fewer of them, where they are dear."""

LEAST_WINDOWS = 4
"""Windows that are looked at however dear they are."""

LEAST_TIMES, MOST_TIMES = 2, 16
"""Factors by which more anchors are extended next, at least and at most, once it is known what some take: one of each window's strand at first."""


@dataclass(frozen=True, slots=True)
class StrandWork:
    """Hold how much work the query sequences of a job are on one strand, by kind, and how many alignments come of it."""

    strand: str
    kinds: dict[str, Counter[str]]
    rows: float

    def seconds(self, rates: Rates) -> float | None:
        """Give the seconds of one core, or one GPU; None where some of it was not measured there."""
        return sum(rates.of(kind, counts) for kind, counts in self.kinds.items()) if all(map(rates.knows, self.kinds)) else None


@dataclass(frozen=True, slots=True)
class _Seeded:
    """Hold a unit of a sample whose anchors were found: its hits, how many anchors, those that may be extended, and their places, in any order."""

    unit: Unit
    hits: float
    anchors: int
    chosen: Any
    places: Any

    def extended(self, most: int) -> "_Extended":
        """Extend some of the anchors, chosen at random, here."""
        chosen, began = self.chosen.slice(0, most).take(np.argsort(self.places[:most])), time.thread_time()
        exact = self.unit.parameters.mode == "exact"
        done = walk(self.unit, chosen, lambda _: None, checkpoint=False) if exact else extend(self.unit, chosen, 0, lambda _: None)
        return _Extended(len(chosen), sum(len(table) for table in done[0]), time.thread_time() - began)

    def work(self, done: "_Extended", before: "_Extended") -> tuple[dict[str, dict[str, float]], float]:
        """Count the work of extension, and alignments, where so much came of some anchors, and of a part of these before: the rest is as those that came on
        top."""
        before = before if before.anchors < done.anchors else _Extended()
        rest = (self.anchors - done.anchors) / max(1, done.anchors - before.anchors)
        seconds, rows = (of + rest * max(0.0, of - first) for of, first in ((done.seconds, before.seconds), (done.rows, before.rows)))
        terms = {"anchor": float(self.anchors)}
        if timed(self.unit.parameters):
            return {f"extend {self.unit.parameters.mode}": terms | {"second": seconds}}, rows
        return {"extend": terms | {"extension": float(self.unit.counts["extended in the walk"]), "cell": float(self.unit.counts["cells"])}}, rows


@dataclass(frozen=True, slots=True)
class _Extended:
    """Hold how many anchors were extended, the rows that came of them, and the seconds that took."""

    anchors: int = 0
    rows: int = 0
    seconds: float = 0.0


def timed(parameters: GenomeParameters) -> bool:
    """Tell whether extension is not counted but timed, of some anchors."""
    return parameters.gapped and (parameters.mode != "exact" or not parameters.gfextend)


def sampled(parameters: GenomeParameters, target: Genome, query: Genome, share: float = 1.0) -> list[StrandWork]:
    """Count the work of a job, a target side against a query side, strand by strand: of windows of both, times what these stand for.

    Seeding takes its time for letters that are looked up and hits that are tried, exact mode's extension for anchors, most of which lie on something better,
    and cells. Where every hit is an anchor, or each is extended on its own, some are extended here and the rest take as long. share: of the time for these.
    """
    letters = int(query.lengths.sum())
    cut = replace(parameters, filters=(), cells=None, seconds=None)
    with tempfile.TemporaryDirectory(prefix="tidalign-") as place:
        sizes = [
            _write(Path(place, name), side, *size)
            for name, side, size in (("target.fa", target, (TARGET // TARGET_WINDOW, TARGET_WINDOW)), ("query.fa", query, (WINDOWS, WINDOW)))
        ]
        if not all(sizes):
            return []
        seconds = share * SAMPLE_SECONDS if timed(cut) else float("inf")
        units = [Unit(place, 0, number) for number in range(_planned(place, cut).jobs[0].units)]
        of_query = letters / sizes[1]
        of_both = of_query * int(target.lengths.sum()) / sizes[0]
        found: dict[str, dict[str, Counter[str]]] = {strand: {} for strand in strands(cut)}
        seeds = list(map(_counts, units))
        for unit, seed in zip(units, seeds, strict=True):
            found[unit.strand].setdefault("seed", Counter()).update({"letter": seed["letter"] * of_query, "hit": seed["hit"] * of_both})
        hits = [seed["hit"] for seed in seeds]
        seeded = _seeded(units, hits, seconds)
        of_anchors = of_both * sum(hits) / (sum(each.hits for each in seeded) or 1.0)
        rows = dict.fromkeys(found, 0.0)
        for each, (kinds, count) in zip(seeded, _extended(seeded, seconds), strict=True):
            rows[each.unit.strand] += count * of_anchors
            for kind, counts in kinds.items():
                found[each.unit.strand].setdefault(kind, Counter()).update({term: value * of_anchors for term, value in counts.items()})
    return [StrandWork(strand, kinds, rows[strand]) for strand, kinds in found.items()]


def _counts(unit: Unit) -> dict[str, float]:
    """Count the letters of a unit of a sample, and their hits."""
    return {"letter": float(len(unit.query_codes)), "hit": float(sum(len(places) for places, _ in unit.words().hits(unit.query_codes, unit.parameters)))}


def _seeded(units: Sequence[Unit], hits: Sequence[float], seconds: float) -> list[_Seeded]:
    """Find the anchors of the units of a sample here, both strands of a window after the other, until it has taken so long: windows in an order in which the
    first ones are spread over all."""
    began, found, both = time.thread_time(), list[_Seeded](), len(strands(units[0].parameters))
    for window in np.argsort(np.arange(len(units) // both) * 0.618034 % 1.0).tolist():
        if len(found) >= LEAST_WINDOWS * both and time.thread_time() - began > seconds:
            break
        found += map(_anchored, units[window * both : (window + 1) * both], hits[window * both : (window + 1) * both])
    return found


def _anchored(unit: Unit, hits: float) -> _Seeded:
    anchors = _anchors(unit)
    places = np.arange(len(anchors))
    if timed(unit.parameters):
        places = np.random.default_rng(1).permutation(len(anchors))[:SAMPLE_ANCHORS]
    return _Seeded(unit, hits, len(anchors), anchors.take(places), places)


def _extended(seeded: list[_Seeded], seconds: float) -> list[tuple[dict[str, dict[str, float]], float]]:
    """Extend anchors of the units of a sample here, where these are extended: of each unit the same share, as large as that takes no longer than so many
    seconds; what there is of each kind of work, and how many alignments."""
    anchors = sum(each.anchors for each in seeded)
    if not anchors or not seeded[0].unit.parameters.gapped:
        return [({}, each.anchors) for each in seeded]
    done, share = [_Extended()] * len(seeded), 1.0
    if seconds < float("inf"):
        max(seeded, key=lambda each: each.anchors).extended(1)  # what it loads is no part of it
        share = len(seeded) / anchors
    began = time.perf_counter()
    while True:
        most, since = [min(len(each.places), max(1, round(min(1.0, share) * each.anchors))) for each in seeded], time.perf_counter()
        before, done = done, [each.extended(count) for each, count in zip(seeded, most, strict=True)]
        took, left = time.perf_counter() - since, seconds - (time.perf_counter() - began)
        if most == [len(each.places) for each in seeded] or (any(each.anchors for each in before) and left < LEAST_TIMES * took):
            return [each.work(*both) for each, *both in zip(seeded, done, before, strict=True)]
        share *= min(MOST_TIMES, max(LEAST_TIMES, 0.9 * left / took))


def _anchors(unit: Unit) -> Any:
    return find(unit, lambda _: None, lambda tables: pa.concat_tables([schema_of(unit).empty_table(), *tables]), checkpoint=False)


def _write(path: Path, side: Genome, windows: int, size: int) -> int:
    """Write windows of a side as FASTA, evenly over it, or all of it where that is no more; returns their letters."""
    total = int(side.lengths.sum())
    ends = np.cumsum(side.lengths)
    pieces = [side.letters[start : start + length] for start, length in zip(side.starts, side.lengths, strict=True)]
    if total <= windows * size and len(pieces) > MAX_SEQUENCES:
        pieces = [pieces[i] for i in np.linspace(0, len(pieces) - 1, MAX_SEQUENCES).astype(int)]
    elif total > windows * size:
        chosen = []
        for place in (total - size) * (np.arange(windows) + 0.5) / windows:
            i = int(np.searchsorted(ends, place, "right"))
            at = int(place - (ends[i] - side.lengths[i]))
            chosen.append(pieces[i][max(0, min(at, len(pieces[i]) - size)) :][:size])
        pieces = chosen
    path.write_bytes(b"".join(b">%d\n%s\n" % (number, piece.tobytes().replace(b"\0", b"N")) for number, piece in enumerate(pieces) if len(piece)))
    return sum(map(len, pieces))


def _planned(place: str, parameters: GenomeParameters) -> GenomeManifest:
    """Make a run directory of two files of windows."""
    source = GenomeSource((Pair("sample", f"{place}/target.fa", f"{place}/query.fa"),))
    rundir.create(place, parameters.to_json(), source.to_json(), GENOMES)
    letters = parameters.scoring.ambiguous[0] if parameters.scoring.ambiguous else None
    return write_manifest(place, read_all(place, source, letters))


# ---- calibration

Best = Callable[[Device, Callable[[], Any]], float]
"""Measures the seconds of some work on a device."""

LETTERS = 400_000
TARGETS = (1 << 20, 1 << 23)
"""Letters of a query and of the targets: the words of the larger one lie in memory, not in caches."""

RELATED = ((0.0, 0.9), (0.02, 0.0), (0.15, 0.9), (0.22, 0.5), (0.3, 0.0), (0.0, 0.95))
"""Differences a letter, and the share of a query that is not related to the target at all, by stretches of `STRETCH_LETTERS`."""

STRETCH_LETTERS = 600


def points(device: Device, best: Best) -> dict[str, list[tuple[Counts, float]]]:
    """Measure indexing, seeding and exact extension on a device, on made-up genomes. best(device, work): the seconds that it takes."""
    found: dict[str, list[tuple[Counts, float]]] = {"index": [], "seed": [], "extend": [], "read genome": []}
    random, letters = np.random.default_rng(3), np.frombuffer(b"ACGT", np.uint8)
    whole = random.choice(letters, max(TARGETS))
    for number, (error, other) in enumerate(RELATED):
        target = whole[: TARGETS[number % len(TARGETS)]]
        query = np.where(random.random(LETTERS) < error, random.choice(letters, LETTERS), target[:LETTERS])[random.random(LETTERS) > error / 10]
        related = random.random(len(query) // STRETCH_LETTERS + 1) >= other
        query = np.where(np.repeat(related, STRETCH_LETTERS)[: len(query)], query, random.choice(letters, len(query)))
        with tempfile.TemporaryDirectory(prefix="tidalign-") as place:
            for name, side in (("target", target), ("query", query)):
                Path(place, f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), side.tobytes()))
            if not device.takes_gpu:
                read = {"letter": float(len(target))}, best(device, partial(read_genome, f"{place}/target.fa", role="target", ambiguous=None))
                found["read genome"].append(read)
            _planned(place, GenomeParameters())
            for kind, point in _measured(place, device).items():
                if number:
                    found[kind].append(point)  # the first is there to compile
    if not device.takes_gpu:  # what a sample is timed for is in seconds of a core already
        found |= {f"extend {mode}": [({"second": 1.0}, 1.0)] for mode in MODES}
    return {kind: points for kind, points in found.items() if points}


def _measured(place: str, device: Device) -> dict[str, tuple[Counts, float]]:
    """Measure the stages of one strand, each once, as a run does them."""
    clock = time.perf_counter if device.takes_gpu else time.process_time
    unit, here = Unit(place, 0, 0, device), Unit(place, 0, 0)
    ((extended, _),) = _extended([_anchored(here, 0.0)], float("inf"))
    counts = {"seed": _counts(here), **extended}
    host.forget()
    times = []
    for step in (unit.words, lambda: _anchors(unit), lambda: _anchors(unit), lambda: [*walk(unit, _anchors(unit), lambda _: None, checkpoint=False)[0]]):
        began = clock()
        step()
        times.append(clock() - began)
    index, first, seed, both = times  # what is packed for the first strand serves all
    counts["index"] = {"letter": float(len(unit.target_codes))}
    return {
        kind: (counts[kind], taken)
        for kind, taken in (("index", index + max(0.0, first - seed)), ("seed", seed), ("extend", max(1e-6, both - seed)))
        if kind in counts
    }
