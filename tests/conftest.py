"""Makes the modules beside this file (oracle, simulate, conformance) importable by every test, and no test of Hypothesis depend on the clock."""

import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from gpu_record import pytest_terminal_summary
from hypothesis import HealthCheck, settings

# Kernels are compiled on the way, and others may be on the machine.
settings.register_profile("tidalign", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tidalign")

for number, handler in ((signal.SIGHUP, lambda *_: None), (signal.SIGINT, signal.default_int_handler)):
    if signal.getsignal(number) == signal.SIG_IGN:
        # Under nohup, or behind a script: what tests start would ignore it too, but heeds it where this process has a handler of its own.
        signal.signal(number, handler)

__all__ = ["pytest_terminal_summary"]  # a hook


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Make a folder of which a message says the whole path, unlike that of `tmp_path`."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)
