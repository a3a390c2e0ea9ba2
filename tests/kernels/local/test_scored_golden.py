"""Real pairs and proteins against what other programs said of them (tests/data/scored/README.md): scores, and of local DNA alignments and extensions ends."""

import gzip
from collections import defaultdict
from pathlib import Path

import pairfiles
import pytest
import scored_oracle

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.local.pairs import align
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import cigar_text

DATA = Path(__file__).parents[2] / "data"
SETS = ("gasal2_20k_150bp", "ecoli_pacbio_clr_1kb", "ecoli_ont_r9_1-10kb", "proteins")


def expectations(name: str) -> dict[tuple[str, str], list[tuple[str, str, str]]]:
    """Read, by scoring and span, of each pair the score and, of some, the query's and the target's end."""
    found = defaultdict(list)
    with gzip.open(DATA / "scored" / "expected.tsv.gz", "rt") as file:
        for line in file:
            of, _, scoring, span, score, query_end, target_end = line.rstrip("\n").split("\t")
            if of == name:
                found[scoring, span].append((score, query_end, target_end))
    return found


def letters(name: str) -> list[tuple[bytes, bytes]]:
    if name != "proteins":
        return pairfiles.read_seq(DATA / "pairs" / f"{name}.seq.gz")
    lines = (DATA / "scored" / "proteins.tsv").read_bytes().splitlines()
    return [(line.split(b"\t")[0], line.split(b"\t")[1]) for line in lines]


@pytest.mark.parametrize("name", SETS)
def test_scores_and_ends_are_those_of_other_programs(name: str) -> None:
    expected = expectations(name)
    assert len(expected) == (40 if name == "proteins" else 15)
    for (text, span), rows in expected.items():
        scoring = Substitution.parse(text)
        pairs = letters(name)[: len(rows)]
        queries, targets = (Sequences.from_strings([pair[side] for pair in pairs]) for side in (0, 1))
        sides = (pack(queries), pack(targets)) if scoring.alphabet == "dna" else (queries, targets)
        found = align(*sides, scoring, span=span)
        scores = [int(row[0]) for row in rows]
        if span == "overlap":  # parasail leaves out the overlap of no letters
            scores = [max(0, score) for score in scores]
        assert found.score is not None and found.score.tolist() == scores, (text, span)
        for i, row in enumerate(rows):
            assert row[1:] in (("", ""), (str(found.query_end[i]), str(found.target_end[i])))
        if scoring.alphabet == "protein":
            cigars, offsets = cigar_text(found)
            for i, (query, target) in enumerate(pairs):
                places = tuple(int(column[i]) for column in (found.query_start, found.query_end, found.target_start, found.target_end))
                cigar = bytes(cigars[offsets[i] : offsets[i + 1]]).decode()
                assert scored_oracle.rescored(query.decode(), target.decode(), places, cigar, scoring) == scores[i]


TIES = {("patched", "match:2,mismatch:-4,gap:4,2", "400", 83), ("patched", "match:2,mismatch:-4,gap:4,2,24,1", "100", 16)}
"""Pairs where ksw2 stops elsewhere: of equal highest scores of an antidiagonal it takes the one that comes first in its vectors, tidalign the first one."""


def test_extensions_stop_where_minimap2s_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole pairs, and those with a stretch of unlike letters, by two z-drops and without one, gaps of one piece and of two."""
    monkeypatch.syspath_prepend(DATA)
    from make_extensions import pairs

    expected = defaultdict(list)
    with gzip.open(DATA / "scored" / "extensions.tsv.gz", "rt") as file:
        for line in file:
            _, kind, scoring, zdrop, *numbers = line.rstrip("\n").split("\t")
            expected[kind, scoring, zdrop].append(tuple(map(int, numbers)))
    assert len(expected) == 12 and len({tuple(rows) for (kind, *_), rows in expected.items() if kind == "patched"}) == 6, "each z-drop shows"
    sides = {kind: [pack(Sequences.from_strings(side)) for side in zip(*of, strict=True)] for kind, of in pairs().items()}
    different = set()
    for (kind, text, zdrop), rows in expected.items():
        found = align(*sides[kind], Substitution.parse(text), span="extension", zdrop=int(zdrop) if zdrop else None, report="ends")
        assert found.score is not None
        ours = zip(found.score.tolist(), found.query_end.tolist(), found.target_end.tolist(), strict=True)
        different |= {(kind, text, zdrop, i) for i, (one, other) in enumerate(zip(ours, rows, strict=True)) if one != other}
    assert different == TIES
