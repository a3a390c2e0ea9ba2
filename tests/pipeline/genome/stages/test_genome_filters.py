"""Filters of genome alignments, against LASTZ's answers on the run `fly` of tests/data/genomes (filters.json: bounds on values and next to them)."""

import json
from typing import Any

import genome_golden as golden
import pytest

from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import filters

CASES = json.loads((golden.PLACE / "filters.json").read_text())


def places(rows: object) -> list[list[str]]:
    names = ("target_start", "target_end", "query_start", "query_end", "target_name", "strand")
    return [[str(row[name]) for name in names] for row in rows.to_pylist()]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [*filters._SHARES, *filters._COUNTS, filters.MATCHES_OF_QUERY])
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


CONTINUITY, OF_QUERY, MATCHES = ("continuity", 99.0, 100.0), ("nmatch%", 20.0, 100.0), ("nmatch", 60.0, 99.0)


@pytest.mark.parametrize(
    ("given", "chosen", "asked"),
    [
        ((CONTINUITY, OF_QUERY), {"gapped": True}, (CONTINUITY, OF_QUERY)),
        ((CONTINUITY, OF_QUERY), {"gapped": True, "per_query": 40}, (CONTINUITY,)),
        ((OF_QUERY,), {}, ()),
        ((OF_QUERY,), {"chain": (0, 0)}, (OF_QUERY,)),
        ((OF_QUERY,), {"query_hsp_best": 2}, (OF_QUERY,)),
        ((OF_QUERY,), {"query_hsp_limit": 1, "query_hsp_keep": True}, (OF_QUERY,)),
        ((CONTINUITY, OF_QUERY), {}, (OF_QUERY,)),
        ((MATCHES, CONTINUITY, OF_QUERY), {}, (MATCHES, OF_QUERY)),
    ],
    ids=str,
)
def test_lastz_asks_less_of_what_it_shows_as_it_is_found(given: tuple[filters.Filter, ...], chosen: dict[str, Any], asked: tuple[filters.Filter, ...]) -> None:
    # By what the program (1.04.22) does.
    assert filters.asked(GenomeParameters(**{"gapped": False} | chosen, filters=given)) == asked


@pytest.mark.parametrize(
    ("counts", "limit", "gapped", "left"),
    [
        ((5, 4), 6, False, (5, 1)),
        ((8, 4), 6, False, (6, 0)),
        ((0, 9), 6, False, (0, 6)),
        ((5, 4), 1, True, (5, 0)),
        ((0, 4), 1, True, (0, 4)),
        ((5, 4), 2, True, (5, 4)),
    ],
)
def test_what_is_shown_of_a_limited_query(counts: tuple[int, int], limit: int, gapped: bool, left: tuple[int, int]) -> None:
    rows = golden.rows("fly")
    shown = list(filters.shown([[rows.slice(0, counts[0])], [rows.slice(20, counts[1])]], limit, gapped=gapped))
    assert shown == [rows.slice(0, left[0]), rows.slice(20, left[1])]
