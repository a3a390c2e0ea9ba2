"""What tests of commands and of whole runs on GPUs share, whether the host's kernels stand in for a GPU's or not."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
sys.path.insert(0, str(Path(__file__).parent))
from genome_chaos import drive
from genome_gpu_cases import answer, flies

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import usable
from tidalign.workflows import cli, progress
from tidalign.workflows.status import Exit

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> Iterator[Command]:
    """command(word, ..) runs `tidalign` in this process: its status and what it wrote, which says nothing of progress however long that takes."""
    handlers, handler = list(logging.getLogger("tidalign").handlers), signal.getsignal(signal.SIGTERM)

    def run(*words: object) -> "subprocess.CompletedProcess[str]":
        capfd.readouterr()
        with mock.patch.dict(os.environ), mock.patch.object(progress, "SILENT_SECONDS", 1e6):  # --threads stays with the command
            status = cli.main(list(map(str, words)))
        return subprocess.CompletedProcess(words, status, *capfd.readouterr())

    yield run
    logging.getLogger("tidalign").handlers[:] = handlers
    signal.signal(signal.SIGTERM, handler)


@pytest.fixture(scope="session")
def gpus() -> dict[str, str]:
    """Name this machine's GPUs."""
    try:
        return usable()
    except NoWorkers as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Unpack two fly sequences, target and query."""
    return flies(tmp_path_factory.mktemp("flies"))


@pytest.fixture(scope="session")
def answers(sides: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[bytes, Any]]:
    """Give what the host makes of them, by mode."""
    found = {}
    for mode in ("exact", "independent"):
        run = tmp_path_factory.mktemp(mode) / "run"
        assert drive(str(run), *sides, mode, staged=False, device="cpu").exit == Exit.COMPLETE
        found[mode] = answer(run)
    return found
