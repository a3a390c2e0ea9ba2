"""Progress never goes back, whenever other threads look at the pulses of tasks; and a look costs the same however much there is to do."""

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest import mock

import pytest

from tidalign.pipeline.device import CPU
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.store import claims
from tidalign.workflows.run.genome.tiles import Tiles
from tidalign.workflows.run.pairs.alignment import Alignment
from tidalign.workflows.run.pairs.tasks import RowRange


def test_a_look_at_a_task_that_has_ended_counts_nothing(tmp_path: Path) -> None:
    """A thread that was about to look when the task ended: its rows are not counted as begun and as finished."""
    for name in ("claims", "parts"):
        (tmp_path / name).mkdir()
    told: list[tuple[str, int]] = []
    made = Alignment(str(tmp_path), "run", {}, mock.Mock(), lambda stage, done, _: told.append((stage, done)), CPU)
    made._chunks = {f"c{n}": {"id": f"c{n}", "rows": 10, "work": 1e7, "longest": 100} for n in range(2)}  # type: ignore[misc,assignment]
    made._share, made._rows = {f"c{n}": (0, 10) for n in range(2)}, 20
    first, _ = (made._task([RowRange(f"c{n}", 0, 10, claims.claim_path(str(tmp_path), f"c{n}", 0, 10, "1"))]) for n in range(2))
    claim = made._running[first][0].claim
    assert claim and first.pulse
    claims.write(claim, 6, 8)
    first.pulse()
    assert told[-1] == ("align", 6)
    with mock.patch.multiple(made, counted=lambda *_: {}, following=lambda *_: []):
        made.done(first, None)
    assert told[-1] == ("align", 10)
    first.pulse()
    steps = [done for stage, done in told if stage == "align"]
    assert steps == sorted(steps) and steps[-1] == 10


def test_a_look_weighs_no_piece_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compute what the pieces of a task amount to and weigh once, when it is made, however many tasks run beside it."""
    (tmp_path / "claims").mkdir()
    told: list[tuple[str, int]] = []
    made = Alignment(str(tmp_path), "run", {}, mock.Mock(), lambda stage, done, _: told.append((stage, done)), CPU)
    made._chunks = {f"c{n}": {"id": f"c{n}", "rows": 10, "work": 1e7, "longest": 100} for n in range(40)}  # type: ignore[misc,assignment]
    made._rows = 400
    pieces = [RowRange(f"c{n}", 0, 10, claims.claim_path(str(tmp_path), f"c{n}", 0, 10, "1")) for n in range(40)]
    tasks = [made._task(pieces[:20]), *(made._task([piece]) for piece in pieces[20:])]
    for piece in pieces[19:]:  # the last of the first task, and all others
        claims.write(str(piece.claim), 5, 10)
    asked = {name: mock.Mock(wraps=getattr(made, name)) for name in ("amount", "weight")}
    for name, counting in asked.items():
        monkeypatch.setattr(made, name, counting)
    for task in tasks:
        assert task.pulse and task.pulse()
    assert told[-1] == ("align", 195 + 20 * 5)
    assert made.work() == pytest.approx(sum(task.seconds for task in tasks))
    assert {name: counting.call_count for name, counting in asked.items()} == {"amount": 0, "weight": 0}


def test_a_look_at_tiles_reads_no_anchors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the file that says how many anchors a unit has when tasks are made, and not with each pulse: a tile of its extension is a share of them."""
    (tmp_path / "claims").mkdir()
    asked, told = list[object](), list[tuple[str, int]]()
    monkeypatch.setattr(anchoring, "count_anchors", lambda *unit: asked.append(unit) or 1000)  # type: ignore[func-returns-value]
    job = SimpleNamespace(tiles=[{"start": 0, "stop": 1, "work": 100.0, "staged": True}])
    tiles = Tiles(str(tmp_path), cast("Any", SimpleNamespace(run="run", jobs=[job])), mock.Mock(), lambda stage, done, _: told.append((stage, done)))
    paths = [claims.claim_path(str(tmp_path), "j000000.u0.extend", start, start + 10, "1") for start in range(0, 1000, 10)]
    tasks = [tiles._task([Tile("extend", 0, 0, 10 * n, 10 * n + 10, path)]) for n, path in enumerate(paths)]
    tiles._finished = 50.0
    assert len(asked) <= 4 * len(tasks)
    asked.clear()
    for task, path in random.Random(1).sample(list(zip(tasks, paths, strict=True)), 100):
        start = int(path.split(".extend.")[1].split("-")[0])
        claims.write(path, start + 5, start + 10)
        assert task.pulse and task.pulse()
    assert asked == []
    assert told[-1] == ("genomes", 1000 * (50 + 25))
