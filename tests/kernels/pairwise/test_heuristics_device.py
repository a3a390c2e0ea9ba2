"""Heuristics on a GPU: the rows of the host twin, on random and real pairs, and what WFA2-lib said of these."""

from pathlib import Path
from typing import Any

import conformance
import numpy as np
import pairfiles
import pytest
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

DATA = Path(__file__).parents[2] / "data" / "pairs"
SETS = ("gasal2_20k_150bp", "ecoli_pacbio_clr_1kb", "ecoli_ont_r9_1-10kb", "ecoli_ont_r9_10kb", "ecoli_k12_hifi")
PRESETS = [str(penalties) for penalties in Penalties.presets().values()]
RULES = ("adaptive:10,50,1", "adaptive:1,0,3", "band:-30,30", "adaptive-band:-50,50,2", "xdrop:60,1", "zdrop:60,2")


def sides(pairs: list[simulate.Pair]) -> tuple[Sequences, Sequences]:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


def check(pairs: list[simulate.Pair], model: str, rule: str, **options: Any) -> None:
    from tidalign.kernels.pairwise import wavefront_device

    both, penalties, heuristic = sides(pairs), Penalties.parse(model), Heuristic.parse(rule)
    expected = wavefront.align(*both, penalties, heuristic=heuristic, **options)
    found = wavefront_device.align(*both, penalties, heuristic=heuristic, **options)
    packed = wavefront_device.align(*(pack(side) for side in both), penalties, heuristic=heuristic, **options)
    assert found.heuristic and np.array_equal(found.dropped, expected.dropped) and np.array_equal(packed.dropped, expected.dropped)
    assert found.by_host == sum(max(map(len, pair)) > 32_766 for pair in pairs)
    for each in (found, packed):
        conformance.same(expected, each, f"{model} {rule}", with_cigar=options.get("cigar", True))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", [*PRESETS, "affine:3,5,1"])
def test_host_rows(model: str, rule: str) -> None:
    """Short and long pairs of every kind; of two models also with free ends, and without CIGARs."""
    shapes = [(length, rate, kind) for length in (0, 1, 40, 150, 700) for rate in (0.02, 0.1, 0.3) for kind in simulate.KINDS]
    pairs = [pair for shape in shapes for pair in simulate.pairs(7, 1, *shape)]
    pairs += [pair for rate in (0.03, 0.12) for pair in simulate.pairs(3, 3, 9000, rate)]
    check(pairs, model, rule)
    if model in ("edit", "affine:4,6,2"):
        check(pairs, model, rule, ends_free=(10, 0, 30, 40), ambiguous="match")
        check(pairs, model, rule, cigar=False)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("model", ["edit", "affine:4,6,2", "affine2p:4,6,2,24,1"])
def test_real_pairs(model: str, rule: str) -> None:
    """The host's rows of them are held against WFA2-lib's answers (test_heuristics.py)."""
    check([pair for name in SETS for pair in pairfiles.read_seq(DATA / f"{name}.seq.gz")], model, rule)


@pytest.mark.parametrize("rule", ["adaptive", "adaptive:2000,3000,1", "xdrop:3000", "zdrop:3000"])
def test_wide_wavefronts(rule: str) -> None:
    """Rows that fit no memory on chip, and pairs that outgrow pass after pass."""
    check([*simulate.pairs(5, 6, 3000, 0.5, "unrelated"), *simulate.pairs(6, 200, 2500, 0.25)], "affine:4,6,2", rule)


def test_the_longest_sides() -> None:
    """Of 32,766 letters, which 16 bits hold with a gap past the target's end; one more is the host's."""
    long = simulate.pairs(2, 4, 33_500, 0.02)
    pairs = [(query[:32_766], target[:32_766]) for query, target in long] + [(query[:32_767], target[:32_000]) for query, target in long[:1]]
    check(pairs, "affine:4,6,2", "adaptive")
