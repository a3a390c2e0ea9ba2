"""Say how many bytes a run over pairs writes: as a sample of its rows takes, which are aligned as the run does it and written as its output is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack, unpack
from tidalign.pipeline.device import CPU
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.bgzf import BLOCK_BYTES, block
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.pairs.aligner import aligner_of, alignments, rows
from tidalign.pipeline.pairs.pack import column, packed
from tidalign.pipeline.text import content
from tidalign.workflows.estimate.pairs import PREFIX_LETTERS

SAMPLE = 256
"""Pairs that are written, of those that are aligned for their errors."""

BAM, PARQUET, NAMES = 1.1, 1.05, 0.2
"""Bytes of BAM for one of compressed SAM, of Parquet for one of compressed TSV, and of a compressed header for one of its text."""

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Output:
    """Say what is written. format: of a file; None: there is a run directory alone. options: of the format."""

    format: table.Format | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sizes:
    """Hold bytes: of all rows in the parts of a run; of the text of an output, before it is compressed; and of its file."""

    parts: float
    text: float = 0.0
    file: float = 0.0


@dataclass(frozen=True, slots=True)
class _Run:
    """Give what lines are told of a run."""

    parameters: Any
    source: dict[str, Any] = field(default_factory=dict)


def sizes(output: Output, parameters: Any, chunk: Any, qualities: Any, stand_for: Numbers, targets: float) -> Sizes:
    """Estimate what the rows of a run take, of which those of `chunk` (`schema.CHUNK`) are a sample, each standing for so many. qualities: of their queries, or
    None. targets: how many names of targets there are, about."""
    few = np.arange(0, len(chunk), max(1, len(chunk) // SAMPLE))
    batch, weights = _written(parameters, chunk.take(few), qualities and qualities.take(few))
    weights *= stand_for[few] * (stand_for.sum() / stand_for[few].sum())
    bare, ratio = _text(table.find(table.PAIRS, "tsv"), {}, parameters, batch, weights)
    format = output.format
    if format is None:
        return Sizes(bare * ratio)
    if format.name == "parquet":
        return Sizes(bare * ratio, bare, bare * ratio * PARQUET)
    of_bam = format.name == "bam"
    text, packed_to = _text(table.find(table.PAIRS, "sam") if of_bam else format, output.options, parameters, batch, weights)
    named = len("@SQ\tSN:\tLN:\n") + 3 + float(pc.mean(pc.binary_length(batch["target_name"])).as_py() or 0)
    header = 0.0 if not format.names or output.options.get("lift") is not None else targets * named
    file = text * packed_to + header * NAMES if format.bgzf else text + header
    return Sizes(bare * ratio, text + header, file * BAM if of_bam else file)


def _written(parameters: Any, chunk: Any, qualities: Any) -> tuple[Any, Numbers]:
    """Align pairs as the run does it, of long ones the begin: a batch of their rows and letters; and how many of it each pair has."""
    longer = np.maximum(chunk["query_length"].to_numpy(), chunk["target_length"].to_numpy())
    sides = {side: _begin(packed(chunk, side, plain=parameters.plain)) for side in ("query", "target")}
    for side, letters in sides.items():
        chunk = chunk.set_column(chunk.schema.get_field_index(f"{side}_length"), f"{side}_length", pa.array(letters.lengths))
    taken = [letters if parameters.plain else pack(letters) for letters in sides.values()]
    aligner = aligner_of(parameters)
    found = rows(aligner, chunk, alignments(aligner, (taken[0], taken[1]), parameters, CPU)).combine_chunks()
    for side, letters in sides.items():
        found = found.append_column(side, column(letters.letters, letters.offsets))
    quality = [each[:PREFIX_LETTERS] for each in qualities.to_pylist()] if qualities else [None] * len(chunk)
    return found.append_column("query_quality", pa.array(quality, pa.large_binary())).combine_chunks().to_batches()[0], np.maximum(1.0, longer / PREFIX_LETTERS)


def _begin(side: PackedSequences | Sequences) -> Sequences:
    """Take the first letters of some sequences."""
    letters = side if isinstance(side, Sequences) else unpack(side)
    bounds = zip(letters.offsets[:-1], letters.offsets[1:], strict=True)
    return Sequences.from_strings([letters.letters[start : min(stop, start + PREFIX_LETTERS)].tobytes() for start, stop in bounds])


def _text(format: table.Format, options: Mapping[str, Any], parameters: Any, batch: Any, weights: Numbers) -> tuple[float, float]:
    """Write rows as lines: the bytes of all that they stand for, and to how much of it blocks of gzip are compressed."""
    chosen = {name: value for name, value in options.items() if name in ("cigar", "cs", "rg")}
    run: Any = _Run(parameters)
    lines = format.load(format.lines)(batch, Request(run, format, lambda text: None, **chosen))
    text = bytes(content(lines))
    blocks = [text[begin : begin + BLOCK_BYTES] for begin in range(0, len(text), BLOCK_BYTES)]
    return float((pc.binary_length(lines).to_numpy() * weights).sum()), sum(len(block(each)) for each in blocks) / max(1, len(text))
