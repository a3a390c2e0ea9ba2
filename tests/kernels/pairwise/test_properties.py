"""What must hold of any pair, found by hypothesis. Sequences are drawn as edits of one another as well as unrelated."""

import numpy as np
import oracle
from conformance import PENALTIES
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise.wavefront import align
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_text

LETTERS = st.text("ACGT", max_size=90).map(str.encode)
MODELS = st.sampled_from(PENALTIES).map(Penalties.parse)


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Draw a sequence and the same with up to six stretches replaced."""
    query = draw(LETTERS)
    target = query
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(target)))
        stop = draw(st.integers(start, min(len(target), start + 12)))
        target = target[:start] + draw(st.text("ACGT", max_size=12)).encode() + target[stop:]
    return query, target


PAIRS = st.one_of(st.tuples(LETTERS, LETTERS), edited())


def aligned(pairs: list[tuple[bytes, bytes]], penalties: Penalties, **options: object) -> Alignments:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return align(queries, targets, penalties, **options)


def penalty(query: bytes, target: bytes, penalties: Penalties) -> int:
    return int(aligned([(query, target)], penalties, cigar=False).penalty[0])


@given(PAIRS, MODELS)
def test_cigar_costs_the_penalty_and_spells_both(pair: tuple[bytes, bytes], penalties: Penalties) -> None:
    found = aligned([pair], penalties)
    assert oracle.rescore(cigar_text(found)[0].tobytes().decode(), *pair, penalties) == found.penalty[0]


@given(PAIRS, MODELS)
def test_swapping_and_reversing_keep_the_penalty(pair: tuple[bytes, bytes], penalties: Penalties) -> None:
    query, target = pair
    same = aligned([pair, (target, query), (query[::-1], target[::-1]), (query.lower(), target)], penalties).penalty
    assert len(set(same.tolist())) == 1


@given(PAIRS, MODELS, st.text("ACGT", min_size=1, max_size=40).map(str.encode))
def test_letters_common_to_both_ends_cost_nothing(pair: tuple[bytes, bytes], penalties: Penalties, common: bytes) -> None:
    """Some optimal alignment matches letters that both begin (or end) with: any other can be changed into one that costs no more."""
    query, target = pair
    before, front, behind = aligned([pair, (common + query, common + target), (query + common, target + common)], penalties).penalty
    assert front == before
    assert behind == before


@given(st.tuples(LETTERS, LETTERS, LETTERS))
def test_edit_distance_is_a_metric(triple: tuple[bytes, bytes, bytes]) -> None:
    a, b, c = triple
    edit = Penalties.parse("edit")
    ab, bc, ac = aligned([(a, b), (b, c), (a, c)], edit).penalty
    assert ac <= ab + bc
    assert (ab == 0) == (a == b)
    assert abs(len(a) - len(b)) <= ab <= max(len(a), len(b))
    assert ab == oracle.gotoh(a, b, edit)


@given(PAIRS, MODELS, st.integers(2, 5))
def test_scaled_penalties_scale_the_penalty_and_keep_the_cigar(pair: tuple[bytes, bytes], penalties: Penalties, factor: int) -> None:
    if penalties.model == "edit":
        penalties = Penalties.parse("linear:1,1")
    scaled = Penalties(penalties.model, factor * penalties.mismatch, tuple((factor * o, factor * e) for o, e in penalties.pieces))
    one, other = aligned([pair], penalties), aligned([pair], scaled)
    assert other.penalty[0] == factor * one.penalty[0]
    assert np.array_equal(one.cigar, other.cigar)


@given(PAIRS, MODELS, st.tuples(*[st.integers(0, 20)] * 4))
def test_free_ends_only_help_and_have_a_known_price(pair: tuple[bytes, bytes], penalties: Penalties, free: tuple[int, int, int, int]) -> None:
    query, target = pair
    found = aligned([pair], penalties, ends_free=free)
    assert found.penalty[0] == oracle.gotoh(query, target, penalties, free) <= penalty(query, target, penalties)
    inner = query[found.query_start[0] : found.query_end[0]], target[found.target_start[0] : found.target_end[0]]
    assert penalty(*inner, penalties) == found.penalty[0]


@given(PAIRS)
def test_a_second_piece_that_never_wins_changes_nothing(pair: tuple[bytes, bytes]) -> None:
    one, two = Penalties.parse("affine:4,6,2"), Penalties.parse("affine2p:4,6,2,1000,1")
    assert penalty(*pair, one) == penalty(*pair, two)
