"""Heuristics against what WFA2-lib said of real pairs with the same ones (tests/data/make_heuristics.py), and their properties."""

import gzip
import hashlib
from collections import defaultdict
from pathlib import Path

import numpy as np
import oracle
import pairfiles
import pytest
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise.wavefront import BIDIRECTIONAL_ABOVE, align
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_text, part_of

DATA = Path(__file__).parents[2] / "data" / "pairs"
PRESETS = [str(penalties) for penalties in Penalties.presets().values()]


def cigars(found: Alignments) -> list[str]:
    text, offsets = cigar_text(found)
    return [text[a:b].tobytes().decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def sides(pairs: list[simulate.Pair]) -> tuple[Sequences, Sequences]:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


def expectations() -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """Read, by penalties and heuristic, set, penalty and digest of the CIGAR of each pair, both empty where it was dropped."""
    found: dict[tuple[str, str], list[tuple[str, str, str]]] = defaultdict(list)
    with gzip.open(DATA / "heuristics.tsv.gz", "rt") as file:
        for line in file:
            name, _, penalties, rule, penalty, cigar = line.rstrip("\n").split("\t")
            found[penalties, rule].append((name, penalty, cigar))
    return found


EXPECTED = expectations()


@pytest.mark.parametrize(("penalties", "rule"), list(EXPECTED), ids=str)
def test_real_pairs(penalties: str, rule: str) -> None:
    """The same pairs are dropped, and others have the penalty and, but for drops (whose match WFA2-lib counts twice), the CIGAR of WFA2-lib."""
    expected = EXPECTED[penalties, rule]
    pairs = [pair for name in dict.fromkeys(name for name, *_ in expected) for pair in pairfiles.read_seq(DATA / f"{name}.seq.gz")]
    assert len(pairs) == len(expected) == 450
    model = Penalties.parse(penalties)
    queries, targets = (pack(side) for side in sides(pairs))
    found = align(queries, targets, model, heuristic=Heuristic.parse(rule))
    assert found.heuristic and found.dropped is not None
    assert found.dropped.tolist() == [penalty == "" for _, penalty, _ in expected]
    kept = np.flatnonzero(~found.dropped)
    assert len(kept)
    wrong = 1 if rule[1:5] == "drop" else 0  # a score is half of what letters and penalty make, rounded towards 0
    assert max(abs(int(found.penalty[i]) - int(expected[i][1])) for i in kept) <= wrong
    texts = cigars(found)
    if not wrong:
        assert [hashlib.sha256(texts[i].encode()).hexdigest()[:12] for i in kept] == [expected[i][2] for i in kept]
    for i in kept[:: 1 + len(kept) // 40]:
        # A path may open a gap where another ends, or in a piece that is dearer: a run of its letters is priced as one.
        assert oracle.rescore(texts[i], *pairs[i], model) <= found.penalty[i]
    gone = np.flatnonzero(found.dropped)
    assert not found.penalty[gone].any() and not found.query_end[gone].any() and not any(texts[i] for i in gone)


@pytest.mark.parametrize("ends_free", [None, (20, 0, 15, 40)], ids=["global", "free"])
@pytest.mark.parametrize("penalties", [*PRESETS, "affine:3,5,1", "linear:3,5"])
def test_what_cuts_nothing_is_exact(penalties: str, ends_free: tuple[int, int, int, int] | None) -> None:
    model = Penalties.parse(penalties)
    pairs = [pair for kind in simulate.KINDS for pair in simulate.pairs(4, 3, 300, 0.15, kind)]
    exact = align(*sides(pairs), model, ends_free=ends_free)
    for rule in ("adaptive:100000,0,1", "adaptive:1,100000,1", "band:-9999,9999", "adaptive-band:-9999,9999,1", "xdrop:99999,1", "zdrop:99999,1"):
        found = align(*sides(pairs), model, ends_free=ends_free, heuristic=Heuristic.parse(rule))
        assert found.dropped is not None and not found.dropped.any()
        assert (found.penalty.tolist(), cigars(found)) == (exact.penalty.tolist(), cigars(exact)), rule
        for name in ("query_start", "query_end", "target_start", "target_end"):
            assert getattr(found, name).tolist() == getattr(exact, name).tolist()


@pytest.mark.parametrize("rule", ["adaptive:4,10,1", "adaptive:1,0,3", "band:-20,9", "adaptive-band:-3,4,2", "xdrop:9,1", "zdrop:12,2"])
@pytest.mark.parametrize("penalties", PRESETS)
def test_cigars_cost_no_more_than_penalties_and_no_less_than_exact_ones(penalties: str, rule: str) -> None:
    """And depend on neither other pairs of a batch nor how letters are packed."""
    model, heuristic = Penalties.parse(penalties), Heuristic.parse(rule)
    pairs = [pair for kind in simulate.KINDS for length in (0, 1, 30, 400) for pair in simulate.pairs(8, 2, length, 0.2, kind)]
    for ends_free in (None, (9, 12, 5, 30)):
        exact = align(*sides(pairs), model, ends_free=ends_free)
        found = align(*sides(pairs), model, ends_free=ends_free, heuristic=heuristic)
        bare = align(*(pack(side) for side in sides(pairs)), model, ends_free=ends_free, heuristic=heuristic, cigar=False)
        assert found.dropped is not None and bare.dropped is not None and found.dropped.tolist() == bare.dropped.tolist()
        assert found.penalty.tolist() == bare.penalty.tolist()
        for i, (text, (query, target)) in enumerate(zip(cigars(found), pairs, strict=True)):
            alone = align(*sides(pairs[i : i + 1]), model, ends_free=ends_free, heuristic=heuristic)
            assert (alone.penalty[0], cigars(alone)) == (found.penalty[i], [text])
            if not found.dropped[i]:
                inside = query[found.query_start[i] : found.query_end[i]], target[found.target_start[i] : found.target_end[i]]
                assert exact.penalty[i] <= oracle.rescore(text, *inside, model) <= found.penalty[i]


def test_long_pairs_take_memory_as_wide_as_what_is_kept() -> None:
    """Over what exact alignment cuts in two: offsets of 32 bits, rows of some hundred diagonals."""
    pairs = simulate.pairs(3, 1, 60_000, 0.03)
    assert max(map(len, pairs[0])) > BIDIRECTIONAL_ABOVE
    model = Penalties.parse("affine:4,6,2")
    found = align(*sides(pairs), model, heuristic=Heuristic.parse("adaptive"))
    assert oracle.rescore(cigars(found)[0], *pairs[0], model) == found.penalty[0] == align(*sides(pairs), model, cigar=False).penalty[0]


def test_parts_of_alignments_say_which_were_dropped() -> None:
    found = align(*sides([(b"ACGT" * 10, b"ACGT"), (b"ACGT", b"ACGT")]), Penalties.parse("edit"), heuristic=Heuristic.parse("band:-3,3"))
    assert [part_of(found, i, i + 1).dropped.tolist() for i in range(2)] == [[True], [False]]  # type: ignore[union-attr]
