"""Somebody else's scheduler, and modules that tests and workers both import."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Workers must find jobs.py: those that we start take our path, the others the environment's.
sys.path.insert(0, str(Path(__file__).parent))
from external import External


@pytest.fixture
def external_alone(tmp_path: Path) -> Iterator[External]:
    """Start a scheduler without workers."""
    cluster = External(tmp_path)
    yield cluster
    cluster.close()


@pytest.fixture
def external(external_alone: External) -> External:
    """Start a scheduler with two workers."""
    external_alone.worker()
    external_alone.worker()
    external_alone.wait_for_workers(2)
    return external_alone
