"""A Slurm of two nodes, for as long as the tests of a process last."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from slurm_site import Site, started


@pytest.fixture(scope="session")
def slurm() -> Iterator[Site]:
    """Start a Slurm of this machine's; skips where there can be none."""
    yield from started()
