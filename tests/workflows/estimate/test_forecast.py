"""Forecasts: how tasks fall on workers, and what an estimate says of seconds, for a machine whose rates are made up."""

import math
from itertools import product

import numpy as np
import pytest

from tidalign.pipeline.device import CPU, GPU
from tidalign.workflows.estimate import rates
from tidalign.workflows.estimate.forecast import Forecast, makespan, table, values
from tidalign.workflows.estimate.rates import Rates
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Gpus, Resources

CORE = Rates("core", False, "then", {"start": {"command": 0.5, "workers": 1.0}})
H200 = Rates("H200", True, "then", {"start": {"device": 2.0}})


def forecast(**changes: object) -> Forecast:
    fields = {"what": {"pairs": 7.0}, "read": 4.0, "readers": 2, "tasks": [(3.0, 4)], "gpu": {H200: 6.0}, "host": 1.0, "export": 0.25}
    return Forecast(**(fields | {"bytes": {"in": 2e6}, "sample": "all", "core": CORE} | changes))  # type: ignore[arg-type]


def best(tasks: list[float], workers: int) -> float:
    """Find the least time of all ways to give tasks to workers."""
    ways = product(range(workers), repeat=len(tasks))
    return min(max(sum(task for task, to in zip(tasks, way, strict=True) if to == worker) for worker in range(workers)) for way in ways)


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_first_are_within_a_third_of_the_best_way(seed: int) -> None:
    random = np.random.default_rng(seed)
    tasks = random.integers(1, 20, random.integers(1, 8)).astype(float).tolist()
    for workers in (1, 2, 3):
        found, least = makespan([(task, 1) for task in tasks], workers), best(tasks, workers)
        assert least <= found + 1e-9 <= least * (4 / 3) + 1e-6
    assert makespan([(2.0, 3)], 2) == 4.0 == makespan([(2.0, 1)] * 3, 2)
    assert makespan([(1.0, 10**9)], 4) == 10**9 / 4 and makespan([], 3) == 0


def test_seconds_of_a_command() -> None:
    one = forecast()
    assert one.work == 12
    assert one.seconds(0) == 0.5 + 4 + 12 + 0.25
    assert one.seconds(2) == 0.5 + 2 + 6 + 0.25, "workers start while the input is read"
    assert forecast(read=0.5).seconds(2) == 0.5 + 0.25 + 0.75 + 6 + 0.25, "which is waited for where that is sooner done"
    assert forecast(threads=2).seconds(0) == 0.5 + 2 + 6 + 0.125, "one process has threads"
    assert forecast(threads=2).seconds(1) == 0.5 + 4 + 12 + 0.125, "rows are written by this process"
    assert one.seconds_on(H200, 1, 4) == one.seconds_on(H200, 2, 4) == 2.5 + 2 + 6 + 0.0625, "one does what little there is"
    assert forecast(gpu={H200: 12.0}, read=2.0).seconds_on(H200, 2, 4) == 2.5 + 2 + 6 + 0.0625, "workers take two seconds to start"
    assert forecast(export=24.0, threads=64, readers=4).seconds(0) == 0.5 + 1 + 3 + 2, "no more than twelve threads write"
    assert forecast(host=40.0).seconds_on(H200, 4, 2) == 2.5 + 2 + 20 + 0.125, "cores that write may be what is waited for"


def test_workers_are_worth_their_start_or_not() -> None:
    assert forecast().sooner(2) == 2 and forecast().sooner(2, 0.1) == 0
    assert forecast(tasks=[(3.0, 1)]).sooner(8) == 0, "one task is no faster by more"


def test_a_prediction_of_what_is_left() -> None:
    assert forecast().predicted(None, 2, 0.5) == {"read": 2.0, "start": 0.0, "work": 3.0}
    assert forecast().predicted(["H200", "H200"], 2, 1.0) == {"read": 2.0, "start": 0.0, "work": 3.0}
    assert forecast(read=2.0).predicted(["H200", "H200"], 2, 1.0) == {"read": 1.0, "start": 1.0, "work": 3.0}, "workers with GPUs take two seconds to start"
    assert forecast(threads=8, readers=16).predicted(["H200", "H200"], 2, 1.0) == {"read": 0.5, "start": 1.5, "work": 3.0}, "this process reads"
    assert forecast().predicted(["H200"], 0, 1.0) == {"read": 4.0, "start": 0.0, "work": 6.0}, "this process has its own"
    assert forecast().predicted(["another"], 2, 1.0) is None
    assert forecast(threads=4).predicted(None, 0, 0.5) == {"read": 2.0, "start": 0.0, "work": 1.5}


def test_a_table_and_json_say_the_same() -> None:
    said, shown = values(forecast(), 2), dict(table(forecast(), 2))
    assert said["seconds"]["workers"] == {str(count): forecast().seconds(count) for count in (0, 1, 2)}
    assert said["seconds"]["gpus"] == {"H200": {str(count): forecast().seconds_on(H200, count, 2) for count in (1, 2, 4)}}
    assert shown["one process"] == "16.8 s" and shown["4 GPUs"] == f"{said['seconds']['gpus']['H200']['4']:.1f} s, H200" and shown["bytes in"] == "2.0 MB"
    unseen = table(forecast(what={"pairs": 1.0, "alignments": 0.0}, bytes={"in": 2e6, "out": 0.0}), 2)
    assert dict(unseen)["alignments"] == dict(unseen)["bytes out"] == "none in what was looked at"
    assert math.isclose(said["core_seconds"]["work"], 12) and "no figures" in dict(table(forecast(gpu={}), 2))["GPUs"]


@pytest.mark.parametrize(
    ("gpu", "tasks", "wanted"),
    [(180.0, [(3.0, 400)], 4), (6.0, [(0.1, 1)], 0), (0.1, [(9.0, 9)], 4)],
    ids=["GPUs for much work", "cores for little", "GPUs, of which the first will do it"],
)
def test_where_a_run_is_sooner_done(gpu: float, tasks: list[tuple[float, int]], wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cores", lambda: 2)
    monkeypatch.setattr(rates, "_kept", lambda: (H200,))
    found = forecast(gpu={H200: gpu}, tasks=tasks, read=0.1)
    four = Gpus({str(number): "H200" for number in range(4)}, "all", GPU)
    chosen = devices.sooner(four, Resources(), lambda: found)
    assert len(chosen.names) == wanted and (chosen is four or "by the estimate" in chosen.why) and chosen.device is (GPU if wanted else CPU)
    assert devices.sooner(four, Resources(gpus=4), lambda: found) is four, "somebody said how many"
    assert devices.sooner(Gpus({"0": "another"}, "all", GPU), Resources(), lambda: found).names == {"0": "another"}, "it was not measured here"


def test_cores_that_need_no_workers_have_little_done_before_a_gpu_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers would take a second to start, the GPU 0.6 s, and threads of the command none."""
    quick = Rates("H200", True, "then", {"start": {"device": 0.6}})
    monkeypatch.setattr(devices, "cores", lambda: 16)
    monkeypatch.setattr(rates, "_kept", lambda: (quick,))
    one, found = Gpus({"0": "H200"}, "all", GPU), forecast(gpu={quick: 0.1}, tasks=[(0.1, 80)], read=0.0, export=0.0, host=0.0, threads=16)
    assert devices.sooner(one, Resources(), lambda: found, small=48.0).device is CPU
    assert devices.sooner(one, Resources(), lambda: found, small=1.0) is one, "more is done by workers"
