"""What an estimate counts of genomes and searches: windows of a large side against all of it."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simulate

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.workflows.estimate import genome, of_genomes


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Write a target, and a query of it in two sequences of which a third is not related."""
    folder, random = tmp_path_factory.mktemp("genomes"), np.random.default_rng(4)
    target = simulate.sequence(random, 240_000)
    pieces = [simulate.mutate(random, target[at : at + 4000], 0.1) if at // 4000 % 3 else simulate.sequence(random, 4000) for at in range(0, len(target), 4000)]
    (folder / "target.fa").write_bytes(b">t\n%b\n" % target)
    (folder / "query.fa").write_bytes(b">a\n%b\n>b\n%b\n" % (b"".join(pieces[:40]), b"".join(pieces[40:])))
    return str(folder / "target.fa"), str(folder / "query.fa")


def totals(sides: tuple[str, str], parameters: GenomeParameters) -> Counter[str]:
    target, query = (read_genome(path, role=role, ambiguous=None) for path, role in zip(sides, ("target", "query"), strict=True))
    found: Counter[str] = Counter()
    for each in genome.sampled(parameters, target, query):
        for counts in each.kinds.values():
            found.update(counts)
        found["row"] += round(each.rows)
    return found


def test_windows_stand_for_all(sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    whole = totals(sides, GenomeParameters())
    assert whole["letter"] == 2 * read_genome(sides[1], role="query", ambiguous=None).lengths.sum() and whole["row"] > 5
    monkeypatch.setattr(genome, "WINDOW", 8000)
    of_query = totals(sides, GenomeParameters())
    monkeypatch.setattr(genome, "TARGET", 120_000)
    monkeypatch.setattr(genome, "TARGET_WINDOW", 20_000)
    of_both = totals(sides, GenomeParameters())
    for part in (of_query, of_both):
        assert part["letter"] == pytest.approx(whole["letter"]) and part["hit"] == pytest.approx(whole["hit"], rel=0.3)
    assert of_query["cell"] == pytest.approx(whole["cell"], rel=0.35)


@pytest.mark.parametrize("options", [{"gfextend": False, "step": 20}, {"mode": "independent"}, {"gapped": False}])
def test_every_way_has_a_forecast(sides: tuple[str, str], options: dict[str, Any]) -> None:
    found = of_genomes.forecast(GenomeSource((Pair("p", *sides),)), GenomeParameters(**options))
    assert found.work > 0 and found.what["hits"] > 100 and found.bytes["in"] == sum(Path(side).stat().st_size for side in sides)


@pytest.mark.parametrize("mode", ["independent", "exact"])
def test_a_sample_takes_no_longer_where_extensions_are_dear(sides: tuple[str, str], mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Extensions that take a millisecond each, and one in all: fewer of them, from all windows, and the same estimate."""
    did: list[tuple[int, int]] = []

    def spin(unit: Any, anchors: Any, *_: Any, **__: Any) -> Any:
        did.append((unit.number, len(anchors)))
        until = time.thread_time() + 0.001 * (1 + len(anchors))
        while time.thread_time() < until:
            pass
        return iter([anchors] if mode == "exact" else [anchors.slice(0, 3)]), []

    monkeypatch.setattr(genome, "walk" if mode == "exact" else "extend", spin)
    monkeypatch.setattr(genome, "WINDOW", 8000)
    monkeypatch.setattr(genome, "SAMPLE_ANCHORS", 80)
    parameters = GenomeParameters(mode=mode, gfextend=False)  # type: ignore[arg-type]
    estimates = []
    for seconds in (0.5, 1e6):
        monkeypatch.setattr(genome, "SAMPLE_SECONDS", seconds)
        did.clear()
        found = totals(sides, parameters)
        estimates.append(found["second"])
        units = {unit for unit, _ in did}
        assert len(units) == (2 * genome.WINDOWS if seconds > 1 else len(units)) >= 2 * genome.LEAST_WINDOWS
        assert sum(count for _, count in did) * 0.001 < 3 * seconds
    assert max(count for _, count in did) == genome.SAMPLE_ANCHORS, "all that may be, where there is time"
    assert estimates[0] == pytest.approx(estimates[1], rel=0.1) and estimates[1] == pytest.approx(0.001 * found["anchor"], rel=0.1)


def test_a_sample_in_part_is_the_whole(sides: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Bare seeds of a few windows stand for those of all."""
    whole = totals(sides, GenomeParameters(gfextend=False, mode="independent"))
    monkeypatch.setattr(genome, "SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(genome, "WINDOW", 8000)
    part = totals(sides, GenomeParameters(gfextend=False, mode="independent"))
    assert part["anchor"] == pytest.approx(whole["anchor"], rel=0.1) and part["hit"] == pytest.approx(whole["hit"], rel=0.3)


def test_the_pairs_of_one_file_are_half_its_square(sides: tuple[str, str]) -> None:
    square, half = (
        of_genomes.forecast(GenomeSource((Pair("p", sides[1], sides[1]),), all_vs_all=True, triangle=triangle), GenomeParameters())
        for triangle in (False, True)
    )
    assert half.what["hits"] == pytest.approx(square.what["hits"] / 2) and half.work == pytest.approx(square.work / 2)


def test_many_pairs_are_as_much_as_they_are_long(sides: tuple[str, str]) -> None:
    one = of_genomes.forecast(GenomeSource((Pair("p", *sides),)), GenomeParameters())
    many = of_genomes.forecast(GenomeSource(tuple(Pair(f"p{number}", *sides) for number in range(12))), GenomeParameters())
    assert many.what["pairs"] == 12 and many.what["hits"] == pytest.approx(12 * one.what["hits"]) and many.work == pytest.approx(12 * one.work)
    with pytest.raises(InputError, match="write it to a file"):
        of_genomes.forecast(GenomeSource((Pair("p", "-", sides[1]),)), GenomeParameters())


def test_commands_of_genomes_and_searches(sides: tuple[str, str], tmp_path: Path, command: Any) -> None:
    (tmp_path / "jobs.tsv").write_text(f"target\tquery\tname\n{sides[0]}\t{sides[1]}\ta\n{sides[0]}\t{sides[1]}\tb\n")
    one = json.loads(command("estimate", "--json", "genome", *sides, "-o", tmp_path / "o.maf", "--step=2").stdout)
    two = json.loads(command("--dry-run", "--json", "genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "o", "--step=2").stdout)
    assert (two["pairs"], round(two["hits"])) == (2, round(2 * one["hits"]))
    random = np.random.default_rng(8)
    for name, count in (("q.fa", 7), ("d.fa", 300)):
        (tmp_path / name).write_bytes(b"".join(b">%d\n%b\n" % (number, simulate.sequence(random, 200)) for number in range(count)))
    said = json.loads(command("estimate", "--json", "search", tmp_path / "q.fa", tmp_path / "d.fa", "-o", tmp_path / "o.m8").stdout)
    assert (said["queries"], said["sequences"], said["cells"]) == pytest.approx((7, 300, 2 * 7 * 200 * 300 * 200), rel=0.02)
    assert {path.name for path in tmp_path.iterdir()} == {"jobs.tsv", "q.fa", "d.fa"}
