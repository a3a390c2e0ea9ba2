"""Filters of genome alignments, against LASTZ's answers on the run `fly` of tests/data/genomes (filters.json: bounds on values and next to them)."""

import json

import genome_golden as golden
import pytest

from tidalign.pipeline.genome import filters

CASES = json.loads((golden.PLACE / "filters.json").read_text())


def places(rows: object) -> list[list[str]]:
    names = ("target_start", "target_end", "query_start", "query_end", "target_name", "strand")
    return [[str(row[name]) for name in names] for row in rows.to_pylist()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", filters.NAMES)
def test_lastz_keeps_the_same(name: str) -> None:
    rows = golden.rows("fly")
    cases = [case for case in CASES if case[0] == name]
    assert len({len(kept) for *_, kept in cases}) > 3
    for _, lowest, highest, kept in cases:
        assert places(filters.keep(rows, ((name, lowest, highest),))) == kept, (name, lowest, highest)


def test_all_must_pass() -> None:
    rows = golden.rows("fly")
    one, other = ("identity", 70.0, 80.0), ("cgap", 0.0, 50.0)
    both = filters.keep(rows, (one, other))
    assert places(both) == [place for place in places(filters.keep(rows, (one,))) if place in places(filters.keep(rows, (other,)))]
    assert 0 < both.num_rows < filters.keep(rows, (one,)).num_rows


def test_nothing_asked_nothing_done() -> None:
    rows = golden.rows("fly")
    assert filters.keep(rows, ()) is rows


def test_hsps_are_asked_less() -> None:
    rows = golden.rows("fly")
    for name in ("continuity", "nmatch%"):
        assert filters.keep(rows, ((name, 99.9, 100.0),)).num_rows < rows.num_rows
        assert filters.keep(rows, ((name, 99.9, 100.0),), gapped=False) is rows
