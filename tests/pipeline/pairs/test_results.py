"""Results come back in input order, whole, or not at all."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidalign.pipeline.errors import ManifestMismatch, MissingInput
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.export import export
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store import layout, parts, rundir
from tidalign.pipeline.store.results import Reader, RunResults


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


@pytest.mark.parametrize("gone", [False, True])
def test_a_run_that_is_made_anew_meanwhile_is_not_mixed(gone: bool, make_run, row) -> None:
    results = make_run([row() for _ in range(9)])
    given = results.to_batches()
    next(given)
    for path in (results.path / "parts").iterdir():
        path.unlink()
    if not gone:
        rundir.empty(str(results.path), layout.PAIRS)
        make_run([row() for _ in range(9)], PairParameters(penalties="edit"))
    with pytest.raises(ManifestMismatch, match="a part of the run that is read, which has changed meanwhile; read it again"):
        next(given)
    with pytest.raises(ManifestMismatch, match="changed meanwhile"):
        next(results.sampled(["ordinal"], 5))
    assert gone or len(Results(results.path).to_table()) == 9


def test_not_a_run_directory(tmp_path: Path) -> None:
    with pytest.raises(MissingInput, match=r"a folder without plan\.json"):
        Results(tmp_path)
    with pytest.raises(MissingInput, match=r"no such folder"):
        Results(tmp_path / "none")


# ---- a kind of run is a description


HITS = pa.schema([("name", pa.string()), ("score", pa.int64()), ("status", pa.string())])
SEARCH = layout.Layout("search", {"parts": ""}, {"parts": HITS})


@dataclass(frozen=True, slots=True)
class SearchManifest(rundir.Manifest):
    best: int

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        return cls(values["run"], values["parameters"], values["source"], values["chunks"], values["search"]["best"])


class SearchResults(RunResults[SearchManifest]):
    layout, manifest_type, counted, cigars, placed = SEARCH, SearchManifest, "queries", True, True
    parameters: dict[str, Any] = {}

    def _readers(self, columns: list[str]) -> Iterator[Reader]:
        for chunk in self._manifest.chunks:
            for part in self._parts[chunk]:
                yield partial(parts.read_tables, part.path, pa.schema([HITS.field(name) for name in columns]))


def test_a_third_kind_of_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(layout._LAYOUTS, "search", SEARCH)
    monkeypatch.setattr(table, "FORMATS", tuple(replace(format, kinds=("search",)) for format in table.FORMATS if format.name == "parquet"))
    run = str(tmp_path / "run")
    rundir.create(run, {}, {"queries": "q.fa"}, SEARCH)
    with pytest.raises(MissingInput, match="stopped before its input was read"):
        SearchResults(run)
    said = rundir.write_manifest(run, SearchManifest, {"b": 3, "a": 1}, {"best": 5})
    assert said.best == 5
    for chunk, start, scores in (("a", 0, [9]), ("b", 2, [6]), ("b", 0, [7, 8])):
        rows = pa.table({"name": [chunk] * len(scores), "score": scores, "status": ["exact"] * len(scores)}, schema=HITS)
        parts.write_part(f"{run}/parts", said.run, chunk, start, start + len(scores), HITS, [rows])
    rundir.finish(run, {"run": said.run}, partial=False)
    results = SearchResults(run)
    assert results.to_table(["score"])["score"].to_pylist() == [7, 8, 6, 9]
    assert (len(results), results.statuses()["exact"], results.source) == (4, 4, {"queries": "q.fa"})
    assert export(results, str(tmp_path / "out.parquet")) == 4
    assert pq.read_table(tmp_path / "out.parquet").equals(results.to_table())
    Path(parts.part_path(f"{run}/parts", "b", 2, 3)).unlink()
    with pytest.raises(MissingInput, match="whole parts for 2 of the 3 queries of chunk b;"):
        SearchResults(run).statuses()
