"""Rates: the fit finds what measurements were made of, and what is kept is read by the rules of compiled kernels alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tidalign.kernels.runtime import bases
from tidalign.workflows.estimate import rates
from tidalign.workflows.estimate.rates import Rates, fitted


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make an empty folder of compiled kernels."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for cached in (bases._chosen, rates._kept):
        cached.cache_clear()
    yield tmp_path / "tidalign"
    monkeypatch.undo()
    for cached in (bases._chosen, rates._kept):
        cached.cache_clear()


def test_a_fit_finds_the_rates_that_seconds_were_made_of() -> None:
    random = np.random.default_rng(1)
    wanted = {"pair": 1e-6, "letter": 2e-9, "cell": 5e-10}
    counts = [dict(zip(wanted, 10 ** random.uniform(2, 6, 3) * (1, 100, 1000), strict=True)) for _ in range(8)]
    points = [(each, sum(each[term] * rate for term, rate in wanted.items())) for each in counts]
    assert fitted(points) == pytest.approx(wanted, rel=1e-6)


def test_no_rate_is_negative_and_a_term_that_costs_nothing_is_nought() -> None:
    points = [({"pair": 1.0, "letter": length}, 1e-3 * length - 1e-4) for length in (1.0, 2.0, 50.0)]
    found = fitted(points)
    assert found["pair"] == 0 and found["letter"] == pytest.approx(1e-3, rel=0.1)
    assert fitted([({"pair": 0.0, "letter": 4.0}, 8.0)]) == {"pair": 0.0, "letter": 2.0}


def test_a_prediction_sums_terms() -> None:
    known = Rates("x", False, "now", {"read": {"pair": 2.0, "byte": 0.5}})
    assert known.of("read", {"pair": 3, "byte": 4}) == 8 and known.of("read", {"byte": 2}) == 1
    assert known.knows("read") and not known.knows("write")


def test_kept_rates_are_those_of_this_processor_and_stored_ones_stand_in(base: Path) -> None:
    assert rates.is_stored(rates.of_core())
    rates.keep(Rates("another processor", False, "x", {"read": {"pair": 9.0}}))
    assert rates.is_stored(rates.of_core())
    rates.keep(Rates(rates.core(), False, "here", {"read": {"pair": 7.0}}))
    found = rates.of_core()
    assert (found.measured, found.of("read", {"pair": 1}), rates.is_stored(found)) == ("here", 7.0, False)
    rates.keep(Rates("NVIDIA Z", True, "there", {}))
    assert [each.device for each in rates.of_gpus() if not rates.is_stored(each)] == ["NVIDIA Z"]
    assert {path.stat().st_mode & 0o777 for path in (base / rates.FOLDER).iterdir()} == {0o600}


@pytest.mark.parametrize("harm", ["others may write", "cut short", "no JSON"])
def test_rates_that_others_may_have_written_or_that_are_damaged_are_none(base: Path, harm: str) -> None:
    rates.keep(Rates(rates.core(), False, "here", {}))
    assert rates.of_core().measured == "here"
    (path,) = (base / rates.FOLDER).iterdir()
    if harm == "others may write":
        path.chmod(0o666)
    elif harm == "cut short":
        path.write_bytes(path.read_bytes()[:-1])
    else:
        from tidalign.kernels.runtime import entries

        entries.save(f"{rates.FOLDER}/{path.name}", b"[1, 2")
    rates._kept.cache_clear()
    assert rates.is_stored(rates.of_core())


def test_the_start_of_a_gpu_is_its_own_or_that_of_a_stored_one(base: Path) -> None:
    stored = next(each for each in rates._stored() if each.gpu).of("start", {"device": 1.0})
    assert rates.start(["NVIDIA H200"]) == rates.start(["NVIDIA Z", "NVIDIA H200"]) == stored
    assert rates.start(["stand-in"]) is None is rates.start([])
    for name in ("NVIDIA Z", "stand-in"):
        rates.keep(Rates(name, True, "there", {"start": {"device": 7.0}}))
        assert rates.start([name]) == 7.0
    assert rates.start(["NVIDIA H200"]) == stored
