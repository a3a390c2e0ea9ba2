"""Runs of searches against one plain call: any workers, any slices, any death, any second try; and what is refused, in a line."""

import gzip
import json
import os
import shutil
import threading
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import search_chaos
from search_chaos import drive, expected, simulate

import tidalign
from tidalign.cluster.task import cores
from tidalign.pipeline.device import GPU
from tidalign.pipeline.errors import Damaged, InputError, ManifestMismatch, MissingInput
from tidalign.pipeline.files.sniff import sniff
from tidalign.pipeline.search import database, forms, manifest
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.store import rundir
from tidalign.workflows.cli import main
from tidalign.workflows.commands.index import index
from tidalign.workflows.run.devices import Gpus
from tidalign.workflows.run.search import run as searches
from tidalign.workflows.run.search.tasks import search_ranges
from tidalign.workflows.status import Exit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[Any, Any]]:
    folder = tmp_path_factory.mktemp("search")
    return folder, simulate(folder, seed=3)


@pytest.fixture
def inputs(made: Any) -> list[str]:
    return [str(made[0] / name) for name in ("q.fa", "d.fa")]


@pytest.fixture(scope="module")
def answer(made: Any) -> Any:
    return expected(made[1])


def report(directory: Path) -> dict[str, Any]:
    return rundir.read_report(str(directory))


# ---- the same answer


