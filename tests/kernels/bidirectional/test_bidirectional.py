"""The bidirectional algorithm, made to cut small pairs to pieces, against the oracles; its cuts against a reference of their order."""

import itertools
from collections import Counter

import breakpoint_reference
import conformance
import numpy as np
import oracle
import pytest
import simulate

from tidalign.kernels.bidirectional import host as bidirectional_host
from tidalign.kernels.bidirectional.breakpoint import UNKNOWN, breakpoint, reach
from tidalign.kernels.bidirectional.direction import Direction, _widen, new_direction
from tidalign.kernels.bidirectional.host import NOTHING_REACHED, Subproblem, _finish, align_long, with_sentinels
from tidalign.kernels.letters.host import ASCII
from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.runtime.workspace import CIGAR, CIGAR_COUNT, CIGAR_FIRST, copied, memory
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import cigar_text

PRESETS = [str(penalties) for penalties in Penalties.presets().values()]
STATES = ("M", "I1", "D1", "I2", "D2")
LETTER = {7: "=", 8: "X", 1: "I", 2: "D"}


def encoded(letters: bytes, target: bool, match: bool = False) -> np.ndarray:
    return with_sentinels(ASCII[int(match), int(target)][np.frombuffer(letters, np.uint8)])


def cut_up(query: bytes, target: bytes, penalties: Penalties, free: oracle.EndsFree = (0, 0, 0, 0), match: bool = False) -> oracle.Alignment:
    """Align with parts as small as the algorithm allows."""
    work = memory().work
    work[CIGAR_COUNT] = work[CIGAR_FIRST] = 0
    model = wavefront.gap_model(penalties)
    penalty, rows, columns = align_long(memory(), encoded(query, False, match), encoded(target, True, match), model, free, True, leaf=1)
    cigar = "".join(f"{word >> 4}{LETTER[word & 15]}" for word in copied(work, CIGAR, int(work[CIGAR_COUNT])).tolist())
    return oracle.Alignment(penalty * penalties.unit(), *rows, *columns, cigar)


def check(query: bytes, target: bytes, penalties: Penalties, free: oracle.EndsFree = (0, 0, 0, 0), ambiguous: str = "mismatch") -> None:
    found = cut_up(query, target, penalties, free, ambiguous == "match")
    paste = f"\nquery, target = {query!r}, {target!r}\n{penalties} {free} {ambiguous}: {found}"
    assert found.penalty == oracle.gotoh(query, target, penalties, free, ambiguous), paste
    assert found.query_start <= free[0] and len(query) - found.query_end <= free[1], paste
    assert found.target_start <= free[2] and len(target) - found.target_end <= free[3], paste
    inner = query[found.query_start : found.query_end], target[found.target_start : found.target_end]
    assert oracle.rescore(found.cigar, *inner, penalties, ambiguous) == found.penalty, paste


