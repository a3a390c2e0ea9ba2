"""Threads that a run leaves behind end soon, and take nothing up again; a run that goes on after it has lost its GPU leaves none behind before it must."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chaos
import pytest
from genome_chaos import drive

from tidalign.cluster import stop
from tidalign.cluster.errors import Stopped
from tidalign.cluster.here import THREAD
from tidalign.cluster.stop import Stop, on_signals
from tidalign.cluster.task import cores
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.pairs.aligner import ALIGNERS, WAVEFRONT, Form
from tidalign.workflows.run import devices
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import Gpus
from tidalign.workflows.run.genome import tasks
from tidalign.workflows.run.pairs import tasks as pair_tasks
from tidalign.workflows.run.tracker import Tracker
from tidalign.workflows.status import Exit


@pytest.mark.skipif(cores() < 2, reason="one core")
def test_a_tile_that_is_left_behind_ends_and_leaves_no_claim(tmp_path: Path, sides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script that is stopped may go on for long, and so would its tile, on a GPU of others perhaps."""
    monkeypatch.setattr(stop, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(stop, "LEAVING_SECONDS", 0.0)
    over, ended, begun = threading.Event(), list[BaseException | None](), threading.Lock()

    def seed(directory: str, run: str, tile: Any, beat: Any, device: Any) -> Any:
        if begun.acquire(blocking=False):
            signal.raise_signal(signal.SIGTERM)
        over.wait(600)
        time.sleep(1.1 * tasks.BEAT_SECONDS)  # now it would say how far it is
        try:
            beat(tile.start)
        except Stopped as error:
            ended.append(error)
            raise
        ended.append(None)
        return {}

    monkeypatch.setitem(tasks._STAGES, "seed", seed)
    before = threading.enumerate()  # tests before this one may have left some behind for good
    with pytest.raises(Stopped):
        drive(str(tmp_path / "run"), *sides, device="cpu")
    over.set()
    for thread in threading.enumerate():
        if thread.name == THREAD and thread not in before:
            thread.join(600)
    assert ended and all(ended)
    assert list((tmp_path / "run" / "claims").iterdir()) == []


@pytest.mark.skipif(cores() < 2, reason="one core")
def test_who_has_written_at_once_lets_others_write(tmp_path: Path, sides: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tile that is cut where it is, as a signal asks, ends before one that still has to come to such a place."""
    together, begun, written = threading.Barrier(2, timeout=600), threading.Lock(), list[bool]()

    def seed(directory: str, run: str, tile: Any, beat: Any, device: Any) -> Any:
        first = begun.acquire(blocking=False)
        together.wait()
        if first:
            signal.raise_signal(signal.SIGTERM)
        else:
            time.sleep(2.0)
            beat(tile.start)
            written.append(True)
        raise Stopped(signal.SIGTERM)

    monkeypatch.setitem(tasks._STAGES, "seed", seed)
    with pytest.raises(Stopped):
        drive(str(tmp_path / "run"), *sides, device="cpu")
    assert written and list((tmp_path / "run" / "claims").iterdir()) == []


def test_the_second_signal_leaves_all_behind() -> None:
    with pytest.raises(KeyboardInterrupt), on_signals() as asked:
        os.kill(os.getpid(), signal.SIGINT)
        assert not asked.at_once()
        os.kill(os.getpid(), signal.SIGINT)
    assert asked.at_once()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Put the host's kernels in the place of a GPU, which this process loses at the first call."""
    forms = {**WAVEFRONT.forms, GPU.name: Form(WAVEFRONT.on(CPU).align, lambda *_: None)}
    monkeypatch.setitem(ALIGNERS, WAVEFRONT.name, replace(WAVEFRONT, forms=forms))
    monkeypatch.setattr(devices, "choose", lambda _: Gpus({"0": "host kernels"}, "a test", GPU))
    yield
    GPU_OF_PROCESS.lost = None


@pytest.mark.usefixtures("gpu")
def test_who_goes_on_after_a_loss_lets_tasks_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = chaos.simulate(tmp_path, 60, seed=5)
    stops: list[Stop] = []
    seen: list[bool] = []
    real, begun = pair_tasks.alignments, Tracker.__init__

    def noted(self: Any, directory: str, run: str, of: Stop, *more: Any, **options: Any) -> None:
        stops.append(of)
        begun(self, directory, run, of, *more, **options)

    def broken(*_: Any) -> Any:
        raise KernelError("an illegal memory access was encountered")

    def others(*arguments: Any) -> Any:
        seen.append(stops[0].at_once())
        return real(*arguments)

    def hire(crew: Any, **_: Any) -> None:
        seen.append(stops[0].at_once())
        monkeypatch.setattr(pair_tasks, "alignments", others)
        GPU_OF_PROCESS.lost = None  # as in a worker's process

    monkeypatch.setattr(Tracker, "__init__", noted)
    monkeypatch.setattr(pair_tasks, "alignments", broken)
    monkeypatch.setattr(Crew, "hire", hire)
    monkeypatch.setattr(Crew, "begin_to_hire", lambda *_, **__: None)
    report = chaos.drive(str(tmp_path / "run"), str(tmp_path / "q.fa"), str(tmp_path / "t.fa"))
    assert report.exit == Exit.COMPLETE and chaos.answer(tmp_path / "run") == chaos.expected(made)
    assert seen[0] and len(seen) > 1 and not any(seen[1:])
