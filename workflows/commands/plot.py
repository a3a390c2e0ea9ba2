"""`tidalign plot`: a dot plot of a genome run, or of a file of alignments, as a picture or as a page to look around in."""

import argparse
from pathlib import Path

from tidalign.cluster.errors import NoWorkers
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.formats.export import destination
from tidalign.pipeline.genome.dots.dotplot import segments_of, zoomed
from tidalign.pipeline.genome.dots.files import is_file, read_segments
from tidalign.pipeline.genome.dots.segments import Region, Segments, along, chosen
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.store.outputs import refuse_own
from tidalign.workflows.pictures import style
from tidalign.workflows.progress import say
from tidalign.workflows.status import Exit

SIZE, DPI = 8.0, 150
"""Inches of a picture's side, and its dots in one; pages have a hundred pixels for each."""


def command(args: argparse.Namespace) -> Exit:
    """Draw RUN, or the alignments of a file, into OUT."""
    segments = _read(args.run, args.pair)
    regions = args.region, args.query_region
    said = plot(
        segments,
        args.output,
        name=args.run,
        min_length=args.min_length,
        min_identity=None if args.min_identity is None else args.min_identity / 100,
        sort=args.sort,
        target=regions[0],
        query=regions[1],
        coloring=args.color,
        size=args.size,
        dpi=args.dpi,
    )
    if not args.quiet:
        say(f"{said}; {args.output}")
    return Exit.COMPLETE


def _read(run: str, pair: str | None) -> Segments:
    if is_file(run) and not Path(run).is_dir():
        if pair is not None:
            raise InputError(run, "a run over many pairs of genomes", f"a file of alignments with --pair {pair}", "leave --pair out")
        return read_segments(run)
    if Path(run).exists() and not Path(run).is_dir():
        wanted = "a run directory of `tidalign genome` or `genomes`, or a file .paf, .maf or .chain"
        raise MissingInput(f"{run}: expected {wanted}, found another file; name one of these")
    results = GenomeResults(run)
    return segments_of(results, None if pair is None else results.pair(pair))


def plot(
    segments: Segments,
    output: str | Path,
    *,
    name: str = "",
    min_length: int | None = None,
    min_identity: float | None = None,
    sort: bool = False,
    target: Region | None = None,
    query: Region | None = None,
    coloring: str = "identity",
    size: float = SIZE,
    dpi: int = DPI,
) -> str:
    """Draw alignments into a file .png, .svg, .pdf or .html: target across, query upwards. Returns how many of them are shown, and how much of the target.

    name: of where they are from, for messages. min_length, min_identity: `dots.segments.chosen`. sort: put the query's sequences along the diagonal.
    target, query: the regions to show. NoWorkers (69) where matplotlib or bokeh is missing, which .svg does without.
    """
    refuse_own(str(output))
    if not len(segments.target.names) or not len(segments.query.names):
        raise InputError(name, "sequences on both sides", "none", "draw another")
    shown = chosen(segments, min_length, min_identity)
    by_itself = len(shown) < len(segments) and min_length is None and min_identity is None
    picture = zoomed(along(shown) if sort else shown, target, query, name)
    said = style.caption(picture, len(segments), int(shown.lengths.min()) if by_itself else min_length)
    suffix = Path(output).suffix.lower()
    try:
        if suffix == ".svg":
            from tidalign.workflows.pictures.svg import svg

            drawn = svg(picture, coloring=coloring, size=round(100 * size), said=said).encode() + b"\n"
        elif suffix == ".html":
            from tidalign.workflows.pictures.page import html

            drawn = html(picture, coloring=coloring, pixels=round(100 * size), said=said).encode()
        else:
            from tidalign.workflows.pictures.picture import image

            drawn = image(picture, suffix.removeprefix("."), coloring=coloring, inches=size, dpi=dpi, said=said)
    except ImportError as error:
        raise NoWorkers(f"drawing needs matplotlib and bokeh ({error}); install tidalign[plot], or draw an .svg") from error
    with destination(str(output)) as sink:
        sink.write(drawn)
    return said
