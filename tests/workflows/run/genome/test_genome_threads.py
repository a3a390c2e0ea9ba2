"""Genome runs by threads of one process, without workers."""

import threading
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from genome_chaos import drive

from tidalign.cluster.errors import Stopped
from tidalign.cluster.task import cores
from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows.run.genome import tasks, tiles

pytestmark = pytest.mark.skipif(cores() < 2, reason="one core")


def test_threads_do_tiles_at_once(tmp_path: Path, sides: Any, answers: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run two, each of which waits until the other has begun, of files however small."""
    together, begun, seen = threading.Barrier(2, timeout=600), count(), []

    def perform(*arguments: Any) -> Any:
        if next(begun) < 2:
            seen.append(threading.get_ident())
            together.wait()
        return tasks.perform(*arguments)

    monkeypatch.setattr(tiles, "perform", perform)
    report = drive(str(tmp_path / "run"), *sides, device="cpu")
    assert report.workers == 0 and len(set(seen)) == 2
    assert GenomeResults(tmp_path / "run").to_table() == answers["exact"][1]


def test_an_error_of_one_thread_ends_what_others_are_at(tmp_path: Path, sides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a full disk met beside a tile that goes on, for hours perhaps, unless it is stopped."""
    other, begun, stopped = threading.Event(), count(), []

    def perform(*arguments: Any) -> Any:
        if next(begun) == 0:
            assert other.wait(600)
            raise CannotWrite("there is no room")
        other.set()
        began = time.monotonic()
        while not (tasks._stop and tasks._stop.at_once()) and time.monotonic() < began + 60:
            time.sleep(0.1)
        try:
            return tasks.perform(*arguments)
        except Stopped:
            stopped.append(arguments)
            raise

    monkeypatch.setattr(tiles, "perform", perform)
    with pytest.raises(CannotWrite, match="no room"):
        drive(str(tmp_path / "run"), *sides, device="cpu")
    assert len(stopped) == next(begun) - 1 > 0 and not [*(tmp_path / "run" / "claims").iterdir()]  # how many there are depends on the cores
