"""Gather from a finished run's rows what its page draws: identities, lengths and scores of some of them, and the reasons of those that are not whole."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

SAMPLED_ROWS = 200_000
"""Rows that are looked at; of a run with more, those of parts that lie evenly among all."""

REASONS = 100_000
"""Rows that are looked at for reasons."""

Values = npt.NDArray[np.float64]

MEASURES = {
    "pairs": {"query_length": ("query length", "letters"), "penalty": ("penalty", ""), "score": ("score", "")},
    "genome": {"length": ("alignment length on the target", "letters"), "score": ("score", "")},
    "search": {"query_length": ("query length of each hit", "letters"), "bits": ("bit score", "bits"), "score": ("score", "")},
}
"""By kind of run and column: a title, and what is counted."""


@dataclass(slots=True)
class RowSample:
    """Holds what was gathered. all, seen: rows of the run, and those that were looked at. identity: in percent, matches by columns of the alignment, gaps too.

    measures: values by column. reasons: how many of the rows that were looked at for it have each. reasons_of: how many of them. letters: of targets in the
    alignments that were looked at, by pair of genomes.
    """

    all: int
    seen: int = 0
    identity: Values = field(default_factory=lambda: np.zeros(0))
    measures: dict[str, Values] = field(default_factory=dict)
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    reasons_of: int = 0
    letters: Counter[int] = field(default_factory=Counter)


def gather(results: Any, most: int = SAMPLED_ROWS) -> RowSample:
    """Look at some rows of a finished run."""
    kind = results.kind
    lengths = ["job", "target_start", "target_end"] if kind == "genome" else ["query_length"]
    numbers = [name for name in ("penalty", "score", "bits") if name in results.schema.names]
    counts = ["matches", "mismatches", "gap_letters"]
    columns = [*lengths, *numbers, *counts, "status"]
    values: dict[str, list[Values]] = {name: [] for name in columns if name != "status"}
    rows = RowSample(len(results))
    for table in results.sampled(columns, most):
        rows.seen += len(table)
        for name, found in values.items():
            found.append(_numbers(table[name]))
    joined = {name: np.concatenate(found) if found else np.zeros(0) for name, found in values.items()}
    total = joined["matches"] + joined["mismatches"] + joined["gap_letters"]
    with np.errstate(invalid="ignore", divide="ignore"):
        rows.identity = (100 * joined["matches"] / total)[total > 0]
    if kind == "genome":
        joined["length"] = joined["target_end"] - joined["target_start"]
        rows.letters = letters_of(joined["job"], joined["length"])
    rows.measures = {name: known for name in MEASURES[kind] if len(known := joined.get(name, np.zeros(0))) and not np.isnan(known).all()}
    statuses = results.statuses()
    if statuses["capped"] or statuses["rejected"]:
        _reasons(results, rows)
    return rows


def letters_of(jobs: Any, lengths: Any) -> Counter[int]:
    """Add up the lengths of alignments by pair of genomes."""
    found, at = np.unique(jobs, return_inverse=True)
    return Counter(dict(zip(found.astype(int).tolist(), np.bincount(at, lengths).astype(int).tolist(), strict=True)))


def _numbers(column: Any) -> Values:
    """Give a column as numbers, NaN where it is null."""
    return np.asarray(column.cast("float64").to_numpy(), np.float64)


def _reasons(results: Any, rows: RowSample) -> None:
    """Count the reasons of rows of parts that have such."""
    if results.kind == "genome":
        for shortfall in results.shortfalls():
            rows.reasons[shortfall["status"], shortfall["reason"]] += 1
    for table in results.unfinished(["status", "reason"], REASONS):
        pairs = Counter(zip(table["status"].to_pylist(), table["reason"].to_pylist(), strict=True))
        rows.reasons.update({(status, reason): count for (status, reason), count in pairs.items() if reason is not None})
    rows.reasons_of = sum(rows.reasons.values())
