"""Identity, coverage and the like of alignments, as LASTZ counts them, for its filters and tables."""

from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.genome.formats.block import AlignmentBlock, Columns, Numbers

Fraction = tuple[Numbers, Numbers]


def identity(block: Columns) -> Fraction:
    """Count matches among the columns of two ACGT letters."""
    return block.numbers("matches"), pairs(block)


def coverage(block: Columns) -> Fraction:
    """Count the letters spanned of the shorter sequence; of two that are as long, of the query."""
    lengths = {side: block.numbers(f"{side}_length") for side in ("target", "query")}
    spans = {side: block.numbers(f"{side}_end") - block.numbers(f"{side}_start") for side in ("target", "query")}
    of_target = lengths["target"] < lengths["query"]
    return np.where(of_target, spans["target"], spans["query"]), np.where(of_target, lengths["target"], lengths["query"])


def continuity(block: Columns) -> Fraction:
    """Count columns without a gap."""
    without = gapless(block)
    return without, without + block.numbers("gap_letters")


def gap_rate(block: Columns) -> Fraction:
    """Compare columns with a gap to those without."""
    return block.numbers("gap_letters"), gapless(block)


def blast_identity(block: AlignmentBlock) -> Fraction:
    """Count matches among all columns; of HSPs, as LASTZ does, among those of two ACGT letters."""
    return identity(block) if block.hsps else (block.numbers("matches"), columns(block))


def columns(block: Columns) -> Numbers:
    """Count columns."""
    return continuity(block)[1]


def pairs(block: Columns) -> Numbers:
    """Count columns of two ACGT letters."""
    return block.numbers("matches") + block.numbers("mismatches")


def gapless(block: Columns) -> Numbers:
    """Count columns of two letters of any kind: what is left of both spans, which hold each of them twice, without the gaps."""
    spans = [block.numbers(f"{side}_end") - block.numbers(f"{side}_start") for side in ("target", "query")]
    return (spans[0] + spans[1] - block.numbers("gap_letters")) // 2


def fractions(value: Fraction) -> Any:
    """Write texts `n/m`."""
    return pa.array([f"{part}/{whole}" for part, whole in _listed(value)], pa.large_string())


def percents(value: Fraction, form: str = "{:.1f}%", *, of_none: str = "NA") -> Any:
    """Write texts like 91.4%. of_none: what is written where the whole is 0."""
    return pa.array([form.format(100.0 * part / whole) if whole else of_none for part, whole in _listed(value)], pa.large_string())


def _listed(value: Fraction) -> Any:
    return zip(value[0].tolist(), value[1].tolist(), strict=True)
