"""Lay out a dot plot: every alignment as a line from where it starts to where it ends, all sequences of a side one after the other."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.genome.dots.segments import Places, Region, Segments, Side, within, without_empty
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.results import GenomeResults

COLUMNS = ["target_number", "target_start", "target_end", "query_number", "query_start", "query_end", "strand", "score", "matches", "mismatches", "gap_letters"]
"""What is read of a run's rows."""

REVERSED = "reversed"
"""Said of a sequence that is shown from its end to its begin."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One side. names: of its sequences; ends: int64[k], where each ends when they follow each other. low, high: what of it is shown; None: to the end."""

    names: list[str]
    ends: Places
    low: int = 0
    high: int | None = None

    @property
    def starts(self) -> Places:
        """int64[k]: where each sequence starts."""
        return np.asarray(np.concatenate([[0], self.ends[:-1]]), np.int64)

    @property
    def limits(self) -> tuple[int, int]:
        """Give the begin and end of what is shown."""
        return self.low, int(self.ends[-1]) if self.high is None else self.high


@dataclass(frozen=True, slots=True)
class DotPlot:
    """target, query: the axes. lines: int64[n, 4], (target, query) of the begin and of the end; on the strand - the query falls. segments: what they are."""

    target: Axis
    query: Axis
    lines: Places
    segments: Segments

    @property
    def forward(self) -> npt.NDArray[np.bool_]:
        """bool[n]: the lines on the strand +."""
        return self.segments.forward

    @property
    def identity(self) -> npt.NDArray[np.float64]:
        """float64[n]: how alike the letters of each are; NaN where nobody says."""
        return self.segments.identity

    @property
    def covered(self) -> float:
        """Share of the letters of the target that are shown which lie in an alignment."""
        low, high = self.target.limits
        spans = np.clip(self.lines[np.argsort(self.lines[:, 0])][:, [0, 2]], low, high)
        reached = np.concatenate([[low], np.maximum.accumulate(spans[:, 1])])
        return float((reached[1:] - np.maximum(spans[:, 0], reached[:-1])).clip(0).sum() / max(1, high - low))


def segments_of(results: GenomeResults, job: int | None = None) -> Segments:
    """Read the alignments of a run, or of one of its pairs of genomes. InputError where it has several pairs of files and none is named."""
    target, query = results.genomes(job)
    if not len(target) or not len(query):
        raise MissingInput(f"{results.path}: no sequences to draw")
    rows = results.to_table(COLUMNS, job=job)
    at = {role: _at(side, rows[f"{role}_number"].to_numpy()) for side, role in ((target, "target"), (query, "query"))}
    matches = rows["matches"].to_numpy()
    columns = matches + rows["mismatches"].to_numpy() + rows["gap_letters"].to_numpy()
    return Segments(
        _side(target),
        _side(query),
        target_at=at["target"],
        query_at=at["query"],
        **{name: rows[name].to_numpy() for name in ("target_start", "target_end", "query_start", "query_end", "score")},
        forward=np.array(rows["strand"].to_pylist()) == "+" if len(rows) else np.zeros(0, bool),
        identity=matches / np.maximum(1, columns),
    )


def laid_out(segments: Segments) -> DotPlot:
    """Put the sequences of each side one after the other."""
    target, query = (Axis(_names(side), np.cumsum(side.lengths)) for side in (segments.target, segments.query))
    t0, t1 = (target.starts[segments.target_at] + each for each in (segments.target_start, segments.target_end))
    q0, q1 = (query.starts[segments.query_at] + each for each in (segments.query_start, segments.query_end))
    lines = np.stack([t0, np.where(segments.forward, q0, q1), t1, np.where(segments.forward, q1, q0)], axis=1)
    return DotPlot(target, query, lines, segments)


def zoomed(segments: Segments, target: Region | None, query: Region | None, file: str) -> DotPlot:
    """Lay out what lies in a region of the target, of the query, or of both. Of a side without one, what aligns to the other's is shown."""
    limits: dict[str, tuple[int, int]] = {}
    for side, region in (("target", target), ("query", query)):
        if region:
            genome: Side = getattr(segments, side)
            at, start, end = region.of(genome, file)
            segments = within(segments, side, at, start, end)
            limits[side] = (start, end)
    for side in ("target", "query"):
        if side not in limits and limits:
            segments = without_empty(segments, side)
            genome = getattr(segments, side)
            if len(genome.names) == 1 and len(segments):
                low, high = int(getattr(segments, f"{side}_start").min()), int(getattr(segments, f"{side}_end").max())
                margin = (high - low) // 50 + 1
                limits[side] = max(0, low - margin), min(int(genome.lengths[0]), high + margin)
    plot = laid_out(segments)
    shown = {side: Axis(axis.names, axis.ends, *limits.get(side, ())) for side, axis in (("target", plot.target), ("query", plot.query))}
    return DotPlot(shown["target"], shown["query"], plot.lines, segments)


def _names(side: Side) -> list[str]:
    return [f"{name} ({REVERSED})" if turned else name for name, turned in zip(side.names, side.turned.tolist(), strict=True)]


def _side(side: Genome) -> Side:
    """List a side's sequences, whole where they were read in pieces."""
    first = np.unique(side.whole(), return_index=True)[1]
    return Side.of([side.names[i] for i in first], side.full_lengths[first])


def _at(side: Genome, numbers: Places) -> Places:
    """Find the sequence of its side that each row lies on."""
    if len(side) == 1:  # it may be the one of its file that a pair is about
        return np.zeros(len(numbers), np.int64)
    return side.whole()[numbers]
