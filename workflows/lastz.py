"""`tidalign-lastz`: LASTZ's command line, output and statuses, for scripts that call `lastz`; a link of that name to it takes its place.

`tidalign genome` does the work, in a run directory that is gone at the end. As LASTZ has it, output goes to standard output unless `--output=FILE` is given, is
LAV unless `--format` is, the query comes from standard input where none is named, and the status is 0 or 1.
"""

import os
import re
import stat
import sys

from tidalign.workflows.__main__ import end, heed
from tidalign.workflows.serve import client

OPTION = re.compile(r"-|[A-Za-z]=")
"""What an option begins with; anything else is a file."""

VERSION = "lastz (version 1.04.22 released 20220807), whose output tidalign-lastz {version} gives\n"
"""Begins as LASTZ's own line, which scripts look the number up in."""

USAGE = """\
tidalign-lastz {version}: as LASTZ 1.04.22
usage: tidalign-lastz target [query] [options]
  target, query    FASTA or 2bit, with actions in brackets; a query that is not named comes from standard input
  options          LASTZ's: `tidalign genome --help` lists them
"""


def translated(words: list[str]) -> tuple[list[str], str | None]:
    """Give the words of `tidalign genome` for LASTZ's, and the file that output goes to; None: standard output."""
    output, kept = None, []
    for word in _included(words):
        if word.startswith(("--output=", "--out=")):
            output = word.partition("=")[2]
        else:
            kept.append(word)
    if "--self" not in kept and sum(not OPTION.match(word) for word in kept) == 1:
        kept.insert(next(i for i, word in enumerate(kept) if not OPTION.match(word)) + 1, "/dev/stdin")
    return ["genome", "--format=lav", *kept, "-o", "-", "--quiet", "--lastz-status"], output  # a format that is among the others comes later, and is taken


def _included(words: list[str]) -> list[str]:
    """Put the words of files of options (`--include=FILE`) in their places: a file to write, or to read, may be among them. One that cannot be read stays."""
    found = []
    for word in words:
        try:
            if word.startswith("--include="):
                with open(word.partition("=")[2]) as file:  # noqa: PTH123 pathlib takes as long as Python's own start
                    found += file.read().split()
                continue
        except (OSError, UnicodeDecodeError):
            pass
        found.append(word)
    return found


def _read_too(output: str, words: list[str]) -> str | None:
    """Find the word that names a file which is the output, too: alone, in its actions (`[subset=FILE]`), or the file of a sequence (`genome.2bit/chr1`)."""
    for word in words:
        value = word.partition("=")[2] if OPTION.match(word) else word
        parts = re.split(r"[][,]", value)
        for path in (value, *parts, *(part.partition("=")[2] for part in parts)):
            for each in (path, path.rpartition("/")[0]):
                try:
                    known = os.stat(output), os.stat(each)  # noqa: PTH116
                except (OSError, ValueError):
                    continue
                if stat.S_ISREG(known[0].st_mode) and os.path.samestat(*known):
                    return word
    return None


def status_of(status: int) -> int:
    """Give LASTZ's status for one of ours: 1 for all that is not whole, but for a process that a signal ends."""
    return status if status == 0 or status > 128 else 1


def main() -> int:
    """Run LASTZ's command line of `sys.argv`; its exit status."""
    heed()
    words = sys.argv[1:]
    asked = next((word for word in words if re.match(r"--(help|version)\b|-h$", word)), None if words else "--help")
    if asked:
        from importlib.metadata import version

        sys.stdout.write((VERSION if asked.startswith("--version") else USAGE).format(version=version("tidalign")))
        return int(asked != "--version:noerror")
    sys.argv[1:], output = translated(words)
    if output is not None:
        if read := _read_too(output, [word for word in (*words, *sys.argv[1:]) if not word.startswith(("--output=", "--out="))]):
            sys.stderr.write(f"tidalign-lastz: {output}: expected another name than those of what is read ({read}); choose one\n")
            return 1
        try:
            opened = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        except OSError as error:
            sys.stderr.write(f"tidalign-lastz: {output} cannot be written: {error.strerror}\n")
            return 1
        os.dup2(opened, 1)
        os.close(opened)
    try:
        served = client.call(sys.argv[1:])
    except client.Stopped as stopped:
        end(stopped.number)
    except client.Unwritten as error:
        return status_of(_told(error))
    return _alone() if served is None else status_of(served)


def _alone() -> int:
    """Run the command in this process, without a server."""
    from tidalign.workflows.__main__ import main as program

    try:
        return program(told=status_of)
    except SystemExit as error:  # words that are none of LASTZ's
        return status_of(int(error.code or 0))


def _told(unwritten: client.Unwritten) -> int:
    """Print what could not be written, or read, as a command that does so itself; gives its status."""
    from tidalign.pipeline.errors import MissingInput
    from tidalign.pipeline.formats.export import write_errors
    from tidalign.workflows.cli import fail

    if isinstance(unwritten, client.Unread):
        return fail(MissingInput(f"{unwritten.name}: cannot be read to its end: {os.strerror(unwritten.number)}"), debug=False)
    try:
        with write_errors(unwritten.name):
            raise OSError(unwritten.number, os.strerror(unwritten.number))
    except Exception as error:
        return fail(error, debug=False)


if __name__ == "__main__":
    sys.exit(main())
