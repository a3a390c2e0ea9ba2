"""Codes that several stages want are on the GPU once."""

import gc

import numpy as np
import pytest

from tidalign.kernels.letters.uploads import uploaded

pytestmark = pytest.mark.gpu


def test_who_asks_while_another_holds_them_gets_the_same() -> None:
    codes = np.random.default_rng(1).integers(0, 4, 10_000).astype(np.uint8)
    first, again = uploaded(codes), uploaded(codes[:])
    assert first is again
    assert uploaded(codes[1:]) is not first
    assert uploaded(codes[:-1]) is not first
    np.testing.assert_array_equal(first.codes.get(), codes)


def test_what_nobody_holds_is_sent_again() -> None:
    codes = np.zeros(1000, np.uint8)
    held = uploaded(codes)
    assert not held.codes.any()
    del held
    gc.collect()
    codes[:] = 3  # other letters in the same place
    np.testing.assert_array_equal(uploaded(codes).codes.get(), codes)
