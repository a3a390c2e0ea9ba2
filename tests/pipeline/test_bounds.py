"""Rows of any size: limits of bytes that are met a thousand times over on small data change no byte of what comes out, and no table is above them."""

import gzip
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.kernels.pairwise import wavefront
from tidalign.pipeline import text
from tidalign.pipeline.errors import DiskFull
from tidalign.pipeline.formats import bgzf
from tidalign.pipeline.formats import table as formats
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.stages import independent
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input import index
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import EXTENDED
from tidalign.pipeline.store import files, sorted_runs
from tidalign.workflows.commands.demo import DATA
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.run.pairs.run import run_pairs
from tidalign.workflows.table import align

LOW = {"TABLE_BYTES": 1 << 13, "BATCH_BYTES": 1 << 10, "PIECE_BYTES": 1 << 7}


def rows(sizes: list[int], ends: list[int] | None = None) -> Any:
    """Make rows of EXTENDED whose CIGARs have so many bytes."""
    names = {"target_name": "t", "query_name": "q", "strand": "+", "status": "exact", "reason": None, "job": 0}
    places = ends or list(range(len(sizes)))
    columns = {"cigar": ["1=" * (size // 2) for size in sizes], "anchor": list(range(len(sizes)))}
    return pa.table([columns.get(field.name, [names[field.name]] * len(sizes) if field.name in names else places) for field in EXTENDED], schema=EXTENDED)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 3000), max_size=40), st.lists(st.integers(0, 40), max_size=5), st.integers(1, 5000))
def test_tables_are_cut_by_bytes_wherever_they_were_cut_before(sizes: list[int], places: list[int], most: int) -> None:
    whole = rows(sizes)
    edges = [0, *sorted(min(place, len(sizes)) for place in places), len(sizes)]
    found = list(text.in_batches((whole.slice(a, b - a) for a, b in zip(edges, edges[1:], strict=False)), most))
    assert pa.concat_tables([whole.schema.empty_table(), *found]).combine_chunks() == whole.combine_chunks()
    assert all(len(each) == 1 or text.row_bytes(each).sum() <= most for each in found)
    assert [len(each) for each in found] == [len(each) for each in text.in_batches([whole], most)]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3000)), max_size=60), st.integers(2, 4))
def test_sorted_runs_are_merged_as_all_rows_are_sorted(given: list[tuple[int, int]], most: int) -> None:
    """Also with more runs than are merged at a time. Of equal ends the first anchor's row is left."""
    table = rows([size for _, size in given], [end for end, _ in given])
    expected = table.sort_by([(name, "ascending") for name in (*independent.ENDS, "anchor")])
    seen = expected["target_start"].to_numpy()
    expected = expected.filter(pa.array(np.diff(seen, prepend=-1) != 0)) if len(seen) else expected
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(text, BATCH_BYTES=3000, PIECE_BYTES=1000),
        mock.patch.object(sorted_runs, "MERGED_RUNS", most),
    ):
        found = list(independent.in_order(iter([table]), folder))
    assert pa.concat_tables([table.schema.empty_table(), *found]).combine_chunks() == expected.combine_chunks()


def test_columns_of_strings_are_cut_before_their_offsets_end(monkeypatch: pytest.MonkeyPatch) -> None:
    words = pa.array(["", "1=", "12=3X", "", "7="], pa.large_string())
    monkeypatch.setattr(text, "TABLE_BYTES", 5)
    for array in (words, words.slice(1, 3), words.slice(0, 0)):
        found = text.narrow(array)
        assert found.type == pa.string() and found.to_pylist() == array.to_pylist()
        assert all(pa.compute.sum(pa.compute.binary_length(chunk)).as_py() <= 5 for chunk in found.chunks)
    monkeypatch.setattr(text, "MAX_TEXT_BYTES", 4)
    with pytest.raises(MemoryError, match="a text of 5 bytes in one row, of at most 4"):
        text.narrow(words)


