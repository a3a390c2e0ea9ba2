"""A dot plot's geometry: every alignment as a line from where it starts to where it ends, all sequences of a side one after the other."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.results import GenomeResults

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Axis:
    """One side. names: of its sequences; ends: int64[k], where each ends when they follow each other in file order."""

    names: list[str]
    ends: Places

    @property
    def starts(self) -> Places:
        """int64[k]: where each sequence starts."""
        return np.asarray(np.concatenate([[0], self.ends[:-1]]), np.int64)


@dataclass(frozen=True, slots=True)
class DotPlot:
    """target, query: the axes. lines: int64[n, 4], (target, query) of the begin and of the end; on the strand - the query falls. rows: their alignments."""

    target: Axis
    query: Axis
    lines: Places
    forward: npt.NDArray[np.bool_]
    rows: Any


def dot_plot(results: GenomeResults, job: int | None = None) -> DotPlot:
    """The picture of a run, or of one of its pairs of genomes. InputError where it has several pairs of files and none is named."""
    target, query = results.genomes(job)
    columns = ["target_name", "target_number", "target_start", "target_end", "query_name", "query_number", "query_start", "query_end", "strand", "score"]
    rows = results.to_table([*columns, "matches", "mismatches"], job=job)
    if not len(target) or not len(query):
        raise MissingInput(f"{results.path}: no sequences to draw")
    axes = [_axis(side) for side in (target, query)]
    t0, t1, q0, q1 = (
        _offsets(side, axis, rows[f"{role}_number"].to_numpy()) + rows[f"{role}_{end}"].to_numpy()
        for side, axis, role in ((target, axes[0], "target"), (query, axes[1], "query"))
        for end in ("start", "end")
    )
    forward = np.array(rows["strand"].to_pylist()) == "+" if len(rows) else np.zeros(0, bool)
    lines = np.stack([t0, np.where(forward, q0, q1), t1, np.where(forward, q1, q0)], axis=1)
    return DotPlot(axes[0], axes[1], lines, forward, rows)


def _axis(side: Genome) -> Axis:
    """A side's sequences, whole where they were read in pieces."""
    first = np.unique(side.whole(), return_index=True)[1]
    return Axis([side.names[i] for i in first], np.cumsum(side.full_lengths[first]))


def _offsets(side: Genome, axis: Axis, numbers: Places) -> Places:
    """Where the sequences of some rows start on their axis."""
    if len(side) == 1:  # it may be the one of its file that a pair is about
        return np.zeros(len(numbers), np.int64)
    return axis.starts[side.whole()[numbers]]
