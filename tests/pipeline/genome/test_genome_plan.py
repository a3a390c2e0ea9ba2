"""Tiles: every unit once, in order, small ones together."""

import dataclasses

import numpy as np
import pytest

from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import TILE_SECONDS, UNIT, plan_tiles, strands, unit_of, unit_work

DEFAULT = GenomeParameters()


@pytest.mark.parametrize("strand", ["both", "plus", "minus"])
@pytest.mark.parametrize("target", [1_000, 5_000_000, 250_000_000])
def test_tiles_cover_all_units_in_order(target: int, strand: str) -> None:
    parameters = dataclasses.replace(DEFAULT, strand=strand)
    lengths = np.random.default_rng(7).integers(1, 3_000_000, 200).tolist()
    tiles = plan_tiles(target, lengths, parameters)
    assert [tile["start"] for tile in tiles] == [0, *(tile["stop"] for tile in tiles[:-1])]
    assert tiles[-1]["stop"] == 200 * len(strands(parameters))
    for tile in tiles:
        assert tile["stop"] - tile["start"] == 1 or (tile["work"] <= TILE_SECONDS and not tile["staged"])
        assert tile["staged"] == (tile["stop"] - tile["start"] == 1 and tile["work"] > TILE_SECONDS)
        units = [unit_work(target, lengths[unit_of(unit, parameters)[0]], parameters) for unit in range(tile["start"], tile["stop"])]
        assert tile["work"] == pytest.approx(sum(units))


def test_tiles_are_few() -> None:
    tiles = plan_tiles(10_000, [1_000] * 5_000, DEFAULT)
    total = sum(tile["work"] for tile in tiles)
    assert len(tiles) <= 2 * total / TILE_SECONDS + 1  # two neighbours together are above the limit


def test_a_unit_costs_something_however_small() -> None:
    """So that a tile of many small ones takes about as long as it says, and its part is written."""
    tiles = plan_tiles(2_000, [100] * 50_000, DEFAULT)
    assert max(tile["stop"] - tile["start"] for tile in tiles) <= TILE_SECONDS / UNIT
    assert unit_work(2_000, 100, dataclasses.replace(DEFAULT, query_hsp_limit=5)) > 5 * unit_work(2_000, 100, DEFAULT)  # each is done by itself


def test_units_take_the_strands_in_turn() -> None:
    assert [unit_of(unit, DEFAULT) for unit in range(4)] == [(0, "+"), (0, "-"), (1, "+"), (1, "-")]
    assert [unit_of(unit, dataclasses.replace(DEFAULT, strand="minus")) for unit in range(2)] == [(0, "-"), (1, "-")]


def test_more_sensitive_is_more_work() -> None:
    works = [unit_work(10**6, 10**6, dataclasses.replace(DEFAULT, **change)) for change in ({"transitions": 0}, {}, {"transitions": 2}, {"gfextend": False})]
    assert works == sorted(works) and works[0] > 0
    assert unit_work(10**6, 10**6, dataclasses.replace(DEFAULT, step=20)) < works[1]
    half = dataclasses.replace(DEFAULT, seed="T" * 12)
    assert unit_work(10**6, 10**6, half) > works[1]
