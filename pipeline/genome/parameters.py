"""What a genome run computes: everything that can change an alignment, and nothing that cannot."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from typing import Any

from tidalign.kernels.scoring.scores import Scoring

MODES = ("exact", "independent")
STRANDS = ("both", "plus", "minus")

TRACEBACK_BYTES = 80 * 1024 * 1024
"""LASTZ's `--allocate:traceback`: one-byte cells a side may take before it is cut (exact mode)."""


@dataclass(frozen=True, slots=True)
class GenomeParameters:
    """Parameters of a genome run; the defaults are LASTZ's (LASTZ 1.04, `--help=defaults`).

    mode: `exact`, what LASTZ prints; or `independent`, every anchor a pure function of the sequences, never cut.
    seed: pattern of 1 (must match), T (match or transition) and 0 (ignored). transitions: care positions that may differ by a transition, 0..2.
    step: every step-th target position is indexed. max_word_count: words that occur more often are dropped: a number, or a percentile ("90%").
    strand: of the query, `both`, `plus` or `minus`.
    gfextend: gap-free x-drop extension of hits; hspthresh: least score of an HSP. entropy: scores of HSPs are scaled by their composition.
    chain: None, or the (diagonal, anti-diagonal) penalties of chaining HSPs.
    gapped: gapped extension; without it, HSPs are the result. trim: ends are cut back to the best cell.
    traceback_bytes: exact mode cuts an extension where LASTZ's traceback buffer of this size ends.
    query_hsp_best: the n best HSPs of a query, both strands together, and those that tie. query_hsp_limit: a query with more than n HSPs gives nothing;
    with query_hsp_keep, what was found until then.
    filters: (name, lowest, highest), both included: identity, coverage, continuity and `nmatch%` in per cent, nmatch, nmismatch, ngap, cgap.
    seed_filter: None, or (matches, transversions): the least and the most that a seed's window may have; None: any number of transversions.
    notrivial: leave out the alignment of a sequence with itself.
    cells, seconds: guards, limits of one tile; None: no limit.
    """

    mode: str = "exact"
    seed: str = "1110100110010101111"
    transitions: int = 1
    step: int = 1
    max_word_count: str | None = None
    seed_filter: tuple[int, int | None] | None = None
    strand: str = "both"
    scoring: Scoring = field(default_factory=Scoring)
    gfextend: bool = True
    xdrop: int = 910
    hspthresh: int = 3000
    entropy: bool = True
    chain: tuple[int, int] | None = None
    gapped: bool = True
    ydrop: int = 9400
    gappedthresh: int = 3000
    trim: bool = True
    traceback_bytes: int = TRACEBACK_BYTES
    query_hsp_best: int | None = None
    query_hsp_limit: int | None = None
    query_hsp_keep: bool = False
    filters: tuple[tuple[str, float, float], ...] = ()
    notrivial: bool = False
    cells: int | None = None
    seconds: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "GenomeParameters":
        scoring = dict(values["scoring"])
        scoring["matrix"] = tuple(tuple(row) for row in scoring["matrix"])
        scoring["ambiguous"] = tuple(scoring["ambiguous"]) if scoring["ambiguous"] else None
        fixed = {name: tuple(values[name]) if values[name] is not None else None for name in ("chain", "seed_filter")}
        filters = tuple((name, low, high) for name, low, high in values["filters"])
        return cls(**{**values, **fixed, "filters": filters, "scoring": Scoring(**scoring)})

    def digest(self) -> str:
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()
