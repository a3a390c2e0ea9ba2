"""Which anchors of a walk those are given who have nothing else to do."""

import random

import pytest

from tidalign.cluster.task import Task
from tidalign.pipeline.genome.plan import Tile
from tidalign.workflows.run.genome import tiles as genome_tiles
from tidalign.workflows.run.genome.tiles import AHEAD_ANCHORS, AHEAD_FIRST, AHEAD_REACH, Tiles

WALK = Tile("walk", 0, 0, 0, 3 * AHEAD_REACH + 1000)


@pytest.mark.parametrize("speed", [0, 40, 100, 1000])
def test_the_walk_is_met_from_the_end_of_a_stretch(monkeypatch: pytest.MonkeyPatch, speed: int) -> None:
    """Whatever the walk does, nobody is given what it is past, nor what others were given; where it waits, all but its next anchors are given, from the end
    of one stretch after the other."""
    monkeypatch.setattr(Tiles, "amount", lambda *_: 1.0)
    tiles = Tiles.__new__(Tiles)
    walk = Task("walk", random.random, ())
    tiles._running, tiles._at, tiles._ahead, tiles._stretches = {walk: [WALK]}, {}, {}, {}
    tiles.directory, tiles.run, tiles.workers = "", "", 4
    draw = random.Random(1)
    far, given = 0, list[tuple[int, int]]()
    while far < WALK.stop:
        tiles._at[walk] = far / WALK.stop
        told = [task.arguments[-2:] for task in tiles._work_ahead()]
        assert len(told) <= 3
        for start, stop in told:
            assert far < start < stop <= WALK.stop and stop - start <= AHEAD_ANCHORS
        given += told
        if speed == 0 and not told:
            break
        tiles._ahead.clear()
        far += draw.randrange(2 * speed) if speed else 0
    covered = sorted(given)
    assert all(stop <= following for (_, stop), (following, _) in zip(covered, covered[1:], strict=False))
    assert given[0][1] == AHEAD_REACH
    if speed == 0:
        assert sum(stop - start for start, stop in given) == WALK.stop - AHEAD_FIRST
        assert max(stop for _, stop in given[: AHEAD_REACH // AHEAD_ANCHORS]) == AHEAD_REACH


def test_a_short_walk_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(genome_tiles, "AHEAD_ANCHORS", WALK.stop)
    tiles = Tiles.__new__(Tiles)
    tiles._running, tiles._at, tiles._ahead, tiles._stretches = {Task("walk", random.random, ()): [WALK]}, {}, {}, {}
    tiles.workers = 4
    assert tiles._work_ahead() == []
