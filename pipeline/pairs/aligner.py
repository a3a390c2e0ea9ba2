"""Describe aligners of pairs, values given to the stage (align.py): parameters, schema of rows, form on each device, estimate of work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import PackedSequences
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.pipeline.errors import ManifestMismatch
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.pipeline.pairs.work import Lengths, work
from tidalign.pipeline.schema import ALIGNMENTS


class Parameters(Protocol):
    """Everything of an aligner that can change a row, and nothing that cannot."""

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Any:
        """Read what `to_json` gave."""


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Form(Generic[P]):
    """An aligner on one device. CUDA is imported by its functions, when they are called.

    align: (queries, targets, parameters) -> Alignments of pair after pair.
    warm_up: (parameters, letters of the longest sequence): compile what `align` needs, or load it from the cache.
    """

    align: Callable[[PackedSequences, PackedSequences, P], Alignments]
    warm_up: Callable[[P, int], None]


@dataclass(frozen=True)
class Aligner(Generic[P]):
    """A way to align pairs.

    name: in plan.json. parameters: their type. schema: of its rows. forms: by the name of a device; rows are the same on all.
    work: estimated wavefront cells of pairs, float64[n], from the lengths of both sides, int64[n].
    """

    name: str
    parameters: type[P]
    schema: Any
    forms: Mapping[str, Form[P]]
    work: Callable[[Lengths, Lengths], npt.NDArray[np.float64]]

    def on(self, device: Device) -> Form[P]:
        """Give its form on a device."""
        return self.forms[device.name]

    def to_json(self, parameters: P) -> dict[str, Any]:
        """Give the parameters of a run as its plan and its tasks hold them: with the aligner's name (`described` reads them)."""
        return {"aligner": self.name, **parameters.to_json()}


# ---- wavefronts


def _on_core(queries: PackedSequences, targets: PackedSequences, parameters: PairParameters) -> Alignments:
    return wavefront.align(queries, targets, Penalties.parse(parameters.penalties), **_options(parameters))


def _on_gpu(queries: PackedSequences, targets: PackedSequences, parameters: PairParameters) -> Alignments:
    from tidalign.kernels.pairwise import wavefront_device

    return wavefront_device.align(queries, targets, Penalties.parse(parameters.penalties), **_options(parameters))


def _options(parameters: PairParameters) -> Any:
    ambiguous = "match" if parameters.ambiguous == "match" else "mismatch"
    return {"ends_free": parameters.ends_free, "cigar": not parameters.penalty_only, "ambiguous": ambiguous}


def _warm_up_core(parameters: PairParameters, longest: int) -> None:
    wavefront.warm_up([Penalties.parse(parameters.penalties)], longest)


def _warm_up_gpu(parameters: PairParameters, longest: int) -> None:
    """Leave it to the first batch: CUDA's kernels are kept for all lengths."""


WAVEFRONT: Aligner[PairParameters] = Aligner(
    name="wavefront",
    parameters=PairParameters,
    schema=ALIGNMENTS,
    forms={CPU.name: Form(_on_core, _warm_up_core), GPU.name: Form(_on_gpu, _warm_up_gpu)},
    work=work,
)

ALIGNERS: dict[str, Aligner[Any]] = {aligner.name: aligner for aligner in (WAVEFRONT,)}


def described(values: Mapping[str, Any]) -> tuple[Aligner[Any], Any]:
    """Read an aligner and its parameters from what `Aligner.to_json` gave; without a name it is the wavefront aligner. ManifestMismatch for an unknown one."""
    name = values.get("aligner", WAVEFRONT.name)
    if name not in ALIGNERS:
        raise ManifestMismatch(f"aligner {name!r}: expected one of {', '.join(ALIGNERS)}; use the version of tidalign that made the run")
    aligner = ALIGNERS[name]
    return aligner, aligner.parameters.from_json({name: value for name, value in values.items() if name != "aligner"})
