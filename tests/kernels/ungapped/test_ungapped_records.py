"""What a GPU knows of diagonals between two tiles: whoever goes on with it, a GPU or a core, finds what is left, and a GPU goes on from what a core knew.

The kernels run on the host as well as on a GPU.
"""

from collections.abc import Iterator
from typing import Any

import cuda_on_host
import numpy as np
import pytest
from genome_pairs import dense, related, sharing_a_record

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed import index as seed
from tidalign.kernels.seed.index import SeedPattern
from tidalign.kernels.ungapped.hsps import HitFilter, Segments
from tidalign.kernels.ungapped.records import Records

SEED = SeedPattern.parse("12of19")

TILE = 40

Gapfree = tuple[int, int, bool] | None

KINDS: list[tuple[bool, Gapfree]] = [(True, None), (True, (400, 0, False)), (False, None), (False, (910, 1500, True))]


@pytest.fixture(params=cuda_on_host.PLACES, scope="module")
def kernels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with cuda_on_host.at(request.param, tmp_path_factory):
        yield


class Side:
    """One way to go along the hits of a query strand, from a place on, knowing of diagonals what another knew there."""

    def __init__(self, target: bytes, query: bytes, exact: bool, gapfree: Gapfree) -> None:
        self.target, self.query, self.exact, self.gapfree = encode(target), encode(query), exact, gapfree

    def on_core(self, start: int, state: Any) -> Iterator[tuple[Segments, int, Any]]:
        used = HitFilter(self.target, self.query, SEED.span, Scoring(), exact=self.exact)
        if state:
            used.restore(*state)
        for targets, queries in seed.hits(seed.build_index(self.target, SEED), self.query[start:], 1, None, TILE):
            tile = targets.copy(), queries + start
            found = used.seeds(*tile) if self.gapfree is None else used.hsps(*tile, *self.gapfree)
            yield found, int(tile[1][-1]), tuple(each.copy() for each in used.state())

    def on_gpu(self, start: int, state: Any) -> Iterator[tuple[Segments, int, Any]]:
        from tidalign.kernels.seed import device as seed_device
        from tidalign.kernels.ungapped import device

        known = Records(self.target, self.query, SEED.span, Scoring(), exact=self.exact, xdrop=self.gapfree and self.gapfree[0])
        known.due = lambda: True
        if state:
            known.restore(*state)
        options: dict[str, Any] = {"transitions": 1, "seed_filter": None, "scoring": Scoring(), "exact": self.exact, "gapfree": self.gapfree, "tile": TILE}
        index = seed_device.build_index(self.target, SEED)
        reached = start
        for found, places in device.segments(index, self.query, **options, start=start, records=known):
            reached = int(places[-1]) if len(places) else reached
            yield found, reached, None if known.ahead else known.state()


def rows(parts: list[Segments]) -> list[tuple[int, ...]]:
    found = Segments.concat(parts)
    return list(zip(*(getattr(found, name).tolist() for name in ("target", "query", "length", "score")), strict=True))


PAIRS = {"related": lambda: related(np.random.default_rng(5), 1500), "one slot": lambda: sharing_a_record(True)}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("exact", "gapfree"), KINDS, ids=str)
@pytest.mark.parametrize(("first", "then"), [("on_gpu", "on_gpu"), ("on_gpu", "on_core"), ("on_core", "on_gpu")])
def test_whoever_goes_on_finds_the_rest(pair: str, exact: bool, gapfree: Gapfree, first: str, then: str) -> None:
    side = Side(*PAIRS[pair](), exact, gapfree)
    expected = rows([found for found, *_ in side.on_core(0, None)])
    assert expected
    steps = list(getattr(side, first)(0, None))
    assert rows([found for found, *_ in steps]) == expected
    left = [place for place, (_, _, state) in enumerate(steps[:-1]) if state is not None]
    assert len(left) > 1
    for place in left[:: max(1, len(left) // 3)]:
        *_, (_, reached, state) = steps[: place + 1]
        rest = [found for found, *_ in getattr(side, then)(reached, state)]
        assert rows([found for found, *_ in steps[: place + 1]] + rest) == expected, place


@pytest.mark.usefixtures("kernels")
def test_a_tile_that_is_worked_on_is_not_lost() -> None:
    """Where nobody waits, one is begun before the one before it is given; it can be had."""
    from tidalign.kernels.seed import device as seed_device
    from tidalign.kernels.ungapped import device

    side = Side(*related(np.random.default_rng(5), 4000), False, None)
    expected = rows([found for found, *_ in side.on_core(0, None)])
    known = Records(side.target, side.query, SEED.span, Scoring(), exact=False, xdrop=None)
    options: dict[str, Any] = {"transitions": 1, "seed_filter": None, "scoring": Scoring(), "exact": False, "gapfree": None, "tile": TILE}
    tiles = device.segments(seed_device.build_index(side.target, SEED), side.query, **options, records=known)
    first, _ = next(tiles)
    assert known.ahead
    rest = known.rest()
    assert rest is not None and not known.ahead and known.rest() is None
    later = [found for found, *_ in side.on_core(int(rest[1][-1]), known.state())]
    assert rows([first, rest[0], *later]) == expected


@pytest.mark.usefixtures("kernels")
def test_no_array_is_made_for_a_single_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.TILE", 1 << 20)
    side = Side(*related(np.random.default_rng(5), 4000), False, None)
    ((_, _, state),) = side.on_gpu(0, None)
    assert state is None


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("tile", [300, 1 << 20])
def test_chance_hits_that_hide_others(exact: bool, tile: int) -> None:
    from tidalign.kernels.seed import device as seed_device
    from tidalign.kernels.ungapped import device

    pattern, gapfree = SeedPattern.parse("111011"), (910, 900, False)
    target, query = map(encode, dense(np.random.default_rng(tile), 400))
    used = HitFilter(target, query, pattern.span, Scoring(), exact=exact)
    expected = [used.hsps(*tile_, *gapfree) for tile_ in seed.hits(seed.build_index(target, pattern), query, 1)]
    options: dict[str, Any] = {"transitions": 1, "seed_filter": None, "scoring": Scoring(), "exact": exact, "gapfree": gapfree, "tile": tile}
    found = [segments for segments, _ in device.segments(seed_device.build_index(target, pattern), query, **options)]
    assert rows(found) == rows(expected) and len(rows(found)) > 10
