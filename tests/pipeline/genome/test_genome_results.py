"""Gathering a genome run's rows: how those of many parts come together is not seen in what is written."""

import gzip
from pathlib import Path

import pytest

from tidalign.pipeline.genome import results as of_genomes
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows.run.genome.run import run_genomes

DATA = Path(__file__).parents[2] / "data" / "genomes"


def letters(name: str) -> str:
    return "".join(line for line in gzip.decompress((DATA / f"{name}.fa.gz").read_bytes()).decode().splitlines() if not line.startswith(">"))


def below(text: bytes) -> list[bytes]:
    return [line for line in text.splitlines() if not line.startswith(b"#")]


@pytest.mark.parametrize(("twice", "masking", "blocks"), [(False, None, 1), (True, None, 1), (True, 2, 2)])
def test_text_is_made_of_many_parts_together(twice: bool, masking: int | None, blocks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs with the same sides are one block, but where something is masked; the text is that of each pair by itself, however much is put together.

    twice: two pairs of the same files; else each sequence of one with each of the other.
    """
    for side, name in (("t", "yeast_scer"), ("q", "yeast_spar")):
        (tmp_path / f"{side}.fa").write_text("".join(f">{name}{at}\n{letters(name)[at : at + 6000]}\n" for at in (0, 7000, 14000)))
    pairs = tuple(Pair(f"p{number}", f"{tmp_path}/t.fa", f"{tmp_path}/q.fa") for number in range(1 + twice))
    run_genomes(tmp_path / "run", GenomeSource(pairs, all_vs_all=not twice), GenomeParameters(masking=masking))
    results = GenomeResults(tmp_path / "run")
    jobs, alone = results.to_table(["job"])["job"].to_pylist(), list[bytes]()
    for job in range(len(results.names)):
        results.export(tmp_path / "one.maf", job=job)
        alone += below((tmp_path / "one.maf").read_bytes())
    assert len(jobs) > len({*jobs}) > 1
    for most, found in ((1 << 30, blocks), (1, len(jobs))):
        monkeypatch.setattr(of_genomes, "TOGETHER", most)
        assert len([*results.pieces()]) == found
        results.export(tmp_path / "all.maf")
        assert below((tmp_path / "all.maf").read_bytes()) == alone
