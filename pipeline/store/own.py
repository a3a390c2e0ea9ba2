"""Keep what is written beside runs out of their directories. Loads little: the command line asks it."""

from collections.abc import Sequence
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite


def refuse_own(output: str, but: Sequence[str] = ()) -> None:
    """Raise CannotWrite where an output is in a run directory, of whichever run, whose files are the run's. but: names there that it may have."""
    named = Path(output).resolve()
    own = next((folder for folder in named.parents if all((folder / name).is_file() for name in ("plan.json", "journal.jsonl"))), None)
    if output != "-" and own and named not in [own / name for name in but]:
        allowed = f", or leave it out for {but[0]}" if but else ""
        raise CannotWrite(f"{output}: expected a name outside the run directory, whose files are the run's; choose one{allowed}")
