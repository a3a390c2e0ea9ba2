"""Seeds on a GPU: the rows of the host twin, which test_seed.py compares with the reference model."""

from typing import Any

import numpy as np
import pytest
from genome_pairs import related

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.seed import index as seed
from tidalign.kernels.seed.index import SeedPattern

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

PATTERNS = ["12of19", "14of22", "match8", "half12", "1101T011T00111", "11", "111111111111111", "T11101110111011101110T", "1" * 22]


def rows(module: Any, target: bytes, query: bytes, pattern: str, step: int = 1, limit: str | None = None, **options: Any) -> np.ndarray:
    index = module.build_index(encode(target), SeedPattern.parse(pattern), step, limit)
    tiles = [np.stack(tile) for tile in module.hits(index, encode(query), **options)]
    assert all(0 < tile.shape[1] <= options.get("tile", tile.shape[1]) and tile.dtype == np.int64 for tile in tiles)
    return np.concatenate([np.empty((2, 0), np.int64), *tiles], axis=1)


def same(*arguments: Any, tile: int = 1 << 24, **options: Any) -> int:
    """Checks hits of both; returns how many."""
    from tidalign.kernels.seed import device as seed_device

    expected = rows(seed, *arguments, **options)
    found = rows(seed_device, *arguments, **options, tile=tile)
    assert np.array_equal(found, expected)
    return int(expected.shape[1])


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("transitions", [0, 1, 2])
def test_hits_are_those_of_the_host_in_its_order(pattern: str, transitions: int) -> None:
    random = np.random.default_rng([transitions, len(pattern)])
    count = 0
    for step, tile in ((1, 300), (1, 1 << 20), (7, 1 << 20)):
        count += same(*related(random, 3000), pattern, step, tile=tile, transitions=transitions)
    assert count


@pytest.mark.parametrize("limit", ["0", "1", "3", "30%", "99.9%", "100%"])
@pytest.mark.parametrize("pattern", ["match8", "12of19", "14of22"])
def test_words_that_occur_too_often_are_left_out(limit: str, pattern: str) -> None:
    target, query = related(np.random.default_rng(len(limit)), 1500)
    target += target[200:700] * 3
    assert same(target, query, pattern, 1, limit) or limit == "0"


@pytest.mark.parametrize("wanted", [(12, 2), (14, 1), (10, None)])
def test_seed_filter(wanted: tuple[int, int | None]) -> None:
    assert same(*related(np.random.default_rng(4), 1500), "12of19", seed_filter=wanted)


def test_a_window_may_have_more_hits_than_a_tile() -> None:
    target, query = related(np.random.default_rng(5), 300)
    assert same(target + b"A" * 5000, query + b"A" * 40, "12of19", tile=700) > 40_000


def test_parts_of_a_large_target_are_sorted_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidalign.kernels.seed.device.SORTED", 5000)
    monkeypatch.setattr("tidalign.kernels.seed.device.CHUNK", 3000)
    random = np.random.default_rng(6)
    assert same(*related(random, 40_000), "12of19")
    assert same(*related(random, 10_000), "14of22", 1, "2", transitions=2)


@pytest.mark.parametrize("lengths", [(0, 100), (100, 0), (18, 19), (19, 19)])
def test_short_sequences(lengths: tuple[int, int]) -> None:
    letters = b"ACGTTGCAAC" * 10
    assert same(*(letters[:length] for length in lengths), "12of19") == (1 if lengths == (19, 19) else 0)


def test_too_many_letters_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.kernels.seed import device as seed_device

    monkeypatch.setattr(seed_device, "LONGEST_SEQUENCE", 50)
    with pytest.raises(DeviceLimit, match="51 letters"):
        seed_device.build_index(encode(b"A" * 51), SeedPattern.parse("12of19"))
