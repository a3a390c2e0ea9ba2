"""Programs in processes of their own, with an environment of their own."""

import os
import subprocess
import sys

PACK = "from tidalign.kernels.letters.sequences import Sequences, pack; print(pack(Sequences.from_strings(['ACTG'])).codes); "


def run(program: str, **environment: str) -> str:
    """Run a program with these variables only (and those that let Python start), and give its output."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV") if name in os.environ}
    return subprocess.run([sys.executable, "-c", program], env={**kept, **environment}, capture_output=True, text=True, check=True).stdout.strip()
