"""Draw charts as SVG: text that a page holds, without a script or a font of its own."""

from collections.abc import Mapping, Sequence
from html import escape
from math import ceil, floor, log10

import numpy as np
import numpy.typing as npt

WIDTH, HEIGHT = 440, 200
LEFT_MARGIN, RIGHT_MARGIN, TOP_MARGIN, BOTTOM_MARGIN = 62, 12, 10, 40

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f7f7f", "#b8a900")
"""Okabe and Ito's, which nobody mistakes for each other."""

Values = npt.NDArray[np.float64]


def number(value: float) -> str:
    """Write a number shortly: 1,234, 0.25, 1.5M."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, 1e4):
            return f"{value / size:.3g}{unit}" if abs(value) < 1000 * size else f"{value / size:,.0f}{unit}"
    return f"{value:,.0f}" if value == int(value) else f"{value:.3g}"


def ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Choose round numbers from `low` to `high`."""
    if not high > low:
        return [low]
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power >= rough)
    return [round(place * step, 12) for place in range(ceil(low / step - 1e-9), floor(high / step + 1e-9) + 1)]


def median_of(values: Values) -> float:
    """Find the median of some finite values. NumPy's own would load `numpy.ma` for it."""
    middle = [(len(values) - 1) // 2, len(values) // 2]
    return float(np.partition(values, middle)[middle].mean())


def histogram(values: Values, title: str, unit: str, color: str = COLORS[0], *, bins: int = 40) -> str:
    """Draw how many of some values lie where; lengths that differ a hundredfold by powers of ten. Empty where there is no value."""
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    low, high = float(values.min()), float(values.max())
    powers = low >= 1 and high > 100 * low
    if powers:
        edges = np.logspace(log10(low), log10(high) + 1e-9, bins + 1)
    elif (values == np.floor(values)).all():
        step = max(1, ceil((high - low + 1) / bins))
        edges = np.arange(low - 0.5, high + step + 0.5, step)
    else:
        edges = np.linspace(low, high, bins + 1) if high > low else np.array([low - 0.5, low + 0.5])
    counts = np.histogram(values, edges)[0]
    scale = np.log10 if powers else np.asarray
    first, last = float(scale(edges[0])), float(scale(edges[-1]))
    chart = _Chart(first, last, float(counts.max()) or 1.0, title)
    for count, begin, end in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            left, right = chart.x(float(scale(begin))), chart.x(float(scale(end)))
            top = chart.y(count)
            hover = f"{number(begin)} to {number(end)} {unit}: {count:,}"
            chart.add(f'<rect x="{left:.1f}" y="{top:.1f}" width="{max(0.8, right - left - 0.6):.1f}" height="{chart.y(0) - top:.1f}" fill="{color}">', hover)
    marks = [float(each) for each in range(ceil(first), floor(last) + 1)] if powers else ticks(first, last)
    if powers and len(marks) < 2:
        marks = [first, last]
    median = f"median {number(median_of(values))}"
    return chart.drawn([(at, number(10**at) if powers else number(at)) for at in marks], f"{unit} ({median})")


def areas(series: Mapping[str, Sequence[float]], step: float, title: str, unit: str, marks: Sequence[tuple[float, str]] = ()) -> str:
    """Draw what was done by second, kinds on top of each other, a value for each step of time; lines where something happened."""
    count = max(map(len, series.values()), default=0)
    if not count:
        return ""
    totals = [sum(values[i] for values in series.values()) for i in range(count)]
    chart = _Chart(0.0, count * step, max(totals) or 1.0, title, wide=True)
    below = [0.0] * count
    for place, (name, values) in enumerate(series.items()):
        above = [a + b for a, b in zip(below, values, strict=True)]
        line = [f"{chart.x((i + end) * step):.1f},{chart.y(above[i]):.1f}" for i in range(count) for end in (0, 1)]
        back = [f"{chart.x((i + end) * step):.1f},{chart.y(below[i]):.1f}" for i in reversed(range(count)) for end in (1, 0)]
        chart.add(f'<path d="M{" ".join(line + back)}Z" fill="{COLORS[place % len(COLORS)]}" fill-opacity="0.85">', name)
        below = above
    for when, word in marks:
        at = chart.x(when)
        chart.add(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="{chart.y(0):.1f}" y2="{TOP_MARGIN}" class="{"call" if word == "call" else "fault"}">',
            f"{word}: {when:.1f} s",
        )
    legend = [(COLORS[place % len(COLORS)], name) for place, name in enumerate(series)] if len(series) > 1 else []
    return chart.drawn([(at, number(at)) for at in ticks(0.0, count * step, 8)], unit) + _legend(legend)


def bars(rows: Sequence[tuple[str, float, float | None]], unit: str) -> str:
    """Draw a bar for each (name, value, predicted): the value solid, what was predicted a frame."""
    most = max([max(value, predicted or 0.0) for _, value, predicted in rows], default=0.0) or 1.0
    width, height, label = 2 * WIDTH, 26, 90
    drawn = []
    for place, (name, value, predicted) in enumerate(rows):
        y = place * height
        size = (width - label - 220) / most
        said = f"{number(value)} {unit}" + (f", predicted {number(predicted)}" if predicted is not None else "")
        drawn.append(f'<text x="{label - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>')
        drawn.append(f'<rect x="{label}" y="{y + 4}" width="{max(1.0, value * size):.1f}" height="14" fill="{COLORS[0]}"/>')
        if predicted is not None:
            drawn.append(f'<rect x="{label}" y="{y + 2}" width="{max(1.0, predicted * size):.1f}" height="18" fill="none" stroke="{COLORS[1]}"/>')
        drawn.append(f'<text x="{label + max(value, predicted or 0.0) * size + 6:.1f}" y="{y + 15}">{escape(said)}</text>')
    return f'<svg viewBox="0 0 {width} {height * len(rows)}" width="{width}" role="img">{"".join(drawn)}</svg>'


def _legend(entries: Sequence[tuple[str, str]]) -> str:
    spans = "".join(f'<span><i style="background:{color}"></i>{escape(name)}</span>' for color, name in entries)
    return f'<p class="legend">{spans}</p>' if entries else ""


class _Chart:
    """A chart from `first` to `last` across and from 0 to `high` upwards."""

    def __init__(self, first: float, last: float, high: float, title: str, *, wide: bool = False) -> None:
        self._first, self._last, self._high, self._title = first, last, high, title
        self._width = 2 * WIDTH + 20 if wide else WIDTH
        self._parts: list[str] = []

    def x(self, value: float) -> float:
        return LEFT_MARGIN + (value - self._first) / (self._last - self._first) * (self._width - LEFT_MARGIN - RIGHT_MARGIN)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM_MARGIN - value / self._high * (HEIGHT - TOP_MARGIN - BOTTOM_MARGIN)

    def add(self, shape: str, hover: str) -> None:
        """Draw something that says what it is when it is pointed at."""
        name = shape[1 : shape.index(" ")]
        self._parts.append(f"{shape}<title>{escape(hover)}</title></{name}>")

    def drawn(self, marks: Sequence[tuple[float, str]], below: str) -> str:
        """Give all of it: numbers at the marks, a line below them."""
        bottom = self.y(0)
        grid = [
            f'<line x1="{LEFT_MARGIN}" x2="{self._width - RIGHT_MARGIN}" y1="{self.y(at):.1f}" y2="{self.y(at):.1f}" class="grid"/>'
            f'<text x="{LEFT_MARGIN - 6}" y="{self.y(at) + 4:.1f}" text-anchor="end">{number(at)}</text>'
            for at in ticks(0.0, self._high, 4)
        ]
        named = {text: [at for at, other in marks if other == text] for _, text in marks}  # of several with one text the middle one
        numbers = [f'<text x="{self.x(at[len(at) // 2]):.1f}" y="{bottom + 16:.1f}" text-anchor="middle">{text}</text>' for text, at in named.items()]
        axis = f'<line x1="{LEFT_MARGIN}" x2="{self._width - RIGHT_MARGIN}" y1="{bottom:.1f}" y2="{bottom:.1f}" class="axis"/>'
        said = f'<text x="{(LEFT_MARGIN + self._width - RIGHT_MARGIN) / 2:.0f}" y="{HEIGHT - 6}" text-anchor="middle">{escape(below)}</text>'
        inside = "".join([*grid, *self._parts, axis, *numbers, said])
        return f'<svg viewBox="0 0 {self._width} {HEIGHT}" role="img" aria-label="{escape(self._title)}">{inside}</svg>'
