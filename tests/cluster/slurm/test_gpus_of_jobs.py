"""Jobs that ask Slurm for GPUs use those that they are given, on every node: with files that stand in for GPUs, and with this machine's."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from slurm_site import Site, gpus, stand_ins, started
from work import program, script, submit

from tidalign.cluster.slurm import site as profiles

STAND_IN = Path(__file__).parents[2] / "workflows" / "stand_in"

WORDS = ("genome", "t.fa", "q.fa", "--mode=independent")


@pytest.fixture(scope="module")
def with_stand_ins(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a Slurm with two GPUs a node, which are files in their place."""
    yield from started(gpus=stand_ins(tmp_path_factory.mktemp("devices"), 4))


@pytest.fixture(scope="module")
def with_gpus() -> Iterator[Site]:
    """Start a Slurm with the GPUs of this machine; the nodes take turns with them."""
    if not gpus():
        pytest.skip("no GPU here")
    yield from started(gpus=gpus())


def write_sides(folder: Path) -> None:
    letters = "GATTACACCTGAGTCATTGCCATTGACGGATCCATGAC" * 40
    (folder / "t.fa").write_text(f">t\n{letters}\n")
    (folder / "q.fa").write_text(f">q\n{letters[:700]}TTT{letters[700:]}\n")


def report(run: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((run / "report.json").read_text())
    return read


def test_a_job_has_the_gpus_that_it_asked_for(with_stand_ins: Site, tmp_path: Path) -> None:
    number = submit(with_stand_ins, tmp_path, "srun --label sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'", "--nodes=2", "--gpus-per-node=1")
    assert with_stand_ins.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    said = sorted(line.partition(": ")[2] for line in (tmp_path / "log").read_text().splitlines())
    assert said == ["node1 0", "node2 1"]


@pytest.mark.parametrize("each", [1, 2])
def test_a_run_uses_those_of_its_job(with_stand_ins: Site, tmp_path: Path, each: int) -> None:
    write_sides(tmp_path)
    program(tmp_path, *WORDS, "-o", "expected.maf", "--device=cpu")
    text = f"export TIDALIGN_TEST_GPUS=4 PYTHONPATH={STAND_IN}\n{script(*WORDS, '-o', 'out.maf', '--device=gpu', '--keep-run')}"
    number = submit(with_stand_ins, tmp_path, text, "--nodes=2", "--ntasks-per-node=1", f"--gpus-per-node={each}")
    assert with_stand_ins.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    assert report(tmp_path / "out.maf.run")["workers"] == 2 * 2 * each, "two nodes, and two workers share each GPU"
    assert (tmp_path / "out.maf").read_bytes() == (tmp_path / "expected.maf").read_bytes()
    said = f"job {number} has 1 processor on node1 for {2 * each} workers with GPUs, which wait for each other; ask for some 8 a GPU: sbatch --cpus-per-task=N"
    assert said in (tmp_path / "log").read_text() and "(so it is on 2 nodes)" in (tmp_path / "log").read_text()


def test_a_job_of_the_commands_own_has_their_share_of_the_processors(with_stand_ins: Site, tmp_path: Path) -> None:
    """All of both nodes, with no profile and no word of processors."""
    write_sides(tmp_path)
    asked = ("--cluster", "slurm", "--nodes", "2", "--gpus-per-node", "2", "--follow", *WORDS, "-o", "out.maf", "--device=gpu", "--gpus", "1", "--keep-run")
    own = {name: with_stand_ins.environment[name] for name in ("SLURM_CONF",)} | {"XDG_CONFIG_HOME": str(tmp_path)}
    done = program(tmp_path, *asked, environment=own | {"TIDALIGN_TEST_GPUS": "4", "PYTHONPATH": str(STAND_IN)})
    assert with_stand_ins.job(done.stdout.strip())["NumCPUs"] == "4"
    assert report(tmp_path / "out.maf.run")["workers"] == 4 and "wait for each other" not in done.stderr


def test_cores_beside_the_gpus_of_a_job(with_stand_ins: Site, tmp_path: Path) -> None:
    write_sides(tmp_path)
    program(tmp_path, *WORDS, "-o", "expected.maf", "--device=cpu")
    words = (*WORDS, "-o", "out.maf", "--device=gpu", "--cpu-workers=1", "--keep-run")
    text = f"export TIDALIGN_TEST_GPUS=4 PYTHONPATH={STAND_IN}\n{script(*words)}"
    number = submit(with_stand_ins, tmp_path, text, "--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=1")
    assert with_stand_ins.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    assert report(tmp_path / "out.maf.run")["workers"] == 4
    assert (tmp_path / "out.maf").read_bytes() == (tmp_path / "expected.maf").read_bytes()


def test_the_profile_counts_them(with_stand_ins: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = with_stand_ins.ask("sinfo", "--noheader", "--format=%P %G")
    assert {profiles._gpus(line.split()[1]) for line in rows.splitlines()} == {2}


@pytest.mark.gpu
@pytest.mark.parametrize("nodes", [1, 2])
def test_the_gpus_of_this_machine(with_gpus: Site, tmp_path: Path, nodes: int) -> None:
    if len(gpus()) < nodes:
        pytest.skip(f"{nodes} GPUs are needed")
    write_sides(tmp_path)
    program(tmp_path, *WORDS, "-o", "expected.maf", "--device=cpu")
    words = (*WORDS, "-o", "out.maf", "--device=gpu", "--keep-run")
    number = submit(with_gpus, tmp_path, script(*words), f"--nodes={nodes}", "--ntasks-per-node=1", "--gpus-per-node=1")
    assert with_gpus.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    said = report(tmp_path / "out.maf.run")
    assert said["device"] != "cpu" and (said["workers"] or 1) == {1: 1, 2: 4}[nodes] and len(said["device"].split(", ")) == nodes
    assert (tmp_path / "out.maf").read_bytes() == (tmp_path / "expected.maf").read_bytes()
