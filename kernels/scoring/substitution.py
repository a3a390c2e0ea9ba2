"""Substitution scores and gap pieces of pairs as data: match and mismatch, a named matrix, or one in NCBI's format (scores are maximised)."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tidalign.kernels.scoring.penalties import MAX_PENALTY

MAX_LETTERS = 32
LOWEST, HIGHEST = -128, 127
"""Range of a score of two letters: a byte of the kernels' tables."""

DNA, PROTEIN = "dna", "protein"
BASES = "ACTG"
"""In the order of their two bits (kernels/letters/sequences.py)."""

RESIDUES = "ARNDCQEGHILKMFPSTWYVBZX*"
_IUPAC = frozenset("ACGTURYKMSWBDHVN")

GAPS = {
    "BLOSUM45": (15, 2),
    "BLOSUM50": (13, 2),
    "BLOSUM62": (11, 1),
    "BLOSUM80": (10, 1),
    "BLOSUM90": (10, 1),
    "PAM30": (9, 1),
    "PAM70": (10, 1),
    "PAM250": (14, 2),
}
"""The named matrices, each with the gap that BLAST takes with it (open, extend)."""

_SHAPE = "match:A,mismatch:-B,gap:O,E as in match:2,mismatch:-4,gap:4,2, or a matrix's name, as in blosum62,gap:11,1"


