"""Runs the command line: `python -m tidalign` is `tidalign`."""

import sys

from tidalign.workflows.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
