"""A Slurm of two nodes, for as long as the tests of a process last."""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from slurm_site import Site, objection


@pytest.fixture(scope="session")
def slurm() -> Iterator[Site]:
    """Start a Slurm of this machine's; skips where there can be none."""
    if why := objection():
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="slurm-", ignore_cleanup_errors=True) as folder:
        site = Site(Path(folder))
        yield site
        site.close()
