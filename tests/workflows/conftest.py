"""What tests of whole runs on cards share, whether the host's kernels stand in for a card's or not."""

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from genome_card_cases import answer, flies
from genome_chaos import drive

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable
from tidalign.workflows.status import Exit


@pytest.fixture(scope="session")
def cards() -> dict[str, str]:
    """This machine's."""
    try:
        return usable()
    except NoWorkers as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two fly sequences, target and query."""
    return flies(tmp_path_factory.mktemp("flies"))


@pytest.fixture(scope="session")
def answers(sides: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, Any]]:
    """What the host makes of them, by mode."""
    found = {}
    for mode in ("exact", "independent"):
        run = tmp_path_factory.mktemp(mode) / "run"
        assert drive(str(run), *sides, mode, staged=False, device="cpu").exit == Exit.COMPLETE
        found[mode] = answer(run)
    return found
