"""Makes the modules beside this file (oracle, simulate, conformance) importable by every test."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from gpu_record import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]  # a hook
