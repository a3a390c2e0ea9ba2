"""Forecast a run over genomes from its input: how much that is, what windows of it take, and bytes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tidalign.cluster.task import cores
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.genome.input.index import check
from tidalign.pipeline.genome.input.sides import READERS, read_roles_of
from tidalign.pipeline.genome.input.source import GenomeSource, Pair, identity
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import plan_tiles, unit_of
from tidalign.workflows.estimate.forecast import PROCESS, Forecast
from tidalign.workflows.estimate.genome import StrandWork, sampled, timed
from tidalign.workflows.estimate.rates import Rates, of_core, of_gpus

JOBS = 3
"""Pairs of genomes that are looked at where there are many; the others are taken for as much work as their files are long."""

PACKED = 4.0
"""Letters that a byte of a gzip file holds, about."""

ROW_BYTES = 150.0
"""Bytes of an alignment in a part, about."""


def forecast(source: GenomeSource, parameters: GenomeParameters) -> Forecast:
    """Forecast a run over genomes. InputError for a pipe, and, as MissingInput, as the run has them."""
    files = source.files()
    if pipe := next((file["path"] for file in files if file["size"] < 0), None):
        raise InputError(pipe, "a file, to look at before it is read", "a pipe, which can be read only once", "write it to a file")
    check(source.absolute(), parameters)
    core, sizes = of_core(), np.array([_size(pair.target) * _size(pair.query) for pair in source.pairs])
    looked = np.unique(np.argsort(sizes)[np.linspace(0, len(sizes) - 1, min(JOBS, len(sizes))).round().astype(int)])
    share = 0.5 if source.triangle else 1.0  # of the square of one file
    scale = share * float(sizes.sum() / max(1.0, sizes[looked].sum()))
    jobs = [_looked(source.pairs[job], parameters, 1 / len(looked)) for job in looked]
    total = {name: scale * sum(job.total(term) for job in jobs) for name, term in _TERMS.items()}
    rows = scale * sum(each.rows for job in jobs for each in job.work)
    letters = scale * sum(job.target + job.query for job in jobs)
    known = {gpu: scale * sum(seconds) for gpu in of_gpus() if None not in (seconds := [job.seconds(gpu) for job in jobs])}  # type: ignore[arg-type]
    return Forecast(
        what={"pairs": len(source.pairs), "letters": letters, **total, "alignments": rows},
        read=core.of("read genome", {"letter": letters}),
        readers=len(source.sides()),
        tasks=[(share * seconds, max(1, round(scale))) for job in jobs for seconds in job.tasks(core, parameters)],
        gpu=known,
        host=0.0,
        export=0.0,
        bytes={
            "in": sum(file["size"] for file in files),
            "out": rows * ROW_BYTES,
            "disk": 2 * letters + rows * ROW_BYTES,
            "memory of a process": PROCESS + max(14.0 * job.target + 2.0 * job.query for job in jobs),
        },
        sample=f"windows of {len(jobs)} of {len(sizes)} pairs of genomes",
        core=core,
        threads=min(READERS, cores()),
        timed=f"extension of {'every hit (--nogfextend)' if parameters.mode == 'exact' else 'each anchor (--mode=independent)'}" if timed(parameters) else "",
    )


_TERMS = {"hits": "hit", "anchors": "anchor", "cells": "cell"}


@dataclass(frozen=True, slots=True)
class _Job:
    """Hold a job that was looked at: letters of both sides, of each query sequence, and its work by strand."""

    target: int
    lengths: Sequence[int]
    work: Sequence[StrandWork]

    @property
    def query(self) -> int:
        return sum(self.lengths)

    def total(self, term: str) -> float:
        return sum(counts[term] for each in self.work for counts in each.kinds.values())

    def seconds(self, rates: Rates) -> float | None:
        if not rates.knows("index"):
            return None
        strands = [each.seconds(rates) for each in self.work]
        return None if None in strands else rates.of("index", {"letter": self.target}) + sum(filter(None, strands))

    def tasks(self, core: Rates, parameters: GenomeParameters) -> list[float]:
        """Estimate what its tiles take a core; each indexes the target, but for those that come after it on the same core."""
        a_letter = {each.strand: (each.seconds(core) or 0.0) / max(1, self.query) for each in self.work}
        found = []
        for tile in plan_tiles(self.target, self.lengths, parameters):
            units = (unit_of(unit, parameters) for unit in range(tile["start"], tile["stop"]))
            found.append(sum(self.lengths[query] * a_letter.get(strand, 0.0) for query, strand in units))
        index = core.of("index", {"letter": self.target})
        return [seconds + index * (place < 2) for place, seconds in enumerate(sorted(found, reverse=True))]


def _looked(pair: Pair, parameters: GenomeParameters, share: float) -> _Job:
    ambiguous = parameters.scoring.ambiguous
    target, query = (read_roles_of(spec, (role,), ambiguous[0] if ambiguous else None)[0] for role, spec in (("target", pair.target), ("query", pair.query)))
    return _Job(int(target.lengths.sum()), query.sought(), sampled(parameters, target, query, share))


def _size(spec: str) -> float:
    """Tell the letters of a side by the size of its file, about."""
    path = Specifier.parse(spec).path
    return float(identity(path)["size"]) * (PACKED if path.endswith("gz") else 1.0)
