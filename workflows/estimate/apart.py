"""Make a forecast in this process for another: `python -m tidalign.workflows.estimate.apart` reads what makes it, and writes it, pickled."""

import os
import pickle
import sys
import threading

from tidalign.workflows.run.child import die_with_parent

NICENESS = 10
"""Niceness of this process, for which nobody waits."""


def main() -> None:
    """Make the forecast that standard input asks for, and end."""
    make = pickle.load(sys.stdin.buffer)
    threading.Thread(target=die_with_parent, daemon=True).start()
    os.nice(NICENESS)
    pickle.dump(make(), sys.stdout.buffer)
    sys.stdout.flush()
    os._exit(0)  # there may be a thread of numba's, and nobody waits for it


if __name__ == "__main__":
    main()
