"""Say what a search computes: scores, what of a pair is aligned, which strands, and how much of what is found is kept."""

from dataclasses import dataclass

from tidalign.kernels.local.choices import SEARCH_SPANS
from tidalign.kernels.scoring.substitution import DNA, PROTEIN, Substitution
from tidalign.pipeline.pairs.choices import STRANDS
from tidalign.pipeline.pairs.scored import MAX_DROP, ScoreParameters
from tidalign.pipeline.whole import is_whole

SCORINGS = {DNA: "match:2,mismatch:-3,gap:5,2", PROTEIN: "blosum62,gap:11,1"}
"""By alphabet, where none is given: those of blastn and blastp."""

MAX_HITS = 1_000_000


@dataclass(frozen=True, slots=True)
class SearchParameters(ScoreParameters):
    """Parameters of a search, beside those of `ScoreParameters`.

    scoring: empty for that of the alphabet in SCORINGS. top: hits that are kept of a query, at most. min_score: least score of a hit.
    strand: of the query, `both` or `plus`; empty: both for DNA.
    """

    scoring: str = ""
    top: int = 10
    min_score: int = 1
    strand: str = ""

    def __post_init__(self) -> None:
        if self.alphabet not in ("", DNA, PROTEIN):
            raise ValueError(f"alphabet must be one of {DNA}, {PROTEIN}, not {self.alphabet!r}")
        if not isinstance(self.scoring, str):
            raise ValueError(f"scoring: expected text, not {self.scoring!r}")
        if not self.scoring:
            object.__setattr__(self, "scoring", SCORINGS.get(self.alphabet or DNA, ""))
        if self.strand not in ("", *STRANDS):
            raise ValueError(f"strand must be one of {', '.join(STRANDS)}, not {self.strand!r}")
        dna = Substitution.parse(self.scoring, self.alphabet or None).alphabet == DNA
        object.__setattr__(self, "strand", self.strand or ("both" if dna else "plus"))
        ScoreParameters.__post_init__(self)
        if self.span not in SEARCH_SPANS:
            raise ValueError(f"span: a search has {', '.join(SEARCH_SPANS)}, not {self.span!r}")
        if self.ambiguous not in ("mismatch", "match"):
            raise ValueError(f"ambiguous must be mismatch or match in a search, not {self.ambiguous!r}")
        if not is_whole(self.top) or not 1 <= self.top <= MAX_HITS:
            raise ValueError(f"top: expected a whole number of hits from 1 to {MAX_HITS:,}, not {self.top!r}")
        if not is_whole(self.min_score):
            raise ValueError(f"min-score: expected a whole number, not {self.min_score!r}")
        for name in ("top", "min_score"):
            object.__setattr__(self, name, int(getattr(self, name)))
        if not (1 if self.span == "local" else -MAX_DROP) <= self.min_score <= MAX_DROP:
            least = "1, as a local alignment scores more than 0" if self.span == "local" else f"{-MAX_DROP}"
            raise ValueError(f"min-score: expected at least {least}, and at most {MAX_DROP}, not {self.min_score}")

    @property
    def strands(self) -> str:
        """Name the strands that are searched, in order."""
        return "+-" if self.strand == "both" else "+"

    def hits(self, sequences: float) -> float:
        """Count the hits of a query in so many sequences, at most."""
        return min(self.top, sequences * len(self.strands))

    def words(self) -> list[str]:
        """Write everything that can change a row as options of `tidalign search`."""
        words = ScoreParameters.words(self)
        return [
            *words,
            "--top",
            str(self.top),
            "--min-score",
            str(self.min_score),
            *(["--strand", "plus"] if self.alphabet == DNA and self.strand == "plus" else []),
        ]
