"""Real pairs against what WFA2-lib and edlib said of them (tests/data/pairs/README.md): penalties and, letter by letter, CIGARs."""

import gzip
import hashlib
from collections import defaultdict
from pathlib import Path

import oracle
import pairfiles
import pytest
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise.wavefront import BIDIRECTIONAL_ABOVE, align
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import cigar_text

DATA = Path(__file__).parents[2] / "data"
PRESETS = [str(penalties) for penalties in Penalties.presets().values()]
SETS = ("gasal2_20k_150bp", "ecoli_pacbio_clr_1kb", "ecoli_ont_r9_1-10kb", "ecoli_ont_r9_10kb", "ecoli_k12_hifi")


def expectations() -> dict[tuple[str, str], list[tuple[int, str]]]:
    """Read, by set and penalties, of each pair the penalty and the CIGAR."""
    found: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    with gzip.open(DATA / "pairs" / "expected.tsv.gz", "rt") as file:
        for line in file:
            name, _, penalties, penalty, cigar = line.rstrip("\n").split("\t")
            found[name, penalties].append((int(penalty), cigar))
    return found


EXPECTED = expectations()


@pytest.mark.parametrize("penalties", PRESETS)
@pytest.mark.parametrize("name", SETS)
def test_real_pairs(name: str, penalties: str) -> None:
    pairs = pairfiles.read_seq(DATA / "pairs" / f"{name}.seq.gz")
    queries, targets = (pack(Sequences.from_strings(side)) for side in zip(*pairs, strict=True))
    found = align(queries, targets, Penalties.parse(penalties))
    text, offsets = cigar_text(found)
    rows = [(int(found.penalty[i]), text[offsets[i] : offsets[i + 1]].tobytes().decode()) for i in range(len(pairs))]
    assert len(pairs) > 1
    assert rows == EXPECTED[name, penalties]


def test_free_ends_of_the_target() -> None:
    pairs = pairfiles.read_seq(DATA / "pairs" / "gasal2_20k_150bp.seq.gz")
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    found = align(queries, targets, Penalties.parse("edit"), ends_free=(0, 0, 1000, 1000))
    assert found.penalty.tolist() == [penalty for penalty, _ in EXPECTED["gasal2_20k_150bp", "edit, target's ends free"]]


@pytest.mark.parametrize("penalties", PRESETS)
def test_reference_agrees(penalties: str) -> None:
    """The oracle of the other tests against WFA2-lib itself."""
    pairs = pairfiles.read_seq(DATA / "pairs" / "gasal2_20k_150bp.seq.gz")[:40]
    found = [oracle.wavefront(*pair, Penalties.parse(penalties)) for pair in pairs]
    assert [(alignment.penalty, alignment.cigar) for alignment in found] == EXPECTED["gasal2_20k_150bp", penalties][:40]


def long_pairs() -> list[object]:
    rows = [line.split("\t") for line in (DATA / "pairs" / "long.tsv").read_text().splitlines()]
    return [pytest.param(row, id=f"{row[0]}, {row[7]}", marks=[pytest.mark.slow] if int(row[3]) >= 1_000_000 else []) for row in rows]


@pytest.mark.parametrize("row", long_pairs())
def test_long_pairs(row: list[str]) -> None:
    """Over BIDIRECTIONAL_ABOVE: the penalty is WFA2-lib's, the CIGAR any optimum."""
    _, seed, count, length, rate, kind, digest, text, expected = row
    ((query, target),) = simulate.pairs(int(seed), int(count), int(length), float(rate), kind)
    assert hashlib.sha256(query + b"\n" + target).hexdigest() == digest, "this numpy draws other letters: make the golden files again"
    assert max(len(query), len(target)) > BIDIRECTIONAL_ABOVE
    penalties = Penalties.parse(text)
    found = align(Sequences.from_strings([query]), Sequences.from_strings([target]), penalties)
    cigar, _ = cigar_text(found)
    assert found.penalty.tolist() == [int(expected)]
    assert oracle.rescore(cigar.tobytes().decode(), query, target, penalties) == int(expected)
