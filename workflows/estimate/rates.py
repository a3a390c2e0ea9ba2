"""Hold a device's rates: what a unit of each kind of work takes there, in seconds, fitted to measurements and kept beside compiled kernels."""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from tidalign.kernels.runtime import entries
from tidalign.kernels.runtime.bases import bases
from tidalign.kernels.runtime.vectors import VECTOR_LANES

Counts = Mapping[str, float]
"""How much there is of each term: pairs, letters, cells, ..."""

FOLDER = "calibration"
"""Below a base of compiled kernels (EXECUTION.md 12), whose rules say who may write there and what is read."""

_STORED = Path(__file__).with_name("stored.json")


@dataclass(frozen=True, slots=True, eq=False)
class Rates:
    """Say what work takes on a device.

    device: its name. gpu: whether it is one. measured: when, and by which version. seconds: by kind of work, of one unit of each term; of one core, or one GPU.
    """

    device: str
    gpu: bool
    measured: str
    seconds: Mapping[str, Mapping[str, float]]

    def knows(self, work: str) -> bool:
        """Tell whether a kind of work was measured."""
        return work in self.seconds

    def of(self, work: str, counts: Counts) -> float:
        """Give the seconds of so much work. KeyError for a kind that was not measured."""
        return sum(rate * counts.get(term, 0.0) for term, rate in self.seconds[work].items())


def fitted(points: Sequence[tuple[Counts, float]]) -> dict[str, float]:
    """Fit the seconds of one unit of each term to measurements, [(counts, seconds)]: none negative, and of least error in proportion to what was measured, so
    that short pairs count as much as long ones."""
    left = list(points[0][0])
    seconds = np.array([taken for _, taken in points])
    while True:
        shares = np.array([[counts[term] for term in left] for counts, _ in points]) / seconds[:, None]
        sizes = np.abs(shares).max(axis=0)
        rates = np.linalg.lstsq(shares / np.where(sizes > 0, sizes, 1), np.ones(len(points)), rcond=None)[0] / np.where(sizes > 0, sizes, 1)
        if (rates >= 0).all() or len(left) == 1:
            found = dict(zip(left, np.maximum(rates, 0).tolist(), strict=True))
            return {term: found.get(term, 0.0) for term in points[0][0]}
        left.remove(left[int(np.argmin(rates * shares.mean(axis=0)))])  # the term that would take the most off


@lru_cache(maxsize=1)
def core() -> str:
    """Name a core of this machine: what rates of one are kept under."""
    said: dict[str, str] = {}
    with suppress(OSError):
        lines = (line.partition(":") for line in Path("/proc/cpuinfo").read_text().split("\n\n")[0].splitlines())
        said = {name.strip(): value.strip() for name, _, value in lines}
    model = said.get("model name") or platform.processor() or platform.machine()
    return f"{model} (family {said['cpu family']}, model {said['model']}), {VECTOR_LANES} lanes" if "cpu family" in said else f"{model}, {VECTOR_LANES} lanes"


def keep(rates: Rates) -> None:
    """Store rates for this user's later commands. Where no folder can be written, nothing is kept."""
    entries.save(_name(rates.device), json.dumps(asdict(rates)).encode())
    _kept.cache_clear()


def of_core() -> Rates:
    """Give the rates of a core of this machine: those that were measured here, or else stored ones, which name another processor."""
    here = core()
    return next(rates for rates in (*_kept(), *_stored()) if not rates.gpu and (rates.device == here or rates in _stored()))


def of_gpus() -> list[Rates]:
    """Give the rates of GPUs that are known: those that were measured by this user, and stored ones of other GPUs."""
    kept = [rates for rates in _kept() if rates.gpu]
    return kept + [rates for rates in _stored() if rates.gpu and rates.device not in {other.device for other in kept}]


def measured(names: Iterable[str]) -> Rates | None:
    """Give the rates of the first of some GPUs, if this user has measured it."""
    name = next(iter(names), None)
    return next((rates for rates in _kept() if rates.gpu and rates.device == name), None)


MADE_BY = "NVIDIA "
"""Begin of the names of GPUs, of which none is known to start much sooner than the one whose rates are stored."""


def start(names: Iterable[str]) -> float | None:
    """Give the seconds that it takes to start the first of some GPUs: as this user measured it, else as stored, of it or of another; None of no known maker."""
    name = next(iter(names), "")
    known = [rates for rates in of_gpus() if rates.knows("start") and (rates.device == name or (is_stored(rates) and name.startswith(MADE_BY)))]
    return min(known, key=lambda rates: rates.device != name).of("start", {"device": 1.0}) if known else None


def is_stored(rates: Rates) -> bool:
    """Tell whether rates come with tidalign, from another machine."""
    return any(rates is other for other in _stored())


def _name(device: str) -> str:
    return f"{FOLDER}/{hashlib.sha256(device.encode()).hexdigest()[:16]}.json"


@lru_cache(maxsize=1)
def _kept() -> tuple[Rates, ...]:
    names = dict.fromkeys(f"{FOLDER}/{path.name}" for base in bases().loaded for path in sorted(Path(base, FOLDER).glob("*.json")))
    return tuple(_read(content for content in map(entries.load, names) if content is not None))


@lru_cache(maxsize=1)
def _stored() -> tuple[Rates, ...]:
    return tuple(Rates(**each) for each in json.loads(_STORED.read_text()))


def _read(contents: Iterable[bytes]) -> Iterable[Rates]:
    for content in contents:
        try:
            yield Rates(**json.loads(content))
        except (TypeError, ValueError):  # of another version: as good as none
            continue
