"""Seeds: patterns, and hits in LASTZ's order, compared with the reference model."""

import genome_oracle
import numpy as np
import pytest
from genome_pairs import related

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.seed.index import SeedPattern, build_index, hits

PATTERNS = ["12of19", "14of22", "match8", "half12", "1101T011T00111", "1T0T11T1101"]


def found(target: bytes, query: bytes, pattern: str, transitions: int = 1, step: int = 1, limit: str | None = None, **options) -> list[tuple[int, int]]:
    """Window ends of all hits, as the reference model has them."""
    index = build_index(encode(target), SeedPattern.parse(pattern), step, limit)
    span = index.pattern.span
    tiles = [np.stack(tile, axis=1) + span for tile in hits(index, encode(query), transitions, **options)]
    assert all(0 < len(tile) <= options.get("tile", len(tile)) for tile in tiles)
    return [tuple(hit) for tile in tiles for hit in tile.tolist()]


def expected(target: bytes, query: bytes, pattern: str, *options) -> list[tuple[int, int]]:
    return genome_oracle.raw_hits(genome_oracle.letters(target), genome_oracle.letters(query), SeedPattern.parse(pattern).text, *options)


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("transitions", [0, 1, 2])
@pytest.mark.parametrize("step", [1, 7])
def test_hits_are_those_of_the_model_in_its_order(pattern: str, transitions: int, step: int) -> None:
    random = np.random.default_rng([transitions, step])
    count = 0
    for tile in (3, 1 << 15):
        target, query = related(random)
        hits_expected = expected(target, query, pattern, transitions, step)
        assert found(target, query, pattern, transitions, step, tile=tile) == hits_expected
        count += len(hits_expected)
    assert count


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("pattern", ["match8", "14of22"])
def test_words_that_occur_too_often_are_left_out(limit: int, pattern: str) -> None:
    random = np.random.default_rng(limit)
    target, query = related(random, 1500)
    target += target[200:700] * 3
    wanted = expected(target, query, pattern, 1, 1, limit)
    assert found(target, query, pattern, limit=str(limit)) == wanted
    assert 0 < len(wanted) < len(expected(target, query, pattern, 1, 1))


def test_a_percentage_keeps_the_rarest_words_that_make_it_up() -> None:
    # 100 windows whose words are alone, 100 whose words occur twice.
    random = np.random.default_rng(1)
    alone, twice = ("".join(random.choice(list("ACGT"), size)).encode() for size in (118, 68))
    target = alone + b"N" + twice + b"N" + twice
    counts = [len(found(target, target, "12of19", transitions=0, limit=f"{share}%")) for share in (1, 49.5, 50, 50.0001, 99.9)]
    assert counts == [100, 100, 100, 100 + 2 * 100, 100 + 2 * 100]


@pytest.mark.parametrize("wanted", [(12, 2), (14, 1), (10, None)])
def test_seed_filter(wanted: tuple[int, int | None]) -> None:
    target, query = related(np.random.default_rng(4), 1500)
    matches, transversions = wanted
    raw = expected(target, query, "12of19")
    sides = genome_oracle.letters(target), genome_oracle.letters(query)
    left = genome_oracle.seed_filter(raw, *sides, 19, matches, 19 if transversions is None else transversions)
    assert found(target, query, "12of19", seed_filter=wanted) == left
    assert left


@pytest.mark.parametrize("pattern", ["111111111111111", "1110111011101110111", "T11101110111011101110T"])
@pytest.mark.parametrize("transitions", [1, 2])
def test_long_words_hit_the_same_pairs_of_places(pattern: str, transitions: int) -> None:
    # LASTZ compares what goes beyond 28 bits afterwards, which changes the order at one query place and nothing else.
    target, query = related(np.random.default_rng(2), 1500)
    ours = found(target, query, pattern, transitions, tile=50)
    assert sorted(ours) == sorted(expected(target, query, pattern, transitions))
    assert [q for _, q in ours] == sorted(q for _, q in ours)
    assert ours


def test_order_of_a_long_word_is_lastzs() -> None:
    # By LASTZ 1.04.22: with 15 ones the last two are compared afterwards, so the query's word and its transitions there come by falling target place.
    word = b"ACGTTGCACTGATCG"
    changed = {place: word[:place] + bytes([b"GTAC"[b"ACGT".index(word[place : place + 1])]]) + word[place + 1 :] for place in (0, 12, 13, 14)}
    parts = [changed[14], word, changed[0], changed[13], changed[12]]
    target = b"N".join(parts)
    names = {16 * i: name for i, name in enumerate((14, None, 0, 13, 12))}
    assert [names[t - 15] for t, _ in found(target, word, "1" * 15)] == [13, None, 14, 12, 0]


def test_target_places_count_from_the_separator_before_the_first_sequence() -> None:
    letters = b"ACGTTGCACTGATCGATTACA"
    for leading in (b"", b"\0"):
        ends = [t - len(leading) for t, _ in found(leading + letters, letters, "match8", 0, 10)]
        assert ends == [10 - len(leading), 20 - len(leading)]


def test_nothing_to_find() -> None:
    assert found(b"", b"ACGT" * 10, "12of19") == found(b"ACGT" * 10, b"AC", "12of19") == found(b"acgt" * 10, b"ACGT" * 10, "match8") == []
    assert found(b"", b"", "match8", limit="1") == found(b"N" * 30, b"ACGT" * 10, "match8", limit="50%") == []


@pytest.mark.parametrize("text", ["", "1", "000", "match16", "match1", "half40", "1" * 23, "T" * 29, "10a1", "1" + "0" * 31, "Match12"])
def test_patterns_that_lastz_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="^seed"):
        SeedPattern.parse(text)


def test_large_places_do_not_change_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    # Targets of 2^32 letters and more have 64-bit places.
    from tidalign.kernels.seed import index as seed

    target, query = related(np.random.default_rng(6), 1000)
    narrow = found(target, query, "12of19")
    monkeypatch.setattr(seed, "LETTERS_OF_32_BITS", 0)
    index = build_index(encode(target), SeedPattern.parse("12of19"))
    assert index.places.dtype == index.begins.dtype == np.int64
    assert found(target, query, "12of19") == narrow != []


def test_places_at_the_ends_that_are_ignored_are_no_part_of_a_pattern() -> None:
    """Make windows narrower, as LASTZ does."""
    assert [SeedPattern.parse(text).text for text in ("0110", "110", "0TT0", "010100")] == ["11", "11", "TT", "101"]
    assert SeedPattern.parse("0" * 40 + "1" * 11).span == 11
    for text in ("0", "000", "0100"):
        with pytest.raises(ValueError, match="places"):
            SeedPattern.parse(text)
