"""The run directory: whole files or none, one holder, and a refusal of what does not belong together."""

import errno
import fcntl
import gc
import json
import mmap
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tidalign.pipeline.errors import CannotWrite, DiskFull, ManifestMismatch, MissingInput
from tidalign.pipeline.pairs import manifest as blocks
from tidalign.pipeline.pairs.aligner import write_rows
from tidalign.pipeline.pairs.manifest import read_manifest, write_manifest
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store import claims, files, parts, rundir
from tidalign.pipeline.store.layout import GENOMES, PAIRS, Layout, own
from tidalign.pipeline.store.rundir import locked

PARAMETERS = {"penalties": "affine:4,6,2", "ends_free": None}
SOURCE = {"queries": "q.fq", "files": [{"path": "q.fq", "size": 10, "mtime_ns": 5}]}


def block(number: int, first: int, rows: list[int]) -> dict[str, Any]:
    return {
        "id": number,
        "first": first,
        "pairs": sum(rows),
        "chunks": [{"id": f"b{number:05d}-08-{i:03d}", "rows": n, "bytes": n} for i, n in enumerate(rows)],
    }


def alignments(ordinals: list[int], status: str = "exact") -> pa.Table:
    rows = len(ordinals)
    values: dict[str, Any] = {field.name: [1] * rows for field in ALIGNMENTS}
    text = {
        "query_name": ["q"] * rows,
        "target_name": ["t"] * rows,
        "cigar": [f"{o}=" for o in ordinals],
        "strand": ["+"] * rows,
        "status": [status] * rows,
        "reason": [None] * rows,
    }
    return pa.table(values | text | {"ordinal": ordinals, "query_length": [100] * rows, "target_length": [50] * rows}, schema=ALIGNMENTS)


@pytest.fixture
def run(tmp_path: Path) -> str:
    directory = str(tmp_path / "deep" / "run")
    rundir.create(directory, PARAMETERS, SOURCE)
    return directory


def test_a_failed_write_leaves_the_old_file_and_nothing_else(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"{run}/chunks/x.parquet"
    files.write_table(path, pa.table({"a": [1, 2]}))

    def full(table: Any, where: str, **options: Any) -> None:
        Path(where).write_bytes(b"PAR1 half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pq, "write_table", full)
    with pytest.raises(DiskFull, match=r"x\.parquet: no space left; free some"):
        files.write_table(path, pa.table({"a": [3]}))
    assert [path.name for path in Path(run, "chunks").iterdir()] == ["x.parquet"]
    assert pq.read_table(path)["a"].to_pylist() == [1, 2]


def test_a_full_disk(tmp_path: Path) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(tmp_path)], capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small file system")
    try:
        directory = str(tmp_path / "run")
        rundir.create(directory, PARAMETERS, SOURCE)
        with pytest.raises(DiskFull):
            files.write_table(f"{directory}/chunks/x.parquet", pa.table({"a": pa.array([os.urandom(2_000_000)], pa.large_binary())}))
        assert list(Path(directory, "chunks").iterdir()) == []
        assert rundir.read_plan(directory)["parameters"] == PARAMETERS
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_an_unwritable_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match=r"file/run: expected a folder, or room for one, found a file there; choose another name"):
        rundir.probe(str(tmp_path / "file" / "run"))


def test_what_is_read_again_is_not_compressed_and_results_are_but_for_sequences(run: str) -> None:
    files.write_table(f"{run}/chunks/x.parquet", pa.table({"name": ["r"] * 9, "query": pa.array([b"x"] * 9, pa.large_binary())}), row_group_size=4)
    footer = pq.read_metadata(f"{run}/chunks/x.parquet")
    assert [footer.row_group(0).column(i).compression for i in range(2)] == ["UNCOMPRESSED"] * 2
    assert [footer.row_group(i).num_rows for i in range(3)] == [4, 4, 1]
    table = files.read_table(f"{run}/chunks/x.parquet")
    files.write_tables(f"{run}/parts/x.parquet", table.schema.remove_metadata(), [table], dict)
    footer = pq.read_metadata(f"{run}/parts/x.parquet")
    assert [footer.row_group(0).column(i).compression for i in range(2)] == ["ZSTD", "UNCOMPRESSED"]


