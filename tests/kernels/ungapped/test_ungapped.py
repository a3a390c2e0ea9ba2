"""The record of diagonals and x-drop extension, compared with the reference model."""

import tracemalloc
from typing import Any

import genome_oracle
import numpy as np
import pytest
from genome_pairs import related, sharing_a_record

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed.index import SeedPattern, build_index, hits
from tidalign.kernels.ungapped.hsps import HitFilter, Segments

SEED = SeedPattern.parse("12of19")
SPAN = SEED.span


SCORINGS = [
    Scoring(),
    Scoring(((1, -2, -1, -2), (-2, 1, -2, -1), (-1, -2, 2, -2), (-3, -1, -2, 1)), bad=-9, fill=-2),
    Scoring(((910, -1140, -310, -1230), (-1140, 1000, -1250, -310), (-310, -1250, 1000, -1140), (-1230, -310, -1140, 910)), bad=-10000, fill=-1000),
]
"""The scores of the last do not fit the vectors' bytes."""


def rows(segments: Segments) -> list[tuple[int, ...]]:
    return list(zip(*(values.tolist() for values in (segments.target, segments.query, segments.length, segments.score)), strict=True))


def tiles(target: bytes, query: bytes, size: int) -> list[tuple[Any, Any]]:
    return [(t.copy(), q.copy()) for t, q in hits(build_index(encode(target), SEED), encode(query), tile=size)]


def model(target: bytes, query: bytes) -> tuple[Any, Any, list[tuple[int, int]]]:
    sides = genome_oracle.letters(target), genome_oracle.letters(query)
    return *sides, genome_oracle.raw_hits(*sides)


@pytest.mark.parametrize(("followed", "found"), [(True, [(0, 100)]), (False, [(0, 100), (100, 19)])])
def test_a_separator_is_looked_at(followed: bool, found: list[tuple[int, int]]) -> None:
    """As LASTZ 1.04.22 does, whose HSPs these are (start in the query, letters): --nogapped --hspthresh=1500 --strand=plus, target[multiple]."""
    target, query = sharing_a_record(followed)
    used = HitFilter(encode(target), encode(query), SPAN, Scoring(), exact=True)
    ours = Segments.concat([used.hsps(*tile, 910, 1500, True) for tile in tiles(target, query, 1 << 20)])
    assert [row[1:3] for row in rows(ours)] == found
    *sides, raw = model(target, query)
    assert rows(ours) == genome_oracle.hsps(*sides, raw, SPAN, genome_oracle.tables(Scoring())[1], 910, 1500)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("scoring", SCORINGS)
def test_hsps_are_those_of_the_model(exact: bool, scoring: Scoring) -> None:
    random = np.random.default_rng(1)
    masked = genome_oracle.tables(scoring)[1]
    unit = scoring.matrix[0][0]
    count = 0
    for _ in range(12):
        target, query = related(random)
        *sides, raw = model(target, query)
        xdrop, threshold, entropy = int(random.choice([10, 4])) * unit, int(random.choice([33, 20, 12])) * unit, bool(random.integers(0, 2))
        used = HitFilter(encode(target), encode(query), SPAN, scoring, exact=exact)
        ours = Segments.concat([used.hsps(*tile, xdrop, threshold, entropy) for tile in tiles(target, query, 10)])
        expected = genome_oracle.hsps(*sides, raw, SPAN, masked, xdrop, threshold, entropy, 65536 if exact else None)
        assert rows(ours) == expected
        count += len(expected)
    assert count > 20


@pytest.mark.parametrize("exact", [True, False])
def test_bare_seeds_are_those_of_the_model(exact: bool) -> None:
    random = np.random.default_rng(2)
    masked = genome_oracle.tables(Scoring())[1]
    for _ in range(12):
        target, query = related(random)
        *sides, raw = model(target, query)
        used = HitFilter(encode(target), encode(query), SPAN, Scoring(), exact=exact)
        ours = Segments.concat([used.seeds(*tile) for tile in tiles(target, query, 10)])
        expected = genome_oracle.bare_segments(*sides, genome_oracle.used_hits(raw, SPAN, 65536 if exact else None), masked)
        assert rows(ours) == expected != []


def test_lastz_loses_what_is_65536_diagonals_apart() -> None:
    random = np.random.default_rng(3)
    letters = bytes(random.choice(list(b"ACGT"), 65536 + 300).astype(np.uint8))
    query = letters[100:200]
    target = letters[:65636] + query + letters[65736:]
    found = {}
    for exact in (True, False):
        used = HitFilter(encode(target), encode(query), SPAN, Scoring(), exact=exact)
        found[exact] = {t for part in tiles(target, query, 1000) for t in used.hsps(*part, 910, 3000, True).target.tolist()}
    assert found[False] == {100, 65636}
    assert len(found[True]) == 1


def test_sequences_of_a_target_end_where_their_separator_is() -> None:
    letters = bytes(np.random.default_rng(5).choice(list(b"ACGT"), 200).astype(np.uint8))
    target = b"\0" + letters[:100] + b"\0" + letters[100:]
    used = HitFilter(encode(target), encode(letters), SPAN, Scoring(), exact=True)
    ours = Segments.concat([used.hsps(*tile, 910, 3000, True) for tile in tiles(target, letters, 1000)])
    assert [row[:3] for row in rows(ours)] == [(1, 0, 100), (102, 100, 100)]


def test_records_of_diagonals_take_memory_only_where_they_are_used() -> None:
    # 2^31 diagonals, two of them used; as one array they would take 8 GiB.
    target = np.zeros(1 << 31, np.uint8)  # not written, so not in memory either
    query = encode(b"ACGT" * 10)
    used = HitFilter(target, query, 4, Scoring(), exact=False)
    HitFilter(query, query, 4, Scoring(), exact=False).seeds(np.array([0]), np.array([0]))  # compiled, which takes memory as well
    tracemalloc.start()
    found = [len(used.seeds(np.array([t]), np.array([q]))) for t, q in ((0, 36), ((1 << 31) - 4, 0), (0, 36))]
    assert found == [1, 1, 0]
    assert tracemalloc.get_traced_memory()[1] < 1 << 24
    tracemalloc.stop()