@pytest.mark.parametrize("text", conformance.PENALTIES)
def test_small_pairs(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    penalties = Penalties.parse(text)
    states: Counter[str] = Counter()

    def counted(*arguments: object) -> object:
        result = breakpoint(*arguments)
        states[STATES[result[2][2]]] += 1
        return result

    monkeypatch.setattr(bidirectional_host, "breakpoint", counted)
    for kind in simulate.KINDS:
        for length, rate, count in ((0, 0.0, 1), (1, 0.5, 4), (6, 0.3, 4), (40, 0.2, 3), (100, 0.1, 3), (120, 0.5, 2), (300, 0.2, 1)):
            for query, target in simulate.pairs(5, count, length, rate, kind):
                check(query, target, penalties)
    if all(opening == 0 for opening, _ in penalties.pieces):
        assert set(states) == {"M"}  # wherever a gap state can be, M is as cheap, and comes first
    elif text in PRESETS:
        assert set(states) == set(STATES[: 1 + 2 * len(penalties.pieces)]), f"the test no longer cuts inside gaps of every kind: {states}"


@pytest.mark.parametrize("text", conformance.PENALTIES)
def test_corner_shapes(text: str) -> None:
    penalties = Penalties.parse(text)
    random = np.random.default_rng(8)
    for n, m in ((0, 0), (0, 300), (300, 0), (1, 300), (300, 1), (2, 90), (90, 3), (150, 300), (300, 150)):
        check(simulate.sequence(random, n), simulate.sequence(random, m), penalties)
    text = simulate.sequence(random, 200)
    for query, target in (
        (text, text),
        (text, text[:50] + text[150:]),
        (text[20:], text[:-30]),
        (b"A" * 200, b"A" * 120),
        (b"AC" * 100, b"CA" * 70),
        (b"A" * 90, b"T" * 90),
    ):
        check(query, target, penalties)
        check(target, query, penalties)


@pytest.mark.parametrize("text", PRESETS)
def test_free_ends(text: str) -> None:
    penalties = Penalties.parse(text)
    random = np.random.default_rng(9)
    for kind in ("mixed", "gaps", "unrelated", "repeats"):
        for length in (0, 3, 60, 130):
            for query, target in simulate.pairs(6, 3, length, 0.2, kind):
                check(query, target, penalties, tuple(int(letters) for letters in random.integers(0, 60, 4)))
                check(query, target, penalties, (0, 0, len(target) + 5, len(target) + 5))


@pytest.mark.parametrize("ambiguous", ["mismatch", "match"])
def test_ambiguous_letters(ambiguous: str) -> None:
    for text in PRESETS:
        for query, target in simulate.pairs(7, 3, 150, 0.2, "ambiguous"):
            check(query, target, Penalties.parse(text), ambiguous=ambiguous)


@pytest.mark.parametrize("text", conformance.PENALTIES)
def test_breakpoints_are_the_first_of_the_best(text: str) -> None:
    penalties = Penalties.parse(text)
    model = wavefront.gap_model(penalties)
    states = STATES[: model[0]]
    found = []
    wanted = []
    for kind in ("mixed", "repeats", "gaps", "unrelated"):
        for query, target in simulate.pairs(8, 6 - len(states), 22, 0.3, kind):
            if not query or not target:
                continue
            for begin in range(len(states)):
                for end in range(len(states)):
                    letters = encoded(query, False), encoded(target, True), encoded(query[::-1], False), encoded(target[::-1], True)
                    q, t, back_q, back_t = (array.ctypes.data for array in letters)
                    place = (q, len(query), t, len(target), back_q, back_t, begin, end)
                    directions = new_direction(model), new_direction(model)
                    _, _, one = breakpoint(*directions, model, *place, UNKNOWN, NOTHING_REACHED, NOTHING_REACHED)
                    assert one == breakpoint(*directions, model, *place, one[0], NOTHING_REACHED, NOTHING_REACHED)[2], "knowing the penalty moves the cut"
                    far = one[0], NOTHING_REACHED, 1 << 40
                    ahead, _ = reach(directions[0], model, q, len(query), t, len(target), begin, *far)
                    behind, _ = reach(directions[1], model, back_q, len(query), back_t, len(target), end, *far)
                    reached = [Direction(*side).reached[: one[0] + 1] for side in (ahead, behind)]
                    behind, _ = reach(directions[1], model, back_q, len(query), back_t, len(target), end, one[0], reached[0], 1 << 40)
                    reached[1] = Direction(*behind).reached[: one[0] + 1].copy()
                    assert one == breakpoint(*directions, model, *place, one[0], *reached)[2], "what is left out moves the cut"
                    steps = one[0] // 2 + sum(model[1:])  # the reference says so if these are too few
                    reference = breakpoint_reference.breakpoint_of(query, target, penalties, states[begin], states[end], steps)
                    found.append((query, target, states[begin], states[end], *one))
                    wanted.append(
                        (query, target, states[begin], states[end], reference.reduced, reference.forward, STATES.index(reference.state))
                        + (reference.query, reference.target)
                    )
    assert found == wanted


@pytest.mark.parametrize("text", conformance.PENALTIES)
def test_what_is_left_out_changes_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither penalties nor CIGARs: parts that are measured before they are cut, those that are not, and those of which the measuring is given up."""
    penalties = Penalties.parse(text)
    pairs = [pair for kind in simulate.KINDS for length, rate in ((90, 0.3), (400, 0.1), (700, 0.3)) for pair in simulate.pairs(12, 1, length, rate, kind)]
    free = [(0, 0, 0, 0), (40, 9, 0, 70)]
    monkeypatch.setattr(bidirectional_host, "MEASURED", 1 << 40)
    expected = [cut_up(*pair, penalties, ends) for pair in pairs for ends in free]
    spares = itertools.cycle((1 << 40, 0, 300, 1 << 40, 1500))
    monkeypatch.setattr(bidirectional_host, "reach", lambda *arguments: reach(*arguments[:-1], next(spares)))
    monkeypatch.setattr(bidirectional_host, "MEASURED", -1)
    assert [cut_up(*pair, penalties, ends) for pair in pairs for ends in free] == expected


@pytest.mark.parametrize("end", [1, 2, 3, 4], ids=STATES[1:])
def test_a_gap_may_have_all_its_letters_beyond_the_end(end: int) -> None:
    """A part that ends in a gap whose opening it pays without holding a letter of it."""
    penalties = Penalties.parse("affine2p:4,6,2,24,1")
    work = memory().work
    work[CIGAR_COUNT] = work[CIGAR_FIRST] = 0
    opening = penalties.pieces[(end - 1) // 2][0]
    for query, target, penalty in ((b"ACG", b"ACG", 0), (b"ACGTA", b"ACGTA", opening)):
        part = Subproblem((0, len(query)), (0, len(target)), 0, end if penalty else 0, penalty)
        _finish(memory(), encoded(query, False)[: len(query)], encoded(target, True)[: len(target)], wavefront.gap_model(penalties), part)
    assert copied(work, CIGAR, int(work[CIGAR_COUNT])).tolist() == [8 << 4 | 7]


def test_letters_are_left_as_they_were() -> None:
    """Sentinels are put behind parts: never into the letters of the caller."""
    (pair,) = simulate.pairs(9, 1, 200, 0.2)
    letters = encoded(pair[0], False), encoded(pair[1], True)
    before = [array.copy() for array in letters]
    align_long(memory(), *letters, wavefront.gap_model(Penalties.parse("affine:4,6,2")), (0, 0, 0, 0), True, leaf=1)
    assert all(np.array_equal(array, copy) for array, copy in zip(letters, before, strict=True))


@pytest.mark.parametrize("ends_free", [None, (3, 4, 50, 2)], ids=["global", "free"])
@pytest.mark.parametrize("text", PRESETS)
def test_long_pairs_in_a_batch(text: str, ends_free: oracle.EndsFree | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long pairs among short ones come back in their places; packed letters give the same, and without CIGARs the same penalties and ends."""
    monkeypatch.setattr(wavefront, "BIDIRECTIONAL_ABOVE", 200)
    penalties = Penalties.parse(text)
    pairs = simulate.pairs(10, 4, 100, 0.1) + simulate.pairs(10, 4, 400, 0.3, "gaps") + simulate.pairs(10, 3, 600, 0.05, "ambiguous")
    pairs = [pairs[i] for i in np.random.default_rng(2).permutation(len(pairs))]
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    found = wavefront.align(queries, targets, penalties, ends_free=ends_free)
    cigars, offsets = cigar_text(found)
    for i, (query, target) in enumerate(pairs):
        cigar = cigars[offsets[i] : offsets[i + 1]].tobytes().decode()
        inner = query[found.query_start[i] : found.query_end[i]], target[found.target_start[i] : found.target_end[i]]
        assert oracle.rescore(cigar, *inner, penalties) == found.penalty[i] == oracle.gotoh(query, target, penalties, ends_free), (query, target)
    conformance.same(found, wavefront.align(pack(queries), pack(targets), penalties, ends_free=ends_free), "packed")
    conformance.same(found, wavefront.align(queries, targets, penalties, ends_free=ends_free, cigar=False), "penalty only", with_cigar=False)


def test_rows_are_kept_whole_where_the_window_has_moved_away() -> None:
    """They are looked back to up to the dearest step, wherever the window is then."""
    side = new_direction(np.array([3, 4, 6, 2, 0, 0], np.int64))
    ranges = [(-3, 480), (470, 500), (1, 0)]
    side.filled[0, :], side.filled[1, :] = 1, 0
    for slot, (first, last) in enumerate(ranges):
        side.filled[:, slot] = first, last
        side.rows[slot, first + side.centre : last + 1 + side.centre] = np.arange(first, last + 1) + 1000 * slot
    wide = _widen(side, 490, 560)
    assert 490 + wide.centre >= 0 and 560 + wide.centre < wide.rows.shape[1]
    for slot, (first, last) in enumerate(ranges):
        assert wide.rows[slot, first + wide.centre : last + 1 + wide.centre].tolist() == [k + 1000 * slot for k in range(first, last + 1)]


@pytest.mark.parametrize(
    ("text", "free"), [("affine2p:7,0,1023,1000,1", (0, 0, 0, 0)), ("affine2p:7,0,1023,1000,1", (5, 0, 9, 9)), ("affine:4,600,1", (0, 0, 5, 5))]
)
@pytest.mark.parametrize("letters", [0, 1, 5, 20])
def test_a_gap_far_longer_than_the_other_side(letters: int, text: str, free: oracle.EndsFree) -> None:
    query = np.random.default_rng(letters).choice(np.frombuffer(b"ACGT", np.uint8), 4000).tobytes()
    check(query, query[2000 : 2000 + letters], Penalties.parse(text), free)


@pytest.mark.parametrize("text", PRESETS)
def test_memory_does_not_grow_with_the_square(text: str) -> None:
    """A pair of penalty 10,000 and more with the product's own leaf: the workspace stays a small part of what all its wavefronts would take."""
    penalties = Penalties.parse(text)
    (pair,) = simulate.pairs(11, 1, 12_000, 0.25)
    work = memory().work
    memory().free()
    work[CIGAR_COUNT] = work[CIGAR_FIRST] = 0
    penalty, rows, columns = align_long(memory(), encoded(pair[0], False), encoded(pair[1], True), wavefront.gap_model(penalties), (0, 0, 0, 0), True)
    words = copied(work, CIGAR, int(work[CIGAR_COUNT])).tolist()
    assert oracle.rescore("".join(f"{word >> 4}{LETTER[word & 15]}" for word in words), *pair, penalties) == penalty * penalties.unit()
    assert work[1:12:2].sum() < min(penalty * penalty, 64 << 20)
