"""Draw a dot plot by matplotlib, as PNG or PDF."""

from io import BytesIO

import numpy as np

from tidalign.pipeline.genome.dots.dotplot import DotPlot
from tidalign.workflows.pictures import style


def image(plot: DotPlot, form: str, *, coloring: str, inches: float, dpi: int, said: str) -> bytes:
    """Draw a dot plot, target across, query upwards; form: `png` or `pdf`."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    figure = Figure(figsize=(inches, inches * 1.04), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    across, up = style.unit(plot.target), style.unit(plot.query)
    scaled = plot.lines / np.array([across[0], up[0], across[0], up[0]])
    for group in style.groups(plot, coloring):
        lines = list(scaled[group.members].reshape(-1, 2, 2))
        axes.add_collection(LineCollection(lines, colors=group.color, linewidths=1.6 if group.thick else 0.8, capstyle="round", label=group.label))
    for axis, unit, line, limit in ((plot.target, across, axes.axvline, axes.set_xlim), (plot.query, up, axes.axhline, axes.set_ylim)):
        for end in axis.ends[:-1] if len(axis.ends) <= style.BORDERS else []:
            line(end / unit[0], color="0.85", linewidth=0.5, zorder=0)
        limit(axis.limits[0] / unit[0], axis.limits[1] / unit[0])
    axes.set_xlabel(style.title(plot.target, "target", across[1]))
    axes.set_ylabel(style.title(plot.query, "query", up[1]))
    if labels := style.labels(plot.target):
        top = axes.secondary_xaxis("top")
        top.set_xticks([place / across[0] for place, _ in labels], [style.short(name) for _, name in labels], rotation=45, ha="left", fontsize=7)
        top.tick_params(length=0)
    if labels := style.labels(plot.query):
        right = axes.secondary_yaxis("right")
        right.set_yticks([place / up[0] for place, _ in labels], [style.short(name) for _, name in labels], fontsize=7)
        right.tick_params(length=0)
    title = f"{said}; identity" if coloring == "identity" else said
    if axes.get_legend_handles_labels()[0]:
        figure.legend(loc="outside lower center", ncols=4, frameon=False, title=title, fontsize=9, title_fontsize=9)
    drawn = BytesIO()
    figure.savefig(drawn, format=form)
    return drawn.getvalue()
