"""Pairs are aligned while others are read: no stage waits for the end of another, and who is cut short amid both goes on from there."""

import gzip
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chaos import BLOCK_PAIRS, Pairs, drive, expected, rows, simulate

from tidalign.cluster.task import cores
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs import partition
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input import index, read
from tidalign.pipeline.store import rundir
from tidalign.workflows.run import crew
from tidalign.workflows.run.pairs import alignment, run
from tidalign.workflows.status import Exit

PAIRS = 8 * BLOCK_PAIRS
PATIENCE = 600.0


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pairs]:
    folder = tmp_path_factory.mktemp("pairs")
    pairs = simulate(folder, PAIRS, seed=23)
    for name in ("q.fa", "t.fa"):
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    return folder, pairs


def inputs(made: tuple[Path, Pairs], ending: str = "") -> list[str]:
    return [str(made[0] / f"{name}.fa{ending}") for name in "qt"]


def answer(directory: Path) -> list[tuple[int, int, str]]:
    return [(row["ordinal"], row["penalty"], row["cigar"]) for row in rows(str(directory))]


def wait_for_parts(directory: Path) -> None:
    """Wait until something was aligned: for ever where a barrier is before it."""
    until = time.monotonic() + PATIENCE
    while not list(directory.glob("parts/*.parquet")):
        assert time.monotonic() < until, "nothing was aligned before all was read"
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [None, 1])
def test_the_last_block_may_wait_for_the_alignments_of_the_first(
    workers: int | None, made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = partition.packed_block

    def packed_block(source: Any, block: Any, **options: Any) -> Any:
        if block.first + block.pairs == PAIRS:
            wait_for_parts(tmp_path)
        return real(source, block, **options)

    monkeypatch.setattr(partition, "packed_block", packed_block)
    report = drive(str(tmp_path), *inputs(made), workers=workers)
    assert answer(tmp_path) == expected(made[1])
    assert (report.aligned, report.workers) == (PAIRS, workers or 0)


def test_workers_align_what_is_read_in_sequence_meanwhile(made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = alignment.stream_blocks

    def stream_blocks(source: Any) -> Any:
        for block, pairs in real(source, block_bases=5000):
            if block.id == 2:
                wait_for_parts(tmp_path)
            yield block, pairs

    monkeypatch.setattr(alignment, "stream_blocks", stream_blocks)
    drive(str(tmp_path), *inputs(made, ".gz"), workers=1)
    assert answer(tmp_path) == expected(made[1])


def test_what_ends_a_run_amid_reading_keeps_what_is_aligned(made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = partition.packed_block

    def packed_block(source: Any, block: Any, **options: Any) -> Any:
        if block.id == 5:
            wait_for_parts(tmp_path)
            raise InputError("q.fa", "more", "less")
        return real(source, block, **options)

    monkeypatch.setattr(partition, "packed_block", packed_block)
    with pytest.raises(InputError, match=r"q\.fa: expected more"):
        drive(str(tmp_path), *inputs(made))
    assert not rundir.has_manifest(str(tmp_path))
    assert list((tmp_path / "claims").iterdir()) == []
    parts, records = ({path.name: path.stat().st_ino for path in (tmp_path / folder).iterdir()} for folder in ("parts", "blocks"))
    monkeypatch.setattr(partition, "packed_block", real)
    report = drive(str(tmp_path), *inputs(made))
    assert 0 < report.aligned < PAIRS
    assert answer(tmp_path) == expected(made[1])
    for folder, before in (("parts", parts), ("blocks", records)):
        assert before and before.items() <= {path.name: path.stat().st_ino for path in (tmp_path / folder).iterdir()}.items()


def test_unequal_files_are_told_whatever_was_aligned(made: tuple[Path, Pairs], tmp_path: Path) -> None:
    longer = tmp_path / "t.fa"
    longer.write_bytes((made[0] / "t.fa").read_bytes() + b">one more\nACGT\n")
    with pytest.raises(InputError, match=rf"as many records as in \S+ \({PAIRS + 1}\), found {PAIRS}"):
        drive(str(tmp_path / "run"), inputs(made)[0], str(longer))
    assert not rundir.has_manifest(str(tmp_path / "run"))


def test_a_pipe_that_says_nothing_more_keeps_nobody(made: tuple[Path, Pairs], tmp_path: Path) -> None:
    """The first Ctrl-C lets what is read come to its end, the second signal ends the command."""
    command = [sys.executable, "-m", "tidalign.workflows", "pairs", "-", inputs(made)[1], "-o", str(tmp_path / "run"), "--device", "cpu"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stderr
        process.stdin.write(">r0\nACGT\n" * 100_000)
        process.stdin.flush()
        until = time.monotonic() + PATIENCE
        while not (tmp_path / "run" / "plan.json").exists() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)  # two Ctrl-C that a busy process sees at once are one
        assert process.wait(PATIENCE) == Exit.INTERRUPTED
        assert "Traceback" not in process.stderr.read()


@pytest.mark.parametrize("share", [0.5, 2.0])
def test_one_block_tells_whether_workers_are_hired(share: float, made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much work a byte is expected of all that follows it."""
    manifest = run.partition_pairs(tmp_path / "all", read.inspect(*inputs(made)), PairParameters())
    work = sum(chunk["work"] for block in manifest.blocks for chunk in block["chunks"]) * alignment.SECONDS_PER_WORK
    monkeypatch.setenv("TIDALIGN_CORES", "2")  # of many
    monkeypatch.setattr(index, "CELL_BYTES", 512)
    monkeypatch.setattr(run.Pairs, "small", lambda self: share * work)
    hired: list[bool] = []
    real = crew.Crew.begin_to_hire

    def begin(self: Any, **options: Any) -> None:
        hired.append(True)
        real(self, **options)

    monkeypatch.setattr(crew.Crew, "begin_to_hire", begin)
    report = drive(str(tmp_path / "run"), *inputs(made))
    assert answer(tmp_path / "run") == expected(made[1])
    assert (bool(hired), report.workers) == ((True, cores()) if share < 1 else (False, 0))


def test_kernels_are_ready_before_tasks_that_need_them(made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ready: set[int] = set()
    lock = threading.Lock()
    real_kind, real_call = run.Pairs._reading, alignment.Alignment.call

    def reading(self: Any, *arguments: Any) -> Any:
        made = real_kind(self, *arguments)
        prepare = made._aligned.prepare

        def noted(longest: int) -> None:
            prepare(longest)
            with lock:
                assert longest.bit_length() not in ready
                ready.add(longest.bit_length())

        made._aligned = alignment.Aligned(made._aligned.tracker, noted, made._aligned.much)
        return made

    def call(self: Any, pieces: Any, device: Any) -> Any:
        assert max(self._chunks[piece.chunk]["longest"].bit_length() for piece in pieces) <= max(ready)
        return real_call(self, pieces, device)

    monkeypatch.setattr(run.Pairs, "_reading", reading)
    monkeypatch.setattr(alignment.Alignment, "call", call)
    drive(str(tmp_path), *inputs(made))
    assert len(ready) > 1
    assert answer(tmp_path) == expected(made[1])


def test_a_block_is_cut_into_a_few_tasks_a_thread(made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However little is taken for a task's least work: each writes a part."""
    monkeypatch.setenv("TIDALIGN_CORES", "2")
    monkeypatch.setattr(alignment, "FINEST_SECONDS", 1e-12)
    monkeypatch.setattr(alignment, "FINEST_SHARE", 1)
    drive(str(tmp_path), *inputs(made), workers=0)
    assert answer(tmp_path) == expected(made[1])
    parts, chunks = (Counter(path.name.partition("-")[0] for path in tmp_path.glob(f"{folder}/*.parquet")) for folder in ("parts", "chunks"))
    assert len(parts) == PAIRS / BLOCK_PAIRS
    assert all(count <= 2 + chunks[block] < BLOCK_PAIRS for block, count in parts.items()), (parts, chunks)