@pytest.mark.parametrize(
    ("parameters", "source", "said"),
    [
        ({**PARAMETERS, "penalties": "edit"}, SOURCE, r"begun with penalties 'affine:4,6,2', now 'edit'"),
        (PARAMETERS, {**SOURCE, "files": [{"path": "q.fq", "size": 10, "mtime_ns": 6}]}, r"begun with q\.fq, which has changed since; .* --new"),
        (PARAMETERS, {**SOURCE, "files": [{"path": "p.fq", "size": 11, "mtime_ns": 6}]}, r"begun with file 1 'q\.fq', now 'p\.fq';"),
        (PARAMETERS, {**SOURCE, "files": []}, r"begun with 1 files, now 0;"),
        ({**PARAMETERS, "new": 1}, SOURCE, r"begun with new None, now 1"),
        (PARAMETERS, {**SOURCE, "files": [1, 2]}, r"begun with 1 files, now 2;"),
    ],
)
def test_other_parameters_or_inputs_are_refused(run: str, parameters: dict[str, Any], source: dict[str, Any], said: str) -> None:
    rundir.compare(run, PARAMETERS, SOURCE)
    with pytest.raises(ManifestMismatch, match=said):
        rundir.compare(run, parameters, source)


def test_numbers_of_an_option_are_told_together(run: str) -> None:
    rundir.compare(run, PARAMETERS, SOURCE)
    files.write_json(f"{run}/plan.json", {**rundir.read_plan(run), "parameters": {**PARAMETERS, "ends_free": [0, 0, 16, 16]}})
    with pytest.raises(ManifestMismatch, match=r"begun with ends_free 0,0,16,16, now 0,0,16,15;"):
        rundir.compare(run, {**PARAMETERS, "ends_free": (0, 0, 16, 15)}, SOURCE)


def test_another_version_is_refused(run: str) -> None:
    plan = rundir.read_plan(run)
    files.write_json(f"{run}/plan.json", {**plan, "version": "0.0.1"})
    with pytest.raises(ManifestMismatch, match=r"version '0\.0\.1'"):
        rundir.compare(run, PARAMETERS, SOURCE)


def test_the_manifest_wants_every_block_and_every_row(run: str) -> None:
    good = [block(0, 0, [3, 2]), block(1, 5, [4])]
    assert not rundir.has_manifest(run)
    with pytest.raises(MissingInput, match="stopped before its input was read"):
        read_manifest(run)
    written = write_manifest(run, good[::-1])
    assert (written.pairs, written.blocks, written.chunks) == (9, good, {"b00000-08-000": 3, "b00000-08-001": 2, "b00001-08-000": 4})
    assert rundir.has_manifest(run) and read_manifest(run) == written
    assert read_manifest(run) is read_manifest(run)
    for bad in ([good[1]], [good[0], block(1, 6, [4])], [good[0], block(2, 5, [4])], [good[0], {**good[1], "pairs": 5}]):
        with pytest.raises(RuntimeError, match="expected block|rows from"):
            write_manifest(run, bad)


def test_a_block_whose_chunk_is_gone_or_short_is_done_again(run: str) -> None:
    record = block(0, 0, [3, 2])
    for chunk in record["chunks"]:
        Path(blocks.chunk_path(run, chunk["id"])).write_bytes(b"x" * chunk["bytes"])
    assert blocks.read_block_record(run, 0) is None
    blocks.write_block_record(run, record, forced=True)
    assert blocks.read_block_record(run, 0) == record
    Path(blocks.chunk_path(run, "b00000-08-001")).write_bytes(b"x")
    assert blocks.read_block_record(run, 0) is None
    Path(blocks.chunk_path(run, "b00000-08-001")).unlink()
    assert blocks.read_block_record(run, 0) is None


