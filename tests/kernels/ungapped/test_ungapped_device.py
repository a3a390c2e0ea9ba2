"""The record of diagonals and x-drop extension on a GPU: the rows of the host twin, which test_ungapped.py compares with the reference model."""

from typing import Any

import numpy as np
import pytest
import simulate
from genome_pairs import dense, related, sharing_a_record

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed import index as seed
from tidalign.kernels.seed.index import SeedPattern
from tidalign.kernels.ungapped.hsps import HitFilter, Segments

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

SEED = SeedPattern.parse("12of19")
SHORT = SeedPattern.parse("111011")

SCORINGS = [
    Scoring(),
    Scoring(((1, -2, -1, -2), (-2, 1, -2, -1), (-1, -2, 2, -2), (-3, -1, -2, 1)), bad=-9, fill=-2),
    Scoring(bad=-50, fill=-10, ambiguous=("iupac", 100, 100)),
]
"""With the last, scans go over letters that are none of ACGT."""


Gapfree = tuple[int, int, bool] | None
Rows = tuple[Segments, Any]


def on_host(target: bytes, query: bytes, transitions: int, scoring: Scoring, exact: bool, gapfree: Gapfree, pattern: SeedPattern = SEED) -> Rows:
    codes = encode(target), encode(query)
    used = HitFilter(*codes, pattern.span, scoring, exact=exact)
    parts, places = [], []
    for tile in seed.hits(seed.build_index(codes[0], pattern), codes[1], transitions):
        if gapfree is None:
            found = used.seeds(*tile)
            place = found.query
        else:
            found, place = used.hsps_of_hits(*tile, *gapfree)
        parts.append(found)
        places.append(place)
    return Segments.concat(parts), np.concatenate([np.empty(0, np.int64), *places])


def on_device(
    target: bytes, query: bytes, transitions: int, scoring: Scoring, exact: bool, gapfree: Gapfree, tile: int = 1 << 24, pattern: SeedPattern = SEED
) -> Rows:
    from tidalign.kernels.seed import device as seed_device
    from tidalign.kernels.ungapped import device as ungapped_device

    index = seed_device.build_index(encode(target), pattern)
    options: dict[str, Any] = {"transitions": transitions, "seed_filter": None, "scoring": scoring, "exact": exact, "gapfree": gapfree, "tile": tile}
    tiles = list(ungapped_device.segments(index, encode(query), **options))
    return Segments.concat([found for found, _ in tiles]), np.concatenate([np.empty(0, np.int64), *(places for _, places in tiles)])


def same(
    target: bytes, query: bytes, transitions: int, scoring: Scoring, exact: bool, gapfree: Gapfree, tile: int = 1 << 24, pattern: SeedPattern = SEED
) -> Segments:
    """Checks rows of both; returns them."""
    options = target, query, transitions, scoring, exact, gapfree
    (expected, places), (found, found_places) = on_host(*options, pattern=pattern), on_device(*options, tile, pattern)
    for name in ("target", "query", "length", "score"):
        assert np.array_equal(getattr(found, name), getattr(expected, name)), name
    assert np.array_equal(found_places, places)
    return found


@pytest.mark.parametrize("followed", [True, False])
def test_a_separator_is_looked_at(followed: bool) -> None:
    assert len(same(*sharing_a_record(followed), 1, Scoring(), True, (910, 1500, True)).target) == 2 - followed


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("tile", [70, 1 << 24])
def test_hsps_are_those_of_the_host(exact: bool, scoring: Scoring, tile: int) -> None:
    random = np.random.default_rng(tile)
    unit = scoring.matrix[0][0]
    count = 0
    for _ in range(6):
        gapfree = int(random.choice([10, 4, 60])) * unit, int(random.choice([33, 20, 0])) * unit, bool(random.integers(0, 2))
        count += len(same(*related(random, 1500), 1, scoring, exact, gapfree, tile=tile))
    assert count > 20


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("tile", [70, 1 << 24])
def test_seeds_are_those_of_the_host(exact: bool, tile: int) -> None:
    random = np.random.default_rng(1)
    assert sum(len(same(*related(random, 6000), 2, scoring, exact, None, tile=tile)) for scoring in SCORINGS) > 100


@pytest.mark.parametrize("exact", [True, False])
def test_long_scans_and_diagonals_that_share_a_record(exact: bool) -> None:
    # The second half is 65,536 letters on in the target, so that both have one slot; scans go on for thousands of columns, to the ends.
    random = np.random.default_rng(2)
    shared = simulate.sequence(random, 20_000)
    target = shared[:9000] + simulate.sequence(random, 65_536) + shared[9000:] + b"A" * 300
    query = simulate.mutate(random, shared, 0.05, "substitution") + b"A" * 200
    found = same(target, query, 1, Scoring(), exact, (910, 3000, True))
    assert found.length.max() > 5000
    assert len(same(target, query, 1, Scoring(), exact, None)) > 500


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("tile", [3000, 1 << 24])
@pytest.mark.parametrize("threshold", [900, 1300])
def test_chance_hits_that_hide_others(exact: bool, tile: int, threshold: int) -> None:
    found = same(*dense(np.random.default_rng([tile, threshold]), 20_000), 1, Scoring(), exact, (910, threshold, False), tile, SHORT)
    assert len(found) > 40


@pytest.mark.parametrize(
    "scoring", [Scoring(((9000, -20, -10, -20), (-20, 9000, -20, -10), (-10, -20, 9000, -20), (-30, -10, -20, 9000)), bad=-90_000), SCORINGS[2]]
)
def test_scores_that_the_sieve_does_not_take_or_hardly(scoring: Scoring) -> None:
    unit = scoring.matrix[0][0]
    target, query = related(np.random.default_rng(8), 3000)
    assert len(same(target + b"N" * 90, query + b"NRYN" * 30, 1, scoring, True, (10 * unit, 30 * unit, True))) > 3


def test_memory_that_is_short(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.kernels.ungapped import device as ungapped_device

    monkeypatch.setattr(ungapped_device, "LEAST_TILE", 1 << 10)
    target, query = related(np.random.default_rng(3), 3000)
    target, query = target + b"A" * 4000, query + b"A" * 900
    pool = device.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + (40 << 20))  # about a million hits; there are three
    try:
        assert len(same(target, query, 1, Scoring(), True, (910, 3000, True)))
        monkeypatch.setattr(ungapped_device, "LEAST_TILE", 1 << 24)
        with pytest.raises(DeviceLimit):
            on_device(target, query, 1, Scoring(), True, (910, 3000, True))
    finally:
        pool.set_limit(size=0)


def test_sums_that_have_no_room_are_refused() -> None:
    large = 1 << 23
    with pytest.raises(DeviceLimit, match="x-drop"):
        on_device(b"ACGT" * 9, b"ACGT" * 9, 1, Scoring(), True, (large, 3000, True))
