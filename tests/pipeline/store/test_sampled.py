"""Some rows of a finished run: bounded, from everywhere, and those that are not whole."""

from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from tidalign.pipeline.store.results import evenly
from tidalign.workflows.report.rows import gather


def test_a_sample_is_bounded_and_even(make_run: Any, row: Any) -> None:
    results = make_run([row(f"q{i}", query_span=(0, 4, i + 4)) for i in range(400)])
    some = gather(results, 100)
    assert 80 <= some.seen <= 120 and some.all == 400
    assert abs(float(some.measures["query_length"].mean()) - 203.5) < 20
    assert gather(results).seen == 400


@pytest.mark.parametrize(("sizes", "most"), [([10] * 100, 100), ([1000], 10), ([5, 0, 7], 100), ([1, 500, 1, 1], 10), ([], 5)])
def test_pieces_are_chosen_evenly(sizes: list[int], most: int) -> None:
    chosen = [rows for _, rows in evenly([(i, rows) for i, rows in enumerate(sizes)], most)]
    assert sum(chosen) <= max(most + max(sizes, default=0), 0)
    assert bool(sum(chosen)) == bool(sum(sizes)) and (sum(sizes) > most or chosen == sizes)


def test_reasons_are_counted(make_run: Any, row: Any, rejected: Any) -> None:
    rows = [row("a"), rejected("b"), rejected("c"), row("d", status="capped", reason="more than 9 letters")]
    assert gather(make_run(rows)).reasons == {("rejected", "killed by signal 9"): 2, ("capped", "more than 9 letters"): 1}


def test_results_say_what_they_are(make_run: Any, row: Any, rejected: Any) -> None:
    results = make_run([row("a"), row("b"), rejected("c")])
    assert repr(results) == f"<Results of tidalign pairs in '{results.path}': 3 rows>"
    assert "<td>exact</td><td style='text-align:right'>2</td>" in results._repr_html_()


def test_results_of_a_run_that_is_not_over_say_so(make_run: Any, row: Any) -> None:
    results = make_run([row("a")], finish=False)
    assert repr(results).endswith(": not finished>") and "not finished" in results._repr_html_()


def test_a_notebook_shows_identities(make_run: Any, row: Any) -> None:
    """A bar for each of the two, and what it stands for."""
    shown = make_run([row("a"), row("b"), row("c", cigar="3=1X")])._repr_html_()
    svg = ElementTree.fromstring(shown[shown.index("<svg") :])
    titles = [title.text for title in svg.iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ["0.750 or more: 1", "0.994 or more: 2"]


def test_a_notebook_shows_no_identities_where_there_are_none(make_run: Any, rejected: Any) -> None:
    assert "<svg" not in make_run([rejected("a")])._repr_html_()


def test_results_go_where_data_frames_are(make_run: Any, row: Any, rejected: Any) -> None:
    results = make_run([row(f"q{i}", penalty=i) for i in range(9)] + [rejected("bad")])
    wanted = results.to_table()
    assert pa.table(results) == wanted  # by Arrow's stream
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = results.to_pandas(["query_name", "penalty"])
    assert isinstance(frame, pandas.DataFrame) and list(frame["query_name"]) == wanted["query_name"].to_pylist()
    assert list(frame["penalty"][:9]) == list(range(9)) and frame["penalty"].isna()[9]
    for frame in (results.to_polars(), polars.DataFrame(results)):
        assert frame.to_dicts() == wanted.to_pylist()
