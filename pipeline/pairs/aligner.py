"""Describe aligners of pairs as values (parameters, schema of rows, form on each device, estimate of work), and run one over a table of pairs."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters.sequences import PackedSequences, Sequences
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text
from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.pipeline.errors import ManifestMismatch, shown
from tidalign.pipeline.pairs import scored
from tidalign.pipeline.pairs.choices import AMBIGUOUS, MAX_FREE, STRANDS
from tidalign.pipeline.pairs.pack import sides
from tidalign.pipeline.pairs.strands import better_strand, within_on_core, within_on_gpu
from tidalign.pipeline.schema import ALIGNMENTS, COUNTS
from tidalign.pipeline.store.parts import PartFile, write_part
from tidalign.pipeline.text import counted, cuts, in_order, narrow


@dataclass(frozen=True, slots=True)
class PairParameters:
    """Parameters of a run over pairs.

    penalties: as `Penalties.parse` reads them, kept in that normal form.
    ends_free: letters that may stay unaligned at no cost at (query begin, query end, target begin, target end);
        a number above the length means all of it. None: global.
    penalty_only: no CIGAR.
    ambiguous: what a letter other than ACGT equals: nothing (`mismatch`), every letter (`match`), or it is refused (`error`).
    strand: of the query, as it is (`plus`), or the better of it and its reverse complement (`both`).
    heuristic: as `Heuristic.parse` reads it, kept in that normal form: keep promising diagonals only. None: rows are exact.
    """

    penalties: str = "affine:4,6,2"
    ends_free: tuple[int, int, int, int] | None = None
    penalty_only: bool = False
    ambiguous: str = "mismatch"
    strand: str = "plus"
    heuristic: str | None = None

    alphabet: ClassVar[str] = "dna"
    plain: ClassVar[bool] = False
    scored: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "penalties", str(Penalties.parse(self.penalties)))
        if self.ends_free is not None:
            ends = tuple(self.ends_free)
            if len(ends) != 4 or not all(isinstance(end, int) and 0 <= end <= MAX_FREE for end in ends):
                raise ValueError(f"ends-free takes four whole numbers from 0 to {MAX_FREE} (QB,QE,TB,TE), not {shown(self.ends_free)}")
            object.__setattr__(self, "ends_free", ends if any(ends) else None)
        if self.ambiguous not in AMBIGUOUS:
            raise ValueError(f"ambiguous must be one of {', '.join(AMBIGUOUS)}, not {self.ambiguous!r}")
        if self.strand not in STRANDS:
            raise ValueError(f"strand must be one of {', '.join(STRANDS)}, not {self.strand!r}")
        if self.heuristic is not None:
            object.__setattr__(self, "heuristic", str(Heuristic.parse(self.heuristic)))

    def words(self) -> list[str]:
        """Write everything that can change a row as options of `tidalign pairs`."""
        words = ["--penalties", self.penalties, "--ambiguous", self.ambiguous]
        words += ["--strand", self.strand] if self.strand == "both" else []
        words += ["--heuristic", self.heuristic] if self.heuristic else []
        return words + (["--ends-free", ",".join(map(str, self.ends_free))] if self.ends_free else [])

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "heuristic" or value}  # runs without one as they always were

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "PairParameters":
        return cls(**{**values, "ends_free": tuple(values.get("ends_free") or ()) or None})

    def options(self) -> dict[str, Any]:
        """Give what the kernels take besides penalties."""
        heuristic, ambiguous = self.heuristic and Heuristic.parse(self.heuristic), "match" if self.ambiguous == "match" else "mismatch"
        return {"ends_free": self.ends_free, "cigar": not self.penalty_only, "ambiguous": ambiguous, "heuristic": heuristic}


EXPECTED_DIVERGENCE = 0.1
"""Share of the longer side taken as edits. Only balance depends on it, never a result."""

Lengths = npt.NDArray[np.int64]


def wavefront_cells(query_lengths: Lengths, target_lengths: Lengths) -> npt.NDArray[np.float64]:
    """Estimate the work of each pair in wavefront cells: reading both sides, and a wavefront as deep as the expected edits and wide as it is deep."""
    longer = np.maximum(query_lengths, target_lengths)
    depth = EXPECTED_DIVERGENCE * longer + np.abs(query_lengths - target_lengths)
    return np.asarray(query_lengths + target_lengths + depth * depth, np.float64)


class Parameters(Protocol):
    """Everything of an aligner that can change a row, and nothing that cannot.

    alphabet: of the letters that are read. plain: letters are kept as they are, not packed as DNA. scored: rows have a score in place of a penalty.
    strand: of the query, `plus` or `both`.
    """

    @property
    def alphabet(self) -> str: ...

    @property
    def plain(self) -> bool: ...

    @property
    def scored(self) -> bool: ...

    @property
    def strand(self) -> str: ...

    def words(self) -> list[str]:
        """Write the parameters as options of `tidalign pairs`."""

    def to_json(self) -> dict[str, Any]:
        """Give the fields as JSON."""

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Any:
        """Read what `to_json` gave."""


P = TypeVar("P", bound=Parameters)


@dataclass(frozen=True)
class Form(Generic[P]):
    """An aligner on one device. CUDA is imported by its functions, when they are called.

    align: (queries, targets, parameters) -> Alignments of pair after pair; both sides are PackedSequences, or Sequences where the parameters are `plain`.
    warm_up: (parameters, letters of the longest sequence): compile what `align` needs, or load it from the cache.
    within: (queries, targets, parameters, limits) -> penalties that are no higher, else -1, in the time that such pairs take; if it can.
    coded: (queries, targets, parameters) -> what aligns query i[k] with target j[k] of them for arrays (i, j), letters staying where they are; if it can.
    beside: (parameters, letters of the longer side of each pair, at least) -> how many other calls the device may have meanwhile; None: no other.
    """

    align: Callable[[Any, Any, P], Alignments]
    warm_up: Callable[[P, int], None]
    coded: Callable[[Any, Any, P], Callable[[Lengths, Lengths], Alignments]] | None = None
    within: Callable[[Any, Any, P, Lengths], Lengths] | None = None
    beside: Callable[[P, int], int] | None = None


def later(parameters: Any, longest: int) -> None:
    """Compile nothing: the first batch does."""


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
        """Give the aligner's form on a device."""
        return self.forms[device.name]

    def to_json(self, parameters: P) -> dict[str, Any]:
        """Give the parameters of a run as its plan and its tasks hold them: with the aligner's name (`described` reads them)."""
        return {"aligner": self.name, **parameters.to_json()}


