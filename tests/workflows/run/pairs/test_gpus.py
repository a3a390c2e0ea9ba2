"""How work is fed to a GPU, tried with the host's kernels in its place: several chunks a task, reading and writing beside the alignment."""

import itertools
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from chaos import Pairs, answer, drive, expected, simulate

from tidalign.cluster import guard
from tidalign.kernels.bidirectional import device as bidirectional_device
from tidalign.kernels.local import pairs_device
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.pipeline.device import CPU, DEVICES, GPU
from tidalign.pipeline.pairs import partition
from tidalign.pipeline.pairs.aligner import ALIGNERS, SCORED, WAVEFRONT, Form, PairParameters
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.scored import ScoreParameters
from tidalign.pipeline.store import claims
from tidalign.workflows.estimate import background, of_pairs, rates, tiny
from tidalign.workflows.estimate.rates import Rates
from tidalign.workflows.run import devices, runner
from tidalign.workflows.run.crew import Crew
from tidalign.workflows.run.devices import Gpus, Resources
from tidalign.workflows.run.pairs import alignment, run, tasks
from tidalign.workflows.status import Exit

PAIRS = 240  # in chunks of 3


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Pairs]:
    folder = tmp_path_factory.mktemp("pairs")
    return folder, simulate(folder, PAIRS, seed=5)


