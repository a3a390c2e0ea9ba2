"""Gathers a genome run's rows: how those of many parts come together is not seen in what is written."""

import gzip
import random
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from tidalign.pipeline.formats import together as of_files
from tidalign.pipeline.formats.export import destination
from tidalign.pipeline.genome import manifest as genome_manifest
from tidalign.pipeline.genome import plan
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


@pytest.mark.parametrize("strand", ["both", "plus"])
@pytest.mark.parametrize("triangle", [False, True])
def test_the_rows_of_a_pair_are_read_of_its_parts_alone(triangle: bool, strand: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads each part once for all pairs of all against all: their number grows with that of pairs, not with its square."""
    monkeypatch.setattr(plan, "TILE_SECONDS", 0.0)  # a part for each unit
    monkeypatch.setattr(genome_manifest, "TOGETHER_SECONDS", 0.0)
    (tmp_path / "all.fa").write_text("".join(f">s{at}\n{letters('yeast_scer')[at : at + 2000]}\n" for at in range(0, 5000, 1000)))
    pair = Pair("p", *[f"{tmp_path}/all.fa"] * 2)
    run_genomes(tmp_path / "run", GenomeSource((pair,), all_vs_all=True, triangle=triangle), GenomeParameters(strand=strand))
    results = GenomeResults(tmp_path / "run")
    assert len(results.names) == (10 if triangle else 25)
    whole, read, read_of = results.to_table(), list[str](), of_genomes._read_of

    def noted(path: str, *more: Any) -> Any:
        read.append(path)
        return read_of(path, *more)

    monkeypatch.setattr(of_genomes, "_read_of", noted)
    for job in range(len(results.names)):
        assert results.to_table(job=job) == whole.filter(pc.field("job") == job)
    assert len(whole) >= 4 and len(read) == len({*read}) == len(list(Path(tmp_path, "run", "parts").iterdir())) == len(results.names) * (1 + (strand == "both"))


FORMATS = [
    "maf",
    "maf+",
    "axt",
    "chain",
    "general:number,znumber,name1,name2",
    "sam-",
    "softsam",
    "paf",
    "differences",
    "blastn-",
    "lav",
    "rdotplot",
    "maf.gz",
]
"""Those that count rows, have heads, or lines before the first row, and those that are not written line by line."""

ALONE = ("lav", "rdotplot", "maf.gz")
"""Those that are written a file at a time."""


@pytest.mark.parametrize("together", [1, 1 << 20])
def test_files_of_pairs_are_those_of_each(together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the same bytes whatever is made together, wherever batches end, and of pairs without a row, too."""
    unrelated = "".join(random.Random(5).choices("ACGT", k=3000))
    for side, name in (("t", "yeast_scer"), ("q", "yeast_spar")):
        pieces = [letters(name)[at : at + 6000] for at in (0, 7000, 14000)]
        (tmp_path / f"{side}.fa").write_text("".join(f">{side}{at}\n{piece}\n" for at, piece in enumerate([unrelated, *pieces, unrelated])))
    pair = Pair("p", f"{tmp_path}/t.fa", f"{tmp_path}/q.fa")
    run_genomes(tmp_path / "run", GenomeSource((pair,), all_vs_all=True), GenomeParameters(hspthresh=1500))
    monkeypatch.setattr(of_genomes, "TOGETHER", together)
    results = GenomeResults(tmp_path / "run")
    counts = [len(results.to_table(job=job)) for job in range(25)]
    assert 0 in counts and 1 in counts and max(counts) > 2
    made, numbered = list[int](), of_files._numbered

    def noted(*given: Any) -> Any:
        made.append(len(given))
        return numbered(*given)

    monkeypatch.setattr(of_files, "_numbered", noted)
    for format in FORMATS:
        made.clear()
        outputs = [str(tmp_path / format.partition(":")[0] / name) for name in results.names]
        Path(outputs[0]).parent.mkdir()
        results.export_each(outputs, format=format, markend=True, into=destination)
        assert len(made) in ((0,) if format in ALONE else (1, 2) if together > 1 else (sum(counts),))  # the text of `differences` is long
        for job, output in enumerate(outputs):
            results.export(tmp_path / "alone", format=format, markend=True, job=job)
            assert Path(output).read_bytes() == (tmp_path / "alone").read_bytes(), (format, job)
