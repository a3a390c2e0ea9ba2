"""Arguments that several commands share: where to align, and whether to begin anew."""

import argparse
from collections.abc import Callable
from typing import Any

from tidalign.workflows.options.values import Reader, count


def typed(read: Reader) -> Callable[[str], Any]:
    """A reader of values as a type of argparse's."""

    def type(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return type


def add_device(parser: argparse.ArgumentParser, gpus: str = "all") -> None:
    """Add --device and --gpus. gpus: how many there are by default."""
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="auto (default): the GPUs of this machine if it has any")
    parser.add_argument("--gpus", metavar="N", type=typed(count), help=f"how many GPUs (default: {gpus})")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add --workers and --scheduler."""
    parser.add_argument("--workers", metavar="N", type=typed(count), help="processes on this machine (default: one a core, none for little work)")
    parser.add_argument("--scheduler", metavar="ADDR", help="address or file of a Dask scheduler whose workers to use; they must see the input and OUT")


def add_new(parser: argparse.ArgumentParser) -> None:
    """Add --new."""
    parser.add_argument("--new", action="store_true", help="throw away what an earlier run left in the run directory")


def check_common(args: argparse.Namespace, error: Callable[[str], Any]) -> None:
    """Call error(message) where arguments say two places to align at."""
    given = vars(args)
    if given.get("gpus") and (given["device"] == "cpu" or given["scheduler"]):
        error("--gpus counts GPUs of this machine: leave it out with --device cpu and with --scheduler")
    if given.get("workers") and given["scheduler"]:
        error("--workers counts processes on this machine, --scheduler uses another's: give one of them")
