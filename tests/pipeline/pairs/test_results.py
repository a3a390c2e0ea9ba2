"""Results come back in input order, whole, or not at all."""

import random
from pathlib import Path

import pytest

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import ALIGNMENTS


def test_rows_come_in_input_order(make_run, row) -> None:
    rows = [row(f"q{number}", penalty=random.Random(number).randrange(1000)) for number in range(19)]
    results = make_run(rows, block=7)
    table = results.to_table()
    assert table.schema == ALIGNMENTS
    assert table["ordinal"].to_pylist() == list(range(19))
    assert table["query_name"].to_pylist() == [each["query_name"] for each in rows]
    assert table["penalty"].to_pylist() == [each["penalty"] for each in rows]
    assert len(results) == 19 == sum(len(batch) for batch in results.to_batches())
    assert results.to_table(["penalty", "ordinal"]).column_names == ["penalty", "ordinal"]


def test_statuses_and_parameters(make_run, row, rejected) -> None:
    results = make_run([row(), rejected("bad"), row(status="capped", reason="budget"), row()])
    assert results.statuses() == {"exact": 2, "heuristic": 0, "capped": 1, "rejected": 1}
    assert results.complete
    assert results.parameters.penalties == "affine:4,6,2"


def test_a_run_without_pairs_is_an_empty_table(make_run) -> None:
    results = make_run([])
    assert results.to_table() == ALIGNMENTS.empty_table()
    assert len(results) == 0


def test_an_unfinished_run_is_refused(make_run, row) -> None:
    results = make_run([row(), row()], finish=False)
    assert not results.complete
    with pytest.raises(MissingInput, match="not finished"):
        next(results.to_batches())


def test_a_lost_part_is_noticed(make_run, row) -> None:
    results = make_run([row() for _ in range(9)])
    next((results.path / "parts").glob("b00001-*.parquet")).unlink()
    with pytest.raises(MissingInput, match="b00001"):
        results.to_table()


def test_not_a_run_directory(tmp_path: Path) -> None:
    with pytest.raises(MissingInput, match=r"a folder without plan\.json"):
        Results(tmp_path)
    with pytest.raises(MissingInput, match=r"no such folder"):
        Results(tmp_path / "none")
