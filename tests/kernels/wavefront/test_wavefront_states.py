"""Begin and end states, as the parts of a long pair have them, against the full matrix; and what missing words say of what is left."""

import ctypes
import re

import numpy as np
import pytest
import simulate

from tidalign.kernels.letters.host import ASCII, encode_ascii
from tidalign.kernels.letters.words import PARTS, shares
from tidalign.kernels.letters.words_host import count_missing
from tidalign.kernels.pairwise.wavefront import gap_model
from tidalign.kernels.runtime.workspace import CIGAR, CIGAR_COUNT, CIGAR_FIRST, END, LETTERS, STEPS, copied, memory, reserve
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.host import NO_BOUND, NO_PAUSE, M, sweep
from tidalign.kernels.wavefront.solve import solve
from tidalign.kernels.wavefront.trace import trace_gaps, trace_single

FAR = 1 << 40


def matrix(query: bytes, target: bytes, penalties: Penalties, begin: int, end: int) -> dict[tuple[int, int], int]:
    """Fill Gotoh's matrix of the end state; state p = 1, 2 and so on is I1, D1, I2, D2. Beginning in p its opening is paid, ending in p it is paid here."""
    gaps = [(opening, extension) for opening, extension in penalties.pieces for _ in range(2)]
    best: dict[tuple[int, int], int] = {}
    gap: dict[tuple[int, int, int], int] = {}
    for i in range(len(query) + 1):
        for j in range(len(target) + 1):
            at_start = i == j == 0
            for p, (opening, extension) in enumerate(gaps, 1):
                before = (i - 1, j) if p % 2 else (i, j - 1)
                value = min(best.get(before, FAR) + opening, gap.get((*before, p), FAR)) + extension
                gap[i, j, p] = min(value, 0) if at_start and p == begin else value
            diagonal = best.get((i - 1, j - 1), FAR) + (0 if i and j and query[i - 1] == target[j - 1] else penalties.mismatch)
            best[i, j] = min(0 if at_start else FAR, diagonal, *(gap[i, j, p] for p in range(1, len(gaps) + 1)))
    return best if end == 0 else {(i, j): gap[i, j, end] for i, j in best}


def furthest(costs: dict[tuple[int, int], int], i: int, j: int) -> tuple[int, int]:
    """Find the last cell on the diagonal that costs no more: where a wavefront that meets another stands, and the only kind of end it can be asked for."""
    ahead = [(i + d, j + d) for d in range(1, 99) if costs.get((i + d, j + d), FAR * 2) <= costs[i, j]]
    return furthest(costs, *ahead[0]) if ahead else (i, j)


