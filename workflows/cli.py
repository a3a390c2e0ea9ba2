"""The command line: reads arguments, calls one command, turns what went wrong into one line and an exit status.

Nothing heavy is imported here or by `--help`: a command's own module is loaded when it is called.
"""

import argparse
import atexit
import gc
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from types import FrameType

from tidalign.cluster.allocation.systems import JOBS, allocation
from tidalign.cluster.errors import ClusterLost, Hangs, NoWorkers, Stopped
from tidalign.cluster.gpus import begin, installed
from tidalign.cluster.here import THREAD
from tidalign.cluster.stop import heeded, limited
from tidalign.pipeline.device import cores, may_take_gpu
from tidalign.pipeline.errors import CannotWrite, DiskFull, InputError, ManifestMismatch, MissingInput, OutputClosed
from tidalign.workflows import libraries, limits, logs
from tidalign.workflows.options import texts
from tidalign.workflows.options.arguments import parse, parser
from tidalign.workflows.options.common import check_place, is_stream
from tidalign.workflows.options.place import GENOMES, RUNS, command_at, said_behind
from tidalign.workflows.progress import say
from tidalign.workflows.run.shard import ShardDone
from tidalign.workflows.status import Exit
from tidalign.workflows.stopped import tell

EXITS: dict[type[Exception], Exit] = {
    InputError: Exit.BAD_INPUT,
    MissingInput: Exit.NO_INPUT,
    NoWorkers: Exit.UNAVAILABLE,
    CannotWrite: Exit.CANNOT_WRITE,
    DiskFull: Exit.DISK_FULL,
    ClusterLost: Exit.CLUSTER_LOST,
    ManifestMismatch: Exit.MANIFEST_MISMATCH,
    OutputClosed: Exit.OUTPUT_CLOSED,
}


class _Interrupted(Stopped, KeyboardInterrupt):
    """Says so of what this process does itself, which then waits for none of its threads, as after Ctrl-C."""


class _End:
    """Says what signals do from when it is `known` what the command ends with: nothing, or, where threads are waited for, end it at once with its `status`."""

    known, status = False, -1


def _stop(number: int, frame: FrameType | None) -> None:
    if _End.status >= 0:
        os._exit(_End.status)
    if not _End.known:
        raise KeyboardInterrupt if number == signal.SIGINT else _Interrupted(number)


class _WarningPrinter(logging.Handler):
    """Prints warnings as other messages."""

    def emit(self, record: logging.LogRecord) -> None:
        say(record.getMessage())


def main(argv: Sequence[str] | None = None, *, told: Callable[[int], int] = int, settle: Callable[[argparse.Namespace], object] = lambda args: None) -> int:
    """Run one command; its exit status, of which `told` makes what the process ends with. settle: changes the arguments before they are used."""
    own = argv is None  # the process is the command's own
    if own:
        gc.disable()  # what is imported stays
    given = list(sys.argv[1:] if argv is None else argv)
    if not given:
        sys.stderr.write(texts.SHORT)
        return int(Exit.USAGE)
    before = given[0].startswith("-")
    asked, place = _estimated(given)
    _End.known = False
    if own and place is not None and asked[place]:  # a command, which loads libraries
        libraries.calm()
        try:
            limits.see_addresses()
        except NoWorkers as error:
            return fail(error, debug=False)
    args = _parsed(asked, place, before=before or asked[0].startswith("-"))
    settle(args)
    _prepare(args, own=own)
    hangs = stopped = False
    try:
        status, ran = _done(args, asked, place, own=own)
        if not ran:
            return status
    except ShardDone as done:
        _End.known = True
        status = int(Exit.COMPLETE)
        if not args.quiet:
            say(str(done))
    except Stopped as error:
        _End.known = True
        if args.debug:
            traceback.print_exception(error)
        status, stopped = _told(error, args, asked), True
    except KeyboardInterrupt:
        _End.known = True
        status, stopped = _told(Stopped(signal.SIGINT), args, asked), True
    except Exception as error:
        _End.known = True
        status, hangs = fail(error, debug=args.debug), isinstance(error, Hangs)
    if args.log or args.verbose:
        logs.end()
    if own:
        _leave(told(status), at_once=hangs, stopped=stopped)
    return told(status)


def _estimated(given: list[str]) -> tuple[list[str], int | None]:
    """Say `estimate` before a command as --dry-run behind it, which is the same; gives the arguments, and where the command stands among them."""
    place = command_at(given) if given[0].startswith("-") else 0
    if place is not None and given[place] == "estimate" and not {"-h", "--help"} & {*given[place + 1 : place + 2]}:
        given[place] = "--dry-run"
    if not given[0].startswith("-"):
        return given, 0
    given = said_behind(given)
    return given, command_at(given)


def _parsed(asked: list[str], place: int | None, *, before: bool) -> argparse.Namespace:
    """Read the arguments of a command. before: whether some stand before its name."""
    chosen, words = None if place is None else asked[place], list(asked)
    if place is not None and chosen in GENOMES:
        from tidalign.workflows.options.spelling import spell_out

        words[place + 1 :] = spell_out(words[place + 1 :])
    top = parser(chosen, before=before)
    if chosen == "genome":
        from tidalign.workflows.options.genome import name_caller

        name_caller(top, words)
    return parse(words, top)


