"""Tells whether anybody but this user and root can put files into a folder: what is loaded from one runs with all that this user may do."""

import grp
import os
import pwd
import stat
from contextlib import suppress
from functools import cache
from pathlib import Path

_MOST_LINKS = 40


def objection(folder: Path) -> str | None:
    """Name the first level of a path, from the root down, that lets another user decide what is in the folder. None: no level does, or it is not there.

    Each level is owned by this user or root, and neither others nor a group that others may be in can write to it. Above the folder a level may be as /tmp,
    where all can write but nobody can take away what is another's. Links are followed, each held to the same; none may stand in such a level.
    """
    level, shared, links = Path(), False, 0
    names = [*reversed(folder.absolute().parts)]
    while names:
        path = level / names.pop()
        try:
            found = path.lstat()
        except OSError:  # what is not there holds nothing
            return None
        if why := _objection(found, shared=shared):
            return f"{path} {why}"
        if stat.S_ISLNK(found.st_mode):
            links += 1
            if links > _MOST_LINKS:
                return f"{path} is a link in a circle"
            names += reversed(path.readlink().parts)
            continue
        level, shared = path, _open(found)
    return f"{level} can be written to by other users" if shared else None


def _objection(found: os.stat_result, *, shared: bool) -> str | None:
    """Say what is unsafe about one level of a path by itself; shared: all can make files beside it."""
    if not ours(found):
        return f"belongs to another user ({found.st_uid})"
    if stat.S_ISLNK(found.st_mode):
        return "is a link where other users can make files" if shared else None
    if _open(found) and not found.st_mode & stat.S_ISVTX:
        return "can be written to by other users"
    return None


def ours(found: os.stat_result) -> bool:
    """Tell whether this user or root owns a file or folder."""
    return found.st_uid in (os.geteuid(), 0)


def closed(found: os.stat_result) -> bool:
    """Tell whether it is a plain file that only this user and root can write to."""
    return stat.S_ISREG(found.st_mode) and ours(found) and not _open(found)


def _open(found: os.stat_result) -> bool:
    """Tell whether others can write to it. Where each user has a group to themselves, named as they are, folders are often made with a umask of 002."""
    return bool(found.st_mode & stat.S_IWOTH) or (bool(found.st_mode & stat.S_IWGRP) and not _own_group(found.st_gid))


@cache
def _own_group(number: int) -> bool:
    try:
        group, user = grp.getgrgid(number), pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:  # without a name nobody can say who is in it
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def make(folder: Path) -> None:
    """Make a folder, and those above it that are not there, for this user alone. Raises OSError."""
    if folder.is_dir():
        return
    make(folder.parent)
    with suppress(FileExistsError):  # somebody else was faster
        folder.mkdir(0o700)
