"""Runs over pairs against one plain call of the kernels: any workers, any death, any second try."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pyarrow.parquet as pq
import pytest
from chaos import BLOCK_PAIRS, Pairs, drive, expected, rows, simulate
from ending import survivors, wait_until
from external import External

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.start import CLOSE_TIMEOUT
from tidalign.cluster.stop import GRACE_SECONDS
from tidalign.cluster.task import cores
from tidalign.pipeline.errors import CannotWrite, DiskFull, ManifestMismatch
from tidalign.pipeline.pairs.aligner import PairParameters, write_rows
from tidalign.pipeline.pairs.input import index
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.manifest import read_manifest
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import COUNTS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import PAIRS
from tidalign.pipeline.store.rundir import locked
from tidalign.workflows.run import devices, watch
from tidalign.workflows.run.isolate import TooManyRejected
from tidalign.workflows.run.pairs import alignment, run
from tidalign.workflows.run.pairs.isolate import isolate_range
from tidalign.workflows.run.pairs.run import partition_pairs, run_pairs
from tidalign.workflows.run.report import history
from tidalign.workflows.status import Exit

WORKFLOWS = Path(__file__).parents[2]
CHUNKS = 40  # of 3 pairs each


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pairs]:
    folder = tmp_path_factory.mktemp("pairs")
    return folder, simulate(folder, CHUNKS * 3, seed=11)


@pytest.fixture
def inputs(made: tuple[Path, Pairs]) -> list[str]:
    return [str(made[0] / name) for name in ("q.fa", "t.fa")]


@pytest.fixture
def answer(made: tuple[Path, Pairs]) -> list[tuple[int, int, str]]:
    return expected(made[1])


def triples(directory: Path) -> list[tuple[int, int, str]]:
    return [(row["ordinal"], row["penalty"], row["cigar"]) for row in rows(str(directory))]


def events(directory: Path, event: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (directory / "journal.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == event]


def client(directory: Path, inputs: list[str], **environment: str) -> "psutil.Popen":
    """Start a process of its own that runs with two workers, in a process group of its own."""
    command = [sys.executable, str(WORKFLOWS / "chaos.py"), "--drive", str(directory), *inputs]
    return psutil.Popen(command, env=os.environ | environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def parts_of(directory: Path) -> int:
    return len(list(directory.glob("parts/*.parquet")))


# ---- the same answer


def test_in_this_process(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    told: list[tuple[str, int, int | None]] = []
    report = drive(str(tmp_path / "run"), *inputs, progress=lambda *step: told.append(step))
    assert triples(tmp_path / "run") == answer
    assert (report.exit, report.pairs, report.aligned, report.workers) == (Exit.COMPLETE, len(answer), len(answer), 0)
    assert report.statuses == {"exact": len(answer)}
    assert report.bases == sum(row["query_length"] + row["target_length"] for row in rows(str(tmp_path / "run")))
    assert rundir.finished(str(tmp_path / "run")) == "SUCCESS"
    assert len(list((tmp_path / "run" / "chunks").iterdir())) == CHUNKS
    assert list((tmp_path / "run" / "claims").iterdir()) == []
    for stage in ("partition", "align"):
        steps = [step for step in told if step[0] == stage]
        assert [step[1] for step in steps] == sorted(step[1] for step in steps)
        assert steps[0][1] == 0
        assert steps[-1][1:] == (len(answer), len(answer))
    work = [step[1:] for step in told if step[0] == "work"]
    assert work == sorted(work) and 0 <= work[-1][1] - work[-1][0] <= 1  # sums of fractions
    told.clear()
    drive(str(tmp_path / "again"), *inputs, progress=lambda *step: told.append(step))
    assert {stage for stage, *_ in told} == {"partition", "align", "work"}  # nothing is compiled any more


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.slow), 2, pytest.param(4, marks=pytest.mark.slow)])
def test_any_number_of_workers(workers: int, tmp_path: Path, inputs: list[str], answer: Any) -> None:
    report = drive(str(tmp_path), *inputs, workers=workers)
    assert triples(tmp_path) == answer
    assert (report.workers, report.deaths, report.exit) == (workers, 0, Exit.COMPLETE)


@pytest.fixture
def external(tmp_path: Path) -> Iterator[External]:
    folder = tmp_path / "cluster"
    folder.mkdir()
    cluster = External(folder)
    yield cluster
    cluster.close()


def test_somebody_elses_workers(external: External, tmp_path: Path, inputs: list[str], answer: Any) -> None:
    external.worker()
    external.worker()
    external.wait_for_workers(2)
    report = drive(str(tmp_path / "run"), *inputs, scheduler=external.address)
    assert triples(tmp_path / "run") == answer
    assert report.workers == 2
    when = {event["event"]: event["time"] for event in map(json.loads, (tmp_path / "run" / "journal.jsonl").read_text().splitlines())}
    assert when["hired"] - when["start"] - 0.5 < report.stages["start"] < report.seconds  # workers read, and so start before that


def test_a_run_directory_that_workers_do_not_see(external: External, tmp_path: Path, inputs: list[str]) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    elsewhere = ("unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {hidden} && exec "$@"', "sh")
    if subprocess.run([*elsewhere, "true"], capture_output=True).returncode != 0:
        pytest.skip("needs the right to hide a folder from a process")
    external.worker(command=elsewhere)
    external.wait_for_workers(1)
    with pytest.raises(CannotWrite, match=r"hidden/run: worker tcp://127\.0\.0\.1:\d+ on \S+ does not see it; the run directory must be on a file system"):
        drive(str(hidden / "run"), *inputs, scheduler=external.address)


def test_gpus_that_workers_do_not_have_are_missed_before_anything_is_read(external: External, tmp_path: Path, inputs: list[str]) -> None:
    external.worker()
    external.wait_for_workers(1)
    with pytest.raises(NoWorkers, match=r"worker tcp://127\.0\.0\.1:\d+ has no usable GPU.*start GPU workers with `dask cuda worker`"):
        drive(str(tmp_path / "run"), *inputs, scheduler=external.address, device="gpu")
    assert not (tmp_path / "run" / "plan.json").exists()


def test_what_was_used_and_why_is_in_the_report(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def no_gpu(count: int | None = None) -> dict[str, str]:
        raise NoWorkers("no usable GPU: the driver sleeps; wake it")

    monkeypatch.setattr(devices, "usable", no_gpu)
    for device, why in (("auto", "no usable GPU: the driver sleeps"), ("cpu", "--device cpu")):
        report = drive(str(tmp_path / device), *inputs, device=device)
        assert (report.device, report.device_why, report.by_host) == ("cpu", why, 0)
    assert devices.device_of(report.to_json()) == "the CPU"
    assert devices.device_of({"device": "cpu", "device_why": "no GPU"}) == "the CPU (no GPU)"
    assert devices.device_of({"device": "H200, H200", "device_why": "--gpus 2"}) == "H200, H200"


@pytest.mark.parametrize(("device", "gpus", "scheduler"), [("tpu", None, None), ("cpu", 1, None), ("auto", 2, "tcp://x:1")])
def test_devices_that_make_no_sense(device: str, gpus: int | None, scheduler: str | None, tmp_path: Path, inputs: list[str]) -> None:
    with pytest.raises(ValueError, match="tpu|GPUs, with a scheduler of each node"):
        drive(str(tmp_path / "run"), *inputs, device=device, gpus=gpus, scheduler=scheduler)
    assert not (tmp_path / "run").exists()


# ---- again


def test_a_finished_run_is_not_done_again(tmp_path: Path, inputs: list[str]) -> None:
    first = drive(str(tmp_path), *inputs)
    times = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    assert drive(str(tmp_path), *inputs, workers=2) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == times
    assert events(tmp_path, "hired") == []


def test_what_is_missing_or_cut_short_is_done_again(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    drive(str(tmp_path), *inputs)
    files = sorted(tmp_path.glob("parts/*.parquet"))
    files[0].unlink()
    files[1].write_bytes(files[1].read_bytes()[:-20])
    shutil.copyfile(files[3], files[2])  # rows of another range under this name
    (tmp_path / "parts" / f"{files[1].name}.0a1b2c3d.tmp").write_bytes(b"half")
    report = drive(str(tmp_path), *inputs)
    assert triples(tmp_path) == answer
    assert report.aligned == 9
    assert report.pairs == len(answer)
    assert not list(tmp_path.rglob("*.tmp"))


def test_missing_chunks_are_made_again(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    drive(str(tmp_path), *inputs)
    chunk = sorted(tmp_path.glob("chunks/*.parquet"))[4]
    chunk.unlink()
    next(tmp_path.glob(f"parts/{chunk.stem}.*")).unlink()
    assert drive(str(tmp_path), *inputs).aligned == 3
    assert triples(tmp_path) == answer


@pytest.mark.parametrize("left", ["manifest.json", "blocks", "chunks", "plan.json"])
def test_a_partition_cut_short_goes_on(left: str, tmp_path: Path, inputs: list[str], answer: Any) -> None:
    partition_pairs(tmp_path, inspect(*inputs), PairParameters())
    (tmp_path / "manifest.json").unlink()
    if left != "manifest.json":
        for path in sorted((tmp_path / "blocks").iterdir())[1:]:
            path.unlink()
    if left == "chunks":
        (tmp_path / "chunks" / "b00000-05-000.parquet").unlink()
    if left == "plan.json":
        (tmp_path / "plan.json").unlink()
    run_pairs(tmp_path, inspect(*inputs), PairParameters())
    assert triples(tmp_path) == answer


def test_overlapping_parts_of_a_late_writer_do_no_harm(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    drive(str(tmp_path), *inputs)
    manifest = read_manifest(str(tmp_path))
    whole = next(iter(sorted(tmp_path.glob("parts/*.0-3.parquet"))))
    chunk = whole.name.partition(".")[0]
    table = pq.read_table(whole).replace_schema_metadata(None)
    whole.unlink()
    write_rows(str(tmp_path), manifest.run, chunk, 0, 1, table.slice(0, 1))
    write_rows(str(tmp_path), manifest.run, chunk, 0, 2, table.slice(0, 2))
    drive(str(tmp_path), *inputs)
    assert triples(tmp_path) == answer


def test_other_parameters_other_inputs_and_a_second_run_are_refused(tmp_path: Path, inputs: list[str]) -> None:
    drive(str(tmp_path / "run"), *inputs)
    with pytest.raises(ManifestMismatch, match=r"begun with penalties 'affine:4,6,2', now 'edit'"):
        run_pairs(tmp_path / "run", inspect(*inputs), PairParameters(penalties="edit"))
    copies = [str(shutil.copy(path, tmp_path)) for path in inputs]
    drive(str(tmp_path / "other"), *copies)
    Path(copies[0]).write_bytes(Path(copies[0]).read_bytes() + b"\n")
    with pytest.raises(ManifestMismatch, match=r"begun with \S+, which has changed since;"):
        drive(str(tmp_path / "other"), *copies)
    with locked(str(tmp_path / "run")), pytest.raises(CannotWrite, match=rf"in use by process {os.getpid()} on"):
        drive(str(tmp_path / "run"), *inputs)


def test_inputs_that_were_touched(tmp_path: Path) -> None:
    """Digests say that small files are the same; of others nobody reads all to find out, but the way out is said."""
    small, large = tmp_path / "small.fa", tmp_path / "large.fa"
    small.write_text(">a\n" + "ACGT" * 250_000 + "\n")
    large.write_text(">a\n" + "ACGT" * 300_000 + "\n")
    drive(str(tmp_path / "run"), str(small), str(small))
    os.utime(small, ns=(1, 1))
    drive(str(tmp_path / "run"), str(small), str(small))
    Results(tmp_path / "run").export(tmp_path / "small.sam")
    drive(str(tmp_path / "other"), str(large), str(large))
    time = large.stat().st_mtime_ns
    os.utime(large, ns=(1, 1))
    said = rf"{large}.* another time of change.*if it is the same, give it back its time: (touch -d @[0-9]+\.[0-9]{{9}} {large})"
    for again in (lambda: drive(str(tmp_path / "other"), str(large), str(large)), lambda: Results(tmp_path / "other").export(tmp_path / "large.sam")):
        with pytest.raises(ManifestMismatch, match=said) as caught:
            again()
    subprocess.run(re.search(said, str(caught.value))[1].split(), check=True)  # type: ignore[index]
    assert large.stat().st_mtime_ns == time
    Results(tmp_path / "other").export(tmp_path / "large.sam")
    drive(str(tmp_path / "other"), str(large), str(large))


def test_without_a_gpu_there_is_a_clear_line_before_any_work(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)  # where there is one, it is hidden
    with pytest.raises(NoWorkers, match="no usable GPU.* or use --device cpu"):
        drive(str(tmp_path / "run"), *inputs, device="gpu")
    assert not (tmp_path / "run").exists()


def test_a_full_disk_keeps_what_is_done(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(tmp_path)], capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small file system")

    def resize(size: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={size}", str(tmp_path)], check=True)

    try:
        with mock.patch.object(index, "BLOCK_PAIRS", BLOCK_PAIRS):
            partition_pairs(tmp_path / "run", inspect(*inputs), PairParameters())
        resize(shutil.disk_usage(tmp_path).used + 100_000)
        with pytest.raises(DiskFull, match="no space left; free some, then run the same command again"):
            drive(str(tmp_path / "run"), *inputs)
        kept = len(list(tmp_path.glob("run/parts/*.parquet")))
        assert 1 <= kept < CHUNKS
        assert list(tmp_path.rglob("*.tmp")) == []
        resize(32_000_000)
        assert drive(str(tmp_path / "run"), *inputs).aligned == len(answer) - 3 * kept
        assert triples(tmp_path / "run") == answer
    finally:
        # Lazily: what a table of the run was read from may still be mapped.
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


# ---- signals


@pytest.mark.parametrize(
    ("number", "times"),
    [(signal.SIGINT, 2), *(pytest.param(number, 1, marks=pytest.mark.slow) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1))],
)
def test_a_signal_to_the_whole_group_stops_a_run_that_goes_on_later(number: int, times: int, tmp_path: Path, inputs: list[str], answer: Any) -> None:
    process = client(tmp_path, inputs, TIDALIGN_TEST_SLOW="0.5")
    wait_until(lambda: parts_of(tmp_path) >= 3, process)
    family = process.children(recursive=True)
    began = time.monotonic()
    for _ in range(times):
        os.killpg(process.pid, number)
        time.sleep(0.1)
    assert process.wait() != 0
    assert time.monotonic() - began < GRACE_SECONDS + CLOSE_TIMEOUT + 120  # what they may take, and a busy machine
    assert survivors(family) == []
    assert rundir.finished(str(tmp_path)) is None
    assert list((tmp_path / "claims").iterdir()) == [], "nobody is blamed"
    before = parts_of(tmp_path)
    assert 3 <= before < CHUNKS
    report = drive(str(tmp_path), *inputs)
    assert report.aligned == len(answer) - 3 * before
    assert triples(tmp_path) == answer


# ---- pairs that kill


def check_rejected(directory: Path, answer: list[tuple[int, int, str]], rejected: dict[int, str]) -> None:
    found = rows(str(directory))
    assert [(row["ordinal"], row["reason"]) for row in found if row["status"] == "rejected"] == sorted(rejected.items())
    assert all(
        row[name] is None for row in found if row["status"] == "rejected" for name in ("score", "strand", "cigar", "identity", *(name for name, _ in COUNTS))
    )
    assert [(row["ordinal"], row["penalty"], row["cigar"]) for row in found if row["status"] == "exact"] == [a for a in answer if a[0] not in rejected]
    assert rundir.finished(str(directory)) == "PARTIAL"


@pytest.mark.slow
def test_poisoned_pairs_are_rejected_and_all_others_aligned(
    tmp_path: Path, inputs: list[str], answer: Any, made: tuple[Path, Pairs], monkeypatch: pytest.MonkeyPatch
) -> None:
    last = len(answer) - 1
    poison = {0, 60, 65, last}  # the first, two neighbours in one chunk, the last
    monkeypatch.setenv("TIDALIGN_TEST_POISON", ",".join(map(str, poison)))
    report = drive(str(tmp_path), *inputs, workers=2)
    assert report.exit == Exit.PARTIAL
    check_rejected(tmp_path, answer, dict.fromkeys(poison, "ended its process with SIGKILL"))
    assert report.deaths == 2 * 3  # two for each batch
    row = rows(str(tmp_path))[0]
    assert (row["query_name"], row["query_length"], row["target_length"]) == ("r0", *map(len, made[1][0]))
    assert {row[name] for name in ("query_start", "query_end", "target_start", "target_end", "penalty", "cigar")} == {None}


@pytest.mark.slow
def test_a_pair_that_kills_the_command_itself_does_so_once(tmp_path: Path, inputs: list[str], answer: Any) -> None:
    code = f"import sys; sys.path.insert(0, {str(WORKFLOWS)!r})\nfrom chaos import drive\nif __name__ == '__main__': sys.exit(int(drive(*sys.argv[1:]).exit))"
    script = tmp_path / "command.py"
    script.write_text(code)
    command = [sys.executable, str(script), str(tmp_path / "run"), *inputs]
    environment = os.environ | {"TIDALIGN_TEST_POISON": "7"}
    assert subprocess.run(command, env=environment).returncode == -signal.SIGKILL
    assert subprocess.run(command, env=environment).returncode == Exit.PARTIAL
    check_rejected(tmp_path / "run", answer, {7: "ended its process with SIGKILL"})


@pytest.mark.slow
def test_a_pair_that_hangs_is_rejected(tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alignment, "HANG_SECONDS", 1.0)
    monkeypatch.setattr(alignment, "CHILD_HANG_SECONDS", 1.0)
    monkeypatch.setenv("TIDALIGN_TEST_HANG", "9")
    report = drive(str(tmp_path), *inputs, workers=2)
    check_rejected(tmp_path, answer, {9: "gave no result in 1 s of CPU time"})
    assert len(events(tmp_path, "hang")) == report.deaths == 2


@pytest.fixture
def isolated(tmp_path: Path, inputs: list[str]) -> Callable[[], tuple[str, str | None]]:
    """Align the first pair in a child process with little patience: status and reason of its row."""
    manifest = partition_pairs(tmp_path, inspect(*inputs), PairParameters())

    def isolate() -> tuple[str, str | None]:
        isolate_range(str(tmp_path), manifest.run, manifest.parameters.to_json(), manifest.blocks[0]["chunks"][0]["id"], 0, 1, 1.0, 1)
        (row,) = rows(str(tmp_path))
        return row["status"], row["reason"]

    return isolate


def test_a_pair_that_is_kept_waiting_is_not_rejected(isolated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "3")
    assert isolated() == ("exact", None)


@pytest.mark.slow
def test_a_pair_that_waits_for_ever_is_rejected(isolated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "STILL_SECONDS", 5.0)
    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "1e6")
    assert isolated() == ("rejected", "gave no result in 5 s without CPU time")


def test_too_many_rejected_pairs_are_no_fault_of_the_pairs(tmp_path: Path, inputs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = partition_pairs(tmp_path, inspect(*inputs), PairParameters())
    chunk = manifest.blocks[0]["chunks"][0]
    monkeypatch.setenv("TIDALIGN_TEST_POISON", ",".join(map(str, range(200))))
    with pytest.raises(TooManyRejected, match="more than 1 pairs kill their worker"):
        isolate_range(str(tmp_path), manifest.run, manifest.parameters.to_json(), chunk["id"], 0, min(3, chunk["rows"]), 20.0, 1)


def test_memory_that_is_not_there_is_a_death(tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.workflows.run.pairs import tasks

    real = tasks.sides

    def greedy(batch: Any, **options: Any) -> Any:
        if 4 in batch["ordinal"].to_pylist():
            raise MemoryError
        return real(batch, **options)

    monkeypatch.setattr(tasks, "sides", greedy)
    report = drive(str(tmp_path), *inputs)  # children have memory enough
    assert triples(tmp_path) == answer
    assert (report.deaths, report.exit) == (2, Exit.COMPLETE)


def test_much_work_is_spread_over_the_cores(tmp_path: Path, inputs: list[str], answer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_CORES", "2")  # of many
    monkeypatch.setattr(run.Pairs, "small", lambda self: 0.0)
    report = drive(str(tmp_path / "spread"), *inputs)
    assert report.workers == cores()
    assert drive(str(tmp_path / "alone"), *inputs, workers=0).workers == 0
    assert triples(tmp_path / "spread") == triples(tmp_path / "alone") == answer


def test_a_report_says_what_stages_took_and_what_was_predicted(inputs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.Pairs, "forecast_from", 0.0)
    report = run_pairs(tmp_path, inspect(*inputs), PairParameters())
    assert report.predicted is not None and report.predicted.keys() == report.stages.keys() == {"read", "start", "work"}
    assert report.off == round(sum(report.predicted.values()) / sum(report.stages.values()), 3)
    assert sum(report.stages.values()) <= report.seconds + 0.01 and (report.calls, report.hosts) == (1, {})
    said = json.loads((tmp_path / "report.json").read_text())
    assert said["predicted_to_taken"] == report.off and said["predicted"] == report.predicted
    assert run_pairs(tmp_path, inspect(*inputs), PairParameters()).predicted == report.predicted, "a finished run is as it was"


def test_a_report_counts_the_calls_that_a_run_took(inputs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.Pairs, "forecast_from", 0.0)
    with mock.patch.object(run.Pairs, "counted", side_effect=DiskFull("full")), pytest.raises(DiskFull):
        run_pairs(tmp_path, inspect(*inputs), PairParameters())
    next((tmp_path / "parts").iterdir()).unlink()
    time.sleep(0.3)
    report = run_pairs(tmp_path, inspect(*inputs), PairParameters())
    assert report.calls == 2 and report.seconds < report.total_seconds < report.seconds + 600
    assert report.predicted is not None and "read" not in report.predicted, "what an earlier call had read"
    with (tmp_path / "journal.jsonl").open("a") as lines:
        lines.write('{"time": 1, "ev')  # cut short by a kill
    assert history(str(tmp_path))[0] == 2


def test_workers_leave_logs_by_host(inputs: list[str], tmp_path: Path) -> None:
    run_pairs(tmp_path, inspect(*inputs), PairParameters(), resources=devices.Resources(workers=2))
    logs = [log.read_text() for log in (tmp_path / "logs").iterdir()]
    parts = len(list((tmp_path / "parts").iterdir()))
    assert logs and sum(text.count(" begins\n") for text in logs) == sum(text.count(" ends, ") for text in logs) == parts
    rundir.tidy(str(tmp_path), PAIRS)  # they are files of a run
