"""Limits that the system sets a process, open files (`ulimit -n`) and addresses (`ulimit -v`), or places: what is too little to begin with, and whether one was
met."""

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from tidalign.cluster.errors import NoWorkers

ADDRESSES = 3 << 30
"""Bytes of addresses that a process reserves once its libraries are loaded, most of which it never uses. With less these fail each in a way of its own, some
of which end the process."""

FILES = 1024
"""Files that may be open at a time where a limit is as usual, which is enough for some 60 workers."""

AGAIN = "then run the same command again"

_FILES = (errno.EMFILE, errno.ENFILE)
_SAID = {
    **dict.fromkeys(map(os.strerror, _FILES), "files"),
    **dict.fromkeys((os.strerror(errno.ENOMEM), "can't start new thread", "failed to map segment"), "memory"),
}
"""What messages say of these numbers, where nothing but a message is left of an error."""


def see_addresses() -> None:
    """Raise NoWorkers where this process may not reserve what the libraries take."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < ADDRESSES:
        raise NoWorkers(
            f"{limit >> 20:,} MiB of addresses are what this process may have (ulimit -v), and its libraries take up to {ADDRESSES >> 20:,}: "
            f"raise the limit with `ulimit -v unlimited`, {AGAIN}"
        )


def met(error: BaseException) -> str | None:
    """Find which limit an error comes from, and the way out; None: from none."""
    kind = next(filter(None, map(_kind, _causes(error))), None)
    if kind == "files":
        return _more_files(*resource.getrlimit(resource.RLIMIT_NOFILE))
    addresses = resource.getrlimit(resource.RLIMIT_AS)[0]
    if kind == "memory" and addresses != resource.RLIM_INFINITY:
        return f"more memory is needed than {addresses / 2**30:.1f} GiB of addresses (ulimit -v): raise the limit with `ulimit -v unlimited`, {AGAIN}"
    return f"memory ran out ({error}): free some, or take another machine or fewer --workers, {AGAIN}" if kind else None


def _more_files(soft: int, hard: int) -> str:
    """Say what a way out is where no more files can be open: a limit above the soft one, up to the hard one if that leaves any."""
    if soft == resource.RLIM_INFINITY:  # of this process; then it is the system's
        return f"more files are open on this machine than it allows: end other programs, or take fewer --workers, {AGAIN}"
    more = max(FILES, 2 * soft)
    if hard == resource.RLIM_INFINITY or hard > soft:
        way_out = f"raise the limit with `ulimit -n {more if hard == resource.RLIM_INFINITY else min(more, hard)}`"
    else:
        way_out = f"take fewer --workers, or raise the limit, which here root alone may, with `ulimit -n {more}`"
    return f"more files are needed than the {soft} that may be open at a time (ulimit -n): {way_out}, {AGAIN}"


def misplaced(error: BaseException) -> str | None:
    """Say what is wrong with a place that no program could work in, and the way out; None: the error is another."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return f"{error.filename}: a name longer than the file system takes; choose a shorter one"
    if isinstance(error, FileNotFoundError) and error.filename is None and not _in_a_folder():
        return "the folder that this command was started in is gone; change to one that is there"
    return None


def _in_a_folder() -> bool:
    try:
        return bool(Path.cwd())
    except OSError:
        return False


def _kind(error: BaseException) -> str | None:
    if isinstance(error, OSError) and error.errno in _FILES:
        return "files"
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "memory"
    text = str(error)
    return next((kind for said, kind in _SAID.items() if said in text), None)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """List an error and what it came from."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
