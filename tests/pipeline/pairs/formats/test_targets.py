"""Distinct targets against Python's dictionary; hashes tell names apart."""

import numpy as np
import pyarrow as pa
import pytest

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.formats import targets


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("merge", [1, 5, 1000])
def test_first_rows(make_run, row, monkeypatch, merge: int, threads: int) -> None:
    monkeypatch.setattr(targets, "cores", lambda: threads)
    monkeypatch.setattr(targets, "MERGE_ROWS", merge)
    names = [f"t{number}" for number in np.random.default_rng(merge).integers(0, 40, 100)]
    results = make_run([row("q", name, target_span=(0, 4, 4 + int(name[1:]))) for name in names], block=9)
    expected = [names.index(name) for name in dict.fromkeys(names)]
    found = targets.first_rows(results)
    assert found.tolist() == expected
    rows = [each for batch in targets.rows_at(results, found) for each in batch.to_pylist()]
    assert [(each["target_name"], each["ordinal"]) for each in rows] == list(zip(dict.fromkeys(names), expected, strict=True))


@pytest.mark.parametrize("merge", [1, 1000])
def test_two_lengths_far_apart(make_run, row, monkeypatch, merge: int) -> None:
    monkeypatch.setattr(targets, "MERGE_ROWS", merge)
    rows = [row("q", f"t{number}") for number in range(20)] + [row("q", "t3", target_span=(0, 4, 5))]
    with pytest.raises(InputError, match="4 and 5 for 't3' .records 4 and 21"):
        targets.first_rows(make_run(rows, block=2))


def test_no_rows(make_run) -> None:
    assert targets.first_rows(make_run([])).tolist() == []


def test_hashes_tell_names_apart() -> None:
    names = [letter * length for letter in "ab1" for length in range(1, 50)] + [f"chr{a}:{b}" for a in range(100) for b in range(100)] + ["ab", "ba", "é"]
    one, two = targets.hashes(pa.array(names))
    assert len(set(zip(one.tolist(), two.tolist(), strict=True))) == len(set(names)) == len(names)
    assert [word.tolist() for word in targets.hashes(pa.array(["a"]))] == [one[:1].tolist(), two[:1].tolist()]
    # The same name has the same hash wherever it stands, in a slice too.
    again = targets.hashes(pa.array(["long name before", *names]).slice(1))
    np.testing.assert_array_equal(again, (one, two))


@pytest.mark.parametrize("words", [1, 3, 1 << 40])
def test_rows_are_ordered_as_a_stable_sort_has_them(words: int) -> None:
    """Order names that are all equal, some of them, and hardly any."""
    random = np.random.default_rng(words)
    for rows in (0, 1, 2, 500):
        one, two = random.integers(0, words, (2, rows), np.uint64)
        np.testing.assert_array_equal(targets._order(one, two), np.lexsort((two, one)))