@pytest.fixture
def gpu(made: tuple[Path, Pairs], monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Put the host's kernels in the place of a GPU; gives the pairs of each of its calls, as they end, but for the one that starts it."""
    calls: list[int] = []

    def kernels(queries: Any, targets: Any, parameters: Any) -> Any:
        found = WAVEFRONT.on(CPU).align(queries, targets, parameters)
        if threading.current_thread().name != "start":
            calls.append(len(queries))
        return replace(found, by_host=1)  # as if the host had taken one of them

    forms = {**WAVEFRONT.forms, GPU.name: Form(kernels, lambda *_: None)}
    monkeypatch.setitem(ALIGNERS, WAVEFRONT.name, replace(WAVEFRONT, forms=forms))
    monkeypatch.setattr(devices, "choose", lambda _: Gpus({"0": "host kernels"}, "a test", GPU))
    yield calls
    GPU_OF_PROCESS.lost = None


def drive_made(directory: Path, made: tuple[Path, Pairs], **options: Any) -> Any:
    return drive(str(directory), str(made[0] / "q.fa"), str(made[0] / "t.fa"), **options)


def test_chunks_share_calls_and_give_the_same_rows(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []
    report = drive_made(tmp_path, made, progress=lambda *step: told.append(step))
    assert answer(tmp_path) == expected(made[1])
    assert (report.device, report.workers, report.aligned) == ("host kernels", 0, PAIRS)
    assert report.by_host == len(gpu) > 0
    assert sum(gpu) == PAIRS
    assert len(list((tmp_path / "parts").iterdir())) == PAIRS // 3
    assert list((tmp_path / "claims").iterdir()) == []
    steps = [done for stage, done, _ in told if stage == "align"]
    assert steps == sorted(steps)
    assert steps[-1] == PAIRS


def test_a_batch_takes_what_was_read_and_no_more_than_it_may(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEVICES, GPU.name, replace(GPU, batch_rows=7))
    monkeypatch.setattr(alignment, "GROUPS", 1)
    drive_made(tmp_path, made)
    assert answer(tmp_path) == expected(made[1])
    assert max(gpu) == 6  # two chunks of 3 pairs
    assert len(gpu) < PAIRS // 3


def test_what_comes_next_is_read_and_what_came_before_is_written_meanwhile(
    gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a batch is on the GPU, others are read and written; only one is ever there, and only that is claimed."""
    at: set[str] = set()
    seen: list[set[str]] = []
    most: list[int] = []
    real = {"read": tasks.read_chunk, "write": tasks.write_rows, "align": tasks.alignments}

    def stage(name: str, seconds: float) -> Any:
        def slow(*arguments: Any) -> Any:
            mine = f"{name} {threading.get_ident()}"
            at.add(mine)
            time.sleep(seconds)
            now = [each.split()[0] for each in list(at)]  # a copy, made at once: others come and go
            seen.append(set(now))
            if name == "align":
                most.append(now.count("align"))
                pairs = {claims.read(str(path)) for path in (tmp_path / "claims").iterdir()}
                assert sum(hi - lo for lo, hi in pairs) <= len(arguments[1][0])
            at.discard(mine)
            return real[name](*arguments)

        return slow

    monkeypatch.setitem(DEVICES, GPU.name, replace(GPU, batch_rows=6))
    monkeypatch.setattr(tasks, "read_chunk", stage("read", 0.02))
    monkeypatch.setattr(tasks, "write_rows", stage("write", 0.02))
    monkeypatch.setattr(tasks, "alignments", stage("align", 0.05))
    drive_made(tmp_path, made)
    assert answer(tmp_path) == expected(made[1])
    assert max(most) == 1
    assert {"read", "align"} in seen or {"read", "align", "write"} in seen
    assert {"align", "write"} in seen or {"read", "align", "write"} in seen


def shared(monkeypatch: pytest.MonkeyPatch, beside: int) -> None:
    """Have each call say that the GPU may have so many others beside it."""
    forms = {**ALIGNERS[WAVEFRONT.name].forms}
    forms[GPU.name] = replace(forms[GPU.name], beside=lambda *_: beside)
    monkeypatch.setitem(ALIGNERS, WAVEFRONT.name, replace(WAVEFRONT, forms=forms))


def test_long_pairs_share_the_gpu(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make as many calls at a time as each lets, each of them claimed; and the same rows."""
    at, most, claimed, three = list[int](), list[int](), list[int](), threading.Event()

    def slow(*arguments: Any) -> Any:
        at.append(len(arguments[1][0]))
        if len(at) == 3:
            three.set()
        three.wait(30)
        now = list(at)
        most.append(len(now))
        claimed.append(len(list((tmp_path / "claims").iterdir())))
        at.remove(len(arguments[1][0]))
        return real(*arguments)

    real = tasks.alignments
    shared(monkeypatch, 2)
    monkeypatch.setattr(tasks, "alignments", slow)
    monkeypatch.setitem(DEVICES, GPU.name, replace(GPU, batch_rows=6))
    drive_made(tmp_path, made)
    assert answer(tmp_path) == expected(made[1])
    assert max(most) == 3 and max(claimed) > 1 and list((tmp_path / "claims").iterdir()) == []


def test_who_has_the_gpu_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pairs by penalties; calls by scores let one other, whatever their pairs, where there is memory."""
    monkeypatch.setattr(bidirectional_device, "beside", lambda: 3)
    beside, exact, heuristic = WAVEFRONT.on(GPU).beside, PairParameters(), PairParameters(heuristic="adaptive")
    assert beside and [beside(exact, 32_768), beside(exact, 32_769), beside(heuristic, 32_769)] == [0, 3, 0]
    scores = SCORED.on(GPU).beside
    for room in (0, 1, 3):
        monkeypatch.setattr(pairs_device, "room_beside", partial(min, room))
        assert scores and scores(ScoreParameters("match:1,mismatch:-4,gap:6,2"), 150) == min(1, room)


@pytest.mark.parametrize("beside", [0, 3])
def test_a_gpu_that_fails_is_left_to_a_worker(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: int) -> None:
    """The process that met the error asks for a worker; the claims of what it was at stay."""
    left: list[int] = []
    shared(monkeypatch, beside)

    def broken(*_: Any) -> Any:
        raise KernelError("an illegal memory access was encountered")

    def hire(crew: Any, **_: Any) -> None:
        left.append(len(list((tmp_path / "claims").iterdir())))
        monkeypatch.setattr(tasks, "alignments", real)
        GPU_OF_PROCESS.lost = None  # as in a worker's process

    real = tasks.alignments
    monkeypatch.setattr(tasks, "alignments", broken)
    monkeypatch.setattr(Crew, "hire", hire)
    monkeypatch.setattr(Crew, "begin_to_hire", lambda *_, **__: None)
    report = drive_made(tmp_path, made)
    assert answer(tmp_path) == expected(made[1])
    assert (report.exit, report.aligned) == (Exit.COMPLETE, PAIRS)
    assert left[0] > 0
    assert list((tmp_path / "claims").iterdir()) == []


def test_workers_that_are_there_do_what_a_lost_gpu_was_at(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run goes on: its other tasks run, and must not be begun again."""
    real, calls = tasks.write_rows, itertools.count()  # several threads write at once: exactly one of them meets the error

    def broken_once(*arguments: Any) -> Any:
        if next(calls) == 0:
            raise KernelError("an illegal memory access was encountered")
        return real(*arguments)

    monkeypatch.setattr(tasks, "write_rows", broken_once)  # where no turn with the GPU is held: this process, whose GPU works, stands for a worker
    monkeypatch.setattr(Crew, "size", property(lambda _: 1, lambda *_: None), raising=False)
    monkeypatch.setattr(Crew, "hire", lambda *_, **__: pytest.fail("they are there"))
    monkeypatch.setattr(Crew, "begin_to_hire", lambda *_, **__: None)
    report = drive_made(tmp_path, made)
    assert answer(tmp_path) == expected(made[1])
    assert (report.exit, report.aligned, report.retries) == (Exit.COMPLETE, PAIRS, 1)
    assert list((tmp_path / "claims").iterdir()) == []


def test_memory_that_a_writer_lacks_is_a_death_of_its_rows(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = tasks.rows

    def greedy(aligner: Any, chunk: Any, found: Any) -> Any:
        if 4 in chunk["ordinal"].to_pylist():
            raise MemoryError
        return real(aligner, chunk, found)

    monkeypatch.setattr(tasks, "rows", greedy)
    report = drive_made(tmp_path, made)  # the processes that rows are isolated in have memory enough
    assert answer(tmp_path) == expected(made[1])
    assert (report.deaths, report.exit) == (2, Exit.COMPLETE)


def test_a_chunk_that_is_gone_ends_the_run_at_once(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = partition.read_chunk

    def lost(directory: str, chunk: str, start: int, stop: int) -> Any:
        if chunk.startswith("b00003"):
            raise FileNotFoundError(chunk)
        return real(directory, chunk, start, stop)

    monkeypatch.setattr(tasks, "read_chunk", lost)
    with pytest.raises(FileNotFoundError, match="b00003"):
        drive_made(tmp_path, made)
    assert list((tmp_path / "claims").iterdir()) == []
    monkeypatch.setattr(tasks, "read_chunk", real)
    drive_made(tmp_path, made)
    assert answer(tmp_path) == expected(made[1])


def test_the_device_is_started_while_the_input_is_read(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[Any]] = []
    real = run.start

    def noted(*arguments: Any) -> None:
        seen.append([*arguments])
        real(*arguments)
        seen.append([])
        time.sleep(0.5)

    monkeypatch.setattr(run, "start", noted)
    began = time.monotonic()
    drive_made(tmp_path, made)
    assert [device for *_, device in seen[:1]] == [GPU]
    assert time.monotonic() - began > 0.5  # nothing is aligned before it is ready
    assert answer(tmp_path) == expected(made[1])
    drive_made(tmp_path, made)
    assert len(seen) == 2  # a finished run needs no device


def test_the_estimate_chooses_for_tiny_input_alone(made: tuple[Path, Pairs], monkeypatch: pytest.MonkeyPatch) -> None:
    both, h200 = Gpus({"0": "H200", "1": "H200"}, "all of them", GPU), Rates("H200", True, "now", {"start": {"device": 100.0}})
    kind = run.Pairs(inspect(str(made[0] / "q.fa"), str(made[0] / "t.fa")), PairParameters())
    found = replace(of_pairs.forecast(kind._source, PairParameters()), gpu={h200: 1.0})
    monkeypatch.setattr(run.Pairs, "forecast", lambda _: found)
    assert kind.chosen(both, devices.DEFAULT) is both, "they were not measured here"
    monkeypatch.setattr(rates, "_kept", lambda: (h200,))
    assert not kind.chosen(both, devices.DEFAULT).names, "cores are done before they have started"
    assert kind.chosen(both, replace(devices.DEFAULT, gpus=2)) is both
    assert kind.chosen(both, replace(devices.DEFAULT, device="gpu")) is both
    monkeypatch.setattr(tiny, "BYTES", 0)
    monkeypatch.setattr(run.Pairs, "forecast", lambda _: 1 / 0)
    assert kind.chosen(both, devices.DEFAULT) is both


def test_several_are_taken_by_those_who_can_start_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "usable", lambda count=None: {"0": "H200", "1": "H200"})
    monkeypatch.setattr(devices, "shareable", lambda count=None: True)
    monkeypatch.setattr(devices, "installed", lambda name: True)
    assert len(devices.choose(Resources()).names) == 2
    for one in (devices.choose(Resources(workers=0)), devices.choose(Resources(workers=0, gpus=2))):
        assert (list(one.names), one.why) == (["0"], "no worker processes are wanted")
    monkeypatch.setattr(guard, "may_start", lambda: False)
    assert devices.choose(Resources()).why == "worker processes cannot be started from here"
    monkeypatch.setattr(devices, "installed", lambda name: False)
    assert "dask-cuda" in devices.choose(Resources()).why
    assert len(devices.choose(Resources(gpus=2)).names) == 2, "who asks for them is told what lacks"


def test_who_begins_on_several(made: tuple[Path, Pairs], monkeypatch: pytest.MonkeyPatch) -> None:
    source = inspect(str(made[0] / "q.fa"), str(made[0] / "t.fa"))
    kind, both = run.Pairs(source, PairParameters()), Gpus({"0": "H200", "1": "H200"}, "all of them", GPU)
    assert kind.begins_here(both) and not kind.begins_here(replace(both, cores=2)) and not kind.begins_here(replace(both, shareable=False))
    monkeypatch.setattr(type(source), "has_pipe", True)
    assert not kind.begins_here(both), "what came from a pipe is not there again where this process loses its GPU"
    assert kind.begins_here(replace(both, shareable=False).first("a test")), "the only one is this process's"


def test_one_gpu_does_not_wait_for_a_forecast(gpu: list[int], made: tuple[Path, Pairs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    over, forecast = threading.Event(), threading.Event()

    def slow(_: Any) -> None:
        over.wait(600)
        forecast.set()

    monkeypatch.setattr(run.Pairs, "forecast_from", 0.0)
    monkeypatch.setattr(background, "_apart", slow)
    source = inspect(str(made[0] / "q.fa"), str(made[0] / "t.fa"))
    runner.read(tmp_path, run.Pairs(source, PairParameters()), Resources(workers=0))
    try:
        found = drive_made(tmp_path, made)
        assert not forecast.is_set() and sum(gpu) == PAIRS and found.predicted is None
    finally:
        over.set()
    assert answer(tmp_path) == expected(made[1]) and forecast.wait(600)


def test_blocks_read_while_a_gpu_starts_are_given_out_together(tmp_path: Path) -> None:
    """Not one a task up to as many as run at a time, behind which the GPU would wait for the others' files; each of them once."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "parts").mkdir()
    given = alignment.Alignment(str(tmp_path), "run", {}, mock.Mock(), lambda *_: None, GPU, 1, 2)
    chunks: list[Any] = [{"id": f"b{place:05d}-08-000", "rows": 100, "bin": 8, "work": 1e6, "bytes": 1, "longest": 150} for place in range(40)]
    records: list[Any] = [{"id": place, "pairs": 100, "chunks": [chunk]} for place, chunk in enumerate(chunks)]
    tasks = list(given.found(records))
    pieces = [piece for task in tasks for piece in task.arguments[3]]
    assert sorted((piece.chunk, piece.start, piece.stop) for piece in pieces) == [(chunk["id"], 0, 100) for chunk in chunks]
    assert len(tasks) == alignment.GROUPS
    assert list(given.found([{"id": 40, "pairs": 100, "chunks": [{**chunks[0], "id": "b00040-08-000"}]}])) == [], "enough is at work"


@pytest.mark.parametrize(("gpus", "sizes"), [(1, [4, 4]), (4, [1] * 8)])
def test_few_long_pairs_share_tasks(tmp_path: Path, gpus: int, sizes: list[int]) -> None:
    """Not a task each: a GPU is slow at one; but each GPU has two."""
    (tmp_path / "claims").mkdir()
    (tmp_path / "parts").mkdir()
    given = alignment.Alignment(str(tmp_path), "run", {}, mock.Mock(), lambda *_: None, GPU, gpus, 8)
    chunks: list[Any] = [{"id": f"b00000-19-{place:03d}", "rows": 1, "bin": 19, "work": 2.5e9, "bytes": 1, "longest": 500_000} for place in range(8)]
    record: Any = {"id": 0, "pairs": 8, "chunks": chunks}
    assert [len(task.arguments[3]) for task in given.found([record])] == sizes
