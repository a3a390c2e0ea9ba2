"""Nodes of jobs of PBS and LSF that a command does not use are told of, in one line."""

from pathlib import Path

import pytest

from tidalign.workflows import cli
from tidalign.workflows.nodes import unused


@pytest.fixture
def hosts(tmp_path: Path) -> str:
    """Write the file of a job on two nodes with two processors each."""
    (tmp_path / "hosts").write_text("n1\nn1\nn2\nn2\n")
    return str(tmp_path / "hosts")


def test_jobs_of_several_nodes_are_found(hosts: str, tmp_path: Path) -> None:
    (tmp_path / "one").write_text("n1\nn1\n")
    assert str(unused({"PBS_JOBID": "7.head", "PBS_NODEFILE": hosts})).startswith("PBS's job 7.head has 2 nodes, of which this one alone is used; ")
    assert str(unused({"LSB_JOBID": "7", "LSB_DJOB_HOSTFILE": hosts})).startswith("LSF's job 7 has 2 nodes")
    assert str(unused({"LSB_JOBID": "7", "LSB_HOSTS": "n1 n1 n2 n3"})).startswith("LSF's job 7 has 3 nodes")
    for environment in (
        {},
        {"PBS_NODEFILE": hosts},
        {"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path / "one")},
        {"PBS_JOBID": "7", "PBS_NODEFILE": str(tmp_path / "none")},
        {"LSB_JOBID": "7", "LSB_HOSTS": "n1 n1"},
        {"LSB_JOBID": "7"},
    ):
        assert unused(environment) is None


def test_a_command_tells_unless_somebody_said_who_works(
    hosts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PBS_JOBID", "7.head")
    monkeypatch.setenv("PBS_NODEFILE", hosts)
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(">a\nACGTACGT\n")
    words = ["pairs", str(tmp_path / "a.fa"), str(tmp_path / "b.fa"), "--device", "cpu"]
    for place, (before, behind, told) in enumerate(
        (([], [], 1), (["--cluster", "none"], [], 0), ([], ["--workers", "0"], 0), ([], ["--shard", "1/1"], 0), ([], ["--quiet"], 0))
    ):
        assert cli.main([*before, *words, *behind, "-o", str(tmp_path / f"run{place}")]) == 0
        assert capsys.readouterr().err.count("tidalign: PBS's job 7.head has 2 nodes, of which this one alone is used") == told
