"""Counts what a search does besides searching: it does not grow with the number of its tasks times that of its slices."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from search_chaos import drive, simulate

from tidalign.pipeline.search import database, manifest
from tidalign.workflows.commands.index import index
from tidalign.workflows.run.search import run as searches


@pytest.fixture
def inputs(tmp_path: Path) -> list[str]:
    simulate(tmp_path, seed=3)
    return [str(tmp_path / name) for name in ("q.fa", "d.fa")]


def test_the_work_is_summed_once(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks for the work of each chunk as often as there are chunks, however often the total is asked for."""
    asked: list[tuple[int, int]] = []
    known, amount = searches.Searching.total, searches.Searching.amount

    def total(self: Any) -> float:
        calls: list[object] = []
        with mock.patch.object(searches.Searching, "amount", lambda _, piece: calls.append(piece) or amount(self, piece)):
            found = known(self)
        asked.append((len(calls), len(self.manifest.chunks)))
        return found

    monkeypatch.setattr(searches.Searching, "total", total)
    drive(str(tmp_path / "run"), *inputs)
    assert asked and {calls for calls, _ in asked} == {0} and asked[0][1] > 20


def test_of_an_index_a_task_reads_the_slices_that_it_wants(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with mock.patch.object(database, "SLICE_BYTES", 4_000):
        index(inputs[1], tmp_path / "d.tidx")
    drive(str(tmp_path / "run"), inputs[0], str(tmp_path / "d.tidx"))
    of = manifest.read_manifest(str(tmp_path / "run"))
    assert len(of.database.slices) > 2
    monkeypatch.setattr(database, "open_database", mock.Mock(side_effect=AssertionError("reads the lengths of all slices")))
    assert len(manifest.read_slices(str(tmp_path / "run"), of, [1])) == of.database.slices[1].sequences
