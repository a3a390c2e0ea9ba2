"""Scoring of pairs: what is read, what it says of letters, and one clear line for what no scoring can be."""

from pathlib import Path

import numpy as np
import pytest

from tidalign.kernels.scoring.substitution import GAPS, Substitution, parse_gap, parse_matrix, statistics

TEXT = "# a comment\n   A  C  G  T\nA  2 -3 -3 -3\nC -3  2 -3 -3\nG -3 -3  2 -3\nT -3 -3 -3  2\n"


def score(scoring: Substitution, a: str, b: str, ambiguous: str = "mismatch") -> int:
    codes = scoring.codes()
    return int(scoring.matrix(ambiguous)[codes[ord(a)], codes[ord(b)]])


@pytest.mark.parametrize(("text", "pieces"), [("gap:2", ((0, 2),)), ("gap:4,2", ((4, 2),)), ("gap:4,2,24,1", ((4, 2), (24, 1))), ("gap:0,1", ((0, 1),))])
def test_match_and_mismatch(text: str, pieces: tuple[tuple[int, int], ...]) -> None:
    scoring = Substitution.parse(f"match:2,mismatch:-4,{text}")
    assert scoring.pieces == pieces and scoring.alphabet == "dna"
    assert [score(scoring, *pair) for pair in ("AA", "aC", "gG", "NA", "NN", "nT")] == [2, -4, 2, -4, -4, -4]
    assert Substitution.parse(str(scoring)) == scoring
    assert score(scoring, "N", "N", "match") == score(scoring, "N", "A", "match") == 2


def test_what_n_scores() -> None:
    scoring = Substitution.parse("match:1,mismatch:-4,n:-1,gap:6,1")
    assert [score(scoring, *pair) for pair in ("NN", "NA", "RT", "AA", "AC")] == [-1, -1, -1, 1, -4]


def test_gap_of_two_pieces() -> None:
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2,24,1")
    assert [scoring.gap(n) for n in (0, 1, 19, 20, 21, 100)] == [0, 6, 42, 44, 45, 124]


@pytest.mark.parametrize("name", GAPS)
def test_named_matrices(name: str) -> None:
    scoring = Substitution.parse(name.lower())
    assert scoring.letters == "ARNDCQEGHILKMFPSTWYVBZX*" and scoring.alphabet == "protein"
    assert scoring.pieces == (GAPS[name],)
    assert Substitution.parse(str(scoring)) == scoring == Substitution.named(name)


@pytest.mark.parametrize("name", GAPS)
def test_statistics_fit_the_matrix(name: str) -> None:
    """Gaps make chance alignments score more: lambda with gaps is below the one without, of usual frequencies (Robinson & Robinson 1991)."""
    matrix = Substitution.named(name).matrix()[:20, :20].astype(float)
    frequencies = [78, 51, 45, 54, 19, 43, 63, 74, 22, 51, 90, 57, 22, 39, 52, 71, 58, 13, 32, 64]
    pairs = np.outer(frequencies, frequencies) / sum(frequencies) ** 2
    low, high = 0.01, 2.0
    while high - low > 1e-6:  # sum of p q exp(lambda s) = 1
        middle = (low + high) / 2
        low, high = (low, middle) if (pairs * np.exp(middle * matrix)).sum() > 1 else (middle, high)
    known = statistics("", name, *map(str, GAPS[name]))
    assert known and 0.7 * low < known[0] < low


def test_scores_known_by_heart() -> None:
    blosum62, pam250 = Substitution.named("BLOSUM62", parse_gap("10,2")), Substitution.named("pam250")
    assert blosum62.pieces == ((10, 2),)
    assert [score(blosum62, *pair) for pair in ("WW", "aR", "XX", "**", "UU", "JK")] == [11, -1, -1, 1, -1, -1]
    assert [score(pam250, *pair) for pair in ("WW", "CC", "FY")] == [17, 12, 7]


