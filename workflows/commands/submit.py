"""Submit a command as a job: what `--cluster slurm` before it does."""

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from tidalign.cluster.errors import Stopped
from tidalign.cluster.slurm import job, site
from tidalign.cluster.task import cores
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.workflows.answer import answer
from tidalign.workflows.estimate.forecast import Forecast, duration
from tidalign.workflows.options.place import GENOMES
from tidalign.workflows.progress import say


def submit(args: argparse.Namespace, command: Sequence[str]) -> int:
    """Submit a command, from its name on, as a job of the site's profile; with --follow the job's exit status."""
    profile = site.with_share(site.read(site.path()).override(vars(args)))
    output = Path(args.output)
    if not output.absolute().parent.is_dir():
        raise MissingInput(f"{output.parent}: no such folder; make it, or name another place with -o")
    beside = str(output.absolute())
    log = f"{beside.replace('%', '%%')}.%j.log"  # Slurm puts the job's number there, and one % for two
    before = [*(["--requeue"] if args.requeue else []), *(["--stop-after", f"{args.stop_after:g}"] if args.stop_after else [])]
    text = job.script([*program(), *before, *command], profile, name=f"tidalign-{args.module}", folder=str(Path.cwd()), log=log, requeue=args.requeue)
    if args.dry_run:
        answer(text, end="")
        _estimate(args, profile)
        return 0
    _see_inputs(args)
    number = job.submit(text)
    answer(number)
    log = f"{beside}.{number}.log"
    if not args.quiet:
        say(f"job {number}: submitted; log {log}; scancel {number} ends it")
    if not args.follow:
        return 0
    try:
        return job.follow(number, Path(log), lambda said: print(said, end="", file=sys.stderr, flush=True), (lambda _: None) if args.quiet else say)
    except KeyboardInterrupt:
        say(f"job {number} goes on, its log no longer shown; scancel {number} ends it")
        return Stopped(signal.SIGINT).status


def _see_inputs(args: argparse.Namespace) -> None:
    """Raise InputError or MissingInput for inputs that a job would not find: it would tell of them once it has waited for its nodes."""
    from tidalign.pipeline.genome.input.actions import Specifier
    from tidalign.pipeline.genome.input.source import is_pipe

    genomes = args.module in GENOMES
    texts = [*vars(args).get("inputs", ()), *(vars(args).get(name) for name in ("queries", "targets", "database", "target", "query"))]
    paths = [Specifier.parse(text).path if genomes else text for text in texts if text]
    for path in paths:
        if is_pipe(path) or Path(path).absolute().is_relative_to("/dev") or Path(path).absolute().is_relative_to("/proc"):
            raise InputError(path, "a file that the nodes of a job see", "a pipe or a device of this machine", "write it to a file first")
    if genomes:
        paths += import_module(f"tidalign.workflows.commands.{args.module}").source_of(args).paths()
    if missing := next((path for path in paths if not Path(path).exists()), None):
        raise MissingInput(f"{missing}: expected a file that the nodes of a job see, found none; name one")


def _estimate(args: argparse.Namespace, profile: site.Profile) -> None:
    """Show on standard error what the job would take, where this node sees its inputs."""
    from tidalign.workflows.commands import estimate

    try:
        forecast = estimate.forecast_of(args)
    except (InputError, MissingInput) as error:
        say(f"no estimate: {error}")
        return
    limit = profile.time or "none, which is the partition's default"
    print(estimate.shown(args, forecast, job=f"{_taken(forecast, profile)}; time asked for: {limit}"), file=sys.stderr)


def _taken(forecast: Forecast, profile: site.Profile) -> str:
    """Say what the job has, and what the command would take there."""
    gpus, workers = profile.nodes * profile.gpus_per_node, profile.nodes * (profile.cpus or cores())
    nodes = "a node" if profile.nodes == 1 else f"{profile.nodes} nodes"
    counted = (
        f"{workers} processors of {nodes}" if profile.cpus else f"all processors of {nodes}, taken for {cores()} each as here (--cpus-per-node says how many)"
    )
    on_cores = f"{counted}, {duration(forecast.seconds(workers))}"
    if not gpus:
        return on_cores
    on_gpus = [duration(forecast.seconds_on(gpu, gpus, workers)) for gpu in forecast.gpu]
    unknown = f"time not known{f', as {forecast.timed} was timed on a core' * bool(forecast.timed)}; without them {on_cores}"
    return f"{gpus} GPUs of {nodes}, {on_gpus[0] if on_gpus else unknown}"


def program() -> list[str]:
    """Name this program so that a job finds it."""
    beside = Path(sys.executable).with_name("tidalign")
    return [str(beside)] if beside.exists() else [sys.executable, "-P", "-m", "tidalign.workflows"]
