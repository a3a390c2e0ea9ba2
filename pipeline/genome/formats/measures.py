"""Identity, coverage and the like of alignments, as LASTZ counts them, for its filters and tables."""

from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.genome.formats.block import Block, Numbers

Fraction = tuple[Numbers, Numbers]


def identity(block: Block) -> Fraction:
    """Matches among the columns of two ACGT letters."""
    return block.numbers("matches"), pairs(block)


def coverage(block: Block) -> Fraction:
    """Letters spanned of the shorter sequence; of two that are as long, of the query."""
    lengths = {side: block.numbers(f"{side}_length") for side in ("target", "query")}
    spans = {side: block.numbers(f"{side}_end") - block.numbers(f"{side}_start") for side in ("target", "query")}
    of_target = lengths["target"] < lengths["query"]
    return np.where(of_target, spans["target"], spans["query"]), np.where(of_target, lengths["target"], lengths["query"])


def continuity(block: Block) -> Fraction:
    """Columns without a gap."""
    gapless = block.operations.count(b"=X")
    return gapless, gapless + gap_columns(block)


def gap_rate(block: Block) -> Fraction:
    """Columns with a gap to those without."""
    return gap_columns(block), block.operations.count(b"=X")


def blast_identity(block: Block) -> Fraction:
    """Matches among all columns."""
    return block.numbers("matches"), continuity(block)[1]


def pairs(block: Block) -> Numbers:
    """Columns of two ACGT letters."""
    return block.numbers("matches") + block.numbers("mismatches")


def gap_columns(block: Block) -> Numbers:
    return block.operations.count(b"ID")


def gap_runs(block: Block) -> Numbers:
    operations = block.operations
    sums = np.concatenate(([0], np.cumsum(np.isin(operations.letters, np.frombuffer(b"ID", np.uint8)))))
    return sums[operations.offsets[1:]] - sums[operations.offsets[:-1]]


def fractions(value: Fraction) -> Any:
    """Texts `n/m`."""
    return pa.array([f"{part}/{whole}" for part, whole in _listed(value)], pa.large_string())


def percents(value: Fraction, form: str = "{:.1f}%") -> Any:
    """Texts like 91.4%."""
    return pa.array([form.format(100.0 * part / whole if whole else 0.0) for part, whole in _listed(value)], pa.large_string())


def _listed(value: Fraction) -> Any:
    return zip(value[0].tolist(), value[1].tolist(), strict=True)
