"""Draw a dot plot as SVG, where everything says its name when it is pointed at."""

from html import escape
from typing import Any

import numpy as np

from tidalign.pipeline.genome.dots.dotplot import Axis, DotPlot
from tidalign.workflows.pictures import style
from tidalign.workflows.report.charts import ticks

TITLED = 20_000
"""Alignments that say what they are: the longest."""

NAMED_SEQUENCES = 20_000
"""Sequences of a side that say their name."""

_LETTER, _SLANT = 6.8, 0.71
"""Width of a letter of a name in the wider fonts, in pixels, and how much of a slanted name lies across, and how much upwards."""

_STYLE = (
    ".dots text{font:11px Helvetica,Arial,sans-serif;fill:#222}.dots .frame{fill:none;stroke:#222}.dots .border{stroke:#ccc;stroke-width:.6}"
    ".dots .strip{fill:#e4e8ee}.dots .odd{fill:#b9c3d0}.dots .strip:hover,.dots .odd:hover{fill:#e69f00}"
    ".dots path{fill:none;stroke-linecap:round}.dots path:hover{stroke:#e69f00}"
)


def svg(plot: DotPlot, *, coloring: str = "identity", size: int = 800, titled: int = TITLED, said: str = "", name: str = "dots") -> str:
    """Draw a dot plot, `size` pixels wide. said: a line below it. name: of this picture, where a page has several."""
    names = {side: style.labels(axis) for side, axis in (("target", plot.target), ("query", plot.query))}
    longest = {side: _LETTER * max((len(style.short(text)) for _, text in each), default=0) for side, each in names.items()}
    left, top = 66.0, 24.0 + _SLANT * longest["target"]
    inner = _inner(plot.target, names["target"], size - left, 22.0 + longest["query"])
    frame = _Frame(plot, left, top, inner)
    parts = [
        _borders(frame, plot),
        _lines(frame, plot, coloring, titled, name),
        f'<rect x="{left}" y="{top}" width="{inner:.0f}" height="{inner:.0f}" class="frame"/>',
    ]
    parts += [_strips(frame, plot.target, across=True), _strips(frame, plot.query, across=False), _numbers(frame, plot)]
    for middle, text in names["target"]:
        x, y = frame.x(middle), top - 12
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" transform="rotate(-45 {x:.1f} {y:.1f})">{escape(style.short(text))}<title>{escape(text)}</title></text>')
    for middle, text in names["query"]:
        parts.append(f'<text x="{left + inner + 14:.1f}" y="{frame.y(middle) + 4:.1f}">{escape(style.short(text))}<title>{escape(text)}</title></text>')
    below = top + inner + 52
    x = left
    for group in style.groups(plot, coloring):
        width = 34 + _LETTER * len(group.label)
        if x + width > size and x > left:
            x, below = left, below + 18
        parts.append(f'<rect x="{x:.0f}" y="{below - 9:.0f}" width="18" height="10" fill="{group.color}"/>')
        parts.append(f'<text x="{x + 24:.0f}" y="{below:.0f}">{escape(group.label)}</text>')
        x += width
    if said:
        below += 20
        parts.append(f'<text x="{left}" y="{below:.0f}">{escape(said)}</text>')
    height = below + 14
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {height:.0f}" class="dots" role="img" aria-label="dot plot">'
    clip = f'<clipPath id="{name}"><rect x="{left}" y="{top}" width="{inner:.0f}" height="{inner:.0f}"/></clipPath>'
    return f"{head}<style>{_STYLE}</style>{clip}{''.join(parts)}</svg>"


def _inner(target: Axis, names: list[tuple[float, str]], width: float, right: float) -> float:
    """Find the plot's side: `right` of it is for the query's names, and the target's, which are slanted, end within the width; where it is narrow, a quarter of
    it is the plot, and names are cut off."""
    low, high = target.limits
    reach = [((middle - low) / max(1, high - low), 12 + _SLANT * _LETTER * len(style.short(text))) for middle, text in names]
    return max(width / 4, min([width - right, *((width - across) / share for share, across in reach if share > 0)]))


class _Frame:
    """Says where places of both axes lie in the picture."""

    def __init__(self, plot: DotPlot, left: float, top: float, inner: float) -> None:
        self.left, self.top, self.inner = left, top, inner
        (self._x0, x1), (self._y0, y1) = plot.target.limits, plot.query.limits
        self._across, self._up = inner / max(1, x1 - self._x0), inner / max(1, y1 - self._y0)

    def x(self, place: Any) -> Any:
        return self.left + (place - self._x0) * self._across

    def y(self, place: Any) -> Any:
        return self.top + self.inner - (place - self._y0) * self._up


