"""Names and colours of a dot plot: long names leave room for the plot and stay within the picture, each identity has one colour."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from tidalign.pipeline.genome.dots.dotplot import DotPlot, laid_out
from tidalign.pipeline.genome.dots.segments import Segments, Side, along
from tidalign.workflows.pictures import style
from tidalign.workflows.pictures.svg import svg

SVG = "{http://www.w3.org/2000/svg}"
COUNT = 12


def assembly(side: str) -> Side:
    """Name sequences as SPAdes does, and then some more."""
    return Side.of([f"NODE_{i}_length_90000_cov_23.45_{side}_pilon_pilon_of_a_long_name_{i}" for i in range(COUNT)], np.full(COUNT, 90_000))


def plot(identity: float = 0.9) -> DotPlot:
    """Align each sequence to the one of its number, every second on the strand -."""
    at = np.arange(COUNT)
    whole = at, np.zeros(COUNT, np.int64), np.full(COUNT, 90_000)
    return laid_out(along(Segments(assembly("a"), assembly("b"), *whole, *whole, at % 2 == 0, np.full(COUNT, identity), at)))


def test_long_names_stay_within_the_picture() -> None:
    """Six pixels a letter, as narrow fonts have it; slanted names go as far up as across."""
    root = ElementTree.fromstring(svg(plot(), size=800))
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    frame = next(each for each in root.iter(f"{SVG}rect") if each.get("class") == "frame")
    assert float(frame.attrib["width"]) > width / 2
    named = [each for each in root.iter(f"{SVG}text") if (each.text or "").startswith("NODE")]
    assert len(named) == 2 * COUNT and width == 800
    for each in named:
        x, y, long = float(each.attrib["x"]), float(each.attrib["y"]), 6 * len(each.text or "")
        slanted = "transform" in each.attrib
        assert x + (0.7 * long if slanted else long) <= width
        assert (y - 0.7 * long if slanted else y) >= 0 and y <= height
    titles = {each.text for each in root.iter(f"{SVG}title")}
    assert {*plot().target.names, *plot().query.names} <= titles


def test_no_box_of_a_small_picture_is_negative() -> None:
    root = ElementTree.fromstring(svg(plot(), size=200))
    sizes = [float(each.attrib[name]) for each in root.iter(f"{SVG}rect") for name in ("width", "height")]
    assert min(sizes) > 0


def test_long_names_leave_room_in_a_png(tmp_path: Path) -> None:
    """The frame's sides are the two columns that are black for long."""
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread

    from tidalign.workflows.pictures.picture import image

    (tmp_path / "x.png").write_bytes(image(plot(), "png", coloring="identity", inches=6, dpi=100, said="12 alignments"))
    dark = (imread(tmp_path / "x.png")[:, :, :3].sum(axis=2) < 1).sum(axis=0)
    sides = np.flatnonzero(dark > dark.max() * 0.95)
    assert sides.max() - sides.min() > len(dark) / 2


def test_shortened_names_differ() -> None:
    """At the begin or at the end, reversed or not; a name that fits is whole."""
    for names in ([f"NODE_{i}_length_90000_cov_23.45_pilon" for i in range(1000)], [f"Drosophila_melanogaster_scaffold_{i:05d}" for i in range(1000)]):
        for end in ("", " (reversed)"):
            shown = {style.short(name + end) for name in names}
            assert len(shown) == 1000 and all(each.endswith(end) and len(each) <= 27 for each in shown)
    assert style.short("NC_000913.3") == "NC_000913.3" and style.short("contig_000017F (reversed)") == "contig_000017F (reversed)"


def test_every_identity_has_one_colour() -> None:
    """Flies that share 48% or 58% of their columns look different."""
    colors = []
    for identity in (0.0, 0.48, 0.58, 0.75, 0.85, 0.92, 0.97, 0.99, 1.0, np.nan):
        groups = style.groups(plot(identity), "identity")
        assert [len(group.members) for group in groups] == [COUNT]
        colors.append(groups[0].color)
    assert [a != b for a, b in zip(colors, colors[1:], strict=False)] == [False, True, True, True, True, True, True, False, True]
