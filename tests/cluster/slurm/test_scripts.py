"""The scripts of workflows/slurm, as docs/cluster.md gives them to sbatch, and the bytes of the same commands without Slurm."""

import os
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from slurm_site import Site, stand_ins, started
from work import program

ROOT = Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "workflows" / "slurm"


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Make a PATH with the program that is tested."""
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin" / "tidalign"
    wrapper.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m tidalign.workflows "$@"\n')
    wrapper.chmod(0o755)
    return f"{tmp_path}/bin:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a Slurm whose nodes have 64 processors, by its word, and four GPUs, which are files in their place."""
    yield from started(cpus=64, gpus=stand_ins(tmp_path_factory.mktemp("devices"), 8))


@pytest.fixture
def site(large: Site, path: str, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Put the program that is tested on the path of Slurm's jobs."""
    monkeypatch.setitem(large.environment, "PATH", path)
    return large


def genomes(folder: Path, count: int = 4) -> None:
    """Write FASTA files of sequences that are alike: targets.fa, and queries of all and of each."""
    chance = random.Random(6)
    targets = ["".join(chance.choices("ACGT", k=1500)) for _ in range(count)]
    queries = ["".join(chance.choice("ACGT") if chance.random() < 0.05 else letter for letter in text) for text in targets]
    (folder / "targets.fa").write_text("".join(f">t{number}\n{text}\n" for number, text in enumerate(targets)))
    (folder / "queries.fa").write_text("".join(f">q{number}\n{text}\n" for number, text in enumerate(queries)))
    for number, text in enumerate(queries):
        (folder / f"query{number}.fa").write_text(f">q{number}\n{text}\n")
    lines = [f"targets.fa[multiple]\tquery{number}.fa\tpair{number}" for number in range(count)]
    (folder / "jobs.tsv").write_text("\n".join(["target\tquery\tname", *lines, ""]))


def sbatch(site: Site, folder: Path, *words: str) -> str:
    """Submit from a folder; the job's number."""
    return site.ask("sbatch", "--parsable", *words, cwd=folder).strip()


DOCUMENTED = [
    line
    for text in ((ROOT / "docs" / "cluster.md").read_text(), *(script.read_text() for script in sorted(SCRIPTS.glob("*.sh"))))
    for line in re.findall(r"sbatch (?:--nodes|--array=1|\[--nodes)[^`\n]*\.sh\b", text)
]
"""Lines of sbatch that the documents and the scripts themselves give."""


def test_there_are_documented_lines() -> None:
    assert len(DOCUMENTED) >= 6 and all(any(script in line for line in DOCUMENTED) for script in ("chromosomes.sh", "genomes.sh", "lanes.sh"))


@pytest.mark.parametrize("line", DOCUMENTED)
def test_a_documented_line_gives_a_node_processors_for_its_gpus(line: str, large: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight each, of nodes whose Slurm gives one where nobody says how many."""
    (tmp_path / "tidalign").write_text("#!/bin/sh\necho $SLURM_JOB_CPUS_PER_NODE $SLURM_GPUS_ON_NODE\n")
    (tmp_path / "tidalign").chmod(0o755)
    monkeypatch.setitem(large.environment, "PATH", f"{tmp_path}:{os.environ['PATH']}")
    *words, script = shlex.split(re.sub(r"[\[\]]", " ", line).replace("--nodes=4", "--nodes=2"))[1:]
    words = [re.sub("--array=.*", "--array=1", word) for word in words if not word.startswith("--time")]  # more than the partition's
    number = large.ask("sbatch", "--parsable", *words, "--output=log", str(SCRIPTS / Path(script).name), "a", "b", "8", cwd=tmp_path).strip()
    assert large.wait_for(number)["JobState"] == "COMPLETED", (tmp_path / "log").read_text()
    cpus, *gpus = (tmp_path / "log").read_text().split()
    asked = re.search("--gpus-per-node=(.*?)[] ]", line)
    assert int(cpus.partition("(")[0]) >= 8 * int(gpus[0] if gpus else 1) and bool(gpus) >= bool(asked)


def logs(folder: Path) -> str:
    return "\n".join(path.read_text() for path in folder.glob("slurm-*.out"))


def test_all_chromosomes_of_two_genomes(site: Site, tmp_path: Path) -> None:
    genomes(tmp_path)
    number = sbatch(site, tmp_path, str(SCRIPTS / "chromosomes.sh"), "targets.fa", "queries.fa", "out", "--step=2")
    assert site.wait_for(number)["JobState"] == "COMPLETED", logs(tmp_path)
    assert "the processors of the 2 nodes" in logs(tmp_path)
    program(tmp_path, "genomes", "--all-vs-all", "targets.fa", "queries.fa", "-o", "alone", "--merge", "--step=2")
    assert (tmp_path / "out" / "all.maf").read_bytes() == (tmp_path / "alone" / "all.maf").read_bytes()


def test_many_genomes_against_one_by_an_array(site: Site, tmp_path: Path) -> None:
    genomes(tmp_path)
    number = sbatch(site, tmp_path, "--array=1-3", str(SCRIPTS / "genomes.sh"), "jobs.tsv", "out", "3")
    merging = sbatch(site, tmp_path, f"--dependency=afterok:{number}", "--wrap", "tidalign merge out.*/run -o out.maf")
    assert site.wait_for(merging)["JobState"] == "COMPLETED", logs(tmp_path)
    program(tmp_path, "genomes", "jobs.tsv", "-o", "alone", "--merge")
    assert (tmp_path / "out.maf").read_bytes() == (tmp_path / "alone" / "all.maf").read_bytes()
    again = sbatch(site, tmp_path, "--array=2", str(SCRIPTS / "genomes.sh"), "jobs.tsv", "out", "3")
    assert site.wait_for(f"{again}_2")["JobState"] == "COMPLETED", logs(tmp_path)
    assert len(list(tmp_path.glob("out.*/run"))) == 3


@pytest.mark.parametrize(
    ("place", "words", "said"),
    [
        ("2", ("out", "8"), "--requeue genomes jobs.tsv -o out.2 --shard 2/8 --step=2"),
        (None, ("out", "8"), "8 shares need an array of jobs, which this job is not of"),
        (None, ("out", "1"), "--requeue genomes jobs.tsv -o out --step=2"),
        ("0", ("out", "8"), "expected jobs 1 to 8 of the array, found job 0"),
        ("9", ("out", "8"), "expected jobs 1 to 8 of the array, found job 9"),
        ("1", ("out",), "expected the number of shares behind OUT, found '--step=2'"),
        ("1", ("out", "0"), "expected the number of shares behind OUT, found '0'"),
    ],
)
def test_a_share_is_the_same_one_when_it_is_repeated(place: str | None, words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Slurm counts one job where one of an array is submitted again."""
    (tmp_path / "tidalign").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "tidalign").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SLURM_JOB_ID": "7"} | ({"SLURM_ARRAY_TASK_ID": place, "SLURM_ARRAY_TASK_COUNT": "1"} if place else {})
    done = subprocess.run([str(SCRIPTS / "genomes.sh"), "jobs.tsv", *words, "--step=2"], env=environment, capture_output=True, text=True)
    assert said in (done.stdout if done.returncode == 0 else done.stderr) and (done.returncode == 0) == said.startswith("--requeue")


def test_reads_by_the_lane(site: Site, tmp_path: Path) -> None:
    for lane in (1, 2):
        for name in ("reads.fastq", "windows.fasta"):
            shutil.copy(ROOT / "workflows" / "demo" / f"{name}.gz", tmp_path / f"lane{lane}.{name}.gz")
    number = sbatch(site, tmp_path, "--array=1-2", str(SCRIPTS / "lanes.sh"), str(tmp_path))
    for lane in (1, 2):
        program(tmp_path, "pairs", f"{tmp_path}/lane{lane}.reads.fastq.gz", f"{tmp_path}/lane{lane}.windows.fasta.gz", "-o", "alone.sam")
        assert site.wait_for(f"{number}_{lane}")["JobState"] == "COMPLETED", logs(tmp_path)
        assert (tmp_path / f"lane{lane}.sam").read_bytes() == (tmp_path / "alone.sam").read_bytes()


def test_each_without_slurm(path: str, tmp_path: Path) -> None:
    """On this machine, with the bytes of the command alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")} | {"PATH": path}
    genomes(tmp_path)
    for name in ("reads.fastq", "windows.fasta"):
        shutil.copy(ROOT / "workflows" / "demo" / f"{name}.gz", tmp_path / f"lane1.{name}.gz")
    for script, *words in (
        ("chromosomes.sh", "targets.fa", "queries.fa", "all", "--step=2"),
        ("genomes.sh", "jobs.tsv", "many", "3", "--merge"),
        ("lanes.sh", "."),
    ):
        subprocess.run([str(SCRIPTS / script), *words, "--device=cpu"], cwd=tmp_path, env=environment, check=True, capture_output=True)
    program(tmp_path, "genomes", "--all-vs-all", "targets.fa", "queries.fa", "-o", "alone", "--merge", "--step=2", "--device=cpu")
    program(tmp_path, "genomes", "jobs.tsv", "-o", "apart", "--merge", "--device=cpu")
    program(tmp_path, "pairs", "lane1.reads.fastq.gz", "lane1.windows.fasta.gz", "-o", "alone.sam", "--device=cpu")
    same = {"all/all.maf": "alone/all.maf", "many/all.maf": "apart/all.maf", "lane1.sam": "alone.sam"}
    assert all((tmp_path / out).read_bytes() == (tmp_path / answer).read_bytes() for out, answer in same.items())
