"""Refuse outputs that would take the place of what is read, or of a run's files. Loads little: the command line asks it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidalign.pipeline.errors import CannotWrite


def refuse_own(output: str, but: Sequence[str] = ()) -> None:
    """Raise CannotWrite where an output is in a run directory, of whichever run, whose files are the run's. but: names there that it may have."""
    named = Path(output).resolve()
    own = next((folder for folder in named.parents if all((folder / name).is_file() for name in ("plan.json", "journal.jsonl"))), None)
    if output != "-" and own and named not in [own / name for name in but]:
        allowed = f", or leave it out for {but[0]}" if but else ""
        raise CannotWrite(f"{output}: expected a name outside the run directory, whose files are the run's; choose one{allowed}")


def refuse_input(output: str, read: Any) -> None:
    """Raise CannotWrite where an output is one of the files that were read: wherever `read`, what plan.json says of the input, has a path."""
    if not Path(output).is_file():
        return
    for each in read.values() if isinstance(read, dict) else read if isinstance(read, list) else ():
        refuse_input(output, each)
    path = read.get("path") if isinstance(read, dict) else None
    if isinstance(path, str) and Path(path).is_file() and Path(path).samefile(output):
        raise CannotWrite(f"{output}: expected another name than those of what is read; choose one")