@dataclass(frozen=True, slots=True)
class Substitution:
    """Say what two letters score, and gaps: one of n letters costs the least of open + n * extend over one or two pieces.

    alphabet: `dna` or `protein`. letters: of the matrix, upper case, in the order of its rows. lower: its lower triangle, row by row, with the diagonal; a
    matrix is symmetric. pieces: ((open, extend), ...). name: of a named matrix, else empty.
    A letter that the matrix does not have scores as its N (dna) or X (protein), and without one as the lowest score.
    Raises ValueError for what no matrix or gap can be.
    """

    alphabet: str
    letters: str
    lower: tuple[int, ...]
    pieces: tuple[tuple[int, int], ...]
    name: str = ""

    def __post_init__(self) -> None:
        if self.alphabet not in (DNA, PROTEIN):
            raise ValueError(f"alphabet {self.alphabet!r}: expected {DNA} or {PROTEIN}")
        _check_letters(self.letters, self.alphabet)
        if len(self.lower) != len(self.letters) * (len(self.letters) + 1) // 2:
            raise ValueError(f"{len(self.letters)} letters need a triangle of {len(self.letters) * (len(self.letters) + 1) // 2} scores, not {len(self.lower)}")
        for score in self.lower:
            if not LOWEST <= score <= HIGHEST:
                raise ValueError(f"a score of two letters must lie in {LOWEST}..{HIGHEST}, not {score}")
        if max(self.lower) <= 0:
            raise ValueError("a matrix needs a score above 0: without one the best alignment is none")
        if len(self.pieces) not in (1, 2):
            raise ValueError(f"gap: expected one piece (O,E) or two (O1,E1,O2,E2), found {len(self.pieces)}")
        for opening, extension in self.pieces:
            if opening < 0 or extension < 1:
                raise ValueError(f"gap: a gap must not pay: it opens at 0 or more and extends at 1 or more, not {opening} and {extension}")
            if max(opening, extension) > MAX_PENALTY:
                raise ValueError(f"gap: costs must be at most {MAX_PENALTY}, not {opening} and {extension}")

    @classmethod
    def parse(cls, text: str, alphabet: str | None = None) -> "Substitution":
        """Read `match:2,mismatch:-4,gap:4,2` (`gap:2` is linear, `gap:4,2,24,1` has two pieces; `n:-1` says what N scores), `blosum62,gap:11,1`, or what
        str() gives. alphabet: dna where None and letters do not say it."""
        fields = _fields(text)
        pieces = _pieces(text, fields.pop("gap")) if "gap" in fields else None
        if set(fields) == {"letters", "scores"}:
            letters = "".join(fields["letters"])
            return cls(_alphabet_of(letters, alphabet), letters, tuple(_whole(text, fields["scores"])), _given(text, pieces))
        if len(fields) == 1 and (name := next(iter(fields)).upper()) in GAPS and not fields[next(iter(fields))]:
            return cls.named(name, pieces, alphabet)
        if not {"match", "mismatch"} <= set(fields) <= {"match", "mismatch", "n"}:
            raise ValueError(f"scoring {text!r}: expected {_SHAPE}; matrices are {', '.join(GAPS)}")
        numbers = {key: _whole(text, values) for key, values in fields.items()}
        if any(len(values) != 1 for values in numbers.values()):
            raise ValueError(f"scoring {text!r}: expected one number each for match, mismatch and n")
        match, mismatch = numbers["match"][0], numbers["mismatch"][0]
        if match <= 0 or mismatch > 0:
            raise ValueError(f"scoring {text!r}: expected a match above 0 and a mismatch of 0 or less")
        return cls.plain(match, mismatch, _given(text, pieces), alphabet=alphabet or DNA, n=numbers["n"][0] if "n" in numbers else None)

    @classmethod
    def plain(cls, match: int, mismatch: int, pieces: tuple[tuple[int, int], ...], *, alphabet: str = DNA, n: int | None = None) -> "Substitution":
        """Give one score to equal letters and one to others; n: what N (of proteins X) scores with anything, `mismatch` if None."""
        letters, other = ("ACGT", "N") if alphabet == DNA else (RESIDUES.replace("X", ""), "X")
        lower = [match if a == b else mismatch for a in range(len(letters)) for b in range(a + 1)]
        if n is not None:
            letters, lower = letters + other, lower + [n] * (len(letters) + 1)
        return cls(alphabet, letters, tuple(lower), pieces)

    @classmethod
    def named(cls, name: str, pieces: tuple[tuple[int, int], ...] | None = None, alphabet: str | None = None) -> "Substitution":
        """Give a matrix of GAPS by its name in any case; pieces: its usual gap if None."""
        if name.upper() not in GAPS:
            raise ValueError(f"matrix {name!r}: expected one of {', '.join(GAPS)}, or a file in NCBI's format")
        if alphabet not in (None, PROTEIN):
            raise ValueError(f"matrix {name!r} is of protein letters, not of alphabet {alphabet!r}: leave the alphabet out")
        letters, lower = _named(name.upper())
        return cls(PROTEIN, letters, lower, pieces or (GAPS[name.upper()],), name.upper())

    @classmethod
    def read(cls, path: str | Path, pieces: tuple[tuple[int, int], ...], alphabet: str | None = None) -> "Substitution":
        """Read a file in NCBI's format; its alphabet is dna where it has no other letters than IUPAC's of DNA, unless given."""
        try:
            letters, lower = parse_matrix(Path(path).read_text("ascii"))
            return cls(_alphabet_of(letters, alphabet), letters, lower, pieces)
        except UnicodeDecodeError:
            raise ValueError(f"{path}: expected a matrix in NCBI's format, found bytes that are not ASCII") from None
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def __str__(self) -> str:
        gap = "gap:" + ",".join(f"{opening},{extension}" for opening, extension in self.pieces)
        if self.name:
            return f"{self.name.lower()},{gap}"
        match, mismatch = self.lower[:2]
        if match > 0 >= mismatch and self == Substitution.plain(match, mismatch, self.pieces, alphabet=self.alphabet):
            return f"match:{match},mismatch:{mismatch},{gap}"
        return f"letters:{self.letters},scores:{','.join(map(str, self.lower))},{gap}"

    def gap(self, letters: int) -> int:
        """Tell what a gap of `letters` letters costs."""
        return min(opening + letters * extension for opening, extension in self.pieces) if letters else 0

    def matrix(self, ambiguous: str = "mismatch") -> npt.NDArray[np.int8]:
        """Give int8[c, c], by the codes of `codes`; the last code is that of letters the matrix lacks. ambiguous: of DNA without N, whether another letter
        scores as the lowest (`mismatch`) or as the highest (`match`)."""
        size = len(self.letters)
        table = np.full((size + 1, size + 1), max(self.lower) if ambiguous == "match" and self.alphabet == DNA else min(self.lower), np.int8)
        rows, columns = np.tril_indices(size)
        table[rows, columns] = table[columns, rows] = self.lower
        return table

    def codes(self) -> npt.NDArray[np.uint8]:
        """Give uint8[256]: the code of each ASCII letter, in either case."""
        other = self.letters.find("N" if self.alphabet == DNA else "X")
        table = np.full(256, len(self.letters) if other < 0 else other, np.uint8)
        for code, letter in enumerate(self.letters):
            table[[ord(letter), ord(letter.lower())]] = code
        return table


