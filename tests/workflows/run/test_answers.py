"""A kernel that hangs in the command's own process: the run ends with a status, in time, and what it was at is known; a long one goes on."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import chaos
import pytest

from tidalign.cluster.errors import ClusterLost, Hangs
from tidalign.cluster.task import Task
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.pairs.aligner import ALIGNERS, WAVEFRONT, Form
from tidalign.pipeline.store import claims
from tidalign.workflows.run import answers, devices
from tidalign.workflows.run.devices import Gpus
from tidalign.workflows.run.pairs import alignment, tasks
from tidalign.workflows.status import Exit

PAIRS = 60

HERE = Path(__file__)


class Gpu:
    """A GPU that is the host's kernels. hung: set where a call of it does not come back before `over` is."""

    def __init__(self) -> None:
        self.hung, self.over = threading.Event(), threading.Event()
        self.calls = 0

    def align(self, queries: Any, targets: Any, parameters: Any) -> Any:
        if threading.current_thread().name != "start":
            self.calls += 1
            if self.calls == 1:
                self.hung.set()
                self.over.wait()
                self.hung.clear()
        return WAVEFRONT.on(CPU).align(queries, targets, parameters)

    def wait(self) -> None:
        if self.hung.is_set():
            self.over.wait()


def set_up(gpu: Gpu, patch: Any) -> None:
    """Have it be the only GPU, and a silence of a second be long."""
    patch.setitem(ALIGNERS, WAVEFRONT.name, replace(WAVEFRONT, forms={**WAVEFRONT.forms, GPU.name: Form(gpu.align, lambda *_: None)}))
    patch.setattr(devices, "choose", lambda _: Gpus({"0": "host kernels"}, "a test", GPU))
    if not isinstance(gpu, Spinning):
        patch.setattr(compiler, "wait", gpu.wait)
    patch.setattr(answers, "HELD_SECONDS", 0.5)
    patch.setattr(alignment, "HANG_SECONDS", 1.0)
    patch.setattr(tasks, "SECONDS_PER_WORK", 1e-12)


class Spinning(Gpu):
    """A real GPU, with a kernel that never ends on it."""

    def align(self, queries: Any, targets: Any, parameters: Any) -> Any:
        import cupy

        if threading.current_thread().name != "start":
            on = cupy.ones(1, cupy.int32)
            cupy.RawKernel('extern "C" __global__ void spin(volatile int* on) { while (*on) {} }', "spin")((1,), (1,), (on,))
            cupy.cuda.runtime.deviceSynchronize()
        return WAVEFRONT.on(CPU).align(queries, targets, parameters)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gpu]:
    made = Gpu()
    set_up(made, monkeypatch)
    yield made
    made.over.set()
    while GPU_OF_PROCESS.held:
        time.sleep(0.01)


def rows(run: Path) -> list[tuple[int, int, str]]:
    return [(row["ordinal"], row["penalty"], row["cigar"]) for row in chaos.rows(str(run))]


def test_a_kernel_that_hangs_ends_the_run(gpu: Gpu, tmp_path: Path) -> None:
    made = chaos.simulate(tmp_path, PAIRS, seed=5)
    sides = str(tmp_path / "q.fa"), str(tmp_path / "t.fa")
    began = time.monotonic()
    with pytest.raises(Hangs, match=r"^b00\d+.*the GPU gave no answer in \d+ s; the same command goes on") as error:
        chaos.drive(str(tmp_path / "run"), *sides)
    assert isinstance(error.value, ClusterLost) and len(str(error.value)) < 300
    assert time.monotonic() - began < 600  # kernels are compiled on the way
    left = claims.leftover(str(tmp_path / "run"))
    assert left, "what it was at is known"
    gpu.over.set()
    report = chaos.drive(str(tmp_path / "other"), *sides, device="cpu", workers=1)
    assert report.exit == Exit.COMPLETE and rows(tmp_path / "other") == chaos.expected(made)


def test_a_long_one_goes_on(gpu: Gpu, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The host is at it, or kernels follow each other: the device answers."""
    made = chaos.simulate(tmp_path, PAIRS, seed=5)
    asked: list[float] = []

    def wait() -> None:
        asked.append(time.monotonic())
        if len(asked) == 3:
            gpu.over.set()

    monkeypatch.setattr(compiler, "wait", wait)
    assert chaos.drive(str(tmp_path / "run"), str(tmp_path / "q.fa"), str(tmp_path / "t.fa")).exit == Exit.COMPLETE
    assert rows(tmp_path / "run") == chaos.expected(made)
    assert len(asked) >= 3, "it was asked again and again"


def test_a_device_that_answers_late_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the longest of the tasks may take for a step; who was stopped did not look."""
    now, answered = [0.0], threading.Event()
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(compiler, "wait", answered.wait)
    looks = answers.Answers()
    running = [Task("short", abs, (1,), patience=60.0), Task("long", abs, (1,), patience=100.0, pulse=lambda: 1), Task("other", abs, (1,))]
    with GPU_OF_PROCESS.hold():
        for _ in range(109):
            now[0] += 1.0
            looks.look(running)
        now[0] += 1e6
        with pytest.raises(Hangs, match="^long: the GPU gave no answer in 101 s"):
            for _ in range(2):
                now[0] += 1.0
                looks.look(running)
        answered.set()
    for _ in range(200):  # nobody holds it
        now[0] += 1.0
        looks.look(running)
    for _ in range(200):  # another turn each time
        now[0] += 1.0
        with GPU_OF_PROCESS.hold():
            looks.look(running)


@pytest.mark.parametrize("gpu", ["host", pytest.param("GPU", marks=pytest.mark.gpu)])
def test_the_command_ends_though_a_thread_does_not(tmp_path: Path, gpu: str) -> None:
    """With a status and a line; the same command goes on, here on cores."""
    made = chaos.simulate(tmp_path, PAIRS, seed=5)
    words = ["pairs", str(tmp_path / "q.fa"), str(tmp_path / "t.fa"), "-o", str(tmp_path / "run"), "--quiet"]
    path = os.pathsep.join([str(HERE.parent), str(HERE.parents[1]), *sys.path])
    done = subprocess.run([sys.executable, str(HERE), gpu, *words], env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == Exit.CLUSTER_LOST, done.stderr
    (line,) = done.stderr.splitlines()
    assert "the GPU gave no answer" in line
    again = subprocess.run([sys.executable, "-m", "tidalign.workflows", *words, "--device=cpu"], env=os.environ | {"PYTHONPATH": path}, timeout=300)
    assert again.returncode == Exit.COMPLETE
    assert rows(tmp_path / "run") == chaos.expected(made)


if __name__ == "__main__":  # the command, with a GPU that hangs
    from tidalign.workflows import cli

    set_up({"host": Gpu, "GPU": Spinning}[sys.argv.pop(1)](), pytest.MonkeyPatch())
    sys.exit(cli.main())
