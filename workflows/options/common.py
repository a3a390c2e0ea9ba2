"""Declare the arguments that several commands share: where to align, whether to begin anew, scores, and the format of an output."""

import argparse
import os
import re
from collections.abc import Callable, Iterator
from itertools import combinations
from math import inf
from pathlib import Path
from typing import Any

from tidalign.kernels.local.choices import REPORTS, SPANS
from tidalign.pipeline.device import may_take_gpu, sure_of_gpu
from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.formats import table
from tidalign.pipeline.store.outputs import refuse_own
from tidalign.workflows.options.values import Reader, integer, wrong
from tidalign.workflows.run.shard import Shard


def typed(read: Reader) -> Callable[[str], Any]:
    """Make a type of argparse's of a reader of values."""

    def type(text: str) -> Any:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return type


def shard(text: str) -> Shard:
    """Read a share of a run, as 3/8."""
    number, slash, count = text.partition("/")
    try:
        found = Shard(integer(1, 100_000)(number), integer(1, 100_000)(count))
    except ValueError:
        found = None
    if found is None or not slash or found.number > found.count:
        raise wrong("a share I/N, from 1/N to N/N", text)
    return found


_GPUS, _WORKERS, _CORES = typed(integer(1, 1024)), typed(integer(0, 4096)), typed(integer(1, 4096))
"""Up to more than a machine has."""


def add_device(parser: argparse.ArgumentParser, gpus: str = "all") -> None:
    """Add --device, --gpus and what else goes with doing the work. gpus: how many there are by default."""
    parser.add_argument("--device", choices=("auto", "cpu", "gpu"), default="auto", help="auto (default): the GPUs of this machine if it has any")
    parser.add_argument("--gpus", metavar="N", type=_GPUS, help=f"how many GPUs (default: {gpus})")
    parser.add_argument("--cpu-workers", metavar="N", type=_WORKERS, help="processes that align on cores beside GPUs, of each node (default: none)")
    scratch = "keep copies of what tasks read in DIR of each node while the run lasts: a path there, as '$TMPDIR', or auto"
    parser.add_argument("--scratch", metavar="DIR", help=f"{scratch} (default: none)")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """Add --workers, --scheduler and --insecure."""
    parser.add_argument(
        "--workers", metavar="N", type=_WORKERS, help="processes on this machine, 0: this one alone (default: one a core, none for little work)"
    )
    parser.add_argument("--scheduler", metavar="ADDR", help="address or file of a Dask scheduler whose workers to use; they must see the input and OUT")
    parser.add_argument(
        "--insecure", action="store_true", help="talk to a scheduler of another machine without TLS: whoever is on that network can run code as you"
    )


def add_said(parser: argparse.ArgumentParser) -> None:
    """Add --quiet and --debug."""
    parser.add_argument("--quiet", action="store_true", help="no progress and no last line; errors only")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.set_defaults(verbose=False, log=None, threads=None)


def add_logs(parser: argparse.ArgumentParser) -> None:
    """Add --verbose, --log and --threads."""
    parser.add_argument("-v", "--verbose", action="store_true", help="say each thing that is done: devices, tasks, retries")
    parser.add_argument("--log", metavar="FILE", help="append all that is said and done to FILE, errors with their tracebacks")
    parser.add_argument("--threads", metavar="N", type=_CORES, help="cores to use, by threads and worker processes together (default: all)")


def add_shard(parser: argparse.ArgumentParser) -> None:
    """Add --shard."""
    what = "do the Ith of N shares, from 1/N to N/N, in a run directory of its own; `tidalign merge` puts them together, for array jobs"
    parser.add_argument("--shard", metavar="I/N", type=typed(shard), help=what)


def add_new(parser: argparse.ArgumentParser) -> None:
    """Add --new."""
    parser.add_argument("--new", action="store_true", help="throw away what an earlier run left in the run directory")


SCORED = ("scoring", "matrix", "gap", "span", "alphabet", "report", "zdrop", "end_bonus", "band")
"""All options of alignment by scores."""


def add_scoring(parser: argparse.ArgumentParser, shape: str, letters: str) -> None:
    """Add --scoring, --matrix, --gap and --alphabet. shape: what --scoring is; letters: what the alphabet is where nothing says it."""
    parser.add_argument("--scoring", metavar="SCORES", help=f"{shape}; n:S says what N scores")
    parser.add_argument("--matrix", metavar="NAME", help="align by BLOSUM45, 50, 62, 80 or 90, PAM30, 70 or 250, or by a file in NCBI's format")
    parser.add_argument(
        "--gap", metavar="O,E", type=typed(_gap), help="gaps with --matrix, as in --scoring (default: BLAST's for the matrix, 11,1 for BLOSUM62)"
    )
    parser.add_argument("--alphabet", choices=("dna", "protein"), help=f"letters with scores (default: those of the matrix, else {letters})")


