"""Pairs that are given up: only those that do not come to their bars, whatever their gaps, lengths and neighbours are."""

import random

import numpy as np
import pytest
from scored_cases import batch

from tidalign.kernels.local import host, pairs
from tidalign.kernels.local.bars import NO_BAR, Bars, worth
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.scoring.substitution import Substitution

SCORINGS = {
    "match:2,mismatch:-3,gap:5,2": "ACGT",
    "match:1,mismatch:-4,gap:6,1": "ACGTN",
    "match:5,mismatch:-4,gap:0,1": "ACGT",
    "match:2,mismatch:-4,gap:4,2,24,1": "ACGT",
    "match:127,mismatch:-100,gap:4,2": "ACGT",
    "blosum62": "ARNDCQEGHILKMFPSTWYV",
}


def likeness(chance: random.Random, letters: str, errors: float, alphabet: str) -> str:
    """Change, insert and leave out letters, and now and then many at once."""
    made: list[str] = []
    for letter in letters:
        kind = chance.random() / errors if errors else 9.0
        if kind < 1 / 40:
            made += chance.choices(alphabet, k=chance.randint(1, 60))
        if kind > 1 / 3:
            made.append(letter if kind > 1 else chance.choice(alphabet))
    if chance.random() < 0.3 and len(made) > 20:
        start = chance.randrange(len(made))
        del made[start : start + chance.randint(1, 100)]
    return "".join(made)


@pytest.mark.parametrize("one_query", [False, True])
@pytest.mark.parametrize("bytes_first", [False, True])
@pytest.mark.parametrize("text", SCORINGS)
def test_scores_that_come_to_their_bars(monkeypatch: pytest.MonkeyPatch, text: str, bytes_first: bool, one_query: bool) -> None:
    monkeypatch.setattr(pairs, "SHARED_PAIRS", 1 if bytes_first or one_query else 1 << 30)
    monkeypatch.setattr(pairs, "BYTES_CELLS", 0.0 if bytes_first else 1e18)
    monkeypatch.setattr(pairs, "ALONG_SAVES", 1e18)
    scoring, alphabet, chance = Substitution.parse(text), SCORINGS[text], random.Random(len(text) + one_query)
    coding, count = Coding(scoring), 150
    for length in (40, 300, 700):
        base = "".join(chance.choices(alphabet, k=length))
        asked = [likeness(chance, base, chance.choice([0, 0.02, 0.1]), alphabet) for _ in range(count)]
        targets = ["".join(chance.choices(alphabet, k=chance.choice([0, 50]))) + likeness(chance, base, chance.choice([0, 0.1, 0.3]), alphabet) for _ in asked]
        query, target = coding.coded(batch(asked, scoring), 0), coding.coded(batch(targets, scoring), 1)
        if one_query:
            query = query.at(np.zeros(count, np.int64))
        whole = pairs.align_coded(query, target, coding, report="score").score
        assert whole is not None
        for bar in (whole, whole + 1, whole * 9 // 10, np.full(count, np.median(whole), np.int64), np.full(count, NO_BAR)):
            found = pairs.align_coded(query, target, coding, report="score", bars=Bars(bar, worth(query, coding))).score
            assert found is not None and np.array_equal(found[whole >= bar], whole[whole >= bar]) and (found < bar)[whole < bar].all()


def test_columns_that_are_needed() -> None:
    """All until the rows that are left score less than the bar at best; then those about cells from which a path can come to it; none if no cell is one."""
    coding = Coding(Substitution.parse("match:2,mismatch:-3,gap:5,2"))
    length, width, null = 640, 700, np.uint16(0)
    side = coding.coded(batch(["A" * length], Substitution.parse("match:2,mismatch:-3,gap:5,2")), 0)
    found, above = np.zeros((5, 1), np.int64), np.full(3 * width * PAIR_LANES, -0x8000, np.int16)

    def needed(row: int, bar: int, scores: dict[int, int]) -> tuple[int, int]:
        for column, score in scores.items():
            above[column * PAIR_LANES] = score - 0x8000
        found[0, 0] = max([0, *scores.values()])
        sides, one = (side.codes, side.starts, coding.table), np.zeros(1, np.int64)
        bars = np.array([bar]), worth(side, coding)
        first, last = host.needed(above, width, 1, width, sides, np.array([length]), one, 1, row, bars, coding.costs, found, null)
        for column in scores:
            above[column * PAIR_LANES] = -0x8000
        return int(first), int(last)

    assert needed(320, 640, {}) == (1, width), "the letters left alone score as much"
    assert needed(320, 641, {}) == (1, 1)
    assert needed(320, 1240, {320: 600, 400: 599, 100: 599}) == (320, 321 + host.LOOK_ROWS)
    assert needed(320, 1240, {320: 610, 318: 600, 100: 599}) == (318, 321 + host.LOOK_ROWS + 10 // 2)
    assert needed(320, 1240, {690: 640}) == (690, width), "no more than there are"
    assert needed(320, NO_BAR, {}) == (1, width)