def cost(cigar: list[tuple[int, int]], penalties: Penalties, begin: int, end: int) -> int:
    """Compute the least a CIGAR can cost: letter by letter, each in a gap that goes on or in a new one; the last one in the state of the end."""
    gaps = {p: penalties.pieces[(p - 1) // 2] for p in range(1, 2 * len(penalties.pieces) + 1)}
    states = {0: 0, begin: 0}
    for code, length in cigar:
        for _ in range(length):
            closed = min(states.values())
            if code in (1, 2):
                states = {p: min(states.get(p, FAR), closed + gaps[p][0]) + gaps[p][1] for p in gaps if p % 2 == code % 2}
            else:
                states = {0: closed + (penalties.mismatch if code == 8 else 0)}
    return states[end] if end else min(states.values())


def run(query: bytes, target: bytes, penalties: Penalties, begin: int, end: int, bound: int) -> tuple[int, list[tuple[int, int]]]:
    """Penalty and operations."""
    work, spare = memory().work, memory().spare
    reserve(work, LETTERS, 4096)
    places = (int(work[LETTERS]), int(work[LETTERS]) + 2048)
    for side, text in enumerate((query, target)):
        encode_ascii(np.frombuffer(text, np.uint8), 0, len(text), ASCII[0, side], places[side])
    work[CIGAR_COUNT] = work[CIGAR_FIRST] = 0
    states = tuple(np.int64(state) for state in (begin, end))
    arguments = (work, spare, places[0], len(query), places[1], len(target), gap_model(penalties), (0, 0, 0, 0), *states, np.int64(bound), NO_PAUSE)
    found, _, _ = solve(*arguments, True, np.int16(-0x8000))
    assert solve(*arguments, False, np.int32(-0x7FFF8000))[0] == found
    words = copied(work, CIGAR, int(work[CIGAR_COUNT]))
    return int(found) * penalties.unit(), [(int(word) & 15, int(word) >> 4) for word in words]


@pytest.mark.parametrize("penalties", [*Penalties.presets().values(), Penalties.parse("affine:3,7,5"), Penalties.parse("affine2p:2,3,4,7,3")], ids=str)
def test_states(penalties: Penalties) -> None:
    random = np.random.default_rng(8)
    states = {"edit": 1, "linear": 1, "affine": 3, "affine2p": 5}[penalties.model]
    for begin in range(states):
        for end in range(states):
            for length in (0, 1, 2, 5, 9, 14):
                query, target = simulate.pair(random, length, 0.3, str(random.choice(["mixed", "repeats", "gaps"])))
                i, j = len(query), len(target)
                if end:  # a place in longer sequences, so that nothing but the place asked for is an end
                    i, j = int(random.integers(0, i + 1)), int(random.integers(0, j + 1))
                    query, target = query + simulate.sequence(random, 30), target + simulate.sequence(random, 30)
                costs = matrix(query, target, penalties, begin, end)
                if end:
                    i, j = furthest(costs, i, j)
                    query, target = query[:i], target[:j]
                expected = costs[i, j]
                if expected >= FAR:  # no letter to end a gap with
                    continue
                for bound in (NO_BOUND, expected // penalties.unit(), expected // penalties.unit() + 3):
                    penalty, cigar = run(query, target, penalties, begin, end, bound)
                    assert penalty == expected, (query, target, begin, end)
                    assert sum(length for code, length in cigar if code != 2) == len(query)
                    assert sum(length for code, length in cigar if code != 1) == len(target)
                    assert cost(cigar, penalties, begin, end) == expected, (query, target, begin, end, cigar)


def encoded(query: bytes, target: bytes, ambiguous: int = 0) -> tuple[int, int]:
    """Write both sides to this thread's memory, for the kernels: their addresses."""
    work = memory().work
    reserve(work, LETTERS, 65536)
    places = (int(work[LETTERS]), int(work[LETTERS]) + 32768)
    for side, text in enumerate((query, target)):
        encode_ascii(np.frombuffer(text, np.uint8), 0, len(text), ASCII[ambiguous, side], places[side])
    return places


def missing(query: bytes, target: bytes, ambiguous: int = 0) -> list[int] | None:
    """Count the missing words from each letter on; None where they are not counted."""
    q, t = encoded(query, target, ambiguous)
    counts = np.full(len(query) + 2, -7, np.int32)
    if not count_missing(q, np.int64(len(query)), t, np.int64(len(target)), counts):
        return None
    assert counts[-1] == -7
    return [int(count) for count in counts[:-1]]


@pytest.mark.parametrize("seed", range(4))
def test_missing_words_are_as_many_as_can_be(seed: int) -> None:
    random = np.random.default_rng(seed)
    for kind in simulate.KINDS:
        for query, target in (simulate.pair(random, int(random.integers(0, 400)), 0.1, kind), (b"", b"ACGT"), (b"ACGTACG", b""), (b"ACGTACGT", b"")):
            query, target = (re.sub(b"[^ACGT]", b"A", side.upper()) for side in (query, target))
            most = [0] * (len(query) + 9)
            for v in range(len(query) - 8, -1, -1):
                most[v] = max(most[v + 1], most[v + 8] + (query[v : v + 8] not in target))
            assert missing(query, target) == most[: len(query) + 1]


def test_letters_that_equal_every_other_miss_nothing() -> None:
    query, target = b"ACGTACGTACCCCCCC", b"GGGGGGGGGGGG"
    assert missing(query, target, 1) == [2] + [1] * 8 + [0] * 8
    assert missing(b"ACGTACGNACCCCCCC", target, 1) == [1] * 9 + [0] * 8
    assert missing(query, target + b"N", 1) is None
    assert missing(query, target + b"N", 0) == missing(query, target, 1)


@pytest.mark.parametrize("model", [*map(str, Penalties.presets().values()), "affine:2,3,1", "affine:9,1,1", "affine:5,0,1", "affine2p:90,2,40,60,1"])
def test_what_is_left_costs_no_less_than_missing_words_and_gaps_say(model: str) -> None:
    """From every cell of the matrix, in M and in every gap; and they say something."""
    penalties, random, said = Penalties.parse(model), np.random.default_rng(5), 0
    word, inserted, deleted = shares(penalties.mismatch, tuple((opening + extension, extension) for opening, extension in penalties.pieces))
    pairs = [simulate.pair(random, 70, 0.15, kind) for kind in simulate.KINDS]
    # One gap of two letters touches two words, one of ten three; and lengths do not say so where as many are missing elsewhere.
    whole = simulate.sequence(random, 60)
    pairs += [(whole[:30] + simulate.sequence(random, letters) + whole[30:], whole) for letters in (2, 2, 10)]
    pairs += [(query[:12] + query[13:50] + query[51:], target) for query, target in pairs[-3:]]
    for query, target in pairs:
        counts = missing(query, target)
        assert counts is not None
        for end in range(2 * len(penalties.pieces) + 1):
            left = matrix(query[::-1], target[::-1], penalties, 0, end)
            paid = penalties.pieces[(end - 1) // 2][0] if end else 0
            for (i, j), costs in left.items():
                least = word * counts[len(query) - i] + (deleted * (j - i) if j > i else inserted * (i - j)) / PARTS
                assert least <= costs - paid + (word if end else 0)
                said += least > 0.2 * costs
    assert said > 10_000


@pytest.mark.parametrize("model", ["affine:2,3,1", "affine2p:4,6,2,24,1", "edit"])
def test_rows_are_trimmed(model: str) -> None:
    """Half of the cells that the bound alone leaves, or fewer, and the same penalty and CIGAR."""
    ((query, target),) = simulate.pairs(3, 1, 6000, 0.06)
    penalties, work, cells, found = Penalties.parse(model), memory().work, [], []
    q, t = encoded(query, target)
    n, m, free = np.int64(len(query)), np.int64(len(target)), (np.int64(0),) * 4
    counts = np.empty(n + 1, np.int32)
    assert count_missing(q, n, t, m, counts)
    bound = NO_BOUND
    for each in (counts[:0], counts[:0], counts):
        bound = sweep(work, q, n, t, m, gap_model(penalties), free, M, M, bound, NO_BOUND, NO_PAUSE, each, np.bool_(True), np.int16(-0x8000))
        steps = np.frombuffer((ctypes.c_int64 * (3 * int(bound + 1))).from_address(int(work[STEPS])), np.int64).reshape(-1, 3)[1:]
        cells.append(int((steps[:, 2] - steps[:, 1] + 1).sum()))
        work[CIGAR_COUNT] = work[CIGAR_FIRST] = 0
        if model == "edit":
            trace_single(work, gap_model(penalties), bound, work[END], m, np.int16(-0x8000))
        else:
            trace_gaps(work, q, t, gap_model(penalties), bound, work[END], M)
        found.append((int(bound), copied(work, CIGAR, int(work[CIGAR_COUNT])).tolist()))
    assert found[0] == found[1] == found[2] and cells[0] > cells[1] > 1.6 * cells[2]
