"""Count what an estimate counts of searches: all cells, less those of pairs of DNA that are left out."""

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from scored_cases import mutated

from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.search import records
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.workflows.commands.index import index
from tidalign.workflows.estimate import head, search


def test_a_search_of_relatives_makes_few_of_its_cells() -> None:
    """All cells of sequences that have nothing in common, or of too few letters to count words; a part of those of relatives, a query's best among them."""
    chance = random.Random(5)
    families = ["".join(chance.choices("ACGT", k=600)) for _ in range(40)]
    relatives = ["".join(mutated(chance, family, "ACGT")) if number % 4 else family for family in families for number in range(40)]
    chance.shuffle(relatives)
    queries, database = (
        pa.array([family.encode() for family in families], pa.large_binary()),
        pa.array([each.encode() for each in relatives], pa.large_binary()),
    )
    parameters, letters = SearchParameters(top=5), float(sum(map(len, relatives)))
    few = search.made(queries, database, len(relatives), letters, parameters)
    assert 24 / 600 <= few < 0.3
    assert few < search.made(queries, database, len(relatives), letters, SearchParameters(top=40)) < 1.0, "the last is a mutated one"
    strangers = pa.array(["".join(chance.choices("ACGT", k=600)).encode() for _ in range(40)], pa.large_binary())
    assert search.made(strangers, database, len(relatives), letters, parameters) > 0.9
    assert search.made(queries, database, len(relatives), letters, SearchParameters("match:1,mismatch:-4,n:-1,gap:6,1")) == 1.0
    assert search.made(queries, database, len(relatives), 1000.0, parameters) == 1.0 == search.made(queries.slice(0, 0), database, 1.0, 1.0, parameters)


def test_an_index_is_as_the_file_that_it_was_made_of(tmp_path: Path) -> None:
    chance = random.Random(6)
    for name, count in (("queries", 40), ("database", 300)):
        (tmp_path / f"{name}.fa").write_text("".join(f">{number}\n{''.join(chance.choices('ACGT', k=700))}\n" for number in range(count)))
    queries, database = (str(tmp_path / f"{name}.fa") for name in ("queries", "database"))
    index(database, tmp_path / "database.tidx")
    found = [
        search.forecast(records.inspect(queries, "queries"), records.inspect(str(path), "database"), SearchParameters())
        for path in (database, tmp_path / "database.tidx")
    ]
    assert found[1].what == pytest.approx(found[0].what, rel=0.02) and found[1].work == pytest.approx(found[0].work, rel=0.02)
    assert found[1].what["sequences"] == 300 and found[1].what["letters"] == pytest.approx(340 * 700, rel=0.02)


def test_batches_of_an_arrow_file(tmp_path: Path) -> None:
    """The first may be empty, and all rows are counted."""
    for names, place in ((("sequence",), "one"), (("query", "target"), "pairs")):
        table = pa.table({name: ["ACGTACGTAC"] * 300 for name in names})
        with pa.ipc.new_file(str(tmp_path / place), table.schema) as file:
            for batch in table.to_batches(max_chunksize=100):
                file.write_batch(batch)
        with pa.ipc.new_file(str(tmp_path / f"late_{place}"), table.schema) as file:
            for rows in (0, 0, 200, 0, 100):
                file.write_batch(pa.record_batch([pa.array(["ACGTACGTAC"] * rows, pa.string())] * len(names), schema=table.schema))
    for place in ("one", "late_one"):
        side = records.inspect(str(tmp_path / place), "database")
        assert head.records(side, "dna")[:2] == (300.0, 3000.0)
        assert search.forecast(side, side, SearchParameters(top=10**6)).what["sequences"] == 300.0
    for place in ("pairs", "late_pairs"):
        found = head.head(inspect(str(tmp_path / place)), "mismatch", plain=False)
        assert found.pairs == 300.0 and len(found.chunk) >= 100 and not found.whole
    empty = pa.table({name: pa.array([], pa.string()) for name in ("query", "target")})
    with pa.ipc.new_file(str(tmp_path / "none"), empty.schema):
        pass
    assert head.head(inspect(str(tmp_path / "none"), allow_empty=True), "mismatch", plain=False).pairs == 0


def test_no_more_hits_are_expected_than_there_can_be() -> None:
    counts = [search.counted(SearchParameters(top=top), 10, 1000, 50, 5000)[1]["query"] for top in (100, 10**6, 7)]
    assert counts == [100_000, 100_000, 7_000]


def test_what_every_command_has_stands_behind_estimate_too(tmp_path: Path, command: Any) -> None:
    (tmp_path / "a.fa").write_text(">a\nACGTACGTAC\n")
    words = ["search", tmp_path / "a.fa", tmp_path / "a.fa", "-o", tmp_path / "x.m8"]
    for before in (["--quiet"], ["--debug"], ["--json", "--quiet"], ["--quiet", "--json", "--debug"]):
        done = command("estimate", *before, *words)
        assert done.returncode == 0 and "sequences" in done.stdout and not done.stderr
    with pytest.raises(SystemExit):
        command("estimate", "--quick", *words)
