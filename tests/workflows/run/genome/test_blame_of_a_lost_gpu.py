"""Blame, of the tiles of a worker that loses its GPU, only the one that was on it, whatever the others do meanwhile."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from tidalign.kernels.runtime.errors import KernelError
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.store import claims
from tidalign.workflows.run.genome import tasks


def test_what_others_do_while_a_worker_gives_way_leaves_no_claim(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One goes on and says so, one ends and one begins, as soon as the first claim is taken back and before the process has ended."""
    (tmp_path / "claims").mkdir()
    lost, goes_on, ends, begins = (
        Tile("units", 0, -1, place, place + 1, claims.claim_path(str(tmp_path), "j000000", place, place + 1, f"{place:08x}")) for place in range(4)
    )
    begun, over, gone = threading.Barrier(3), threading.Event(), threading.Event()
    left: list[str] = []
    take_back = claims.remove

    def stage(directory: str, run: str, tile: Tile, beat: Callable[[int], None], device: object) -> dict[str, int]:
        if tile != begins:
            begun.wait(60)
        if tile == lost:
            raise KernelError("the GPU is lost")
        assert over.wait(60)
        if tile == goes_on:
            beat(tile.start)
        assert tile == ends or gone.wait(60)
        return {}

    def remove(path: str) -> None:
        take_back(path)
        if not over.is_set() and threading.current_thread() is threading.main_thread():
            over.set()
            time.sleep(0.5)  # in which others get as far as they get

    def give_way() -> None:
        left.extend(sorted(path.name for path in (tmp_path / "claims").iterdir()))
        gone.set()

    monkeypatch.setattr(tasks.multiprocessing, "parent_process", lambda: SimpleNamespace())
    monkeypatch.setattr(tasks, "logged", lambda *_: nullcontext())
    monkeypatch.setattr(tasks, "read_manifest", lambda _: SimpleNamespace(run="run"))
    monkeypatch.setattr(tasks, "BEAT_SECONDS", -1.0)
    monkeypatch.setattr(tasks, "_claims", set())  # tests that end a tile as a death would leave its claim in it
    monkeypatch.setattr(tasks.handover, "give_way", give_way)
    monkeypatch.setattr(claims, "remove", remove)
    monkeypatch.setitem(tasks._STAGES, "units", stage)
    others = [threading.Thread(target=tasks.perform, args=(str(tmp_path), "run", tile)) for tile in (goes_on, ends)]
    late = threading.Thread(target=lambda: over.wait(60) and tasks.perform(str(tmp_path), "run", begins))
    for thread in (*others, late):
        thread.start()
    with pytest.raises(KernelError, match="the GPU is lost"):
        tasks.perform(str(tmp_path), "run", lost)
    for thread in (*others, late):
        thread.join(60)
    assert left == [Path(str(lost.claim)).name]
    assert sorted(path.name for path in (tmp_path / "claims").iterdir()) == left and not tasks._claims