def _gap(text: str) -> str:
    """Refuse what is no gap at all; what is one, and what a matrix lacks, is said when both are known."""
    numbers = text.split(",")
    if len(numbers) not in (1, 2, 4) or not all(re.fullmatch(r"[+-]?[0-9]{1,7}", number) for number in numbers):
        raise wrong("a gap as O,E, whole numbers of at most seven digits", text)
    return text


def add_scores(parser: argparse.ArgumentParser) -> None:
    """Add --scoring and what goes with it in `tidalign pairs`."""
    shape = "match:A,mismatch:-B,gap:O,E: align by scores in place of penalties; a gap of n letters costs O+nE (gap:E linear, gap:O1,E1,O2,E2 two pieces)"
    add_scoring(parser, shape, "dna")
    spans = "with scores, what must be aligned: nothing (local, the default), all of the query, of the target, an end of each (overlap), all of both (global)"
    parser.add_argument("--span", choices=SPANS, help=f"{spans}, or the first letters of both (extension)")
    parser.add_argument("--report", choices=REPORTS, help="with scores, the score alone, also where alignments begin and end, or CIGARs too (default)")
    parser.add_argument("--zdrop", metavar="Z", type=typed(integer(0, 10**9)), help="stop an extension by minimap2's rule: heuristic (default: never)")
    bonus = "what an extension may score less to reach the query's end (default: 0)"
    parser.add_argument("--end-bonus", metavar="B", type=typed(integer(0, 10**9)), help=bonus)
    band = "make no cells of an extension further from the corner's diagonal: heuristic (minimap2: 751; default: all)"
    parser.add_argument("--band", metavar="W", type=typed(integer(1, 2**30)), help=band)


def add_export(parser: argparse.ArgumentParser, kind: str = table.PAIRS) -> None:
    """Add the options of formats of pairs, or of searches."""
    values = table.OPTIONS["cigar"]
    takers = " and ".join(format.name.upper() for format in table.formats(kind) if "cigar" in format.options)
    parser.add_argument("--cigar", choices=values, default=values[0], help=f"letters of matches in {takers} (default: {values[0]})")
    if kind != table.PAIRS:
        return
    parser.add_argument("--cs", action="store_true", help=f"the tag cs, the letters that differ, in {takers}")
    parser.add_argument("--rg", metavar="'ID:x\\tSM:y'", type=typed(_read_group), help="a read group for all records of SAM and BAM, as of bwa's -R")
    lift = (
        "targets are named chr:start-end, as samtools faidx names what it cuts out: write places on chr; its length is that of FILE.fai, else the largest end"
    )
    parser.add_argument("--lift", metavar="FILE.fai", nargs="?", const="", type=typed(_fai), help=lift)
    parser.add_argument("--sort", action="store_true", help="SAM and BAM by coordinate, BAM with an index OUT.bai, or OUT.csi for a contig above 2^29 letters")


def _fai(text: str) -> str:
    if text and not text.endswith(".fai"):
        raise ValueError(f"expected FILE.fai, not {text!r}: without one put --lift behind the inputs")
    return text


def _read_group(text: str) -> str:
    from tidalign.pipeline.pairs.formats.sam import read_group

    return read_group(text)


def check_common(args: argparse.Namespace, error: Callable[[str], Any]) -> None:
    """Call error(message) where arguments say two places to align at, or none for what they say of it."""
    given = {"scheduler": None} | vars(args)  # `serve` takes none
    if given.get("gpus") and (not may_take_gpu(given["device"]) or (given["scheduler"] and not sure_of_gpu(given["device"]))):
        error("--gpus counts GPUs, with --scheduler of each node: leave it out with --device cpu, and give --device gpu with --scheduler")
    if given.get("cpu_workers") and not may_take_gpu(given["device"]):
        error("--cpu-workers counts processes beside GPUs: with --device cpu give --workers")
    if given.get("workers") is not None and given["scheduler"]:
        error("--workers counts processes on this machine, --scheduler uses another's: give one of them")
    if (given.get("workers") or 0) > (args.threads or inf):
        error(f"--workers {args.workers}: expected no more than the cores of --threads {args.threads}; leave one of them out")
    if given.get("insecure") and not given["scheduler"]:
        error("--insecure goes with --scheduler")
    if given.get("quiet") and given.get("verbose"):
        error("--quiet says errors alone, --verbose each thing that is done: give one of them")
    if given.get("output") == "":
        error("-o: expected a name, found an empty one")
    written = _places(args)
    for (one, text), (other, same) in combinations(written.items(), 2):
        if os.path.realpath(text) == os.path.realpath(same):
            error(f"{_option(other)} {same}: expected a name of its own, found that of {_option(one)}; choose another")
    others = _texts([value for name, value in given.items() if name != "log"])
    if args.log and (found := next((text for text in others if _is_file(text, args.log)), None)):
        error(f"--log {args.log}: expected a name of its own, found that of another argument, {found}; choose another")


