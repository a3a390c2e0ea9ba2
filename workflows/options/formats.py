"""Choose the format of an output from the table, and say what usage goes against it."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tidalign.pipeline.formats import table

Error = Callable[[str], Any]
"""Ends the command with a message."""


def chosen(args: argparse.Namespace, kind: str, error: Error) -> str | None:
    """Find the format that `--format`, or else the ending of OUT, means for a kind of run; None: OUT is a run directory."""
    if args.format:
        return named(args, kind, args.format, error)
    suffix = Path(args.output).suffix.lower()
    if suffix in table.ELSEWHERE[kind]:
        error(f"cannot write {suffix}: {table.ELSEWHERE[kind][suffix]}")
    found = table.by_suffix(kind, suffix[1:])
    return named(args, kind, found.name, error) if found else None


def named(args: argparse.Namespace, kind: str, text: str, error: Error) -> str:
    """Name a format as run directories and messages have it; an error for one that does not exist, or does not take the options that are given."""
    try:
        format = table.find(kind, text)
    except ValueError as unknown:
        error(str(unknown))
        raise
    if wrong := table.refused(kind, format, options_of(args)):
        error(f"--{': '.join(wrong)}")
    return format.name


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """Gather the options of formats that a command has."""
    return {name: value for name, value in vars(args).items() if name in table.OPTIONS}
