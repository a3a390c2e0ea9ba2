"""Say how dot plots look, whatever draws them: colours, units, titles, and which names have room."""

from dataclasses import dataclass

import numpy as np

from tidalign.pipeline.genome.dots.dotplot import REVERSED, Axis, DotPlot
from tidalign.pipeline.genome.dots.segments import Places

FORWARD, REVERSE = "#0072B2", "#D55E00"
"""Okabe and Ito's blue and vermilion, which nobody mistakes for each other."""

BOUNDS = (0.50, 0.70, 0.80, 0.90, 0.95, 0.99)
SCALE = ("#f3d03e", "#c7d65a", "#5ec962", "#21a087", "#2b748e", "#3f4788", "#440154")
"""Identities between which the colour changes, and the colours: viridis, from pale to dark, so that what is alike stands out."""

UNKNOWN = "#5a5a5a"

ALIKE, FEW_ALIGNMENTS = 0.70, 1000
"""Identity below which alignments are drawn thin, and how many alignments there are for it to be so."""

NAMED, NAMED_REVERSED = 24, 16
"""Letters of a name beside an axis, and of one that is reversed: the plot would be narrow beside whole names of assemblers."""

LABELLED = 0.022
"""Share of an axis below which a sequence's name would not fit."""

BORDERS = 500
"""Most sequences of a side between which lines are drawn: more would be a grey ground."""


@dataclass(frozen=True, slots=True)
class Group:
    """Alignments of one colour. members: int64[k], which; thick: whether they stand out."""

    label: str
    color: str
    members: Places
    thick: bool = True


def groups(plot: DotPlot, coloring: str) -> list[Group]:
    """Sort alignments by colour, those that are to lie on top last."""
    if coloring == "strand":
        chosen = ((False, REVERSE, "\N{MINUS SIGN} strand"), (True, FORWARD, "+ strand"))
        return [Group(f"{name} ({np.sum(plot.forward == forward):,})", color, np.flatnonzero(plot.forward == forward)) for forward, color, name in chosen]
    unknown = np.isnan(plot.identity)
    classes = np.searchsorted(BOUNDS, plot.identity, "right")
    words = (f"under {BOUNDS[0]:.0%}", *(f"{low:.0%} to {high:.0%}" for low, high in zip(BOUNDS, BOUNDS[1:], strict=False)), "99% and more")
    found = [Group("identity not known", UNKNOWN, np.flatnonzero(unknown))]
    for i, (word, color) in enumerate(zip(words, SCALE, strict=True)):
        members = np.flatnonzero((classes == i) & ~unknown)
        found.append(Group(f"{word} ({len(members):,})", color, members, (i > 0 and BOUNDS[i - 1] >= ALIKE) or len(plot.lines) < FEW_ALIGNMENTS))
    return [group for group in found if len(group.members)]


def unit(axis: Axis) -> tuple[float, str]:
    """Give the bases in the unit that an axis is counted in, and its name."""
    low, high = axis.limits
    return (1e6, "Mb") if high - low >= 1_000_000 else (1e3, "kb") if high - low >= 1000 else (1.0, "bp")


def title(axis: Axis, side: str, unit: str) -> str:
    """Write the title of an axis."""
    return f"{side} {axis.names[0]} ({unit})" if len(axis.names) == 1 else f"{side}, {len(axis.names):,} sequences ({unit})"


def labels(axis: Axis) -> list[tuple[float, str]]:
    """List (middle, name) of the sequences that have room for their name; none where there is one sequence, which the title names."""
    if len(axis.names) == 1:
        return []
    sizes, (low, high) = axis.ends - axis.starts, axis.limits
    return [(float(axis.starts[i] + sizes[i] / 2), axis.names[i]) for i in np.flatnonzero(sizes >= LABELLED * (high - low))]


def short(name: str) -> str:
    """Leave out the middle of a long name: contigs differ at the begin or at the end. That it is reversed stays."""
    mark = f" ({REVERSED})" if name.endswith(f" ({REVERSED})") else ""
    bare, room = name.removesuffix(mark), NAMED_REVERSED if mark else NAMED
    return name if len(bare) <= room else f"{bare[: room // 2]}\N{HORIZONTAL ELLIPSIS}{bare[len(bare) - (room - 1) // 2 :]}{mark}"


def hover(plot: DotPlot, i: int) -> str:
    """Write what is shown of an alignment when it is pointed at."""
    of = plot.segments
    like = "" if np.isnan(of.identity[i]) else f", identity {of.identity[i]:.1%}"
    target, query = plot.target.names[of.target_at[i]], plot.query.names[of.query_at[i]]
    target_span, query_span = f"{of.target_start[i] + 1:,}-{of.target_end[i]:,}", f"{of.query_start[i] + 1:,}-{of.query_end[i]:,}"
    return f"{target}:{target_span} and {query}:{query_span}, strand {'+' if of.forward[i] else '-'}{like}, score {of.score[i]:,}"


def caption(plot: DotPlot, all: int, shortest: int | None) -> str:
    """Write how many alignments are shown of how many, and how much of the target lies in them."""
    shown, share = len(plot.segments), f"{plot.covered:.1%} of the target"
    if shown == all:
        return f"{all:,} alignments, {share}"
    least = f", those of {shortest:,} letters and more" if shortest is not None else ""
    return f"{shown:,} of {all:,} alignments{least}; {share}"
