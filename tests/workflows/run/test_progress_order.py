"""Progress never goes back, whenever other threads look at the pulses of tasks."""

from pathlib import Path
from unittest import mock

from tidalign.pipeline.device import CPU
from tidalign.pipeline.store import claims
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
