"""Extensions two pairs a team (paired.cu) without a GPU, threads taking turns on the host: which pairs they are sure of, and the host twin's rows for all."""

import random
from collections.abc import Iterator
from typing import Any

import cuda_on_host
import pytest
from scored_cases import mutated, same

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import pairs, pairs_device
from tidalign.kernels.local.device import extensions
from tidalign.kernels.scoring.substitution import Substitution

pytestmark = [pytest.mark.slow, pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")]

LENGTHS = (3, 16, 17, 20, 31, 64, 120, 128, 129, 200, 257, 300, 600)
"""List lengths of queries: about the least that is paired, and about strips."""


@pytest.fixture
def sure(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[list[tuple[int, int]]]:
    """Give, of each launch, how many pairs it had and of how many it was sure."""
    cuda_on_host.installed(monkeypatch, tmp_path)
    told: list[tuple[int, int]] = []
    launched = extensions.Extensions._launch_paired

    def watched(self: extensions.Extensions, *arguments: Any) -> Any:
        found = launched(self, *arguments)
        told.append((len(found[2]), int(found[2].sum())))
        return found

    monkeypatch.setattr(extensions.Extensions, "_launch_paired", watched)
    yield told


def sides(count: int) -> tuple[Sequences, Sequences]:
    """Make pairs of six kinds: unrelated, mutated, with a target or a query that goes on, that part half way, with a long gap; and repeats, which have ties."""
    chance = random.Random(count)

    def letters(length: int) -> str:
        return "".join(chance.choices("ACGT", k=length))

    queries, targets = [], []
    for i in range(count):
        n, kind = chance.choice(LENGTHS), i % 6
        query = letters(n)
        target = "".join(mutated(chance, query, "ACGT")) if kind else letters(n)
        if kind == 2:
            target += letters(chance.randrange(1, 200))
        elif kind == 3:
            target = target[: len(target) // 2] + letters(n // 2 + 1)
        elif kind == 4:
            query += letters(chance.randrange(1, 200))
        elif kind == 5:
            query = query[: n // 3] + letters(60) + query[n // 3 :]
        if i % 9 == 0:
            query, target = "AC" * (n // 2), "AC" * (n // 2 + 3)
        queries.append(query)
        targets.append(target)
    return Sequences.from_strings(queries), Sequences.from_strings(targets)


@pytest.mark.parametrize("band", [None, 1, 30, 90, 5000])
@pytest.mark.parametrize("text", ["match:2,mismatch:-4,gap:4,2", "match:1,mismatch:-4,gap:6,2", "match:2,mismatch:-4,gap:4,2,24,1"])
def test_rows_of_the_host(monkeypatch: pytest.MonkeyPatch, sure: list[tuple[int, int]], text: str, band: int | None) -> None:
    scoring, both = Substitution.parse(text), sides(54)
    for zdrop, share in ((None, 1 / 8), (400, 1 / 64), (100, 1.0), (30, 1 / 8), (5, 1 / 8)):
        monkeypatch.setattr(extensions, "FIRST_BAND", share)
        options: dict[str, Any] = {"span": "extension", "report": "ends", "zdrop": zdrop, "band": band}
        found, expected = (each(*both, scoring, **options) for each in (pairs_device.align, pairs.align))
        assert found.by_host == 0
        same(expected, found, "ends")
        asked, certain = (sum(numbers) for numbers in zip(*sure, strict=True))
        assert asked and certain
        if zdrop is not None and zdrop < 100:
            assert certain < asked, (zdrop, sure)
        elif band is None:
            assert certain > 0.8 * asked, (zdrop, sure)
        sure.clear()


def test_losses_beyond_16_bits(sure: list[tuple[int, int]]) -> None:
    """Do again a pair whose end lies behind a gap of many letters, where cells are at the floor."""
    chance = random.Random(1)
    scoring = Substitution.parse("match:20,mismatch:-80,gap:90,10")
    query = "".join(chance.choices("ACGT", k=1800))
    both = Sequences.from_strings([query] * 2), Sequences.from_strings([query[:300] + "T" * 1200 + query[300:], query])
    for zdrop in (None, 50_000):
        options: dict[str, Any] = {"span": "extension", "report": "ends", "zdrop": zdrop}
        same(pairs.align(*both, scoring, **options), pairs_device.align(*both, scoring, **options), "ends")
    assert sure and any(certain < asked for asked, certain in sure)
