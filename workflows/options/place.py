"""Options that stand before the command: on which machines it is done, and for how long.

They come first because they say nothing of what is computed: a command that works is put onto the cluster by words before it, and is the same from its name on,
in the script of the job as well.
"""

import argparse
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidalign.workflows.options.common import is_stream, typed
from tidalign.workflows.options.values import duration, integer, wall_time, word, wrong

CLUSTERS = ("auto", "none", "slurm")


def _limit(value: Any) -> str:
    """Read a time of a job, of which 0 is to Slurm as long as one likes."""
    if not re.search("[1-9]", time := wall_time(value)):
        raise wrong("more than 0, as for Slurm that is no limit", value)
    return time


_SLURM: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "nodes": ("N", integer(1, 100_000), "nodes of the job"),
    "gpus-per-node": ("G", integer(0, 1024), "GPUs of each node; 0: processors align"),
    "cpus-per-node": ("C", integer(1, 4096), "processors of each node (the share of its GPUs; without GPUs all)"),
    "time": ("T", _limit, "the job's time, as Slurm has it: minutes, H:MM:SS or D-HH:MM:SS"),
    "partition": ("P", word, "where the job is to run"),
    "account": ("A", word, "who pays"),
}
"""By name: metavar, reader, help. They override the profile of the site."""

_FLAGS = {
    "requeue": "when its time is almost over, have Slurm start the job again, which goes on from there; also inside a job",
    "follow": "show the job's log until it ends, and end with its exit status",
    "dry-run": "do nothing but show what it would take, as `tidalign estimate` does; with --cluster slurm also the job's script",
    "json": "with --dry-run and `tidalign estimate`: as JSON",
}
_VALUES = ("cluster", "stop-after", *_SLURM)
RUNS = ("pairs", "genome", "genomes", "search")
"""Commands that are done on clusters."""

GENOMES = ("genome", "genomes", "genome-index")
"""Commands that take LASTZ's options."""

DEFAULTS: dict[str, Any] = {"cluster": "auto", **dict.fromkeys(("requeue", "follow", "dry_run", "json"), False), "stop_after": None}
"""As if nothing stood before the command."""


def add(top: argparse.ArgumentParser) -> None:
    """Add the options before the command."""
    group = top.add_argument_group("before the command: on which machines it is done, and for how long")
    what = "auto (default): this machine, or all nodes of the job (Slurm, PBS, LSF) that it is in; none: this machine alone; slurm: submit the command as a job"
    group.add_argument("--cluster", choices=CLUSTERS, default="auto", help=what)
    for name, (metavar, read, help) in _SLURM.items():
        group.add_argument(f"--{name}", metavar=metavar, type=typed(read), help=f"with --cluster slurm: {help}")
    for name, help in _FLAGS.items():
        group.add_argument(f"--{name}", action="store_true", help=help)
    group.add_argument(
        "--stop-after", metavar="T", type=typed(duration), help="stop in good order after 90s (or 90), 50m, 2h or 1d (status 143), to be gone on with"
    )


_SAID_FLAGS, _SAID_VALUES = ("--quiet", "--debug", "--verbose", "-v"), ("--log", "--threads")
"""Options of every command, which may stand before its name, too."""


def command_at(arguments: Sequence[str]) -> int | None:
    """Find the place of the command's name; None where there is none, or what stands before it is not known."""
    place = 0
    while place < len(arguments):
        if not arguments[place].startswith("-"):
            return place
        if not (words := _words(arguments[place])):
            return None
        place += words
    return None


def said_behind(arguments: list[str]) -> list[str]:
    """Move options of every command that stand before its name behind it."""
    behind = command_at(arguments)
    before: list[str] = []
    said: list[str] = []
    place = 0
    while place < (behind or 0):
        words = arguments[place : place + _words(arguments[place])]
        (said if _name(words[0]) in (*_SAID_FLAGS, *_SAID_VALUES) else before).extend(words)
        place += len(words)
    return [*before, *arguments[place : place + 1], *said, *arguments[place + 1 :]]


def _name(word: str) -> str:
    return word.partition("=")[0]


def _words(option: str) -> int:
    """Count the words of an option before the command, itself and its value; 0 where it is none."""
    name = _name(option)
    if name in _SAID_VALUES or name[2:] in _VALUES:
        return 1 if "=" in option else 2
    return int(name in _SAID_FLAGS or name[2:] in _FLAGS)


def belongs_before(unknown: Sequence[str]) -> str | None:
    """Find an option that stands after the command and belongs before it."""
    return next((name for name in map(_name, unknown) if name[2:] in (*_VALUES, *_FLAGS)), None)


def check(args: argparse.Namespace, environment: Mapping[str, str], error: Callable[[str], Any]) -> None:
    """Call error(message) for what makes no sense before this command."""
    given = vars(args)
    submits = args.cluster == "slurm"
    if args.module not in RUNS and (submits or args.requeue or args.stop_after or args.dry_run):
        error(f"{'an estimate is' if args.dry_run else '--cluster slurm, --requeue and --stop-after are'} for {', '.join(RUNS)}")
    if args.json and not args.dry_run:
        error("--json goes with --dry-run")
    if wrong := next((name for name in (*_SLURM, "follow") if given[name.replace("-", "_")] not in (None, False) and not submits), None):
        error(f"--{wrong} goes with --cluster slurm")
    if args.requeue and not submits and "SLURM_JOB_ID" not in environment:
        error("--requeue goes with --cluster slurm, or inside a job of Slurm's")
    if not submits:
        return
    if args.follow and args.dry_run:
        error("--dry-run submits nothing that --follow could show")
    if is_stream(args.output):
        error("a job has no terminal and no pipe: name a file or a run directory with -o")
    if args.scheduler:
        error("--scheduler has workers already: leave it or --cluster slurm out")