def test_one_run_at_a_time_and_the_kernel_frees_it(run: str) -> None:
    code = "import sys, time\nfrom tidalign.pipeline.store.rundir import locked\nwith locked(sys.argv[1]):\n print('held', flush=True)\n time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, run], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(CannotWrite, match=rf"in use by process {other.pid} on {os.uname().nodename}"), locked(run):
            pass
        other.kill()
    with locked(run):
        pass


def test_a_lock_that_its_holder_removes_is_not_held(run: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the opening of the file and the lock on it: whoever comes then makes another."""
    known = fcntl.flock

    def removed(handle: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", known)
        shutil.rmtree(run)
        known(handle, operation)

    monkeypatch.setattr(fcntl, "flock", removed)
    with locked(run):
        assert Path(run, "run.lock").read_text().startswith(f"process {os.getpid()} on")
        with pytest.raises(CannotWrite, match="in use by process"), locked(run):
            pass


TEMPORARY = {
    "pairs": ("plan.json", "parts/b00000-08-000.0-3.parquet", "chunks/b00000-08-000.parquet", "blocks/b00000.json", "probe", "probe.0a1b2c3d.tmp"),
    "genome": ("kept/hsps/j000000.u1.parquet", "sides/s0001/side.json", "sides/s0000.0a1b2c3d.tmp/side.json", "stages/j000000.u1.anchors.arrow", "beat"),
}
"""Of writers that died, by kind of run."""


@pytest.mark.parametrize("layout", [PAIRS, GENOMES], ids=lambda layout: layout.kind)
def test_leftovers_of_dead_writers_go(tmp_path: Path, layout: Layout) -> None:
    run = str(tmp_path)
    rundir.create(run, PARAMETERS, SOURCE, layout)
    for place in TEMPORARY[layout.kind]:
        Path(run, place).parent.mkdir(parents=True, exist_ok=True)
        Path(run, f"{place}.0a1b2c3d.tmp").write_bytes(b"half")
    rundir.tidy(run, layout)
    assert [path.name for path in Path(run).rglob("*.tmp")] == []
    assert rundir.exists(run)


FOREIGN = ("thesis.tex", "notes.0a1b2c3d.tmp", "parts/thesis.tex", "parts/x.parquet", "chunks/a.tmp", "claims/deep/er.tmp", "parts/plan.json", "sides/x")


@pytest.mark.parametrize("place", FOREIGN)
def test_what_no_run_makes_is_never_removed(run: str, place: str) -> None:
    Path(run, place).parent.mkdir(exist_ok=True)
    Path(run, place).write_text("mine")
    before = sorted(Path(run).rglob("*"))
    for remove in (rundir.tidy, rundir.empty):
        with pytest.raises(CannotWrite, match=f"expected a new or earlier run directory, found a folder with '{place}"):
            remove(run, PAIRS)
    assert sorted(Path(run).rglob("*")) == before


def test_what_a_link_leads_to_is_never_removed(run: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "b00000-08-000.0-3.parquet").write_text("mine")
    Path(run, "parts").rmdir()
    Path(run, "parts").symlink_to(tmp_path / "mine")
    for remove in (rundir.tidy, rundir.empty):
        with pytest.raises(CannotWrite, match="a folder with 'parts' in it"):
            remove(run, PAIRS)
    assert (tmp_path / "mine" / "b00000-08-000.0-3.parquet").exists()


def test_only_a_plan_of_ours_lets_a_run_be_thrown_away(run: str) -> None:
    part, whole = Path(run, "parts", "b00000-08-000.0-3.parquet"), Path(run, "plan.json").read_bytes()
    part.write_text("mine")
    for plan in (None, b"", b'{"plan": "mine"}'):
        if plan is None:
            Path(run, "plan.json").unlink()
        else:
            Path(run, "plan.json").write_bytes(plan)
        with pytest.raises(CannotWrite, match=r"plan\.json: expected that of a run"):
            rundir.empty(run, PAIRS)
        assert part.read_text() == "mine"
    Path(run, "plan.json").write_bytes(whole[: len(whole) // 2])  # ours, if damaged
    rundir.empty(run, PAIRS)
    assert list(Path(run).iterdir()) == []


def test_what_was_begun_without_a_plan_may_go(tmp_path: Path) -> None:
    run = str(tmp_path)
    rundir.probe(run, GENOMES)
    with locked(run):
        rundir.journal(run, "start")
        rundir.empty(run, GENOMES)
    assert [path.name for path in tmp_path.iterdir()] == ["run.lock"]
    Path(run, "report.json").write_text("mine")
    with pytest.raises(CannotWrite):
        rundir.empty(run, GENOMES)


def test_the_end_is_marked_after_the_report(run: str) -> None:
    assert rundir.finished(run) is None
    rundir.finish(run, {"pairs": 3, "run": "x"}, partial=True)
    assert rundir.finished(run) == "PARTIAL"
    assert rundir.read_report(run) == {"pairs": 3, "run": "x"}
    rundir.reopen(run)
    assert rundir.finished(run) is None


def test_the_journal_is_one_object_a_line(run: str) -> None:
    before = time.time()
    rundir.journal(run, "start", command=["a\nb"])
    rundir.journal(run, "end")
    lines = [json.loads(line) for line in Path(run, "journal.jsonl").read_text().splitlines()]
    assert [line["event"] for line in lines] == ["start", "end"]
    assert lines[0]["command"] == ["a\nb"]
    assert before - 1 < lines[0]["time"] < time.time() + 1


# ---- parts


def test_a_part_is_sorted_and_counted(run: str) -> None:
    written = write_rows(run, "id", "c", 10, 13, alignments([7, 2, 5]))
    assert pq.read_table(written.path)["ordinal"].to_pylist() == [2, 5, 7]
    assert pq.read_table(written.path)["cigar"].to_pylist() == ["2=", "5=", "7="]
    assert written == parts.read_part(written.path, "id")
    assert (written.counts, written.labels) == ({"exact": 3}, {"bases": 450})
    with pytest.raises(RuntimeError, match=r"rows 10\.\.14 gave 3 alignments"):
        write_rows(run, "id", "c", 10, 14, alignments([7, 2, 5]))


def test_the_same_part_is_the_same_file(run: str) -> None:
    first = Path(write_rows(run, "id", "c", 0, 3, alignments([7, 2, 5])).path).read_bytes()
    assert Path(write_rows(run, "id", "c", 0, 3, alignments([7, 2, 5])).path).read_bytes() == first


def test_what_is_no_part_of_the_run_is_found(run: str) -> None:
    good = write_rows(run, "id", "c", 0, 3, alignments([0, 1, 2]))
    other = write_rows(run, "other", "c", 3, 6, alignments([3, 4, 5]))
    renamed = Path(parts.part_path(f"{run}/parts", "c", 6, 10))
    renamed.write_bytes(Path(good.path).read_bytes())
    whole = Path(good.path).read_bytes()
    short = Path(parts.part_path(f"{run}/parts", "c", 20, 23))
    for length in (0, 3, len(whole) // 2, len(whole) - 1):
        short.write_bytes(whole[:length])
        found, broken = parts.scan(f"{run}/parts", "id")
        assert found == {"c": [good]}
        assert sorted(broken) == sorted([other.path, str(renamed), str(short)])


def test_overlapping_parts_never_give_a_pair_twice(run: str) -> None:
    for a, b in ((0, 4), (4, 5), (5, 9), (0, 9), (2, 7)):
        write_rows(run, "id", "c", a, b, alignments(list(range(a, b))))
    write_rows(run, "id", "d", 0, 2, alignments([9, 10], "capped"))
    found, broken = parts.scan(f"{run}/parts", "id")
    assert ([(part.start, part.stop) for part in found["c"]], broken) == ([(0, 9)], [])
    assert parts.counts(found) == {"exact": 9, "capped": 2}
    assert sum(part.labels["bases"] for part in parts.all_parts(found)) == 11 * 150
    Path(parts.part_path(f"{run}/parts", "c", 0, 9)).unlink()
    found, _ = parts.scan(f"{run}/parts", "id")
    assert [(part.start, part.stop) for part in found["c"]] == [(0, 4), (4, 5), (5, 9)]


# ---- claims


def test_a_claim_outlives_its_process(run: str) -> None:
    path = claims.claim_path(run, "b00000-08-000", 100, 200, "0a1b2c3d")
    code = f"import os, signal\nfrom tidalign.pipeline.store import claims\nclaims.write({path!r}, 120, 140)\nos.kill(os.getpid(), signal.SIGKILL)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    assert claims.read(path) == (120, 140)
    assert claims.leftover(run) == {"b00000-08-000": [((120, 140), path)]}
    claims.remove(path)
    claims.remove(path)
    assert claims.read(path) is None
    assert claims.leftover(run) == {}


FLIPPED = (120).to_bytes(8, "little") + (140).to_bytes(8, "little") + bytes(4)
"""Rows that lie in the claim's range, and a checksum of others."""


@pytest.mark.parametrize("record", [b"", b"abc", b"\0" * 16, (50).to_bytes(8, "little") + (150).to_bytes(8, "little"), b"\xff" * 16, FLIPPED])
def test_a_claim_that_says_nothing_sensible_blames_its_whole_range(run: str, record: bytes) -> None:
    path = claims.claim_path(run, "c", 100, 200, "0a1b2c3d")
    Path(path).write_bytes(record)
    assert claims.read(path) == (100, 200)


def test_a_table_read_holds_nothing_of_the_interpreter(tmp_path: Path) -> None:
    """Arrow's threads let go of what they read after it is there, maybe while the interpreter ends, which ends the process with SIGABRT."""
    path = str(tmp_path / "a.parquet")
    files.write_table(path, pa.table({"row": range(1000)}))
    before = {id(each) for each in gc.get_objects() if isinstance(each, mmap.mmap)}
    file = files.open_table(path)
    assert file.read()["row"].to_pylist() == list(range(1000))
    assert not [each for each in gc.get_objects() if isinstance(each, mmap.mmap) and id(each) not in before]


def test_a_removal_that_is_cut_short_leaves_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing says that something is done whose rows are gone, and --new may throw away what is left, wherever it ends."""
    unlink, rmdir = Path.unlink, Path.rmdir
    for cut in range(20):
        run, left = str(tmp_path / str(cut)), iter(range(cut))
        rundir.create(run, PARAMETERS, SOURCE, PAIRS)
        for folder, name in (("chunks", "b00000-07-000.parquet"), ("blocks", "b00000.json"), ("parts", "b00000-07-000.0-1.parquet")):
            Path(run, folder).mkdir(exist_ok=True)
            Path(run, folder, name).touch()
        for name in ("SUCCESS", "report.json", "manifest.json", "report.html"):
            Path(run, name).touch()

        def ended(path: Path, *arguments: Any, left: Any = left, **keywords: Any) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt
            (rmdir if path.is_dir() else unlink)(path, *arguments, **keywords)

        monkeypatch.setattr(Path, "unlink", ended)
        monkeypatch.setattr(Path, "rmdir", ended)
        with suppress(KeyboardInterrupt):
            rundir.empty(run, PAIRS)
        monkeypatch.undo()
        is_there = {path.name for path in Path(run).rglob("*") if path.is_file()}
        whole = {"b00000-07-000.0-1.parquet", "b00000.json", "manifest.json", "report.json"} <= is_there
        assert own(run) and ("SUCCESS" not in is_there or whole) and ("manifest.json" not in is_there or "b00000.json" in is_there)
        rundir.empty(run, PAIRS)
        assert not [path for path in Path(run).iterdir() if path.name != "run.lock"]
