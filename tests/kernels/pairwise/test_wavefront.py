"""`align` against slow references: penalty, ends and CIGAR of every model, span and kind of pair."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest
import simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise.wavefront import align
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text

PRESETS = list(Penalties.presets().values())
# Mismatch cheaper and dearer than gaps, no common divisor, free opening, a second piece that never or always wins.
OTHERS = [Penalties.parse(f"linear:{numbers}") for numbers in ("1,3", "7,2", "5,1")]
OTHERS += [Penalties.parse(f"affine:{numbers}") for numbers in ("1,0,1", "9,1,2", "3,7,5")]
OTHERS += [Penalties.parse(f"affine2p:{numbers}") for numbers in ("2,1,3,4,2", "5,0,2,9,1", "3,8,2,9,2", "6,20,1,3,4")]


def aligned(pairs: list[simulate.Pair], penalties: Penalties, *, packed: bool = False, **options: object) -> Alignments:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    if packed:
        return align(pack(queries), pack(targets), penalties, **options)
    return align(queries, targets, penalties, **options)


def rows(alignments: Alignments) -> list[oracle.Alignment]:
    text, offsets = cigar_text(alignments)
    cigars = [bytes(text[start:stop]).decode() for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    columns = (alignments.penalty, alignments.query_start, alignments.query_end, alignments.target_start, alignments.target_end)
    return [oracle.Alignment(*(int(number) for number in row), cigar) for *row, cigar in zip(*columns, cigars, strict=True)]


def every_kind(seed: int, lengths: list[int], rates: tuple[float, ...] = (0.0, 0.05, 0.2, 0.6)) -> list[simulate.Pair]:
    random = np.random.default_rng(seed)
    return [simulate.pair(random, length, float(random.choice(rates)), kind) for length in lengths for kind in simulate.KINDS]


CORNERS = [*range(0, 8), 15, 16, 17, 31, 32, 33, 63, 64, 65, 70, 127, 128, 129]


@pytest.mark.parametrize("penalties", PRESETS + OTHERS, ids=str)
def test_global(penalties: Penalties) -> None:
    pairs = every_kind(1, CORNERS)
    expected = [oracle.wavefront(*pair, penalties) for pair in pairs]
    assert rows(aligned(pairs, penalties)) == expected
    assert rows(aligned(pairs, penalties, packed=True)) == expected


@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_one_side_empty(penalties: Penalties) -> None:
    pairs = [(b"", b""), (b"ACGTA", b""), (b"", b"ACGTACGTACGTACGTACGTACGTACGTACGTACGTACGTACGT")]
    assert [(row.penalty, row.cigar) for row in rows(aligned(pairs, penalties))] == [(0, ""), (penalties.gap(5), "5I"), (penalties.gap(44), "44D")]


@pytest.mark.parametrize("penalties", PRESETS + OTHERS, ids=str)
def test_ends_free(penalties: Penalties) -> None:
    random = np.random.default_rng(2)
    for _ in range(40):
        free = tuple(int(letters) for letters in random.choice([0, 0, 1, 3, 10, 40, 1000], 4))
        pairs = every_kind(int(random.integers(1 << 30)), [int(length) for length in random.integers(0, 60, 2)])
        assert rows(aligned(pairs, penalties, ends_free=free)) == [oracle.wavefront(*pair, penalties, free) for pair in pairs], free


@pytest.mark.parametrize("ambiguous", ["mismatch", "match"])
def test_ambiguous_letters(ambiguous: str) -> None:
    random = np.random.default_rng(3)
    pairs = [simulate.pair(random, int(length), 0.05, "ambiguous") for length in random.integers(0, 100, 50)] + [(b"NNNN", b"NNNN"), (b"N", b"A")]
    for penalties in PRESETS:
        expected = [oracle.wavefront(*pair, penalties, ambiguous=ambiguous) for pair in pairs]
        assert rows(aligned(pairs, penalties, ambiguous=ambiguous)) == expected
        assert rows(aligned(pairs, penalties, packed=True, ambiguous=ambiguous)) == expected


@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_pairs_that_need_the_narrow_pass(penalties: Penalties) -> None:
    """Penalties beyond the pause, where the exact cut by an upper bound sets in; with ends free as well."""
    pairs = [*simulate.pairs(4, 1, 700, 0.3), *simulate.pairs(4, 1, 600, 0.2, "gaps"), *simulate.pairs(4, 1, 350, 0.1, "unrelated")]
    for free in (None, (0, 0, 30, 20), (15, 500, 0, 10)):
        assert rows(aligned(pairs, penalties, ends_free=free)) == [oracle.wavefront(*pair, penalties, free) for pair in pairs], free


@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_wide_offsets(penalties: Penalties) -> None:
    """Both sides together 32,767 letters and 32,768: the last pair with 16-bit offsets, the first with 32-bit ones, in a batch that holds both."""
    query = simulate.sequence(np.random.default_rng(5), 16_384)
    narrow = query[:9_000] + query[9_001:12_000] + b"C" + query[12_001:]
    wide = query[:9_000] + b"A" + query[9_000:12_000] + query[12_001:]
    pairs = [(query, wide), (b"ACGT", b"AGT"), (query, narrow), (b"", b"A")]
    for (q, t), row in zip(pairs, rows(aligned(pairs, penalties)), strict=True):
        assert oracle.rescore(row.cigar, q, t, penalties) == row.penalty
        middle = slice(8_900, len(q) - 4_000) if len(q) > 4 else slice(None)  # what differs lies here
        assert row.penalty == oracle.gotoh(q[middle], t[8_900 : len(t) - 4_000] if len(q) > 4 else t, penalties)


@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_penalty_only_and_company(penalties: Penalties) -> None:
    """Nothing depends on what a pair shares a call or a thread with, nor on whether a CIGAR is asked for."""
    pairs = every_kind(6, [0, 1, 20, 300, 90, 5])
    together = rows(aligned(pairs, penalties))
    alone = [rows(aligned([pair], penalties))[0] for pair in pairs]
    assert alone == together
    short = aligned(pairs, penalties, cigar=False)
    assert short.cigar is None
    assert short.penalty.tolist() == [row.penalty for row in together]
    with ThreadPoolExecutor(3) as pool:
        assert all(found == together for found in pool.map(lambda _: rows(aligned(pairs, penalties)), range(6)))


LETTERS = st.text(alphabet="ACGT", max_size=40).map(str.encode)


@settings(max_examples=150)
@given(LETTERS, LETTERS, st.sampled_from(PRESETS + OTHERS))
def test_properties(query: bytes, target: bytes, penalties: Penalties) -> None:
    (row,) = rows(aligned([(query, target)], penalties))
    assert row.penalty == oracle.gotoh(query, target, penalties)
    assert oracle.rescore(row.cigar, query, target, penalties) == row.penalty
    assert rows(aligned([(target, query)], penalties))[0].penalty == row.penalty
    assert rows(aligned([(query[::-1], target[::-1])], penalties))[0].penalty == row.penalty


def test_large_batches_come_in_groups() -> None:
    pairs = simulate.pairs(7, 4_000, 150, 0.05)
    found = rows(aligned(pairs, PRESETS[2]))
    for i in (0, 1, 1_999, 2_500, 3_998, 3_999):
        assert found[i] == oracle.wavefront(*pairs[i], PRESETS[2])
    for row, pair in zip(found, pairs, strict=True):
        assert oracle.rescore(row.cigar, *pair, PRESETS[2]) == row.penalty


def test_empty_batch() -> None:
    nothing = Sequences.from_strings([])
    found = align(nothing, nothing, PRESETS[0])
    assert len(found) == 0
    assert len(cigar_text(found)[0]) == 0
    assert cigar_counts(found).shape == (4, 0)


def test_wrong_calls() -> None:
    one, two = Sequences.from_strings(["A"]), Sequences.from_strings(["A", "C"])
    with pytest.raises(ValueError, match="not 1 and 2"):
        align(one, two, PRESETS[0])
    with pytest.raises(ValueError, match="none below 0"):
        align(one, one, PRESETS[0], ends_free=(0, -1, 0, 0))
    with pytest.raises(ValueError, match="both be packed"):
        align(one, pack(one), PRESETS[0])
    for made in (cigar_text, cigar_counts):
        with pytest.raises(ValueError, match="cigar=True"):
            made(align(one, one, PRESETS[0], cigar=False))
