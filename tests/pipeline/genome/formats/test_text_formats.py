"""`text`, `lav+text`, `differences` and `blastn` are LASTZ's, line by line (tests/data/genomes/make_text.py)."""

import json
import random
from pathlib import Path
from typing import Any

import genome_golden as golden
import pytest

import tidalign
from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.formats import table
from tidalign.pipeline.genome.formats import block, comments
from tidalign.pipeline.genome.parameters import GenomeParameters

GOLDEN = json.loads(golden.text("text.json.gz"))


def exported(case: dict[str, Any], folder: Path) -> list[str]:
    """Align the files of a case and give its lines, but the one that names the program, with paths from the folder."""
    for name, text in GOLDEN["files"][case["files"]].items():
        (folder / name).write_text(text)
    given = (option.removeprefix("--").partition("=") for option in case["options"])
    options = {name: value if equals else True for name, equals, value in given}
    results = tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, device="cpu", **options)
    results.export("out", format=case["format"])
    return [line for line in Path("out").read_text().replace(f"{folder}/", "").split("\n") if "tidalign.v" not in line]


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: " ".join([case["files"], case["format"], *case["options"]]))
def test_output_is_lastz(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert exported(case, tmp_path) == case["lines"]


@pytest.mark.parametrize("format", ["text", "lav+text", "differences", "blastn"])
def test_output_does_not_depend_on_pieces(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that are written one by one."""
    monkeypatch.chdir(tmp_path)
    case = next(case for case in GOLDEN["cases"] if case["format"] == format)
    monkeypatch.setattr(block, "COLUMNS", 1)
    assert exported(case, tmp_path) == case["lines"]


def test_other_names() -> None:
    names = {"diff": "differences", "diffs-": "differences-", "difference": "differences", "text+lav": "lav+text", "ztext": "zerotext", "BLASTN-": "blastn-"}
    assert {name: table.find(table.GENOME, name).name for name in names} == names
    assert table.by_name(table.GENOME, "text-") is None


def few(tmp_path: Path, target: str, query: str) -> list[str]:
    """Write a target, and a query beside one that nothing is like; their names."""
    rng = random.Random(1)
    (tmp_path / "t.fa").write_text(f">t\n{target}\n")
    (tmp_path / "q.fa").write_text(f">none\n{''.join(rng.choices('ACGT', k=200))}\n>q\n{query}\n")
    return [str(tmp_path / "t.fa"), str(tmp_path / "q.fa")]


@pytest.mark.parametrize(("gapped", "strand", "said"), [(False, "both", [0, 0, 300, 0]), (False, "minus", [0, 0]), (True, "both", [300])])
def test_masking_is_told_of_each_strand_of_hsps(tmp_path: Path, gapped: bool, strand: str, said: list[int]) -> None:
    """Tell it as LASTZ 1.04.22 does: without gaps of strands without rows, too."""
    letters = "".join(random.Random(2).choices("ACGT", k=300))
    results = tidalign.align_genomes(*few(tmp_path, letters, letters), out=tmp_path / "run", gapped=gapped, masking=1, strand=strand)
    results.export(tmp_path / "out", format="text")
    lines = (tmp_path / "out").read_text().splitlines()
    assert [int(line.partition("=")[2]) for line in lines if line.startswith("num_masked")] == said


@pytest.mark.parametrize(("gapped", "share"), [(False, "99.33"), (True, "98.67")])
def test_identity_of_hsps_leaves_out_unknown_letters(tmp_path: Path, gapped: bool, share: str) -> None:
    """Print the share that LASTZ 1.04.22 prints: 296 matches, 2 mismatches, 2 N."""
    letters = "".join(random.Random(9).choices("ACGT", k=300))
    other = letters.translate(str.maketrans("ACGT", "GTAC"))
    query = f"{letters[:100]}NN{letters[102:150]}{other[150:152]}{letters[152:]}"
    results = tidalign.align_genomes(*few(tmp_path, letters, query), out=tmp_path / "run", gapped=gapped, ambiguous="n")
    for format in ("blastn", "general-:name2,name1,blastid%"):
        results.export(tmp_path / "out", format=format)
        row = [line for line in (tmp_path / "out").read_text().splitlines() if not line.startswith("#")][0].split("\t")
        assert row[2] == share
    results.export(tmp_path / "out", format="paf")
    assert (tmp_path / "out").read_text().split("\t")[9:11] == ["296", "300"]


@pytest.mark.parametrize(
    ("seed", "said"),
    [
        ("111111111111111", "1111111111111TT/RR w/transition"),
        ("0111111111111110", "11111111111111 w/transition"),
        ("12of19", "1110100110010101111 w/transition"),
    ],
)
def test_a_seed_is_written_as_words_are_made_of_it(seed: str, said: str) -> None:
    """LASTZ 1.04.22 prints so; of more places than a word holds the last count as T, and are resolved."""
    assert comments.seeding(GenomeParameters(seed=SeedPattern.parse(seed).text)) == f"# seed={said}\n# step=1\n"
