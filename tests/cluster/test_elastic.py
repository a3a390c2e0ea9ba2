"""Workers that leave while a run goes on are no failure, and those that are faster do more."""

import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from external import External
from jobs import at_speed, whereabouts
from test_dispatch import Recorded

from tidalign.cluster.dispatch.run import run_on
from tidalign.cluster.start import start
from tidalign.cluster.stop import Stop
from tidalign.cluster.task import Task


class Leaving(Recorded):
    """Has a worker leave once some tasks are done."""

    def __init__(self, leave: Any, after: int = 6) -> None:
        super().__init__()
        self._leave, self._after, self.where = leave, after, Counter[str]()

    def done(self, task: Task, result: Any) -> None:
        super().done(task, result)
        self.where[result] += 1
        if len(self.results) == self._after:
            self._leave()


@pytest.mark.parametrize("how", ["retired", "stopped"])
def test_a_worker_that_leaves_is_no_failure(how: str, external: External) -> None:
    """As an adaptive cluster takes one away, or a person with Ctrl-C."""
    third = external.worker()
    external.wait_for_workers(3)
    with start(scheduler=external.address) as workers:

        def leave() -> None:
            if how == "retired":
                workers.client.retire_workers([next(iter(seen.where))], close_workers=True)
            else:
                third.send_signal(signal.SIGINT)

        seen = Leaving(leave)
        run_on(workers, [Task(f"t{number}", whereabouts, (0.3,)) for number in range(30)], seen, Stop())
        deadline = time.monotonic() + 600
        while len(workers.live()) > 2 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert len(workers.live()) == 2
    assert len(seen.results) == 30 and set(seen.times.values()) == {1}
    assert sum(seen.deaths.values()) <= 1  # what it was at, and that alone, may be done again


def test_who_is_faster_does_more(external_alone: External, tmp_path: Path) -> None:
    """One of two workers takes a third of the time, and does three of four tasks."""
    external_alone.worker("--nthreads", "1", "--name", "slow")
    external_alone.worker("--nthreads", "1", "--name", "fast")
    external_alone.wait_for_workers(2)
    (folder := tmp_path / "done").mkdir()
    with start(scheduler=external_alone.address) as workers:
        seen = Leaving((folder / "over").touch, after=39)
        run_on(workers, [Task(f"t{number}", at_speed, (str(folder), number)) for number in range(40)], seen, Stop())
    assert len(seen.results) == 40 and 30 <= seen.where["fast"] < 39
