"""Penalties far apart: what is read aligns every pair, in bounded memory, and what cannot is refused."""

import numpy as np
import oracle
import pytest
import simulate
from conformance import same

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.runtime.vectors import VECTOR_LANES
from tidalign.kernels.runtime.workspace import RING_BYTES, TRAIL_BYTES, memory
from tidalign.kernels.scoring import penalties as scoring
from tidalign.kernels.scoring.penalties import MAX_BACK, MAX_PENALTY, Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_text
from tidalign.kernels.wavefront.model import Model

TOO_FAR = ("affine:1000000,999999,999998", "linear:1000000,1", "affine:1,999999,1", "linear:1024,1", "affine:1,1023,1", "affine2p:1,2,3,1000,24")
FARTHEST = ("linear:1023,512", "linear:1,1023", "affine:1023,1,1022", "affine:1,1022,1", "affine2p:1023,1,1022,600,423")


def aligned(pairs: list[simulate.Pair], penalties: Penalties, **options: object) -> Alignments:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return wavefront.align(queries, targets, penalties, **options)


def check(pairs: list[simulate.Pair], penalties: Penalties, found: Alignments, ends_free: oracle.EndsFree | None = None) -> None:
    """Check that the penalty is that of the full matrix, and that the CIGAR costs as much."""
    text, offsets = cigar_text(found)
    for i, (query, target) in enumerate(pairs):
        cigar = bytes(text[offsets[i] : offsets[i + 1]]).decode()
        inner = query[found.query_start[i] : found.query_end[i]], target[found.target_start[i] : found.target_end[i]]
        assert oracle.rescore(cigar, *inner, penalties) == found.penalty[i] == oracle.gotoh(query, target, penalties, ends_free), (query, target)