def _places(args: argparse.Namespace) -> dict[str, str]:
    """Give what arguments say is written: names of files and folders, by argument."""
    given = vars(args)
    named = [name for name in (*(name for name in given if name in _WRITTEN or name.startswith("outputmasking")), "log") if name in given]
    return {name: given[name] for name in named if isinstance(given[name], str) and given[name] and not is_stream(given[name])}


_WRITTEN = ("output", "multiqc", "rdotplot")
"""Arguments that name what is written, beside those of masks and the log."""


def _option(name: str) -> str:
    """Give the option of an argument that names what is written."""
    return "-o" if name == "output" else f"--{name}"


def check_place(args: argparse.Namespace) -> None:
    """Raise CannotWrite where something would be written into a run directory that there is, or a run directory would have a name that is no UTF-8, which
    pyarrow cannot take."""
    output = vars(args).get("output")
    for place in () if args.module == "report" else _places(args).values():  # which knows what else it may write
        refuse_own(place)
    if args.module not in ("pairs", "partition", "genome", "genomes", "search", "merge", "demo", "index") or not output or is_stream(output):
        return
    try:
        str(Path(output).absolute()).encode()
    except UnicodeEncodeError:
        raise CannotWrite(f"{str(Path(output).absolute())!a}: expected a path in UTF-8, found other bytes; choose another place with -o") from None


def _texts(values: Any) -> Iterator[str]:
    """Give all texts in the values of arguments."""
    if isinstance(values, str):
        yield values
    elif isinstance(values, dict | list | tuple):
        for each in values.values() if isinstance(values, dict) else values:
            yield from _texts(each)


def _is_file(text: str, file: str) -> bool:
    """Tell whether a text names a file, perhaps with LASTZ's actions behind it."""
    try:
        return Path(text.partition("[")[0]).samefile(file)
    except (OSError, ValueError):  # there is no such file, or can be none
        return False


STANDARD_OUTPUT = "-"


def standard(output: str) -> str:
    """Give an output its one name where it is standard output under another."""
    return STANDARD_OUTPUT if output in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1") else output


def is_stream(output: str) -> bool:
    """Tell whether an output is standard output, a device or a pipe: beside it there is no place for a run directory."""
    try:
        return output == STANDARD_OUTPUT or Path(output).is_char_device() or Path(output).is_fifo()
    except OSError:  # a name that is too long, say, of which who writes there tells
        return False


Error = Callable[[str], Any]
"""Ends the command with a message."""


def chosen(args: argparse.Namespace, kind: str, error: Error) -> str | None:
    """Find the format that `--format`, or else the ending of OUT, means for a kind of run; None: OUT is a run directory."""
    try:
        found = args.format or table.of_output(kind, args.output)
    except ValueError as wrong:
        error(str(wrong))
        raise
    if found:
        return named(args, kind, found if isinstance(found, str) else found.name, error)
    if args.output == STANDARD_OUTPUT:
        if args.dry_run:
            error("an estimate needs the -o OUT or the --format of the command, as its bytes and its time go by them")
        error("standard output needs a --format, such as --format=sam; or name a file or a run directory with -o, and see `tidalign export`")
    for name, value in options_of(args).items():
        if value != table.OPTIONS[name][0]:
            error(f"--{name} goes with a file for -o; `tidalign export --{name}` writes one from a run directory")
    return None


def check_shard(args: argparse.Namespace, error: Error) -> None:
    """Call error(message) where a share of a run is to be a file."""
    if args.shard and args.format:
        error("a shard is a run directory: name one with -o; `tidalign merge` writes a file of all of them")


def named(args: argparse.Namespace, kind: str, text: str, error: Error) -> str:
    """Name a format as run directories and messages have it; an error for one that does not exist, or does not take the options that are given."""
    try:
        format = table.chosen(kind, text, args.output)
    except ValueError as unknown:
        error(str(unknown))
        raise
    if wrong := table.refused(kind, format, options_of(args)):
        error(f"--{': '.join(wrong)}")
    return format.name


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """Gather the options of formats that a command has."""
    return {name: value for name, value in vars(args).items() if name in table.OPTIONS}
