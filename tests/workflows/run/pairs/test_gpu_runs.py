"""Whole runs on this machine's GPUs against one plain call of the host's kernels."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from chaos import Pairs, answer, drive, expected, simulate
from external import External

from tidalign.pipeline.store import rundir
from tidalign.workflows.status import Exit

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpus")]

PAIRS = 300
PATIENCE = 600  # seconds after which a run hangs, on a busy machine and compiling included


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Pairs]:
    folder = tmp_path_factory.mktemp("pairs")
    pairs = simulate(folder, PAIRS, seed=13)
    return [str(folder / name) for name in ("q.fa", "t.fa")], pairs


def command(directory: Path, inputs: list[str], *options: str, **environment: str) -> tuple[int, str]:
    """Run in a process of its own, whose device may be lost: its exit status and what it said; one that hangs says where."""
    words = [sys.executable, "-X", "faulthandler", "-m", "tidalign.workflows", "pairs", *inputs, "-o", str(directory), "--device", "gpu", *options]
    with subprocess.Popen(words, env=os.environ | environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            said = process.communicate(timeout=PATIENCE)[1]
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGABRT)
            said = process.communicate()[1] + (directory / "journal.jsonl").read_text()
    return process.returncode, said


def events(directory: Path, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "journal.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def test_one_gpu(tmp_path: Path, made: tuple[list[str], Pairs]) -> None:
    status, said = command(tmp_path, made[0], "--gpus", "1")
    assert (status, rundir.finished(str(tmp_path))) == (Exit.COMPLETE, "SUCCESS"), said
    assert answer(tmp_path) == expected(made[1])
    assert events(tmp_path, "hired") == []


def test_a_process_whose_gpu_fails_is_replaced(tmp_path: Path, made: tuple[list[str], Pairs]) -> None:
    """An illegal address ends all use of the GPU by a process, whether it is the command itself or a worker. The pair that always brings it about is
    aligned by the host in the end."""
    status, said = command(tmp_path, made[0], "--gpus", "1", TIDALIGN_TEST_FAULT="7")
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path) == expected(made[1])
    assert "illegal" in events(tmp_path, "failed")[0]["error"]  # the command itself
    assert [death["killed"] for death in events(tmp_path, "died")].count(True) >= 1  # the worker that went on
    assert all(event["rejected"] == 0 for event in events(tmp_path, "isolated"))
    assert events(tmp_path, "isolated")


def test_workers_with_gpus_of_somebody_elses_scheduler(tmp_path: Path, made: tuple[list[str], Pairs], gpus: dict[str, str]) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    external = External(folder)
    try:
        external.cuda_worker()
        external.wait_for_workers(1)
        report = drive(str(tmp_path / "run"), *made[0], scheduler=external.address, device="gpu")
    finally:
        external.close()
    assert answer(tmp_path / "run") == expected(made[1])
    assert 1 <= report.workers <= len(gpus)
    assert report.device == ", ".join(sorted(gpus.values())[: report.workers])
