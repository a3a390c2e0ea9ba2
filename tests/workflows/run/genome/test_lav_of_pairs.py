"""LAV of one pair of genomes of many names its files and says what was masked of its target, as a run over that pair alone."""

import random
from pathlib import Path

import pytest

from tidalign.workflows.cli import main


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two genomes that are alike, and one that is like neither."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(3)
    letters = "".join(chance.choices("ACGT", k=900))
    like = "".join(chance.choice("ACGT") if chance.random() < 0.05 else letter for letter in letters)
    for name, text in (("t", letters), ("q", like), ("z", "".join(chance.choices("ACGT", k=42)))):
        Path(f"{name}.fa").write_text(f">{name}\n{text}\n")
    Path("jobs.tsv").write_text("target\tquery\tname\n" + "".join(f"t.fa\t{query}.fa\t{name}\n" for query, name in (("q", "a"), ("z", "b"), ("q", "c"))))
    return tmp_path


@pytest.mark.parametrize("format", ["lav", "lav+text"])
@pytest.mark.parametrize("masking", [(), ("--masking=1",)])
def test_a_file_a_pair(format: str, masking: tuple[str, ...], folder: Path) -> None:
    words = (*masking, "--device", "cpu", "--quiet", "--workers", "0")
    assert main(["genomes", "jobs.tsv", "-o", "out", "--format", format, *words]) == 0
    for name, query in (("a", "q"), ("b", "z"), ("c", "q")):
        assert main(["genome", "t.fa", f"{query}.fa", "-o", f"{name}.run", *words]) == 0
        for run, more, file in ((f"{name}.run", (), f"{name}.lav"), ("out/run", ("--pair", name), f"{name}.pair.lav")):
            assert main(["export", run, "-o", file, "--format", format, *more, "--quiet"]) == 0
        (made,) = Path("out").glob(f"{name}.*")
        alone = Path(f"{name}.lav").read_text()
        assert made.read_text() == alone == Path(f"{name}.pair.lav").read_text()
        assert f"t.fa {folder}/{query}.fa" in alone and ("x 1 " in alone) == bool(masking and query == "q")