def _prepare(args: argparse.Namespace, *, own: bool) -> None:
    """Have messages shown, and cores counted, as a command's arguments say."""
    ours = logging.getLogger("tidalign")
    printer = next((handler for handler in ours.handlers if isinstance(handler, _WarningPrinter)), None) or _WarningPrinter()
    printer.setLevel(logging.ERROR if args.quiet else logging.WARNING)
    ours.addHandler(printer)  # once, however often
    if own and not args.debug:
        logging.getLogger().addHandler(logging.NullHandler())  # what libraries say of a cluster that ends is no message of ours
    if args.threads:
        os.environ["TIDALIGN_CORES"] = str(args.threads)
    try:
        cores()
    except ValueError as wrong:  # what the environment says of them
        args.error(str(wrong))
    if int(os.environ.get("SLURM_RESTART_COUNT") or 0) and vars(args).get("new"):
        args.new = False  # this job threw away what was there when it first ran


def _done(args: argparse.Namespace, asked: list[str], place: int | None, *, own: bool) -> tuple[int, bool]:
    """Do what a command is for; gives its status, and whether it was done here: a job that is submitted, and an estimate, end as other programs do."""
    check_place(args)
    if args.log or args.verbose:
        logs.begin(args.log, args.verbose, asked)
    if args.cluster == "slurm":
        from tidalign.workflows.commands.submit import submit

        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # which ends what follows the job's log, and says that the job goes on
        return submit(args, asked[place:]), False
    if args.dry_run:
        from tidalign.workflows.commands import estimate

        return int(estimate.command(args)), False
    if own:
        _begin(args)
    name = f"tidalign.workflows.commands.{args.module}"
    heavy = own and place is not None and asked[place] in ("pairs", "genome", "genomes", "search", "export", "serve")
    module = libraries.load(name) if heavy else import_module(name)
    if own:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # looking for cycles after every 700 objects takes a tenth of a run over thousands of small sequences
        gc.enable()
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, _stop)
    for number in heeded():
        if number != signal.SIGINT:
            signal.signal(number, _stop)
    with limited(args.stop_after):
        status = int(module.command(args))
    _End.known = True
    return status, True


def _told(stopped: Stopped, args: argparse.Namespace, asked: Sequence[str]) -> int:
    """Print what stopped a command, and what goes on from there; gives the status for it."""
    if args.module != "export" and is_stream(vars(args).get("output") or ""):  # its run was in a temporary folder
        say(f"{stopped.why}; nothing is kept of what goes to standard output: with -o FILE a run goes on where it was stopped")
        return stopped.status
    if args.module not in (*RUNS, "partition", "merge"):
        say(f"{stopped.why}; nothing is kept: the same command begins anew")
        return stopped.status
    if stopped.status == Exit.TERMINATED:
        return tell(stopped, asked, requeue=args.requeue, run=vars(args).get("directory"))
    say(f"{stopped.why}; what is done is kept: the same command goes on from here")
    return stopped.status


def _begin(args: argparse.Namespace) -> None:
    """Begin in the background what takes as long as loading a command's module, and is needed after it: a GPU, or what workers are forked from."""
    wanted = vars(args)
    gpus = "device" in wanted and may_take_gpu(wanted["device"]) and installed("cupy")
    if wanted.get("scheduler") or (args.cluster == "auto" and JOBS & os.environ.keys() and allocation()):
        return
    gpus = gpus and args.module in ("pairs", "genome", "genomes", "search")
    if gpus and not wanted["cpu_workers"]:
        begin(args.gpus)
    elif count := wanted["cpu_workers"] if gpus else wanted.get("workers"):
        from tidalign.cluster.forks import make_room, serve

        make_room(count)
        kind = {"genomes": "genome", "partition": "pairs"}.get(args.module, args.module)
        serve([f"tidalign.workflows.run.{kind}.tasks"], gpus=gpus)


def _leave(status: int, *, at_once: bool = False, stopped: bool = False) -> None:
    """End the process without taking it apart, which is longer with CUDA, numba and a thousand modules than some runs are, and ends it with SIGABRT where a
    thread of a library comes to need the interpreter meanwhile. Does nothing where what is left to write cannot be written, of which the interpreter tells.
    at_once: what hangs is waited for by whoever takes it apart. stopped: nobody waits for what threads do, or for who reads standard output."""
    if at_once:
        sys.stderr.flush()
        os._exit(status)
    with suppress(OSError, ValueError):
        main = threading.main_thread()
        if not stopped and any(not thread.daemon and thread.name != THREAD for thread in threading.enumerate() if thread is not main):
            _End.status = status
            threading._shutdown()  # type: ignore[attr-defined]  # waits for them, and tells pools that nothing more will come
            _End.status = -1
        atexit._run_exitfuncs()
        for stream in filter(None, (None if stopped else sys.stdout, sys.stderr)):  # None: it was closed from the start
            stream.flush()
        os._exit(status)
    if stopped:
        os._exit(status)


def fail(error: Exception, *, debug: bool) -> int:
    """Print what went wrong; gives the status for it."""
    if debug:
        traceback.print_exception(error)
    logging.getLogger("tidalign").info("", exc_info=error)
    known = (status for kind, status in EXITS.items() if isinstance(error, kind))
    status = Exit(error.status) if isinstance(error, Stopped) else next(known, Exit.BUG)
    if status == Exit.OUTPUT_CLOSED:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left in standard output's buffer
        return int(status)
    text = str(error)
    if not isinstance(error, Stopped) and (limit := limits.met(error)):
        status, text = Exit.UNAVAILABLE, limit
    if status == Exit.BUG and (trouble := limits.misplaced(error)):
        status, text = Exit.CANNOT_WRITE, trouble
    if status == Exit.BUG:
        text = f"this is a bug: {type(error).__name__}: {text}; please report it with what `tidalign check` prints and the same command run with --debug"
    say(text)
    return int(status)
