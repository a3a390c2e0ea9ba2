"""Declare the arguments of `tidalign plot` and `tidalign report`."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidalign.workflows.options.common import typed
from tidalign.workflows.options.values import integer, wrong

PICTURES = (".png", ".svg", ".pdf", ".html")


def _number(least: float, most: float, expected: str) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            found = float(text)
        except ValueError:
            found = least - 1
        if not least <= found <= most:
            raise wrong(f"{expected} from {least:g} to {most:g}", text)
        return found

    return read


def _region(text: str) -> Any:
    from tidalign.pipeline.genome.dots.segments import Region  # which loads pyarrow

    return Region.parse(text)


def add_plot(plot: argparse.ArgumentParser) -> None:
    """Add the options of `tidalign plot`."""
    plot.add_argument("run", metavar="RUN", help="a run directory of `tidalign genome` or `genomes`; or a file .paf, .maf or .chain of any tool, plain or .gz")
    plot.add_argument("-o", dest="output", metavar="OUT", required=True, help="a picture .png, .svg (names on hover) or .pdf, or a page .html")
    plot.add_argument("--pair", metavar="NAME", help="one pair of a run over many")
    least = "leave out alignments of fewer letters of the target (default: none; of more than 100,000 alignments, as many as are shorter than these)"
    plot.add_argument("--min-length", metavar="N", type=typed(integer(0)), help=least)
    alike = "leave out alignments of less identity in percent: matches by columns, gaps too (default: none)"
    plot.add_argument("--min-identity", metavar="PERCENT", type=typed(_number(0, 100, "a percentage")), help=alike)
    order = "put the query's sequences in the order of the target that they align to, and turn those that mostly align on the strand -"
    plot.add_argument("--sort", action="store_true", help=order)
    plot.add_argument("--region", metavar="NAME[:START-END]", type=typed(_region), help="a sequence of the target, or letters of it, from 1, with the last")
    plot.add_argument("--query-region", metavar="NAME[:START-END]", type=typed(_region), help="the same of the query")
    plot.add_argument("--color", choices=("identity", "strand"), default="identity", help="what the colour says (default: identity)")
    plot.add_argument("--size", metavar="INCHES", type=typed(_number(2, 100, "inches")), default=8.0, help="of a side (default: 8; 100 pixels each in .html)")
    plot.add_argument("--dpi", metavar="N", type=typed(integer(20, 2400)), default=150, help="dots in an inch of .png (default: 150)")


def check_plot(args: argparse.Namespace, error: Callable[[str], Any]) -> None:
    """Call error(message) where OUT is no picture."""
    if Path(args.output).suffix.lower() not in PICTURES:
        error(f"no picture in {args.output!r}: end it in {', '.join(PICTURES)}")


def add_report(report: argparse.ArgumentParser) -> None:
    """Add the options of `tidalign report`."""
    report.add_argument("run", metavar="RUN", help="the directory of a finished run of any kind")
    report.add_argument("-o", dest="output", metavar="FILE", help="the page (default: RUN/report.html)")
    report.add_argument("--multiqc", metavar="FILE", help="the table for MultiQC (default: RUN/tidalign_mqc.json, or with -o none); end it in _mqc.json")
