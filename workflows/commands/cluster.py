"""`tidalign cluster init`: write the profile of this site."""

import argparse
import os

from tidalign.cluster.slurm import site
from tidalign.pipeline.errors import CannotWrite
from tidalign.workflows.answer import answer
from tidalign.workflows.progress import say
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Write the profile, of what sinfo says."""
    path = site.path()
    if path.exists() and not args.new:
        raise CannotWrite(f"{path}: there is a profile already; edit it, or give --new to write another in its place")
    text = site.suggest()
    try:
        path.parent.mkdir(0o700, parents=True, exist_ok=True)  # also where new folders are a group's to write to
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
    except OSError as error:
        raise CannotWrite(f"{path}: {error.strerror}; set XDG_CONFIG_HOME to a folder that can be written to") from error
    answer(text, end="")
    if not args.quiet:
        say(f"{path}: written; edit it, then see a job's script with `tidalign --cluster slurm --dry-run pairs ..`")
    return Exit.COMPLETE