def parse_matrix(text: str) -> tuple[str, tuple[int, ...]]:
    """Read a matrix in NCBI's format: comments (#), a line of letters, a line for each with its scores -> letters and the lower triangle. ValueError where it
    is none, or not symmetric."""
    lines = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError("expected a matrix in NCBI's format, found no line of letters")
    letters = [word.upper() for word in lines[0][1]]
    if any(len(letter) != 1 for letter in letters):
        raise ValueError(f"line {lines[0][0]}: expected letters, found {next(letter for letter in letters if len(letter) != 1)!r}")
    _check_letters("".join(letters), None)
    rows: dict[str, list[int]] = {}
    for number, (first, *words) in lines[1:]:
        letter = first.upper()
        if letter not in letters or letter in rows:
            raise ValueError(f"line {number}: expected the row of a letter of the first line, found {'a second one' if letter in rows else 'one'} of {first!r}")
        if len(words) != len(letters) or not all(re.fullmatch(r"[+-]?\d+", word) for word in words):
            raise ValueError(f"line {number}: expected {len(letters)} whole numbers for {letter}, found {' '.join(words)[:60]!r}")
        rows[letter] = [int(word) for word in words]
    missing = [letter for letter in letters if letter not in rows]
    if missing:
        raise ValueError(f"expected a row for each letter, found none for {', '.join(missing)}")
    for i, a in enumerate(letters):
        for j, b in enumerate(letters[:i]):
            if rows[a][j] != rows[b][i]:
                raise ValueError(f"expected equal triangles, found {rows[a][j]} for {a} with {b} and {rows[b][i]} for {b} with {a}")
    return "".join(letters), tuple(rows[a][j] for i, a in enumerate(letters) for j in range(i + 1))


@cache
def _named(name: str) -> tuple[str, tuple[int, ...]]:
    return parse_matrix((Path(__file__).parent / "matrices" / f"{name}.txt").read_text("ascii"))


@cache
def statistics(kind: str, *key: str) -> tuple[float, ...] | None:
    """Find the statistics of local alignments: the numbers behind the words `key` of a line of karlin_altschul.tsv or, of another kind, of
    karlin_altschul_dna.tsv; None where there is no such line."""
    text = (Path(__file__).parent / "matrices" / f"karlin_altschul{kind}.tsv").read_text("ascii")
    rows = (line.split("\t") for line in text.splitlines() if not line.startswith("#"))
    return next((tuple(map(float, row[len(key) :])) for row in rows if tuple(row[: len(key)]) == key), None)


def parse_gap(text: str) -> tuple[tuple[int, int], ...]:
    """Read `2` (linear), `4,2` or `4,2,24,1`: pieces (open, extend)."""
    return _pieces(text, text.split(","))


def _check_letters(letters: str, alphabet: str | None) -> None:
    if len(letters) > MAX_LETTERS:
        raise ValueError(f"expected at most {MAX_LETTERS} letters, found {len(letters)}")
    if len(set(letters)) != len(letters):
        raise ValueError(f"expected each letter once, found {next(each for each in letters if letters.count(each) > 1)!r} twice")
    if any(not ("A" <= letter <= "Z" or letter == "*") for letter in letters):
        raise ValueError(f"expected letters A to Z and *, found {next(each for each in letters if not ('A' <= each <= 'Z' or each == '*'))!r}")
    if alphabet == DNA and (others := set(letters) - _IUPAC):
        raise ValueError(f"expected letters of DNA, found {', '.join(sorted(others))}: of proteins say --alphabet protein, or leave the alphabet out")
    needed = {DNA: "ACGT", PROTEIN: RESIDUES[:20], None: ""}[alphabet]
    if lacking := [letter for letter in needed if letter not in letters]:
        raise ValueError(f"expected a matrix of all {alphabet} letters, found none for {', '.join(lacking)}")


def _alphabet_of(letters: str, alphabet: str | None) -> str:
    return alphabet or (DNA if set(letters.upper()) <= _IUPAC else PROTEIN)


def _fields(text: str) -> dict[str, list[str]]:
    """Read `key:a,b,key:c` as words by key; a word before any key is a key without words."""
    fields: dict[str, list[str]] = {}
    key = ""
    for word in text.strip().split(","):
        name, colon, value = word.partition(":")
        if colon or not key:
            key = name.strip().lower() if colon else ""
            if name.strip().lower() in fields:
                raise ValueError(f"scoring {text!r}: {name.strip()!r} is there twice")
            fields[name.strip().lower()] = [value] if colon else []
        else:
            fields[key].append(value if colon else word)
    return fields


def _whole(text: str, words: list[str]) -> list[int]:
    try:
        return [int(word) for word in words]
    except ValueError:
        raise ValueError(f"{text!r}: expected whole numbers, found {', '.join(words)[:60]!r}") from None


def _pieces(text: str, words: list[str]) -> tuple[tuple[int, int], ...]:
    numbers = _whole(text, words)
    if len(numbers) == 1:
        return ((0, numbers[0]),)
    if len(numbers) not in (2, 4):
        raise ValueError(f"{text!r}: expected a gap of E (linear), O,E or O1,E1,O2,E2, found {len(numbers)} numbers")
    return tuple(zip(numbers[::2], numbers[1::2], strict=True))


def _given(text: str, pieces: tuple[tuple[int, int], ...] | None) -> tuple[tuple[int, int], ...]:
    if pieces is None:
        raise ValueError(f"scoring {text!r}: expected a gap, as gap:4,2")
    return pieces
