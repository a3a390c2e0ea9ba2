"""`tidalign plot`: a dot plot of a genome run, as a picture (matplotlib) or as a page to look around in (bokeh)."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from tidalign.cluster.errors import NoWorkers
from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.genome.dotplot import Axis, DotPlot, dot_plot
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows.progress import say
from tidalign.workflows.status import Exit

FORWARD, REVERSE = "#0072B2", "#D55E00"
"""Okabe and Ito's blue and vermilion, which nobody mistakes for each other."""

INCHES, DPI = 8.0, 150
PIXELS = 800

LABELLED = 0.03
"""Share of an axis below which a sequence's name would not fit."""


def command(args: argparse.Namespace) -> Exit:
    """Draw RUN into OUT."""
    results = GenomeResults(args.run)
    plot(results, args.output, job=None if args.pair is None else results.pair(args.pair))
    if not args.quiet:
        say(f"{len(results):,} alignments; {args.output}")
    return Exit.COMPLETE


def plot(results: GenomeResults, output: str | Path, *, job: int | None = None) -> None:
    """Draw a run, or one of its pairs of genomes, into a file .png, .svg, .pdf or .html.

    Target across, query upwards, in Mb; + strand blue, - strand red; grey lines between sequences. NoWorkers (69) where matplotlib or bokeh is missing.
    """
    picture = dot_plot(results, job)
    path = Path(output)
    try:
        (_page if path.suffix.lower() == ".html" else _picture)(picture, path)
    except ImportError as error:
        raise NoWorkers(f"drawing needs matplotlib and bokeh ({error}); install tidalign[plot]") from error
    except OSError as error:
        raise CannotWrite(f"{output}: cannot be written: {error.strerror or error}") from error


def _unit(axis: Axis) -> tuple[float, str]:
    """Bases in the unit that an axis is counted in, and its name."""
    longest = int(axis.ends[-1])
    return (1e6, "Mb") if longest >= 1_000_000 else (1e3, "kb")


def _title(axis: Axis, side: str, unit: str) -> str:
    return f"{side} {axis.names[0]} ({unit})" if len(axis.names) == 1 else f"{side}, {len(axis.names)} sequences ({unit})"


def _labels(axis: Axis) -> list[tuple[float, str]]:
    """(middle, name) of the sequences that have room for their name; none where there is one sequence, which the title names."""
    if len(axis.names) == 1:
        return []
    sizes = axis.ends - axis.starts
    return [(float(axis.starts[i] + sizes[i] / 2), axis.names[i]) for i in np.flatnonzero(sizes >= LABELLED * axis.ends[-1])]


def _picture(picture: DotPlot, path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(INCHES, INCHES), dpi=DPI, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    across, up = _unit(picture.target), _unit(picture.query)
    scaled = picture.lines / np.array([across[0], up[0], across[0], up[0]])
    for forward, color, name in ((True, FORWARD, "+ strand"), (False, REVERSE, "\N{MINUS SIGN} strand")):
        chosen = scaled[picture.forward == forward].reshape(-1, 2, 2)
        lines = LineCollection(list(chosen), colors=color, linewidths=1.2, capstyle="round", label=f"{name} ({len(chosen):,})")
        axes.add_collection(lines)
    axes.set_xlim(0, picture.target.ends[-1] / across[0])
    axes.set_ylim(0, picture.query.ends[-1] / up[0])
    for ends, unit, line in ((picture.target.ends, across, axes.axvline), (picture.query.ends, up, axes.axhline)):
        for end in ends[:-1] if len(ends) <= 200 else []:
            line(end / unit[0], color="0.8", linewidth=0.5, zorder=0)
    axes.set_xlabel(_title(picture.target, "target", across[1]))
    axes.set_ylabel(_title(picture.query, "query", up[1]))
    if labels := _labels(picture.target):
        top = axes.secondary_xaxis("top")
        top.set_xticks([place / across[0] for place, _ in labels], [name for _, name in labels], rotation=45, ha="left", fontsize=7)
        top.tick_params(length=0)
    if labels := _labels(picture.query):
        right = axes.secondary_yaxis("right")
        right.set_yticks([place / up[0] for place, _ in labels], [name for _, name in labels], fontsize=7)
        right.tick_params(length=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(path)


def _page(picture: DotPlot, path: Path) -> None:
    from bokeh.embed import file_html
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, LinearAxis, Range1d, Span
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    across, up = _unit(picture.target), _unit(picture.query)
    page: Any = figure(
        width=PIXELS,
        height=PIXELS,
        x_range=Range1d(0, picture.target.ends[-1] / across[0]),
        y_range=Range1d(0, picture.query.ends[-1] / up[0]),
        x_axis_label=_title(picture.target, "target", across[1]),
        y_axis_label=_title(picture.query, "query", up[1]),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_drag="box_zoom",
        output_backend="webgl",
    )
    page.grid.visible = False
    for ends, unit, dimension in ((picture.target.ends, across, "height"), (picture.query.ends, up, "width")):
        for end in ends[:-1] if len(ends) <= 200 else []:
            page.add_layout(Span(location=end / unit[0], dimension=dimension, line_color="#cccccc", line_width=0.5, level="underlay"))
    for axis, unit, place in ((picture.target, across, "above"), (picture.query, up, "right")):
        if labels := [(middle / unit[0], name) for middle, name in _labels(axis)]:
            texts: Any = dict(labels)
            straight = place == "right"
            page.add_layout(
                LinearAxis(
                    ticker=FixedTicker(ticks=[*texts]),
                    major_label_overrides=texts,
                    major_label_orientation="horizontal" if straight else np.pi / 4,
                    major_tick_line_color=None,
                    axis_line_color=None,
                ),
                place,
            )
    for forward, color, name in ((True, FORWARD, "+ strand"), (False, REVERSE, "\N{MINUS SIGN} strand")):
        chosen = np.flatnonzero(picture.forward == forward)
        if not len(chosen):
            continue  # a legend cannot show what has no line
        rows, lines = picture.rows.take(chosen).to_pydict(), picture.lines[chosen]
        identity = 100 * np.array(rows["matches"]) / np.maximum(1, np.array(rows["matches"]) + np.array(rows["mismatches"]))
        places = {"x0": lines[:, 0] / across[0], "y0": lines[:, 1] / up[0], "x1": lines[:, 2] / across[0], "y1": lines[:, 3] / up[0]}
        source = ColumnDataSource(rows | places | {"identity": identity})
        page.segment("x0", "y0", "x1", "y1", source=source, color=color, line_width=2, line_cap="round", legend_label=f"{name} ({len(chosen):,})")
    shown = [("target", "@target_name @target_start{0,0}-@target_end{0,0}"), ("query", "@query_name @query_start{0,0}-@query_end{0,0} @strand")]
    page.add_tools(HoverTool(tooltips=[*shown, ("score", "@score{0,0}"), ("identity", "@identity{0.0} %")]))
    if page.legend:
        page.legend.click_policy = "hide"
        page.legend.orientation, page.legend.location, page.legend.spacing = "horizontal", "center", 20
        page.add_layout(page.legend[0], "below")  # it would lie on alignments
    path.write_text(file_html(page, INLINE, title="tidalign dot plot"))
