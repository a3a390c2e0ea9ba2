"""Search on the GPU: the hits of the host, whatever is scored in a launch; and the best of rows against a full sort."""

import random
from typing import Any

import numpy as np
import pytest
from related import related

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

COMPLEMENT = str.maketrans("ACGTN", "TGCAN")


def strings(seed: int, count: int, alphabet: str, longest: int) -> list[str]:
    """Draw strings of few letters and many repeats, so that many scores are equal."""
    chance = random.Random(seed)
    words = ["".join(chance.choices(alphabet, k=chance.randint(0, 6))) for _ in range(8)]
    return ["".join(chance.choices(words, k=chance.randint(0, longest // 6))) for _ in range(count)]


def hits(found: best.Hits) -> list[tuple[int, int, int, int]]:
    return list(zip(*(getattr(found, name).tolist() for name in ("query", "target", "strand", "score")), strict=True))


@pytest.mark.parametrize("at_once", [1, 1000, 1 << 27])
@pytest.mark.parametrize("span", ["local", "query", "global"])
@pytest.mark.parametrize(
    ("text", "alphabet", "top", "least"),
    [
        ("match:2,mismatch:-3,gap:5,2", "ACGTN", 5, 8),
        ("match:2,mismatch:-3,gap:5,2", "ACGT", 1, -50),
        ("match:127,mismatch:-128,gap:1,1", "ACGTN", 1000, 1),
        ("blosum62", "ARNDWY", 3, 1),
        ("pam250,gap:6,2,14,1", "ARNDCQEGHILKMFPSTWYVBZX*", 40, -9),
    ],
)
def test_hits_are_the_hosts(monkeypatch: pytest.MonkeyPatch, text: str, alphabet: str, top: int, least: int, span: str, at_once: int) -> None:
    from tidalign.kernels.local.uploaded import uploaded
    from tidalign.kernels.search import best_device

    monkeypatch.setattr(best_device, "MAX_SCORES", at_once)
    coding = Coding(Substitution.parse(text))
    queries, targets = strings(1, 12, alphabet, 90) + strings(3, 9, alphabet, 1500), strings(2, 60, alphabet, 90) + strings(4, 9, alphabet, 1400)
    both = [queries, [query.translate(COMPLEMENT)[::-1] for query in queries]][: 1 + ("W" not in alphabet)]
    sides = [Sequences.from_strings(strand) for strand in both]
    database = Sequences.from_strings(targets)
    options: dict[str, Any] = {"top": top, "least": least, "span": span}
    expected = best.search([coding.coded(side, 0) for side in sides], coding.coded(database, 1), coding, **options)
    found = best_device.search([uploaded(side, coding) for side in sides], uploaded(database, coding), coding, **options)
    assert hits(found) == hits(expected) and (len(found) or span != "local")


@pytest.mark.parametrize(("cells", "few"), [(0.0, 1), (0.0, 1 << 20), (1e18, 4)])
@pytest.mark.parametrize(
    ("text", "top", "least"), [("match:2,mismatch:-3,gap:5,2", 3, 1), ("match:1,mismatch:-4,gap:6,1,9,1", 1, 70), ("match:5,mismatch:-4,n:-2,gap:8,6", 5, 1)]
)
def test_what_cannot_be_among_the_best(monkeypatch: pytest.MonkeyPatch, text: str, top: int, least: int, cells: float, few: int) -> None:
    """Queries of all lengths among whose sequences some are much alike: pair by pair where words say which, all with bars, and all without words."""
    from tidalign.kernels.local.uploaded import uploaded
    from tidalign.kernels.search import best_device, words, words_device

    for name, value in (("COUNT_CELLS", cells), ("FEW", few), ("PAIRS", 50)):
        monkeypatch.setattr(words_device, name, value)
    monkeypatch.setattr(words, "LIKELIEST", 4)
    monkeypatch.setattr(words_device, "counted", lambda _sequences, found, *_: found >= cells)
    coding, (strands, targets) = Coding(Substitution.parse(text)), related(top, [1700, 900, 350, 120, 40], 12)
    sides, database = [Sequences.from_strings(strand) for strand in strands], Sequences.from_strings(targets)
    expected = best.search([coding.coded(side, 0) for side in sides], coding.coded(database, 1), coding, top=top, least=least)
    found = best_device.search([uploaded(side, coding) for side in sides], uploaded(database, coding), coding, top=top, least=least)
    assert hits(found) == hits(expected) and len(found)


@pytest.mark.parametrize(("width", "top", "least"), [(1, 1, 0), (5, 9, -100), (300, 10, -1000), (1000, 999, -5), (70_000, 17, 40), (4000, 100, 1000)])
def test_best_of_rows(width: int, top: int, least: int) -> None:
    import cupy

    from tidalign.kernels.search.rows_device import best_of_rows

    random = np.random.default_rng(width)
    scores = np.concatenate([random.integers(-60, 60, (3, width)), random.integers(-(1 << 31), 1 << 31, (1, width)), np.zeros((1, width))]).astype(np.int32)
    most = min(top, width)
    counts, places, found = best_of_rows(cupy.asarray(scores), top, least)
    for row, count in enumerate(counts.get().tolist()):
        order = np.lexsort((np.arange(width), -scores[row].astype(np.int64)))[:most]
        wanted = np.sort(order[scores[row][order] >= least])
        assert np.array_equal(places.get()[row, :count], wanted) and np.array_equal(found.get()[row, :count], scores[row][wanted])


def test_nothing_to_search() -> None:
    from tidalign.kernels.local.uploaded import uploaded
    from tidalign.kernels.search import best_device

    coding = Coding(Substitution.parse("blosum62"))
    none, some = (uploaded(Sequences.from_strings(letters), coding) for letters in ([], ["WYR"]))
    for queries, database in ((none, some), (some, none), (none, none)):
        assert len(best_device.search([queries], database, coding, top=3, least=1)) == 0