def _on_core(queries: PackedSequences, targets: PackedSequences, parameters: PairParameters) -> Alignments:
    return wavefront.align(queries, targets, Penalties.parse(parameters.penalties), **parameters.options())


def _on_gpu(queries: PackedSequences, targets: PackedSequences, parameters: PairParameters) -> Alignments:
    from tidalign.kernels.pairwise import wavefront_device

    return wavefront_device.align(queries, targets, Penalties.parse(parameters.penalties), **parameters.options())


def _beside_on_gpu(parameters: PairParameters, shortest: int) -> int:
    from tidalign.kernels.pairwise import wavefront_device

    return wavefront_device.beside(shortest, parameters.options()["heuristic"])


def _warm_up_core(parameters: PairParameters, longest: int) -> None:
    wavefront.warm_up([Penalties.parse(parameters.penalties)], longest, Heuristic.parse(parameters.heuristic) if parameters.heuristic else None)


WAVEFRONT: Aligner[PairParameters] = Aligner(
    name="wavefront",
    parameters=PairParameters,
    schema=ALIGNMENTS,
    forms={CPU.name: Form(_on_core, _warm_up_core, within=within_on_core), GPU.name: Form(_on_gpu, later, within=within_on_gpu, beside=_beside_on_gpu)},
    work=wavefront_cells,
)

_SCORED: dict[str, Form[Any]] = {
    CPU.name: Form(scored.on_core, scored.warm_up, scored.coded),
    GPU.name: Form(scored.on_gpu, later, scored.coded_on_gpu, beside=scored.beside_on_gpu),
}
SCORED: Aligner[scored.ScoreParameters] = Aligner("scored", scored.ScoreParameters, ALIGNMENTS, _SCORED, scored.cells)

ALIGNERS: dict[str, Aligner[Any]] = {aligner.name: aligner for aligner in (WAVEFRONT, SCORED)}


def aligner_of(parameters: Any) -> Aligner[Any]:
    """Find the aligner that takes these parameters."""
    return next(aligner for aligner in ALIGNERS.values() if isinstance(parameters, aligner.parameters))


def described(values: Mapping[str, Any]) -> tuple[Aligner[Any], Any]:
    """Read an aligner and its parameters from what `Aligner.to_json` gave; without a name it is the wavefront aligner. ManifestMismatch for an unknown one."""
    name = values.get("aligner", WAVEFRONT.name)
    if name not in ALIGNERS:
        raise ManifestMismatch(f"aligner {name!r}: expected one of {', '.join(ALIGNERS)}; use the version of tidalign that made the run")
    aligner = ALIGNERS[name]
    return aligner, aligner.parameters.from_json({name: value for name, value in values.items() if name != "aligner"})


def longest(chunk: Any) -> int:
    """Count the letters of the longest sequence of a table in `schema.CHUNK`."""
    return max((int(chunk[f"{side}_length"].to_numpy().max()) for side in ("query", "target") if len(chunk)), default=0)


