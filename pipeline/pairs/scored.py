"""Describe alignment of pairs by scores: parameters of a run, its form on a core, and its work; `SCORED` in aligner.py puts them together."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack
from tidalign.kernels.local import pairs
from tidalign.kernels.local.choices import REPORTS, SPANS
from tidalign.kernels.local.coding import Coded, Coding
from tidalign.kernels.scoring.substitution import DNA, Substitution
from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text
from tidalign.pipeline.pairs.choices import AMBIGUOUS, STRANDS
from tidalign.pipeline.whole import is_whole

MAX_DROP = 2**31 - 1
"""Of a z-drop and of a bonus."""

MAX_BAND = 2**30
"""Diagonals: more than any pair has."""

WORK_PER_CELL = 0.05
"""A cell of a whole matrix in wavefront cells: many lanes share an instruction."""


@dataclass(frozen=True, slots=True)
class ScoreParameters:
    """Parameters of a run over pairs that is scored.

    scoring: as `Substitution.parse` reads it, kept in a normal form. alphabet: `dna` or `protein`; empty: as the scoring says.
    span, report, zdrop, end_bonus, band: see `kernels.local.pairs.align`.
    ambiguous: what a letter other than ACGT equals where the matrix of DNA has no N: nothing (`mismatch`), every letter (`match`); or it is refused (`error`).
    strand: as in `PairParameters`.
    """

    scoring: str
    alphabet: str = ""
    span: str = "local"
    report: str = "cigar"
    ambiguous: str = "mismatch"
    zdrop: int | None = None
    end_bonus: int = 0
    strand: str = "plus"
    band: int | None = None

    scored: ClassVar[bool] = True

    def __post_init__(self) -> None:
        scoring = Substitution.parse(self.scoring, self.alphabet or None)
        object.__setattr__(self, "scoring", str(scoring))
        object.__setattr__(self, "alphabet", scoring.alphabet)
        for name, values in (("span", SPANS), ("report", REPORTS), ("ambiguous", AMBIGUOUS), ("strand", STRANDS)):
            if getattr(self, name) not in values:
                raise ValueError(f"{name} must be one of {', '.join(values)}, not {getattr(self, name)!r}")
        if self.ambiguous != "mismatch" and scoring.alphabet != DNA:
            raise ValueError("ambiguous says what letters of DNA equal: leave it out for proteins, whose matrix scores all letters")
        if self.strand == "both" and scoring.alphabet != DNA:
            raise ValueError("strand both tries the reverse complement, which proteins do not have: leave it out")
        if self.span != "extension" and (self.zdrop is not None or self.end_bonus or self.band is not None):
            raise ValueError("zdrop, end-bonus and band go with the span extension")
        for name, least, most in (("zdrop", 0, MAX_DROP), ("end_bonus", 0, MAX_DROP), ("band", 1, MAX_BAND)):
            if (value := getattr(self, name)) is not None:
                if not is_whole(value) or not least <= value <= most:
                    raise ValueError(f"{name.replace('_', '-')} must lie in {least}..{most}, a whole number, not {value!r}")
                object.__setattr__(self, name, int(value))

    @property
    def penalty_only(self) -> bool:
        """Tell whether rows have no CIGARs."""
        return self.report != "cigar"

    @property
    def plain(self) -> bool:
        """Tell whether letters are kept as they are: the matrix may have others than ACGT and N."""
        return not set(Substitution.parse(self.scoring, self.alphabet).letters) <= set("ACGTN")

    def words(self) -> list[str]:
        """Write everything that can change a row as options of `tidalign pairs`."""
        words = ["--scoring", self.scoring, "--alphabet", self.alphabet, "--span", self.span]
        words += ["--ambiguous", self.ambiguous] if self.alphabet == DNA else []
        words += ["--strand", self.strand] if self.strand == "both" else []
        words += ["--zdrop", str(self.zdrop)] if self.zdrop is not None else []
        words += ["--band", str(self.band)] if self.band is not None else []
        return words + (["--end-bonus", str(self.end_bonus)] if self.end_bonus else [])

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "band" or value}  # runs without one as they always were

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        return cls(**values)


def on_core(queries: PackedSequences | Sequences, targets: PackedSequences | Sequences, parameters: ScoreParameters) -> Alignments:
    """Align a batch on one core."""
    coding = coding_of(parameters)
    return _aligned(coding.coded(queries, 0), coding.coded(targets, 1), coding, parameters)


def coded(
    queries: PackedSequences | Sequences, targets: PackedSequences | Sequences, parameters: ScoreParameters
) -> Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], Alignments]:
    """Give what aligns query i[k] with target j[k] on one core; letters of both sides are looked up once."""
    coding = coding_of(parameters)
    query, target = coding.coded(queries, 0), coding.coded(targets, 1)
    return lambda i, j: _aligned(query.at(i), target.at(j), coding, parameters)


def coding_of(parameters: ScoreParameters) -> Coding:
    """Say what letters score by the parameters of a run."""
    return Coding(Substitution.parse(parameters.scoring, parameters.alphabet), "match" if parameters.ambiguous == "match" else "mismatch")


def on_gpu(queries: PackedSequences | Sequences, targets: PackedSequences | Sequences, parameters: ScoreParameters) -> Alignments:
    """Align a batch on the current device."""
    from tidalign.kernels.local import pairs_device

    scoring = Substitution.parse(parameters.scoring, parameters.alphabet)
    return pairs_device.align(queries, targets, scoring, ambiguous="match" if parameters.ambiguous == "match" else "mismatch", **_options(parameters))


def beside_on_gpu(parameters: ScoreParameters, shortest: int) -> int:
    """Tell how many other calls the current device may have beside one, whatever its pairs."""
    from tidalign.kernels.local import pairs_device

    return pairs_device.beside()


def coded_on_gpu(
    queries: PackedSequences | Sequences, targets: PackedSequences | Sequences, parameters: ScoreParameters
) -> Callable[[npt.NDArray[np.int64], npt.NDArray[np.int64]], Alignments]:
    """Give what aligns query i[k] with target j[k] on the current device; letters of both sides are sent once."""
    from tidalign.kernels.local import pairs_device, uploaded

    coding = coding_of(parameters)
    query, target = uploaded.uploaded(queries, coding), uploaded.uploaded(targets, coding)
    return lambda i, j: pairs_device.align_uploaded(query.at(i), target.at(j), coding, **_options(parameters))


def _aligned(query: Coded, target: Coded, coding: Coding, parameters: ScoreParameters) -> Alignments:
    return pairs.align_coded(query, target, coding, **_options(parameters))


def _options(parameters: ScoreParameters) -> dict[str, Any]:
    return {name: getattr(parameters, name) for name in ("span", "report", "zdrop", "end_bonus", "band")}


def warm_up(parameters: ScoreParameters, longest: int) -> None:
    """Compile what short pairs need, or load it from the cache; wider lanes are compiled when a pair needs them."""
    letters = Sequences.from_strings(["ACGT" if parameters.alphabet == DNA else "ARND"])
    batch = letters if parameters.plain else pack(letters)
    found = on_core(batch, batch, parameters)
    if found.cigar is not None:
        cigar_text(found)
        cigar_counts(found)


def cells(query_lengths: npt.NDArray[np.int64], target_lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Estimate the work of each pair: its whole matrix."""
    return np.asarray(query_lengths + target_lengths + WORK_PER_CELL * query_lengths * target_lengths, np.float64)