def _borders(frame: _Frame, plot: DotPlot) -> str:
    bottom, right = frame.top + frame.inner, frame.left + frame.inner
    drawn = []
    for axis, across in ((plot.target, True), (plot.query, False)):
        low, high = axis.limits
        for end in axis.ends[:-1].tolist() if len(axis.ends) <= style.BORDERS else []:
            if low < end < high:
                at = frame.x(end) if across else frame.y(end)
                place = (
                    f'x1="{at:.1f}" x2="{at:.1f}" y1="{frame.top}" y2="{bottom}"' if across else f'x1="{frame.left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"'
                )
                drawn.append(f'<line {place} class="border"/>')
    return "".join(drawn)


def _lines(frame: _Frame, plot: DotPlot, coloring: str, titled: int, name: str) -> str:
    lengths = plot.segments.lengths
    enough = np.sort(lengths)[-titled] if len(lengths) > titled else 0
    drawn = []
    for group in style.groups(plot, coloring):
        lines = plot.lines[group.members].astype(float)
        ends: Any = np.stack([frame.x(lines[:, 0]), frame.y(lines[:, 1]), frame.x(lines[:, 2]), frame.y(lines[:, 3])], axis=1)
        paths, silent = [], []
        for i, (x0, y0, x1, y1) in zip(group.members.tolist(), ends.tolist(), strict=True):
            path = f"M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}"
            if lengths[i] >= enough:
                paths.append(f'<path d="{path}"><title>{escape(style.hover(plot, i))}</title></path>')
            else:
                silent.append(path)
        together = f'<path d="{"".join(silent)}"/>' if silent else ""
        drawn.append(f'<g stroke="{group.color}" stroke-width="{2.0 if group.thick else 1.1}">{together}{"".join(paths)}</g>')
    return f'<g clip-path="url(#{name})">{"".join(drawn)}</g>'


def _strips(frame: _Frame, axis: Axis, *, across: bool) -> str:
    """Give each sequence a strip beside the plot that says its name."""
    low, high = axis.limits
    drawn: list[str] = []
    for place, (begin, end, name) in enumerate(zip(axis.starts.tolist(), axis.ends.tolist(), axis.names, strict=True)):
        first, last = max(low, begin), min(high, end)
        if first >= last or len(drawn) >= NAMED_SEQUENCES:
            continue
        kind = "odd" if place % 2 else "strip"
        words = f"{name}, {end - begin:,} letters"
        if across:
            box = f'x="{frame.x(first):.2f}" y="{frame.top - 8:.0f}" width="{max(0.5, frame.x(last) - frame.x(first)):.2f}" height="6"'
        else:
            box = f'x="{frame.left + frame.inner + 3:.0f}" y="{frame.y(last):.2f}" width="6" height="{max(0.5, frame.y(first) - frame.y(last)):.2f}"'
        drawn.append(f'<rect {box} class="{kind}"><title>{escape(words)}</title></rect>')
    return "".join(drawn)


def _numbers(frame: _Frame, plot: DotPlot) -> str:
    """Draw the numbers of both axes, and what they are of."""
    bottom = frame.top + frame.inner
    drawn = []
    for axis, side, across in ((plot.target, "target", True), (plot.query, "query", False)):
        size, unit = style.unit(axis)
        low, high = axis.limits
        for tick in ticks(low / size, high / size, 6):
            text = f"{tick:,.10g}"
            if across:
                at = frame.x(tick * size)
                drawn.append(f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}" stroke="#222"/>')
                drawn.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{text}</text>')
            else:
                at = frame.y(tick * size)
                drawn.append(f'<line x1="{frame.left - 4}" x2="{frame.left}" y1="{at:.1f}" y2="{at:.1f}" stroke="#222"/>')
                drawn.append(f'<text x="{frame.left - 7}" y="{at + 4:.1f}" text-anchor="end">{text}</text>')
        words = escape(style.title(axis, side, unit))
        middle = frame.left + frame.inner / 2 if across else frame.top + frame.inner / 2
        place = f'x="{middle:.0f}" y="{bottom + 33:.0f}"' if across else f'x="16" y="{middle:.0f}" transform="rotate(-90 16 {middle:.0f})"'
        drawn.append(f'<text {place} text-anchor="middle">{words}</text>')
    return "".join(drawn)