def work(aligner: Aligner[Any], chunk: Any) -> Any:
    """Estimate the work of each pair of a table in `schema.CHUNK`: float64[n]."""
    return aligner.work(chunk["query_length"].to_numpy(), chunk["target_length"].to_numpy())


def batches(weights: npt.NDArray[np.float64], device: Device) -> list[tuple[int, int]]:
    """Cut pairs of so much work (`work`) into consecutive ranges, each one call of the kernels."""
    return cuts(weights, device.batch_work, device.batch_rows)


def alignments(aligner: Aligner[P], pairs: tuple[Any, Any], parameters: P, device: Device) -> Alignments:
    """Align queries with targets, as `pack.sides` gives them, in one call of the kernels: the same whatever the device."""
    form = aligner.on(device)
    return better_strand(form, *pairs, parameters) if parameters.strand == "both" else form.align(*pairs, parameters)


def start(aligner: Aligner[P], parameters: P, device: Device) -> None:
    """Prepare a device and its libraries, which takes a second, by aligning one pair of letters. What goes wrong is met again by the first batch."""
    with suppress(Exception):
        packed = PackedSequences(np.zeros(1, np.uint8), np.arange(2), np.ones(1, np.int64), np.empty(0, np.uint8), np.zeros(2, np.int64))
        one = Sequences.from_strings([b"A"]) if parameters.plain else packed
        alignments(aligner, (one, one), parameters, device)


def rows(aligner: Aligner[Any], chunk: Any, found: Alignments) -> Any:
    """Make a table in the aligner's schema of the alignments of a table in `schema.CHUNK`, rows in the same order."""
    none = pa.nulls(len(chunk), pa.int64())
    columns = {name: chunk[name] for name in ("ordinal", "query_name", "query_length", "target_name", "target_length")}
    columns |= {name: getattr(found, name) if found.placed else none for name in ("query_start", "query_end", "target_start", "target_end")}
    columns["strand"] = pa.repeat("+", len(chunk)) if found.reverse is None else pc.if_else(pa.array(found.reverse), "-", "+")
    columns |= {"penalty": found.penalty, "score": none} if found.score is None else {"penalty": none, "score": found.score}
    columns |= {**cigars(found), "status": pa.repeat("heuristic" if found.heuristic else "exact", len(chunk)), "reason": pa.nulls(len(chunk), pa.string())}
    if found.dropped is not None and found.dropped.any():
        from tidalign.pipeline.pairs.unaligned import without

        columns = without(columns, pa.array(found.dropped))
    return pa.table([columns[field.name] for field in aligner.schema], schema=aligner.schema)


def cigars(found: Alignments) -> dict[str, Any]:
    """Make the columns `cigar`, `COUNTS` and `identity`, null where no CIGARs were asked for."""
    if found.cigar is None:
        return {name: pa.nulls(len(found), type_) for name, type_ in [("cigar", pa.string()), *COUNTS, ("identity", pa.float64())]}
    text, offsets = cigar_text(found)
    wide = pa.Array.from_buffers(pa.large_string(), len(found), [None, pa.py_buffer(offsets), pa.py_buffer(text)])
    counts = counted(cigar_counts(found))
    return {"cigar": narrow(wide), **counts, "identity": _identity(counts)}


def _identity(counts: Mapping[str, npt.NDArray[np.int64]]) -> Any:
    """Share of a CIGAR's columns that match: float64[n], null where there are no columns."""
    columns = counts["matches"] + counts["mismatches"] + counts["gap_letters"]
    return pa.array(counts["matches"] / np.maximum(1, columns), mask=columns == 0)


def align_batch(aligner: Aligner[P], chunk: Any, parameters: P, device: Device) -> Any:
    """Align every pair of a table in `schema.CHUNK`: a table in the aligner's schema with the same rows in the same order, whatever the device."""
    return rows(aligner, chunk, alignments(aligner, sides(chunk, plain=parameters.plain), parameters, device))


def write_rows(directory: str, run: str, chunk: str, start: int, stop: int, table: Any) -> PartFile:
    """Write the alignments (`schema.ALIGNMENTS`) of rows [start, stop) of a chunk, sorted by ordinal, labelled with `bases`, the letters of both sides."""
    if len(table) != stop - start or table.schema != ALIGNMENTS:
        raise RuntimeError(f"chunk {chunk}: rows {start}..{stop} gave {len(table)} alignments")
    bases = sum(pc.sum(table[f"{side}_length"], min_count=0).as_py() for side in ("query", "target"))
    tables = in_order(table, np.argsort(table["ordinal"].to_numpy()))
    return write_part(f"{directory}/parts", run, chunk, start, stop, ALIGNMENTS, tables, bases=bases)