def test_errors_of_who_makes_rows_are_not_called_errors_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BATCH_BYTES", 1000)

    def made(error: Exception | None) -> Iterator[Any]:
        yield from [rows([900]), rows([900]), rows([900])]
        if error:
            raise error

    with pytest.raises(FileNotFoundError, match="an input"):
        files.write_tables(str(tmp_path / "x"), EXTENDED, made(FileNotFoundError("an input")), dict)
    assert list(tmp_path.iterdir()) == []
    files.write_tables(str(tmp_path / "x"), EXTENDED, made(None), lambda: {"a": "b"})
    assert pq.read_metadata(tmp_path / "x").num_row_groups == 3 and pq.read_metadata(tmp_path / "x").metadata[b"a"] == b"b"
    with monkeypatch.context() as patch, pytest.raises(DiskFull):
        patch.setattr(pq.ParquetWriter, "write_table", mock.Mock(side_effect=OSError(28, "No space left on device")))
        files.write_tables(str(tmp_path / "y"), EXTENDED, made(None), dict)


# ---- whole runs


def exported(results: Any, folder: Path) -> dict[str, Any]:
    """Export in each format: its bytes; of Parquet its rows."""
    found: dict[str, Any] = {"table": results.to_table().combine_chunks()}
    for format in formats.formats(results.kind):
        results.export(folder / "out", format=format.name) if format.name != "segments" else None
        found[format.name] = pq.read_table(folder / "out").combine_chunks() if format.name == "parquet" else (folder / "out").read_bytes()
    return found


@pytest.fixture(scope="module")
def flies(tmp_path_factory: pytest.TempPathFactory) -> GenomeSource:
    folder = tmp_path_factory.mktemp("flies")
    for name in ("fly_melanogaster", "fly_pseudoobscura"):
        (folder / f"{name}.fa").write_bytes(gzip.decompress((DATA / f"{name}.fa.gz").read_bytes()))
    return GenomeSource((Pair("pair", f"{folder}/fly_melanogaster.fa", f"{folder}/fly_pseudoobscura.fa"),))


@pytest.mark.parametrize(
    "change",
    [
        {"mode": "independent", "gfextend": False, "step": 10},
        {},
        {"gapped": False, "chain": (0, 0), "filters": (("identity", 60.0, 100.0),), "hspthresh": 2000},
        {"query_hsp_limit": 20, "query_hsp_keep": True},
    ],
    ids=["independent", "exact", "nogapped", "limited"],
)
def test_genomes_give_the_same_within_any_limits(tmp_path: Path, flies: GenomeSource, change: dict[str, Any]) -> None:
    found = {}
    largest = 0
    real = files.write_tables

    def watched(path: str, schema: Any, tables: Any, metadata: Any, **named: Any) -> None:
        def each() -> Iterator[Any]:
            nonlocal largest
            for table in tables:
                if len(table) > 1:
                    largest = max(largest, int(text.row_bytes(table).sum()))
                yield table

        real(path, schema, each(), metadata, **named)

    for name, limits, seconds in (("high", {}, 1e9), ("low", LOW, 1e9), ("stages", LOW, 0.0)):
        with mock.patch.multiple(text, **{key: limits.get(key, getattr(text, key)) for key in LOW}), mock.patch.object(plan, "TILE_SECONDS", seconds):
            with mock.patch("tidalign.pipeline.store.parts.write_tables", watched):
                run_genomes(tmp_path / name, flies, GenomeParameters(**change))
            found[name] = exported(GenomeResults(tmp_path / name), tmp_path)
            if limits:
                assert largest <= 2 * LOW["TABLE_BYTES"]
                groups = [pq.read_metadata(path).num_row_groups for path in (tmp_path / name / "parts").iterdir()]
                assert max(groups) > 1
                assert all(len(batch) == 1 or batch.nbytes <= 2 * LOW["BATCH_BYTES"] for batch in GenomeResults(tmp_path / name).to_batches())
            largest = 0
    assert found["low"] == found["high"] == found["stages"]
    assert len(found["high"]["table"]) > 2


