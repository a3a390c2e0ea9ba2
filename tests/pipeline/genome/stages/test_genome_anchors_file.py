"""Anchors on disk: LASTZ's order whatever is sorted at once, any slice of a file, files that do not count."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.kernels.anchors.points import lastz_order
from tidalign.pipeline.errors import CannotWrite, Damaged
from tidalign.pipeline.genome.stages import anchors_file
from tidalign.pipeline.schema import ANCHORS, HSPS


def random_anchors(random: np.random.Generator, count: int, kinds: int) -> Any:
    """Draw anchors of at most `kinds` scores, twice as many query places and as many target places: the fewer, the more ties."""
    return pa.table([random.integers(0, most, count) for most in (kinds, 2 * kinds, kinds)], schema=ANCHORS)


def pieces_of(anchors: Any, random: np.random.Generator) -> Iterator[Any]:
    """Cut tables of any length, empty ones too."""
    cuts = np.sort(random.integers(0, len(anchors) + 1, 5))
    for start, stop in zip([0, *cuts], [*cuts, len(anchors)], strict=True):
        yield anchors.slice(start, stop - start)


@settings(max_examples=60)
@given(
    seed=st.integers(0, 1 << 30),
    count=st.sampled_from([0, 1, 15, 16, 17, 31, 32, 33, 500, 2000]),
    kinds=st.sampled_from([1, 2, 5, 1000, 1 << 40]),
    shape=st.sampled_from([(16, 1), (16, 4), (16, 16), (17, 5), (100, 7), (1999, 10), (2000, 1000), (2001, 10)]),
    falling=st.booleans(),
)
def test_the_order_does_not_depend_on_what_is_sorted_at_once(
    tmp_path_factory: pytest.TempPathFactory, seed: int, count: int, kinds: int, shape: tuple[int, int], falling: bool
) -> None:
    random = np.random.default_rng(seed)
    anchors = random_anchors(random, count, kinds)
    order = lastz_order(*(anchors[name].to_numpy() for name in ("target", "query", "score")))
    expected = anchors.take(pa.array(order))
    given_ones = expected.take(pa.array(np.arange(count)[::-1])) if falling else anchors
    rows, stride = shape
    tables = list(anchors_file.in_lastz_order(pieces_of(given_ones, random), str(tmp_path_factory.getbasetemp()), rows, stride))
    assert pa.concat_tables(tables) == expected
    if kinds == 1 << 40:  # no two are equal
        assert max(len(table) for table in tables) <= rows + stride * -(-count // rows)


def test_nothing_is_left_of_what_was_sorted(tmp_path: Path) -> None:
    anchors = random_anchors(np.random.default_rng(1), 100, 10)
    for table in anchors_file.in_lastz_order(iter([anchors]), str(tmp_path), 10, 2):
        assert len(table)
        assert not list(tmp_path.iterdir())  # nor would be, were this the end of the process


@pytest.mark.parametrize("schema", [ANCHORS, HSPS])
def test_any_slice_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: Any) -> None:
    monkeypatch.setattr(anchors_file, "ROWS", 8)
    random = np.random.default_rng(2)
    path = str(tmp_path / "anchors")
    for count in (0, 1, 7, 8, 9, 64, 65):
        rows = pa.table([random.integers(0, 1 << 60, count) for _ in schema.names], schema=schema)
        beats: list[None] = []
        anchors_file.write_anchors(path, anchors_file.in_tables(pieces_of(rows, random), schema), schema, "run", lambda beats=beats: beats.append(None))
        assert len(beats) == -(-count // 8)
        assert anchors_file.count_anchors(path, "run") == count
        assert anchors_file.read_anchors(path) == rows
        for start, stop in np.sort(random.integers(0, count + 1, (20, 2)), axis=1).tolist():
            found = anchors_file.read_anchors(path, start, stop)
            assert found == rows.slice(start, stop - start)
            assert found.schema.metadata is None
            for values, name in zip(anchors_file.places(rows, start, stop), ("target", "query"), strict=True):
                assert values.tolist() == found[name].to_pylist()
                assert values.flags.writeable  # one type for what is compiled


def test_files_are_mapped_not_read(tmp_path: Path) -> None:
    path = str(tmp_path / "anchors")
    anchors = random_anchors(np.random.default_rng(3), 100_000, 1 << 40)
    anchors_file.write_anchors(path, iter([anchors]), ANCHORS, "run")
    before = pa.total_allocated_bytes()
    found = anchors_file.read_anchors(path)
    assert pa.total_allocated_bytes() - before < 10_000
    assert found == anchors


def test_files_that_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "anchors"
    assert anchors_file.count_anchors(str(path), "run") is None
    anchors_file.write_anchors(str(path), iter([random_anchors(np.random.default_rng(4), 10, 10)]), ANCHORS, "run")
    assert anchors_file.count_anchors(str(path), "run") == 10
    assert anchors_file.count_anchors(str(path), "another") is None
    whole = path.read_bytes()
    for cut in (b"", whole[:100], whole[:-1], b"PAR1" + whole[4:-4] + b"PAR1"):
        path.write_bytes(cut)
        with pytest.raises(Damaged, match="anchors: damaged or cut short"):
            anchors_file.read_anchors(str(path))
    path.unlink()
    assert anchors_file.count_anchors(str(path), "run") is None
    with pytest.raises(FileNotFoundError):
        anchors_file.read_anchors(str(tmp_path / "none"))


def test_what_was_not_finished_leaves_nothing(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def tables() -> Iterator[Any]:
        yield random_anchors(np.random.default_rng(5), 10, 10)
        raise Enough

    with pytest.raises(Enough):
        anchors_file.write_anchors(str(tmp_path / "anchors"), tables(), ANCHORS, "run")
    assert not list(tmp_path.iterdir())
    with pytest.raises(CannotWrite):
        anchors_file.write_anchors(str(tmp_path / "none" / "anchors"), iter([]), ANCHORS, "run")
