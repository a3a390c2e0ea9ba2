"""Whole runs of alignment by scores and of searches on this machine's GPUs: the rows that cores give, and the same bytes on one GPU and on all."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from scored_cases import mutated

import tidalign

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("gpus")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Write reads, N among them, and what they came from."""
    folder, chance = tmp_path_factory.mktemp("scores"), random.Random(1)
    with (folder / "q.fa").open("w") as queries, (folder / "t.fa").open("w") as targets:
        for number in range(600):
            letters = "".join(chance.choices("ACGT" * 50 + "N", k=chance.choice([40, 150, 700])))
            print(f">q{number}\n{''.join(mutated(chance, letters, 'ACGT'))}", file=queries)
            print(f">t{number}\n{letters}", file=targets)
    return folder / "q.fa", folder / "t.fa"


COMMAND = """
import sys
from tidalign.workflows.cli import main
from tidalign.workflows.run import runner
runner.RunKind.hire_seconds = 0.0  # however little there is to do, all GPUs have workers
sys.exit(main(sys.argv[1:]))
"""


def run(*words: str, **environment: str) -> None:
    done = subprocess.run([sys.executable, "-c", COMMAND, *words], env=os.environ | environment, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", ["pairs", "search"])
def test_the_same_on_cores_on_one_gpu_and_on_all(tmp_path: Path, made: tuple[Path, Path], gpus: dict[str, str], command: str) -> None:
    words = [command, *map(str, made), "--scoring", "match:2,mismatch:-4,gap:4,2"]
    places = {"cpu": ["--device", "cpu", "--workers", "1"], "one": ["--device", "gpu", "--gpus", "1"]}
    places |= {"all": ["--device", "gpu", "--gpus", str(len(gpus))]} if len(gpus) > 1 else {}
    for name, more in places.items():
        run(*words, "-o", str(tmp_path / f"{name}.tsv"), *more, "--quiet")
    texts = {(tmp_path / f"{name}.tsv").read_bytes() for name in places}
    assert len(texts) == 1 and len(texts.pop().splitlines()) > 600


def test_from_python(made: tuple[Path, Path]) -> None:
    sides = [path.read_text().split("\n")[1::2] for path in made]
    scoring = "match:2,mismatch:-4,gap:4,2"
    for pairs in (None, ([0, 5, 5], [1, 5, 0])):
        found = [tidalign.align(*sides, scoring=scoring, device=device, pairs=pairs) for device in ("cpu", "gpu")]
        assert found[0].equals(found[1])
    hits = [tidalign.search(sides[0][:20], sides[1], 3, scoring=scoring, device=device) for device in ("cpu", "gpu")]
    assert hits[0].equals(hits[1]) and len(hits[0])


def test_a_process_that_dies_on_the_gpu(tmp_path: Path, made: tuple[Path, Path]) -> None:
    """A run that goes on where one was killed gives the rows of one that was not."""
    words = ["search", *map(str, made), "--scoring", "match:2,mismatch:-4,gap:4,2", "--device", "gpu", "--gpus", "1", "--quiet"]
    run(*words, "-o", str(tmp_path / "whole"))
    cut = [sys.executable, "-m", "tidalign.workflows", *words, "-o", str(tmp_path / "cut")]
    assert subprocess.run(cut, env=os.environ | {"TIDALIGN_TEST_POISON": "30"}, timeout=600).returncode < 0
    run(*words, "-o", str(tmp_path / "cut"))
    tables = [pq.read_table(sorted((tmp_path / name / "parts").glob("*.parquet"))) for name in ("whole", "cut")]
    assert tables[0].sort_by([("ordinal", "ascending"), ("rank", "ascending")]).equals(tables[1].sort_by([("ordinal", "ascending"), ("rank", "ascending")]))
