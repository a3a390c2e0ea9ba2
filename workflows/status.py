"""The exit statuses of the command, in one place."""

from enum import IntEnum


class Exit(IntEnum):
    """List the command's exit statuses. Permanent errors stay outside 130..145, which workflow managers retry."""

    COMPLETE = 0
    BUG = 1
    USAGE = 2
    PARTIAL = 3  # finished, with capped or rejected rows
    BAD_INPUT = 65
    NO_INPUT = 66
    UNAVAILABLE = 69  # no usable GPU or workers
    CANNOT_WRITE = 73
    DISK_FULL = 74
    CLUSTER_LOST = 75  # resumable
    MANIFEST_MISMATCH = 78
    INTERRUPTED = 130  # SIGINT; resumable
    OUTPUT_CLOSED = 141  # as of SIGPIPE: who reads has gone
    TERMINATED = 143  # SIGTERM; resumable
