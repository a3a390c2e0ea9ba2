"""Repeats that make most of the seed hits are told, and how to be rid of them; nothing where there are none."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.seed.index import NAMED, SeedPattern, build_index, hits
from tidalign.pipeline.genome import repeats
from tidalign.pipeline.genome.input.folders import read_all
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import GenomeManifest, write_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.workflows.cli import main

SIZE, LENGTH = 120_000, 60
REPEAT = "".join(random.Random(1).choices("ACGT", k=LENGTH))


def letters(seed: int, copies: int = 0, *, size: int = SIZE, minus: bool = False, masked: bool = False) -> str:
    """Letters by chance with so many copies of a repeat in them, on one strand, in upper or lower case."""
    chance = random.Random(seed)
    repeat = REPEAT[::-1].translate(str.maketrans("ACGT", "TGCA")) if minus else REPEAT
    pieces = ["".join(chance.choices("ACGT", k=size // (copies + 1) - LENGTH)) for _ in range(copies + 1)]
    return (repeat.lower() if masked else repeat).join(pieces)


def planned(folder: Path, target: dict[str, str], query: str, parameters: GenomeParameters) -> GenomeManifest:
    (folder / "t.fa").write_text("".join(f">{name}\n{text}\n" for name, text in target.items()))
    (folder / "q.fa").write_text(f">q\n{query}\n")
    source = GenomeSource((Pair("p", f"{folder}/t.fa", f"{folder}/q.fa"),))
    rundir.create(f"{folder}/run", parameters.to_json(), source.to_json(), GENOMES)
    return write_manifest(f"{folder}/run", read_all(f"{folder}/run", source))


TARGET = {"plain": letters(2), "full": letters(3, 200)}


def count(target: str, query: str, most: str | None = None) -> int:
    """Hits of the words themselves."""
    index = build_index(encode(np.frombuffer(target.encode(), np.uint8)), SeedPattern.parse("12of19"), 1, most)
    return sum(len(found) for found, _ in hits(index, encode(np.frombuffer(query.encode(), np.uint8)), 0))


@pytest.mark.parametrize(("strand", "minus"), [("both", False), ("both", True), ("plus", False), ("minus", True)])
def test_a_repeat_is_told_with_its_sequence_and_share(tmp_path: Path, strand: str, minus: bool) -> None:
    query = letters(4, 200, minus=minus)
    found = repeats.repeats(f"{tmp_path}/run", planned(tmp_path, TARGET, query, GenomeParameters(strand=strand, transitions=0)))
    assert found is not None and found.name == "full" and found.of_it == pytest.approx(found.share, rel=0.01) == pytest.approx(1.0, rel=0.05)
    assert found.words == LENGTH - len(NAMED["12of19"]) + 1
    turned = query[::-1].translate(str.maketrans("ACGT", "TGCA")) if minus else query
    exact = sum(count(text, turned) for text in TARGET.values())
    assert found.hits == pytest.approx(exact, rel=0.01)
    limit = str(found).partition("--maxwordcount=")[2].split()[0]
    assert sum(count(text, turned, limit) for text in TARGET.values()) < exact / 10  # what it says helps
    assert str(found).startswith(f"{tmp_path}/t.fa: repeats: ") and "soft-mask" in str(found) and "--masking" in str(found)


@pytest.mark.parametrize(
    ("target", "query", "change"),
    [
        (letters(3), letters(4), {}),
        (letters(3, 200), letters(4), {}),
        (letters(3, 200, masked=True), letters(4, 200), {}),
        (letters(3, 200), letters(4, 200), {"max_word_count": "50"}),
        (letters(3, 200), letters(4, 200), {"masking": 5}),
        (letters(3, 200), letters(4, 200, minus=True), {"strand": "plus"}),
        (letters(3, 10), letters(4, 10), {}),
    ],
    ids=["none", "in one", "masked", "dropped", "counted", "the other strand", "few"],
)
def test_nothing_is_told_without_one(tmp_path: Path, target: str, query: str, change: dict[str, object]) -> None:
    parameters = replace(GenomeParameters(), **change)
    assert repeats.repeats(f"{tmp_path}/run", planned(tmp_path, {"t": target}, query, parameters)) is None


@pytest.mark.parametrize("copies", [0, 2_000])
def test_of_large_genomes_a_sample_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copies: int) -> None:
    """Chance hits of the sample itself, of which all words are few, are none."""
    monkeypatch.setattr(repeats, "STRETCHES", 64)
    target, query = letters(5, copies, size=2_000_000), letters(6, copies, size=2_000_000)
    found = repeats.repeats(f"{tmp_path}/run", planned(tmp_path, {"t": target}, query, GenomeParameters(transitions=0)))
    assert (found is not None) == bool(copies)
    if found:
        exact = count(target, query)
        assert 0.4 * exact < found.hits < 2.5 * exact


def test_it_is_said_once_before_the_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("t", letters(3, 200)), ("q", letters(4, 200))):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{text}\n")
    words = ["genome", f"{tmp_path}/t.fa", f"{tmp_path}/q.fa", "-o", f"{tmp_path}/run", "--device=cpu", "--workers=0", "--nogapped", "--hspthresh=9000"]
    assert main(words) == 0
    said = capsys.readouterr().err.splitlines()
    told = [line for line in said if "repeats: " in line]
    assert len(told) == 1 and said.index(told[0]) < len(said) - 1 and "'t'" in told[0] and len(told[0]) < 300 + len(str(tmp_path))
    assert main(words) == 0 and "repeats: " not in capsys.readouterr().err
    assert main([*words, "--new", "--quiet"]) == 0 and not capsys.readouterr().err