def test_a_matrix_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "m").write_text(TEXT)
    scoring = Substitution.read(tmp_path / "m", ((4, 2),))
    assert scoring.alphabet == "dna" and score(scoring, "g", "G") == 2 and score(scoring, "N", "N") == -3
    assert Substitution.parse(str(scoring)) == scoring
    letters = "ABCDEFGHIKLMNPQRSTVWXYZ*JOU"
    rows = [f"{a} " + " ".join("9" if a == b else "-1" for b in letters) for a in letters]
    (tmp_path / "m").write_text("\n".join([" ".join(letters), *rows]))
    assert Substitution.read(tmp_path / "m", ((1, 1),)).alphabet == "protein"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found no line of letters"),
        (TEXT.replace("T -3 -3 -3  2\n", ""), "found none for T"),
        (TEXT.replace("T -3", "T -2"), "equal triangles, found -2 for T with A and -3 for A with T"),
        (TEXT.replace("T -3 -3 -3  2", "T -3 -3 -3"), "line 6: expected 4 whole numbers for T"),
        (TEXT.replace("2 -3 -3 -3\n", "x -3 -3 -3\n", 1), "line 3: expected 4 whole numbers"),
        (TEXT.replace("T -3", "C -3"), "a second one"),
        (TEXT.replace("A  C  G  T", "A  C  G  G"), "'G' twice"),
        (TEXT.replace("A  C  G  T", "A  C  G  1"), "found '1'"),
        (TEXT.replace("\nT -3 -3 -3  2", "\nT -3 -3 -3  128"), "-128..127, not 128"),
        (TEXT.replace("T", "U"), "found none for T"),
        (" ".join(chr(65 + i) for i in range(26)) + " * a b c d e f", "at most 32 letters, found 33"),
        (TEXT.replace("2", "0"), "above 0"),
    ],
)
def test_wrong_matrices(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "m.txt").write_text(text)
    with pytest.raises(ValueError, match=r"m\.txt: .*") as caught:
        Substitution.read(tmp_path / "m.txt", ((4, 2),))
    assert message in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("match:2,mismatch:-4", "expected a gap"),
        ("match:2,gap:4,2", "expected match:A,mismatch:-B"),
        ("match:2,mismatch:4,gap:4,2", "mismatch of 0 or less"),
        ("match:0,mismatch:-4,gap:4,2", "match above 0"),
        ("match:2,mismatch:-4,gap:-4,2", "must not pay"),
        ("match:2,mismatch:-4,gap:4,0", "must not pay"),
        ("match:2,mismatch:-4,gap:4,2,1", "found 3 numbers"),
        ("match:2,mismatch:-4,gap:4,x", "whole numbers"),
        ("match:2,mismatch:-4,gap:4,9999999", "at most"),
        ("match:200,mismatch:-4,gap:4,2", "-128..127"),
        ("match:2,match:3,mismatch:-4,gap:4,2", "twice"),
        ("match:2,3,mismatch:-4,gap:4,2", "one number each"),
        ("blosum63,gap:11,1", "matrices are BLOSUM45"),
        ("", "expected match:A"),
    ],
)
def test_wrong_scoring(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
        Substitution.parse(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("alphabet", ["dna", "rna", "DNA"])
def test_a_named_matrix_is_of_no_other_alphabet(alphabet: str) -> None:
    with pytest.raises(ValueError, match=f"not of alphabet '{alphabet}'"):
        Substitution.parse("blosum62", alphabet)
    with pytest.raises(ValueError, match="found E, F"):
        Substitution.parse(f"letters:ACGTDEF,scores:{','.join('1' * 28)},gap:1,1", "dna")


def test_a_named_matrix_is_of_proteins() -> None:
    with pytest.raises(ValueError, match="protein letters"):
        Substitution.parse("blosum62", "dna")
    assert parse_matrix(TEXT)[0] == "ACGT"
    assert Substitution.parse("match:5,mismatch:-4,gap:10,1", "protein").letters.startswith("ARND")