def test_pairs_give_the_same_within_any_limits(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    for side in ("query", "target"):
        generator = np.random.default_rng(3)
        lines = []
        for i in range(300):
            letters = generator.choice(np.frombuffer(b"ACGT", np.uint8), int(generator.integers(1, 900)))
            if side == "target":
                letters = np.where(np.arange(len(letters)) % 7 == 3, np.uint8(ord("A")), letters)
            lines.append(b">p%d\n%s\n" % (i, letters.tobytes()))
        (tmp_path / f"{side}.fa").write_bytes(b"".join(lines))
    found = {}
    for name, limits in (("high", {}), ("low", LOW)):
        with mock.patch.multiple(text, **{key: limits.get(key, getattr(text, key)) for key in LOW}):
            run_pairs(tmp_path / name, inspect(str(tmp_path / "query.fa"), str(tmp_path / "target.fa")), PairParameters())
            found[name] = exported(Results(tmp_path / name), tmp_path)
            if limits:
                assert max(pq.read_metadata(path).num_row_groups for path in (tmp_path / name / "parts").iterdir()) > 1
                assert len(list(Results(tmp_path / name).to_batches())) > 3
    assert found["low"] == found["high"]


def test_a_sequence_whose_operations_no_word_holds_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 2^28 letters would be cut to 0 in its word."""
    assert wavefront.MAX_LETTERS << 4 < 1 << 32
    monkeypatch.setattr(wavefront, "MAX_LETTERS", 3)
    assert align(["ACG"], [""])["cigar"].to_pylist() == ["3I"]
    with pytest.raises(MemoryError, match="a sequence of 4 letters: pairs have at most 3 on a side"):
        align(["AC"], ["ACGT"])


@pytest.mark.parametrize("kind", ["fastq", "gzip", "bgzip", "seq", "parquet"])
def test_letters_in_any_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Letters are read in other pieces than the blocks of a run: the borders of both lie anywhere."""
    generator = np.random.default_rng(5)
    pairs = [tuple("".join(generator.choice(list("ACGTNacgt"), int(size))) for size in generator.integers(1, 90, 2)) for _ in range(60)]
    quality = ["".join(chr(33 + (number + place) % 90) for place in range(len(query))) for number, (query, _) in enumerate(pairs)]
    paths = [str(tmp_path / "q"), str(tmp_path / "t")]
    reads = "".join(f"@q{number}\n{query}\n+\n{quality[number]}\n" for number, (query, _) in enumerate(pairs)).encode()
    (tmp_path / "t").write_text("".join(f">t{number}\n{target}\n" for number, (_, target) in enumerate(pairs)))
    if kind == "bgzip":
        reads = b"".join(bgzf.block(reads[start : start + 500]) for start in range(0, len(reads), 500)) + b"".join(bgzf.ended(b""))
    (tmp_path / "q").write_bytes(gzip.compress(reads) if kind == "gzip" else reads)
    if kind == "seq":
        (tmp_path / "q").write_text("".join(f">{query}\n<{target}\n" for query, target in pairs))
    if kind == "parquet":
        pq.write_table(pa.table({"query": [query for query, _ in pairs], "target": [target for _, target in pairs]}), tmp_path / "q", row_group_size=13)
    bare = kind in ("seq", "parquet")
    monkeypatch.setattr(index, "BLOCK_PAIRS", 7)
    monkeypatch.setattr(index, "CELL_BYTES", 256)
    run_pairs(tmp_path / "run", inspect(*paths[: 1 if bare else 2]), PairParameters())
    results = Results(tmp_path / "run")
    written = set()
    for most, letters in ((7, 1 << 20), (5, 1 << 20), (1 << 20, 1 << 20), (1 << 20, 300), (1 << 20, 1)):
        monkeypatch.setattr(index, "BLOCK_PAIRS", most)
        monkeypatch.setattr("tidalign.pipeline.pairs.results.LETTERS", letters)
        results.export(tmp_path / "out.sam")
        written.add((tmp_path / "out.sam").read_text())
    assert len(written) == 1
    found = [line.split("\t")[9:11] for line in written.pop().splitlines() if line[0] != "@"]
    assert found == [[query, "*" if bare else quality[number]] for number, (query, _) in enumerate(pairs)]
