"""Targets with letters to spare are noticed where both sides were aligned from end to end, and nowhere else."""

import pytest

from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.spare import LEAST, ROWS, advice

SPARE = ["16D76=16D", "3D10=", "5=1X5=120D"]
NONE = ["76=", "2D76=2D", "10=20D10=", "16I76=", "1D76="]


@pytest.mark.parametrize("cigar", SPARE)
def test_letters_to_spare_are_noticed(make_run, row, cigar: str) -> None:
    rows = [row(cigar=cigar)] * 6 + [row()] * 4
    said = advice(make_run(rows, block=10))
    assert said and said.startswith("6 of the first 10 alignments ") and "--ends-free" in said


@pytest.mark.parametrize("cigar", NONE)
def test_other_gaps_are_not(make_run, row, cigar: str) -> None:
    assert advice(make_run([row(cigar=cigar)] * LEAST, block=LEAST)) is None


def test_half_of_the_rows_say_nothing(make_run, row) -> None:
    assert advice(make_run([row(cigar=SPARE[0])] * 6 + [row()] * 6, block=12)) is None


def test_rows_without_a_cigar_count_as_others(make_run, row, rejected) -> None:
    assert advice(make_run([rejected("bad")] * LEAST, block=LEAST)) is None
    said = advice(make_run([row(cigar=SPARE[0])] * ROWS + [rejected("bad")] * ROWS, block=2 * ROWS))
    assert said and f"{ROWS:,} of the first {ROWS:,}" in said


@pytest.mark.parametrize("parameters", [PairParameters(ends_free=(0, 0, 16, 16)), PairParameters(penalty_only=True)])
def test_runs_that_cannot_have_them_are_not_looked_at(make_run, row, parameters: PairParameters) -> None:
    assert advice(make_run([row(cigar=SPARE[0])] * LEAST, parameters=parameters, block=LEAST)) is None
