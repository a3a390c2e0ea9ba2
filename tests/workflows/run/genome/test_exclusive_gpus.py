"""One GPU in an exclusive compute mode, which is for one process: the one that runs, or, where a process has died at a tile, a worker."""

import os
from pathlib import Path
from typing import Any

import pytest
from genome_gpu_cases import answer, check_replaced, drive_apart, journal

from tidalign.workflows.status import Exit


@pytest.fixture
def exclusive(tmp_path: Path) -> dict[str, str]:
    """Give what a process finds that has such a GPU, for which the host's kernels stand in."""
    (tmp_path / "gpus").mkdir()
    path = os.pathsep.join([str(Path(__file__).parents[2] / "stand_in"), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {"PYTHONPATH": path, "TIDALIGN_TEST_GPUS": "1", "TIDALIGN_TEST_COMPUTE_MODE": "3", "TIDALIGN_TEST_EXCLUSIVE": str(tmp_path / "gpus")}


def test_two_processes_do_not_share_it(tmp_path: Path, sides: Any, answers: Any, exclusive: dict[str, str]) -> None:
    """However much there is to do: none is started in vain."""
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 1, "share": 0.0}, **exclusive)
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    assert journal(tmp_path / "run", "hired") == journal(tmp_path / "run", "unhired") == []


def test_a_worker_has_it_where_a_process_has_died(tmp_path: Path, sides: Any, answers: Any, exclusive: dict[str, str]) -> None:
    """The process that has lost it keeps it from others until it ends; the same command then goes on from there."""
    tile = "j000000.u2.walk"
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 1}, **exclusive, TIDALIGN_TEST_FAULT=f"{tile}:0")
    assert status != Exit.COMPLETE and "this process has lost its GPU (" in said and "the same command goes on from here, with a worker process" in said
    assert journal(tmp_path / "run", "hired") == []
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 1}, **exclusive, TIDALIGN_TEST_FAULT=f"{tile}:0")
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    assert [event["workers"] for event in journal(tmp_path / "run", "hired")] == [1]
    check_replaced(tmp_path / "run", tile)
