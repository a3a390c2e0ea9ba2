"""Genome runs on this machine's GPUs: LASTZ's output and the host's bytes."""

from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from genome_chaos import drive
from genome_golden import RUNS
from genome_gpu_cases import OPTIONS, answer, as_lastz, check_replaced, drive_apart, journal

from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome.run import run_genomes
from tidalign.workflows.status import Exit

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpus")]


@pytest.mark.parametrize("name", sorted(RUNS))
def test_what_lastz_prints(tmp_path: Path, name: str, gpus: dict[str, str]) -> None:
    report = as_lastz(tmp_path, name)
    assert (report["device"], report["workers"]) == (next(iter(gpus.values())), 0)
    assert not [name for name in report["work"] if "for lack of room" in name]


@pytest.mark.parametrize("change", OPTIONS, ids=str)
def test_the_hosts_bytes(tmp_path: Path, sides: Any, change: dict[str, Any]) -> None:
    source, parameters = GenomeSource((Pair("pair", *sides),), keep=("hits", "hsps")), GenomeParameters(**change)
    for device, gpus in (("cpu", None), ("gpu", 1)):
        assert run_genomes(tmp_path / device, source, parameters, resources=Resources(device=device, gpus=gpus)).exit == Exit.COMPLETE
    assert answer(tmp_path / "cpu") == answer(tmp_path / "gpu")
    assert (len(GenomeResults(tmp_path / "cpu")) > 0) == (change != {"query_hsp_limit": 3})


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_stages(tmp_path: Path, sides: Any, answers: Any, mode: str) -> None:
    report = drive(str(tmp_path / "run"), *sides, mode, device="gpu", gpus=1)
    assert answer(tmp_path / "run") == answers[mode]
    assert report.workers == 0


def test_all_against_all(tmp_path: Path, sides: Any) -> None:
    source = GenomeSource((Pair("pair", sides[1], sides[0]),), all_vs_all=True)
    for device in ("cpu", "gpu"):
        with mock.patch.object(plan, "TILE_SECONDS", 0.1):
            run_genomes(tmp_path / device, source, GenomeParameters(), resources=Resources(device=device))
    assert answer_by_job(tmp_path / "cpu") == answer_by_job(tmp_path / "gpu")


def answer_by_job(run: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = GenomeResults(run).to_table().to_pylist()
    assert len({row["job"] for row in rows}) == 2
    return rows


@pytest.mark.parametrize("mode", ["exact", "independent"])
def test_two_gpus(tmp_path: Path, sides: Any, answers: Any, mode: str, gpus: dict[str, str]) -> None:
    if len(gpus) < 2:
        pytest.skip("one GPU")
    status, said = drive_apart(tmp_path / "run", sides, mode, {"gpus": 2})
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers[mode]
    assert journal(tmp_path / "run", "hired")[-1]["workers"] == 2
    assert len({each["gpu_held"] for each in journal(tmp_path / "run", "done")}) == 2


def test_a_process_whose_gpu_fails_is_replaced(tmp_path: Path, sides: Any, answers: Any) -> None:
    tile = "j000000.u2.walk"
    status, said = drive_apart(tmp_path / "run", sides, "exact", {"gpus": 1}, TIDALIGN_TEST_FAULT=f"{tile}:0")
    assert status == Exit.COMPLETE, said
    assert answer(tmp_path / "run") == answers["exact"]
    assert rundir.finished(str(tmp_path / "run")) == "SUCCESS"
    check_replaced(tmp_path / "run", tile)
