"""Tell whether a job that is started again whenever its time is over gets anything done (EXECUTION.md 14)."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from tidalign.pipeline.errors import CannotWrite, DiskFull
from tidalign.pipeline.store import rundir

RESTARTS = 3
"""Restarts in a row in which nothing was finished, after which a job is started no more."""

_EVENT = "time_over"

_OF_EVERY_CALL = ("journal.jsonl", "run.lock", "logs", "claims")
"""What each call writes in a run directory, whether it finishes anything or not."""


def in_vain(directory: str | Path, job: str) -> bool:
    """Tell whether nothing was finished in the last `RESTARTS` restarts of a job whose time is over, and write down, for the next, what there is now.

    Of a run directory that cannot be read or written nobody knows: False.
    """
    try:
        kept = _kept(str(directory))
        if _alike(str(directory), job, kept) >= RESTARTS:
            return True
        rundir.journal(str(directory), _EVENT, job=job, kept=kept)
    except (OSError, CannotWrite, DiskFull):
        pass
    return False


def _kept(directory: str) -> str:
    """Digest names, sizes and times of the files that a call leaves for the next: parts, what was read, how far stages are."""
    digest = hashlib.sha256()
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if name not in _OF_EVERY_CALL and ".tmp" not in name)
        for name in sorted(name for name in names if name not in _OF_EVERY_CALL and not name.endswith((".tmp", ".asked"))):
            with suppress(FileNotFoundError):
                found = Path(folder, name).stat()
                digest.update(f"{os.path.relpath(folder, directory)}/{name} {found.st_size} {found.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:16]


def _alike(directory: str, job: str, kept: str) -> int:
    """Count how often in a row, up to now, the job's time was over with the same files."""
    count = 0
    with Path(directory, "journal.jsonl").open(errors="replace") as lines:
        for line in lines:
            if f'"event": "{_EVENT}"' not in line:
                continue
            with suppress(ValueError, AttributeError):  # cut short by a kill
                said = json.loads(line)
                if said.get("job") == job:
                    count = count + 1 if said.get("kept") == kept else 0
    return count