def drawn(random: np.random.Generator) -> Penalties:
    """Draw penalties as far apart as may be: numbers of any size, and multiples of one."""
    while True:
        model = str(random.choice(["linear", "affine", "affine2p"]))
        most = int(random.choice([10, 300, MAX_BACK]))
        count = {"linear": 2, "affine": 3, "affine2p": 5}[model]
        numbers = random.integers(1, most, count) * int(random.integers(1, MAX_PENALTY // most))
        try:
            return Penalties.parse(f"{model}:{','.join(map(str, numbers))}")
        except ValueError as error:
            assert "at most 1,023 times the greatest common divisor" in str(error)


@pytest.mark.parametrize("text", TOO_FAR)
def test_too_far_apart_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"at most 1,023 times the greatest common divisor of all .* not [0-9,]+ times") as refused:
        Penalties.parse(text)
    assert len(str(refused.value)) < 300


def test_only_what_the_divisor_leaves_counts() -> None:
    wide, usual = Penalties.parse("affine:400000,600000,200000"), Penalties.parse("affine:4,6,2")
    pairs = simulate.pairs(1, 20, 200, 0.2)
    one, other = aligned(pairs, wide), aligned(pairs, usual)
    assert one.penalty.tolist() == (other.penalty * 100_000).tolist()
    assert np.array_equal(one.cigar, other.cigar)
    assert wide.back() == usual.back() == 4 and wide.whole() == usual.whole()


def test_any_penalties_align_any_pair() -> None:
    random = np.random.default_rng(30)
    for _ in range(12):
        penalties = drawn(random)
        lengths = random.integers(1, [30, 200, 1000])
        pairs = [
            simulate.pair(random, int(length), float(random.choice([0.05, 0.3])), str(random.choice(["mixed", "gaps", "unrelated"]))) for length in lengths
        ]
        found = aligned(pairs, penalties)
        check(pairs, penalties, found)
        same(found, aligned(pairs, penalties, cigar=False), f"{penalties}, without CIGARs", with_cigar=False)


@pytest.mark.parametrize("text", FARTHEST)
def test_the_farthest_penalties(text: str) -> None:
    penalties = Penalties.parse(text)
    assert penalties.back() == MAX_BACK
    pairs = [*simulate.pairs(31, 1, 500, 0.2), *simulate.pairs(32, 1, 400, 0.1, "unrelated"), (b"ACGT", b"AGT")]
    check(pairs, penalties, aligned(pairs, penalties))


@pytest.mark.parametrize("ends_free", [None, (3, 4, 50, 2)], ids=["global", "free"])
@pytest.mark.parametrize("text", ["edit", "linear:4,2", "affine:9,7,5", "affine2p:4,6,2,24,1"])
def test_dear_pairs_are_cut(text: str, ends_free: oracle.EndsFree | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above `Penalties.whole` a pair is aligned as a long one is, and up to it as ever, whatever else is in the batch."""
    penalties = Penalties.parse(text)
    pairs = simulate.pairs(33, 4, 150, 0.05) + simulate.pairs(34, 4, 900, 0.4) + simulate.pairs(35, 3, 500, 0.1, "unrelated") + simulate.pairs(36, 2, 300, 0.05)
    usual = aligned(pairs, penalties, ends_free=ends_free)
    most = int(np.sort(usual.penalty)[len(pairs) // 2]) // penalties.unit()
    monkeypatch.setattr(Penalties, "whole", lambda _: max(most, 200))
    dear = usual.penalty > max(most, 200) * penalties.unit()
    assert 2 < dear.sum() < len(pairs)
    memory().free()
    found = aligned(pairs, penalties, ends_free=ends_free)
    kept = int(memory().work[TRAIL_BYTES])
    check(pairs, penalties, found, ends_free)
    with monkeypatch.context() as long:
        long.setattr(wavefront, "BIDIRECTIONAL_ABOVE", -1)
        cut = aligned(pairs, penalties, ends_free=ends_free)
    for chosen, expected in ((~dear, usual), (dear, cut)):
        for i in np.flatnonzero(chosen):
            assert np.array_equal(operations(found, i), operations(expected, i)), pairs[i]
    same(found, aligned(pairs, penalties, ends_free=ends_free, cigar=False), "penalty only", with_cigar=False)
    assert kept < 16 << 20


def operations(found: Alignments, i: int) -> np.ndarray:
    assert found.cigar is not None and found.cigar_offsets is not None
    return found.cigar[found.cigar_offsets[i] : found.cigar_offsets[i + 1]]


def test_usual_penalties_are_as_they_were() -> None:
    """No preset makes a pair dear that is not long: its worst pair costs a mismatch or two gaps for each letter."""
    for penalties in Penalties.presets().values():
        length = wavefront.BIDIRECTIONAL_ABOVE
        worst = min(length * penalties.mismatch, 2 * penalties.gap(length)) // penalties.unit()
        assert worst <= penalties.whole() or penalties.model == "linear"
    unrelated = 0.75 * wavefront.BIDIRECTIONAL_ABOVE  # of random letters so many costs of a gap letter at most
    assert Penalties.parse("linear:4,2").whole() > unrelated


def test_memory_of_the_farthest_penalties() -> None:
    """What live rows take is bounded as MAX_BACK says, by the formula of the sweep; a cell of a kept wavefront is in the bound of `whole`."""
    lanes = 2 * wavefront.BIDIRECTIONAL_ABOVE + 8 * VECTOR_LANES
    rows = 5 * (MAX_BACK + 1)
    assert 4 * lanes * rows < 1_400_000_000
    penalties = Penalties.parse("affine:700,1,699")
    memory().free()
    aligned([(b"A" * 300, b"C" * 300)], penalties)
    assert memory().work[RING_BYTES] <= 2 * rows * (600 + 8 * VECTOR_LANES)
    most, extension = penalties.whole(), 699
    assert most * (most / (2 * extension) + 64) <= scoring.KEPT_CELLS < (most + 1) * ((most + 1) / (2 * extension) + 64)


@pytest.mark.parametrize("text", FARTHEST)
def test_devices_have_the_same_limit(text: str) -> None:
    """A GPU walks back no pair that cores would cut, and its budgets are made in little memory."""
    model = Model.of(Penalties.parse(text))
    assert model.most == Penalties.parse(text).whole()
    assert model.budget(1 << 16)[0] <= model.most
    assert model.rows <= 5 * (MAX_BACK + 1)