def test_in_this_process(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    told: list[tuple[str, int, int | None]] = []
    results = drive(str(tmp_path), *inputs, progress=lambda *step: told.append(step))
    assert results.to_table().equals(answer) and set(answer["strand"].to_pylist()) == {"+", "-"}
    assert len(list((tmp_path / "parts").iterdir())) > 20 and rundir.finished(str(tmp_path)) == "SUCCESS"
    said = report(tmp_path)
    assert said["queries"] == search_chaos.QUERIES and said["sequences"] == search_chaos.TARGETS and said["statuses"] == {"exact": len(answer)}
    assert said["without_hits"] == results.without_hits == search_chaos.QUERIES - len(set(answer["ordinal"].to_pylist())) >= 2
    assert said["cells"] == 2 * said["query_letters"] * said["letters"]
    steps = [step for step in told if step[0] == "search"]
    assert steps == sorted(steps, key=lambda step: step[1]) and steps[-1][1] == steps[-1][2]
    assert {stage for stage, *_ in told} == {"database", "queries", "search", "work"}


@pytest.mark.skipif(cores() < 2, reason="one core")
def test_in_this_process_threads_search_at_once(tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two tasks waits until another has begun."""
    together, begun, seen = threading.Barrier(2, timeout=600), count(), []

    def search(*arguments: Any) -> float:
        if next(begun) < 2:
            seen.append(threading.get_ident())
            together.wait()
        return search_ranges(*arguments)

    monkeypatch.setattr(searches, "search_ranges", search)
    assert drive(str(tmp_path), *inputs).to_table().equals(answer)
    assert len(set(seen)) == 2 and report(tmp_path)["workers"] == 0


def test_slices_are_loaded_once(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Search all that is to be searched in one, then all in the next."""
    seen: list[tuple[int, int]] = []

    def search(*arguments: Any) -> float:
        (piece,) = arguments[2]
        seen.append((int(piece.chunk.rpartition("-d")[2]), piece.stop - piece.start))
        return search_ranges(*arguments)

    monkeypatch.setenv("TIDALIGN_CORES", "1")
    monkeypatch.setattr(searches, "search_ranges", search)
    drive(str(tmp_path), *inputs)
    numbers = [number for number, _ in seen]
    assert len(seen) > len(set(numbers)) > 2 and numbers == sorted(numbers)


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_workers_are_hired_for_what_threads_would_be_at_for_long(seconds: float, tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_CORES", "2")
    monkeypatch.setattr(searches.Search, "small", lambda self: 2 * seconds)
    drive(str(tmp_path), *inputs)
    assert report(tmp_path)["workers"] == (0 if seconds else cores())


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers(workers: int, tmp_path: Path, inputs: list[str], answer: Any) -> None:
    results = drive(str(tmp_path), *inputs, workers=workers)
    assert results.to_table().equals(answer) and report(tmp_path)["workers"] == workers


@pytest.mark.parametrize(("gpus", "most"), [(1, 4e7), (2, 2e7), (3, 1e7), (4, 5e6)])
def test_gpus_have_as_many_tasks_of_as_much(gpus: int, most: float, tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges that end where chunks do share a task with those that follow."""
    tasks: list[float] = []

    def ranges(directory: str, run: str, pieces: Any, device: str) -> float:
        tasks.append(sum(map(trackers[0].amount, pieces)))
        return search_ranges(directory, run, pieces, "cpu")

    def tracker(_: Any, directory: str, manifest: Any, stop: Any, told: Any, given: Any) -> Any:
        trackers.append(searches.Searching(directory, manifest, stop, told, GPU, gpus=gpus))
        return trackers[0]

    trackers: list[Any] = []
    monkeypatch.setitem(forms.FORMS, "gpu", replace(forms.FORMS["cpu"], cells=dict.fromkeys(("dna", "protein"), most)))
    monkeypatch.setattr(searches, "GPU_CELLS", 1.0)
    monkeypatch.setattr(searches, "search_ranges", ranges)
    monkeypatch.setattr(searches.Search, "tracker", tracker)
    assert drive(str(tmp_path), *inputs).to_table().equals(answer)
    assert max(tasks) <= most and sum(tasks) == pytest.approx(trackers[0].total())
    assert len(tasks) % gpus == 0 and sorted(tasks)[len(tasks) // 3] > 0.75 * max(tasks), "less than that where a slice ends"


@pytest.mark.parametrize("most", [1.0, 3e6, 2e7, 1e12], ids=["a query", "some of a chunk", "some chunks", "all slices"])
def test_ranges_and_slices_that_share_a_task(most: float, tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, here on a core: of several slices only the best of all are kept, and a core can do what is left."""
    calls: list[int] = []

    def ranges(directory: str, run: str, pieces: Any, device: str) -> float:
        calls.append(len(pieces))
        return search_ranges(directory, run, pieces, "cpu")

    monkeypatch.setitem(forms.FORMS, "gpu", replace(forms.FORMS["cpu"], cells=dict.fromkeys(("dna", "protein"), most)))
    monkeypatch.setitem(forms.FORMS, "cpu", replace(forms.FORMS["cpu"], cells=dict.fromkeys(("dna", "protein"), most)))
    monkeypatch.setattr(searches, "GROUPS", 2)
    monkeypatch.setattr(searches, "search_ranges", ranges)
    monkeypatch.setattr(searches.Search, "tracker", lambda _, directory, manifest, stop, told, gpus: searches.Searching(directory, manifest, stop, told, GPU))
    monkeypatch.setattr(searches, "GPU_CELLS", most)
    assert drive(str(tmp_path), *inputs).to_table().equals(answer)
    parts = sorted((tmp_path / "parts").iterdir())
    assert sum(calls) == len(parts) and (max(calls) > 1 or most < 2e7) and (len(calls) == 1 or most < 1e12)
    monkeypatch.undo()
    for path in [*parts[::3], tmp_path / "SUCCESS"]:
        path.unlink()
    assert drive(str(tmp_path), *inputs).to_table().equals(answer)


def test_slices_do_not_show(tmp_path: Path, inputs: list[str], made: Any) -> None:
    """Also with more hits than a slice has, and with other spans and reports."""
    for number, options in enumerate(
        ({"top": 45, "min_score": 1}, {"span": "query", "min_score": -60}, {"report": "score"}, {"report": "ends", "strand": "plus"})
    ):
        assert drive(str(tmp_path / str(number)), *inputs, **options).to_table().equals(expected(made[1], **options)), options


def test_exports_are_the_same_bytes(tmp_path: Path, inputs: list[str]) -> None:
    texts = []
    for number, run in enumerate((drive(str(tmp_path / "a"), *inputs, workers=2), drive(str(tmp_path / "b"), *inputs))):
        for ending in ("m8", "paf", "sam", "tsv", "parquet"):
            run.export(tmp_path / f"{number}.{ending}")
        texts.append([(tmp_path / f"{number}.{ending}").read_bytes() for ending in ("m8", "paf", "sam", "tsv", "parquet")])
    assert texts[0] == texts[1]


def test_other_files_of_the_same_sequences(tmp_path: Path, inputs: list[str], made: Any, answer: Any) -> None:
    """FASTQ, gzip, Parquet, an index: the same rows."""
    queries, targets = made[1]
    fastq = "".join(f"@{row['name']} x\n{row['sequence']}\n+\n{'I' * len(row['sequence'])}\n" for row in queries.to_pylist())
    (tmp_path / "q.fq.gz").write_bytes(gzip.compress(fastq.encode()))
    pq.write_table(targets, tmp_path / "d.parquet", row_group_size=9)
    index(inputs[1], tmp_path / "d.tidx")
    for number, sides in enumerate((("q.fq.gz", inputs[1]), (inputs[0], "d.parquet"), ("q.fq.gz", "d.tidx"))):
        assert drive(str(tmp_path / str(number)), *(str(tmp_path / side) for side in sides)).to_table().equals(answer)
    assert not (tmp_path / "2" / "database" / "sequences.parquet").exists()


# ---- again


def test_a_finished_run_is_not_done_again(tmp_path: Path, inputs: list[str]) -> None:
    drive(str(tmp_path / "run"), *inputs)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    drive(str(tmp_path / "run"), *inputs, workers=2)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == times
    copies = [str(shutil.copy(path, tmp_path)) for path in inputs]
    drive(str(tmp_path / "gone"), *copies)
    for path in copies:
        Path(path).unlink()
    assert len(drive(str(tmp_path / "gone"), *copies))


def test_what_is_missing_or_damaged_is_made_again(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    drive(str(tmp_path), *inputs)
    parts = sorted(tmp_path.glob("parts/*"))
    parts[0].unlink()
    parts[1].write_bytes(parts[1].read_bytes()[:-20])
    shutil.copyfile(parts[3], parts[2])
    for name in ("database/sequences.parquet", "queries/q00003.parquet"):
        data = bytearray((tmp_path / name).read_bytes())
        data[len(data) // 2] ^= 1
        (tmp_path / name).write_bytes(data)
    (tmp_path / "manifest.json").unlink()
    assert drive(str(tmp_path), *inputs).to_table().equals(answer)
    assert main(["check", str(tmp_path)]) == 0


@pytest.mark.parametrize("name", ["database/sequences.parquet", "queries/q00000.parquet"])
def test_damage_that_a_task_meets(tmp_path: Path, name: str, inputs: list[str], answer: Any) -> None:
    drive(str(tmp_path), *inputs)
    (tmp_path / "SUCCESS").unlink()
    next(tmp_path.glob("parts/q00000-d00000*")).unlink()
    data = bytearray((tmp_path / name).read_bytes())
    data[len(data) // 3] ^= 1
    (tmp_path / name).write_bytes(data)
    assert drive(str(tmp_path), *inputs).to_table().equals(answer)
    assert "removed" in (tmp_path / "journal.jsonl").read_text()


def test_other_parameters_and_inputs_are_refused(tmp_path: Path, inputs: list[str]) -> None:
    drive(str(tmp_path), *inputs)
    with pytest.raises(ManifestMismatch, match=r"begun with top 3, now 4"):
        drive(str(tmp_path), *inputs, top=4)
    with pytest.raises(ManifestMismatch, match=r"begun with queries"):
        drive(str(tmp_path), inputs[1], inputs[1])
    with pytest.raises(MissingInput, match=r"expected a run of `tidalign pairs`, found one of `tidalign search`"):
        tidalign.Results(tmp_path)


@pytest.mark.slow
def test_a_poisoned_query_is_rejected_and_all_others_searched(tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_TEST_POISON", "20")
    results = drive(str(tmp_path), *inputs, workers=2)
    rows, wanted = results.to_table().to_pylist(), answer.to_pylist()
    assert [row for row in rows if row["ordinal"] != 20] == [row for row in wanted if row["ordinal"] != 20]
    said = [row for row in rows if row["ordinal"] == 20]
    assert [row["status"] for row in said] == ["rejected"] and len(tidalign.SearchResults(tmp_path)._manifest.database.slices) > 1
    assert "ended its process with SIGKILL, against sequences 1 to" in said[0]["reason"] and said[0]["rank"] is None
    assert rundir.finished(str(tmp_path)) == "PARTIAL"
    for ending, text in (("m8", "# q20 rejected: "), ("paf", "\t*\t*\t0\t0\t0\t0\t0\t0\tst:Z:rejected"), ("tsv", "rejected"), ("sam", "q20\t4\t")):
        results.export(tmp_path.parent / f"poisoned.{ending}")
        assert text in (tmp_path.parent / f"poisoned.{ending}").read_text()


@pytest.mark.slow
def test_kills(tmp_path: Path) -> None:
    happened = search_chaos.chaos(tmp_path, kills=6, slow=0.8, seed=5)
    assert happened["status"] == 0 and happened["equal"] and happened["rejected"] == 0 and happened["kills"] >= 4, happened


# ---- what is refused


@pytest.mark.parametrize(
    ("queries", "targets", "words", "status", "said"),
    [
        (">q\nACGT\n", "", [], Exit.BAD_INPUT, "d.fa: expected a database of one letter at least, found none; name a file with sequences"),
        (">q\nACGT\n", ">d\n\n>e\n", [], Exit.BAD_INPUT, "d.fa: expected a database of one letter at least, found none"),
        ("", ">d\nACGT\n", [], Exit.NO_INPUT, "q.fa: expected queries, found nothing"),
        (">q\nACGT\n", ">d\nACGT\n", ["--top", "0"], Exit.USAGE, "argument --top: expected a whole number from 1 to 1000000, found '0'"),
        (">q\nACGT\n", ">d\nACGT\n", ["--min-score", "0"], Exit.USAGE, "min-score: expected at least 1"),
        (
            ">q\nMKVLARNDWW\n",
            ">d\nACGT\n",
            [],
            Exit.BAD_INPUT,
            "q.fa: record 1: expected DNA letters (ACGT,",
        ),
        (">q\nACGT\n", ">d\nACGT\n>e\nMKVLAR\n", [], Exit.BAD_INPUT, "d.fa: record 2: expected DNA letters"),
        (
            ">q\nMKV\n>r\n" + "ACGT" * 13,
            ">d\nMKVLAR\n",
            ["--matrix", "blosum62"],
            Exit.BAD_INPUT,
            "q.fa: record 2: expected protein letters (A to Z, *), found 52",
        ),
        (">q\nMKV\n", ">d\n" + "ACGT" * 300, ["--matrix", "blosum62"], Exit.BAD_INPUT, "d.fa: record 1: expected protein letters"),
        (">q\nACGTACGTAC\n" * 20, ">d\nMKVLAR\n", ["--matrix", "blosum62"], Exit.BAD_INPUT, "found none but A, C, G, T, U and N among 200; leave"),
        (">q\n" + "ACGT" * 60 + "RYK", ">d\nMKVLAR\n", ["--matrix", "blosum62"], Exit.BAD_INPUT, "found hardly any but A, C, G, T, U and N among 243"),
        (">q\nMKV\n", ">d\nMKV\n", ["--matrix", "blosum62", "--strand", "both"], Exit.USAGE, "which proteins do not have"),
        (">q\nACGT\n", ">d\nACGT\n", ["--gap", "2,1"], Exit.USAGE, "--gap goes with --matrix"),
        (">q\nACGT\n<\nACGT\n", ">d\nACGT\n", ["--report", "score", "--format", "m8"], Exit.USAGE, "M8 needs places: leave --report score out"),
        (">q\nACGT\n", ">d\nACGT\n", ["--report", "ends", "--format", "sam"], Exit.USAGE, "SAM needs CIGARs: leave --report ends out"),
        (">q\nACGT\n", ">d(\nACGT\n", ["--format", "sam"], Exit.BAD_INPUT, "d.fa: record 1: expected a target name of the letters SAM allows"),
    ],
)
def test_bad_input(queries: str, targets: str, words: list[str], status: int, said: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name, text in (("q.fa", queries), ("d.fa", targets)):
        (tmp_path / name).write_text(text)
    try:
        found = main(["search", str(tmp_path / "q.fa"), str(tmp_path / "d.fa"), "-o", str(tmp_path / "out"), *words, "--quiet"])
    except SystemExit as ended:
        found = int(ended.code or 0)
    error = capfd.readouterr().err.strip()
    told = error.splitlines()[0] if status == Exit.USAGE else error
    assert found == status, error
    expected_words = said.split("d.fa: ")[-1].split("q.fa: ")[-1]
    assert expected_words in told and len(told) <= 300 and "\n" not in told
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.run").exists()


def test_a_query_beyond_what_memory_allows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "q.fa").write_text(">a\nACGT\n>long x\n" + "ACGT" * 5_000)
    (tmp_path / "d.fa").write_text(">d\n" + "ACGT" * 5_000)
    import psutil

    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"total": 1_000_000})())
    said = r"q\.fa: record 2: expected letters that 0 GB of memory suffice for, found 20,000 in 'long', which need \d+ GB beside 20,000 of the database; cut it"
    with pytest.raises(InputError, match=said):
        tidalign.search_files(tmp_path / "q.fa", tmp_path / "d.fa", out=tmp_path / "run")
    assert len(tidalign.search_files(tmp_path / "q.fa", tmp_path / "d.fa", out=tmp_path / "run", report="score", strand="plus")) == 2


# ---- an index


def test_an_index_is_looked_at(tmp_path: Path, inputs: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "d.tidx"
    assert main(["index", inputs[1], "-o", str(place)]) == 0
    assert f"{search_chaos.TARGETS} sequences" in capfd.readouterr().err
    first = place.read_bytes()
    index(inputs[1], place)
    assert place.read_bytes() == first
    with pytest.raises(InputError, match=r"d\.tidx: expected an index of protein, found one of dna; give scores of its letters"):
        tidalign.search_files(inputs[0], place, out=tmp_path / "p", alphabet="protein")
    for at in (len(first) // 2, len(first) - 30, 100):
        data = bytearray(first)
        data[at] ^= 16
        place.write_bytes(data)
        with pytest.raises((InputError, Damaged), match=r"d\.tidx: .*(checksum|damaged|index).*; "):
            tidalign.search_files(inputs[0], place, out=tmp_path / str(at))
    place.write_bytes(first[: len(first) // 2])
    with pytest.raises(InputError, match=r"d\.tidx: expected"):
        tidalign.search_files(inputs[0], place, out=tmp_path / "half")


def test_an_index_of_another_format_or_of_nothing(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "FORMAT", 0)
    database.pack(str(tmp_path / "old.tidx"), [], "dna")
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"old\.tidx: expected an index as `tidalign index` writes it, found one of format 0, now 1; make it again"):
        tidalign.search_files(inputs[0], tmp_path / "old.tidx", out=tmp_path / "run")
    (tmp_path / "none.fa").write_text(">d\n\n")
    with pytest.raises(InputError, match=r"none\.fa: expected a database of one letter at least"):
        index(tmp_path / "none.fa", tmp_path / "none.tidx")
    assert not (tmp_path / "none.tidx").exists()


def test_an_index_that_changes_under_a_run(tmp_path: Path, inputs: list[str]) -> None:
    place = tmp_path / "d.tidx"
    index(inputs[1], place)
    drive(str(tmp_path / "run"), inputs[0], str(place))
    index(inputs[0], place)
    with pytest.raises(ManifestMismatch, match=r"d\.tidx, which has changed since"):
        drive(str(tmp_path / "run"), inputs[0], str(place))


@pytest.mark.parametrize("workers", [0, 1])
def test_an_index_that_changes_while_a_run_reads_it(workers: int, tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """No part is made of the other database, which has as many slices."""
    place, known = tmp_path / "d.tidx", manifest.packed

    def replaced(*arguments: Any) -> Any:
        found = known(*arguments)
        packed_in_slices(inputs[0], place)
        return found

    packed_in_slices(inputs[1], place)
    monkeypatch.setattr(searches, "packed", replaced)
    with pytest.raises(InputError, match=r"d\.tidx: expected the index that the run began with, found one that has changed since the run began"):
        drive(str(tmp_path / "run"), inputs[0], str(place), workers=workers)
    assert not list((tmp_path / "run" / "parts").iterdir())


def packed_in_slices(path: str, place: Path) -> None:
    with mock.patch.object(database, "SLICE_BYTES", 4_000):
        index(path, place)


def test_a_finished_run_without_its_index(tmp_path: Path, inputs: list[str]) -> None:
    place = tmp_path / "d.tidx"
    index(inputs[1], place)
    found = drive(str(tmp_path / "run"), inputs[0], str(place)).to_table()
    place.unlink()
    assert drive(str(tmp_path / "run"), inputs[0], str(place)).to_table().equals(found)
    (tmp_path / "run" / "SUCCESS").unlink()
    next((tmp_path / "run" / "parts").iterdir()).unlink()
    with pytest.raises(MissingInput, match=r"d\.tidx: No such file"):
        drive(str(tmp_path / "run"), inputs[0], str(place))
    with pytest.raises(MissingInput, match=r"d\.tidx: expected an index, found no such file"):
        manifest.read_slices(str(tmp_path / "run"), manifest.read_manifest(str(tmp_path / "run")), [0])


def test_what_an_index_is_not_written_into(tmp_path: Path, inputs: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    for output, found in (("-", "standard output"), ("pipe", "a device or a pipe"), (str(tmp_path), "a directory")):
        assert main(["index", inputs[1], "-o", output]) == Exit.CANNOT_WRITE
        assert f"{output}: expected a file to write, found {found}" in capfd.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"] and Path("pipe").is_fifo()
    Path("link.tidx").symlink_to("real.tidx")
    assert main(["index", inputs[1], "-o", "link.tidx"]) == 0
    assert Path("link.tidx").is_symlink() and not Path("real.tidx").is_symlink() and Path("real.tidx").stat().st_size


def test_more_hits_than_there_can_be_cost_nothing(tmp_path: Path, inputs: list[str], made: Any) -> None:
    """Chunks are as large as they can be; those of a run that was begun with others stay."""
    with mock.patch.object(manifest, "CHUNK_HITS", 7 * 2 * search_chaos.TARGETS * 4):
        found = drive(str(tmp_path / "run"), *inputs, top=10**6, min_score=1)
    chunks = manifest.read_manifest(str(tmp_path / "run"))
    assert max(each.queries for each in chunks.queries) > 4 and found.to_table().equals(expected(made[1], top=10**6, min_score=1))
    assert SearchParameters(top=10**6).hits(3) == 6 and SearchParameters(top=5, strand="plus").hits(3.0) == 3.0 and SearchParameters(top=2).hits(3) == 2
    (tmp_path / "run" / "SUCCESS").unlink()
    (tmp_path / "run" / "queries" / "q00000.parquet").unlink()
    with mock.patch.object(manifest, "CHUNK_HITS", 1):
        again = drive(str(tmp_path / "run"), *inputs, top=10**6, min_score=1)
    assert again.to_table().equals(found.to_table()) and manifest.read_manifest(str(tmp_path / "run")).queries == chunks.queries


@pytest.mark.parametrize(("report", "ending", "what"), [("score", "m8", "places"), ("score", "sam", "places"), ("ends", "sam", "CIGARs")])
def test_a_file_that_needs_more_than_is_reported(report: str, ending: str, what: str, tmp_path: Path, inputs: list[str]) -> None:
    """Said before anything is searched."""
    others = {"places": r"\.tsv or \.parquet", "CIGARs": ""}[what]
    with pytest.raises(InputError, match=rf"{ending.upper()}: expected a run with {what}, found .*; export .*{others}"):
        tidalign.search_files(*inputs, out=tmp_path / f"x.{ending}", report=report)
    assert not list(tmp_path.iterdir())


def test_workers_for_several_gpus_start_while_much_is_read(inputs: list[str]) -> None:
    sides = searches.SearchSource(*map(sniff, inputs))
    both = Gpus({"0": "H200", "1": "H200"}, "all", GPU)
    large = searches.SearchSource(*(replace(side, size=100_000_000) for side in (sides.queries, sides.database)))
    kinds = [searches.Search(source, SearchParameters("blosum62,gap:11,1", "protein")) for source in (sides, large)]
    assert [kind.much(both) for kind in kinds] == [False, True] and all(kind.begins_here(both) for kind in kinds)


def test_packed_sides_are_bounded(tmp_path: Path, inputs: list[str]) -> None:
    drive(str(tmp_path), *inputs)
    found = manifest.read_manifest(str(tmp_path))
    assert len(found.database.slices) > 2 and len(found.queries) > 5
    assert sum(each.queries for each in found.queries) == search_chaos.QUERIES and max(each.queries for each in found.queries) == 7
    tables = [pa.Table.from_batches([pa.record_batch({"ordinal": [0, 1, 2], "length": [5, 50, 5]})])] * 2
    assert [piece["length"].to_pylist() for piece in database.cut(tables, 12, 2)] == [[5], [50], [5, 5], [50], [5]]
    json.dumps(found.database.to_json())
