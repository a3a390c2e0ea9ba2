"""Real pairs and proteins against what parasail and a plain program said of them (tests/data/scored/README.md): scores, and of local DNA alignments ends."""

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
