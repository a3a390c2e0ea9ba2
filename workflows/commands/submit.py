"""Submit a command as a job: what `--cluster slurm` before it does."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tidalign.cluster import job, site
from tidalign.pipeline.errors import MissingInput
from tidalign.workflows.progress import say


def submit(args: argparse.Namespace, command: Sequence[str]) -> int:
    """Submit a command, from its name on, as a job of the site's profile; with --follow the job's exit status."""
    profile = site.read(site.path()).override(vars(args))
    output = Path(args.output)
    if not output.absolute().parent.is_dir():
        raise MissingInput(f"{output.parent}: no such folder; make it, or name another place with -o")
    log = str(output.absolute().with_name(f"{output.name}.%j.log"))
    before = [*(["--requeue"] if args.requeue else []), *(["--stop-after", f"{args.stop_after:g}"] if args.stop_after else [])]
    text = job.script([*program(), *before, *command], profile, name=f"tidalign-{args.module}", folder=str(Path.cwd()), log=log, requeue=args.requeue)
    if args.dry_run:
        sys.stdout.write(text)
        return 0
    number = job.submit(text)
    print(number, flush=True)
    log = log.replace("%j", number)
    if not args.quiet:
        say(f"job {number}: submitted; log {log}; scancel {number} ends it")
    if not args.follow:
        return 0
    try:
        return job.follow(number, Path(log), lambda said: print(said, end="", file=sys.stderr, flush=True))
    except KeyboardInterrupt:
        say(f"job {number} goes on without being followed; scancel {number} ends it")
        raise


def program() -> list[str]:
    """Name this program so that a job finds it."""
    beside = Path(sys.executable).with_name("tidalign")
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "tidalign.workflows"]
