"""Pairs on several GPUs: this process begins with the first, and hires for all of them where that is worth it. But for the last test
host kernels stand in for those of GPUs."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chaos import Pairs, answer, expected, simulate

from tidalign.pipeline.device import GPU
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.pairs.tasks import SECONDS_PER_WORK
from tidalign.workflows.status import Exit

PAIRS = 240
STAND_IN = str(Path(__file__).parents[2] / "stand_in")
WORTH_IT = "from tidalign.workflows.run import runner; runner.RunKind.hire_seconds = 0.0; "
LARGE = "from tidalign.workflows.run.pairs import run; run.LARGE_INPUT = 0; "
IN_TURN = """
import itertools, sys, time
from pathlib import Path
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.pairs import tasks

def until(event):
    journal = Path(sys.argv[2], "journal.jsonl")
    while not (journal.exists() and f'"event": "{event}"' in journal.read_text()):
        time.sleep(0.01)

def inject(*arguments, calls=itertools.count(), known=tasks.inject):
    if next(calls) > 3:
        until("hired")
    known(*arguments)

def hire(crew, known=Crew._hire):
    until("done")
    known(crew)

tasks.inject, Crew._hire = inject, hire
"""
"""Has workers come once this process has done something, and all but its first calls wait for them: however long others take, there is work left."""
DRIVE = "import sys; from chaos import drive; sys.exit(drive(*sys.argv[2:], device='gpu', gpus=int(sys.argv[1])).exit)"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Pairs]:
    folder = tmp_path_factory.mktemp("pairs")
    pairs = simulate(folder, PAIRS, seed=6)
    return [str(folder / name) for name in ("q.fa", "t.fa")], pairs


def run(directory: Path, inputs: list[str], before: str = "", gpus: int = 2, stand_in: str = STAND_IN, **environment: str) -> dict[str, list[dict[str, Any]]]:
    """Run on GPUs in a process of its own; gives its journal by event."""
    words = [sys.executable, "-c", before + DRIVE, str(gpus), str(directory), *inputs]
    path = os.pathsep.join(filter(None, [stand_in, str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(words, env=os.environ | environment | {"PYTHONPATH": path, "TIDALIGN_TEST_GPUS": str(gpus)}, stderr=subprocess.PIPE, text=True)
    assert done.returncode == Exit.COMPLETE, done.stderr
    events: dict[str, list[dict[str, Any]]] = {}
    for line in map(json.loads, (directory / "journal.jsonl").read_text().splitlines()):
        events.setdefault(line["event"], []).append(line)
    return events


@pytest.mark.parametrize("large", ["", LARGE, LARGE + "import tempfile; tempfile.tempdir = '/nowhere'; "])
def test_little_work_is_done_on_the_first_gpu(tmp_path: Path, made: tuple[list[str], Pairs], large: str) -> None:
    """Align a large input so, too, and where no workers could be started, of which none is needed."""
    events = run(tmp_path, made[0], large)
    assert answer(tmp_path) == expected(made[1])
    report = rundir.read_report(str(tmp_path))
    assert "hired" not in events
    assert (report["device"], report["device_why"], report["workers"]) == ("stand-in", "there is little for others to do", 0)


def test_this_process_works_until_workers_are_there(tmp_path: Path, made: tuple[list[str], Pairs]) -> None:
    given_back = tmp_path / "given back"
    pool = f"import cupy, types; pool = types.SimpleNamespace(free_all_blocks=lambda: open({str(given_back)!r}, 'a').write('.')); "
    events = run(tmp_path / "run", made[0], LARGE + WORTH_IT + pool + "cupy.get_default_memory_pool = lambda: pool" + IN_TURN, TIDALIGN_TEST_SLOW="0.4")
    assert given_back.read_text(), "a worker has this GPU, too"
    tmp_path /= "run"
    assert answer(tmp_path) == expected(made[1])
    (hired,) = events["hired"]
    assert hired["workers"] == 2
    assert min(done["time"] for done in events["done"]) < hired["time"] < max(done["time"] for done in events["done"])
    assert len(list((tmp_path / "logs").iterdir())) == 2, "both workers had work"
    assert rundir.read_report(str(tmp_path))["device"] == "stand-in, stand-in"


def test_workers_go_on_where_this_process_loses_its_gpu(tmp_path: Path, made: tuple[list[str], Pairs]) -> None:
    events = run(tmp_path, made[0], WORTH_IT, TIDALIGN_TEST_FAULT="7")
    assert answer(tmp_path) == expected(made[1])
    assert "illegal" in events["failed"][0]["error"]
    assert events["hired"][-1]["workers"] == 2
    assert all(event["rejected"] == 0 for event in events["isolated"]), "a core aligned what no GPU could"


def test_long_pairs_that_come_late_are_worth_workers(tmp_path: Path) -> None:
    """By its first block this input is little work."""
    rng, letters = np.random.default_rng(1), np.frombuffer(b"ACGT", np.uint8)
    sides = [b"".join(b">%d\n%s\n" % (i, rng.choice(letters, 20 if i < 60 else 300).tobytes()) for i in range(120)) for _ in range(2)]
    for name, side in zip(("q.fa", "t.fa"), sides, strict=True):
        (tmp_path / name).write_bytes(side)
    wavefronts = 60 * 44 + 60 * 1500
    worth = f"from tidalign.workflows.run import runner; runner.RunKind.hire_seconds = {wavefronts * SECONDS_PER_WORK / GPU.speed / 2}; "
    events = run(tmp_path / "run", [str(tmp_path / "q.fa"), str(tmp_path / "t.fa")], worth, TIDALIGN_TEST_SLOW="0.6")
    assert events["hired"][0]["workers"] == 2 and sum(done["amount"] for done in events["done"]) == 120


@pytest.mark.gpu
def test_every_gpu(tmp_path: Path, made: tuple[list[str], Pairs], gpus: dict[str, str]) -> None:
    if len(gpus) < 2:
        pytest.skip("one GPU")
    events = run(tmp_path, made[0], WORTH_IT, len(gpus), "", TIDALIGN_TEST_SLOW="0.4")
    assert answer(tmp_path) == expected(made[1])
    assert events["hired"][-1]["workers"] == len(gpus) == len(list((tmp_path / "logs").iterdir()))
