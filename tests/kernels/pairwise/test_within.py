"""Penalties up to a limit: those of whole alignments where they are no higher, and of no other pair; on the host, and by the kernels for GPUs."""

from typing import Any

import numpy as np
import pytest
import simulate
from within import MODELS, WAYS, check, sides

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_on_a_core(model: str, way: dict[str, Any]) -> None:
    both = sides(350)
    check(wavefront.penalties_within, both, Penalties.parse(model), **way)
    check(wavefront.penalties_within, [pack(side) for side in both], Penalties.parse(model), **way)


def test_after_pairs_that_were_above_others_are_as_before() -> None:
    """Leaves nothing behind of a pair that is given up that shows in the next one, of any size."""
    penalties, both = Penalties.parse("affine:4,6,2"), sides(900)
    whole = wavefront.align(*both, penalties)
    wavefront.penalties_within(*both, penalties, whole.penalty * 2 // 3)
    again = wavefront.align(*both, penalties)
    assert np.array_equal(again.penalty, whole.penalty) and np.array_equal(again.cigar, whole.cigar)


def test_wide_and_long_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wavefront, "MAX_NARROW_LETTERS", 300)
    check(wavefront.penalties_within, sides(350, 1), Penalties.parse("affine:4,6,2"))
    monkeypatch.setattr(wavefront, "BIDIRECTIONAL_ABOVE", 200)
    check(wavefront.penalties_within, sides(350, 1), Penalties.parse("affine:4,6,2"))


@pytest.mark.parametrize("longer", [0, 7, 60, 200])
def test_a_limit_below_what_lengths_alone_cost(longer: int) -> None:
    """No diagonal is left there, so it must be seen before."""
    letters = "ACGT" * 50
    both = Sequences.from_strings([letters, letters + "A" * longer]), Sequences.from_strings([letters + "A" * longer, letters])
    for model in MODELS:
        for way in WAYS[:2]:
            check(wavefront.penalties_within, both, Penalties.parse(model), **way)


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("model", MODELS)
def test_on_a_device(model: str, way: dict[str, Any]) -> None:
    from tidalign.kernels.pairwise import wavefront_device

    for both in (sides(350, 40), sides(4000)):
        check(wavefront_device.penalties_within, both, Penalties.parse(model), **way)
        check(wavefront_device.penalties_within, [pack(side) for side in both], Penalties.parse(model), **way)


@pytest.mark.gpu
@pytest.mark.usefixtures("device")
def test_long_pairs_on_a_device() -> None:
    from tidalign.kernels.pairwise import wavefront_device

    random = np.random.default_rng(3)
    pairs = [simulate.pair(random, 40_000, 0.02, simulate.KINDS[0]), simulate.pair(random, 300, 0.02, simulate.KINDS[0])]
    both = tuple(Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    check(wavefront_device.penalties_within, both, Penalties.parse("affine:4,6,2"))
