"""Pairs and scorings for tests of alignment by scores, and their alignments as rows."""

import random
from collections.abc import Iterator

import numpy as np

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.local import pairs
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import Alignments, cigar_text

DNA, PROTEIN = "ACGTacgtN", "ARNDCQEGHILKMFPSTWYVBZX*arndUOj"
TWO = "match:2,mismatch:-4,gap:4,2,24,1"
SCORINGS = {
    "affine": ("match:2,mismatch:-4,gap:4,2", DNA, "mismatch"),
    "linear": ("match:1,mismatch:-1,gap:1", DNA, "mismatch"),
    "two pieces": ("match:2,mismatch:-4,gap:4,2,24,1", DNA, "mismatch"),
    "crossing early": ("match:3,mismatch:0,gap:1,3,4,1", DNA, "mismatch"),
    "cheap gaps": ("match:5,mismatch:-9,gap:0,1", DNA, "mismatch"),
    "a mismatch earns": ("letters:ACGT,scores:5,1,5,1,1,5,1,1,1,5,gap:11,1", DNA, "mismatch"),
    "n": ("match:1,mismatch:-4,n:-1,gap:6,1", DNA, "mismatch"),
    "n matches": ("match:2,mismatch:-3,gap:5,2", DNA, "match"),
    "blosum62": ("blosum62", PROTEIN, "mismatch"),
    "pam250 in two pieces": ("pam250,gap:6,2,14,1", PROTEIN, "mismatch"),
}


def mutated(random: random.Random, letters: str, alphabet: str) -> Iterator[str]:
    for letter in letters:
        chance = random.random()
        if chance < 0.08:
            yield random.choice(alphabet)
        elif chance < 0.18:
            yield "" if chance < 0.13 else letter + random.choice(alphabet)
        else:
            yield letter


def cases(seed: int, alphabet: str, count: int, longest: int = 40) -> tuple[list[str], list[str]]:
    """Draw pairs that are alike, alike but for their ends, and unrelated, of 0, 1 and up to `longest` letters."""
    chance = random.Random(seed)
    queries, targets = [], []

    def letters(most: int) -> str:
        return "".join(chance.choices(alphabet, k=chance.choice([0, 1, 7, 8, 9, 16, 17, chance.randint(0, most), most])))

    for _ in range(count):
        query = letters(longest)
        kind = chance.random()
        target = "".join(mutated(chance, query, alphabet)) if kind < 0.7 else letters(longest)
        queries.append(query)
        targets.append(letters(9)[:9] + target + letters(9)[:9] if kind < 0.3 else target)
    return queries, targets


def aligned(found: Alignments) -> list[tuple[int, int, int, int, int, str]]:
    text, offsets = cigar_text(found)
    cigars = [bytes(text[start:stop]).decode() for start, stop in zip(offsets, offsets[1:], strict=False)]
    columns = (found.score, found.query_start, found.query_end, found.target_start, found.target_end)
    return list(zip(*(column.tolist() for column in columns if column is not None), cigars, strict=True))


def batch(strings: list[str], scoring: Substitution, *, packed: bool = True) -> pairs.Batch:
    plain = Sequences.from_strings(strings)
    return pack(plain) if scoring.alphabet == "dna" and packed else plain


def same(expected: Alignments, found: Alignments, report: str) -> None:
    """Compare scores, and what else a report has."""
    names = ("score", "query_start", "query_end", "target_start", "target_end") + (("cigar_offsets", "cigar") if report == "cigar" else ())
    for name in names:
        one, other = getattr(expected, name), getattr(found, name)
        assert len(one) == len(other), name
        different = np.flatnonzero(one != other)
        assert not len(different), (name, different[:5].tolist(), one[different[:5]].tolist(), other[different[:5]].tolist())


def letters(seed: int, count: int) -> str:
    return "".join(random.Random(seed).choices("ACGT", k=count))


def ends(
    queries: list[str],
    targets: list[str],
    scoring: Substitution,
    zdrop: int | None = None,
    end_bonus: int = 0,
    ambiguous: str = "mismatch",
    band: int | None = None,
) -> list[tuple[int, int, int]]:
    """Extend pairs on cores: scores, and ends of queries and targets."""
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    found = pairs.align(*sides, scoring, span="extension", report="ends", zdrop=zdrop, end_bonus=end_bonus, ambiguous=ambiguous, band=band)
    assert found.score is not None and found.placed and found.cigar is None and not found.query_start.any() and not found.target_start.any()
    return list(zip(found.score.tolist(), found.query_end.tolist(), found.target_end.tolist(), strict=True))
