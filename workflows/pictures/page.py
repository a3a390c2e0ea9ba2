"""Draw a dot plot by bokeh, as a page to look around in."""

from typing import Any

import numpy as np

from tidalign.pipeline.genome.dots.dotplot import DotPlot
from tidalign.workflows.pictures import style


def html(plot: DotPlot, *, coloring: str, pixels: int, said: str) -> str:
    """Draw it: alignments say what they are, and each colour can be hidden."""
    from bokeh.embed import file_html
    from bokeh.models import ColumnDataSource, FixedTicker, HoverTool, LinearAxis, Range1d, Span
    from bokeh.plotting import figure
    from bokeh.resources import INLINE

    across, up = style.unit(plot.target), style.unit(plot.query)
    limits = {name: Range1d(*(each / unit[0] for each in axis.limits)) for name, axis, unit in (("x_range", plot.target, across), ("y_range", plot.query, up))}
    page: Any = figure(
        width=pixels,
        height=pixels,
        **limits,
        title=said,
        x_axis_label=style.title(plot.target, "target", across[1]),
        y_axis_label=style.title(plot.query, "query", up[1]),
        tools="pan,wheel_zoom,box_zoom,reset,save",
        active_drag="box_zoom",
        output_backend="webgl",
    )
    page.grid.visible = False
    for ends, unit, dimension in ((plot.target.ends, across, "height"), (plot.query.ends, up, "width")):
        for end in ends[:-1] if len(ends) <= style.BORDERS else []:
            page.add_layout(Span(location=end / unit[0], dimension=dimension, line_color="#cccccc", line_width=0.5, level="underlay"))
    for axis, unit, place in ((plot.target, across, "above"), (plot.query, up, "right")):
        if labels := [(middle / unit[0], style.short(name)) for middle, name in style.labels(axis)]:
            texts: Any = dict(labels)
            page.add_layout(
                LinearAxis(
                    ticker=FixedTicker(ticks=[*texts]),
                    major_label_overrides=texts,
                    major_label_orientation="horizontal" if place == "right" else np.pi / 4,
                    major_tick_line_color=None,
                    axis_line_color=None,
                ),
                place,
            )
    for group in style.groups(plot, coloring):
        source = ColumnDataSource(_columns(plot, group.members, across[0], up[0]))
        width = 2 if group.thick else 1
        page.segment("x0", "y0", "x1", "y1", source=source, color=group.color, line_width=width, line_cap="round", legend_label=group.label)
    shown = [("target", "@target @target_start{0,0}-@target_end{0,0}"), ("query", "@query @query_start{0,0}-@query_end{0,0} @strand")]
    page.add_tools(HoverTool(tooltips=[*shown, ("score", "@score{0,0}"), ("identity", "@identity{0.0} %")]))
    if page.legend:
        page.legend.click_policy = "hide"
        page.legend.orientation, page.legend.location, page.legend.spacing = "horizontal", "center", 12
        page.legend.ncols = 4
        page.add_layout(page.legend[0], "below")  # it would lie on alignments
    return str(file_html(page, INLINE, title="tidalign dot plot"))


def _columns(plot: DotPlot, members: Any, across: float, up: float) -> dict[str, Any]:
    """Give the ends of some lines, and what their tooltips say."""
    of, lines = plot.segments.taken(members), plot.lines[members]
    return {
        "x0": lines[:, 0] / across,
        "y0": lines[:, 1] / up,
        "x1": lines[:, 2] / across,
        "y1": lines[:, 3] / up,
        "target": [plot.target.names[i] for i in of.target_at],
        "query": [plot.query.names[i] for i in of.query_at],
        "target_start": of.target_start,
        "target_end": of.target_end,
        "query_start": of.query_start,
        "query_end": of.query_end,
        "strand": np.where(of.forward, "+", "-").tolist(),
        "score": of.score,
        "identity": 100 * of.identity,
    }
