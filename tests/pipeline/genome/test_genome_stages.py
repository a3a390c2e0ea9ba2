"""What lies between the stages of a unit, many small units at once, and what is made before any."""

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from genome_cases import mutated

from tidalign.kernels.commit import host as commit_host
from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.letters.nucleotides import decode, encode, reverse_complement
from tidalign.kernels.seed import host as seed_host
from tidalign.kernels.ungapped import host as ungapped_host
from tidalign.pipeline.device import CPU
from tidalign.pipeline.genome import units
from tidalign.pipeline.genome.input.folders import read_all
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.manifest import read_manifest, write_manifest
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import Tile
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.genome.stages.guards import Due
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk import walk
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES

DEFAULT = GenomeParameters(hspthresh=1500, gappedthresh=1500)


def test_what_somebody_is_still_writing_is_not_taken_away(tmp_path: Path) -> None:
    mine, written, other = "j000000.u0.0-9.ahead.parquet", "j000000.u0.9-18.ahead.parquet.0a1b.tmp", "j000000.u1.anchors.arrow"
    for folder in ("stages", "extended"):
        (tmp_path / folder).mkdir()
    for name in (mine, written, other):
        (tmp_path / "stages" / name).touch()
    unit: Any = SimpleNamespace(directory=str(tmp_path), name="j000000.u0")
    units.forget(unit)
    assert sorted(path.name for path in (tmp_path / "stages").iterdir()) == [written, other]


# ---- many small units at once


def fasta(sequences: list[str], name: str) -> str:
    return "".join(f">{name}{i}\n{letters}\n" for i, letters in enumerate(sequences))


def small_queries(folder: Path, parameters: GenomeParameters, count: int = 80) -> str:
    """Read and plan a run of queries of up to 300 letters against a target in pieces, some of which are alike."""
    rng = random.Random(7)
    like = "".join(rng.choices("ACGT", k=400))
    targets = ["".join(rng.choices("ACGTacgtN", [30] * 4 + [3] * 4 + [1], k=rng.randint(5, 400))) for _ in range(30)]
    targets += [mutated(rng, like, 0.05, 0.01, "ACGT") for _ in range(4)]
    queries = []
    for _ in range(count):
        piece = rng.choice(targets)
        first = rng.randrange(len(piece))
        query = mutated(rng, piece[first : first + rng.randint(1, 300)], 0.08, 0.02, "ACGTn") or "A"
        queries.append(query if rng.random() < 0.5 else decode(reverse_complement(encode(query.encode()))).tobytes().decode())
    queries[3:5] = [targets[2].lower(), targets[2]]  # equal ones
    queries[5] = queries[6] + targets[-1][50:90] + queries[6]  # repeats itself
    folder.mkdir()
    for name, sequences in (("t", targets), ("q", queries)):
        (folder / f"{name}.fa").write_text(fasta(sequences, name))
    source = GenomeSource((Pair("pair", str(folder / "t.fa"), str(folder / "q.fa")),))
    rundir.create(str(folder), parameters.to_json(), source.to_json(), GENOMES)
    write_manifest(str(folder), read_all(str(folder), source))
    return str(folder)


def rows_of_all(run: str, beaten: list[int] | None = None) -> list[dict[str, Any]]:
    """Give the rows of all units as a tile of them gives them."""
    beat = (lambda _: None) if beaten is None else beaten.append
    done = units.small(run, Tile("units", 0, -1, 0, read_manifest(run).jobs[0].units), CPU, beat, Counter(), Due())
    return [row for _, tables, _ in done for table in tables for row in table.to_pylist()]


def rows_of_each(run: str) -> list[dict[str, Any]]:
    """Give the rows of all units, each done alone."""
    done = (units.whole(Unit(run, 0, number), lambda: None, Due()) for number in range(read_manifest(run).jobs[0].units))
    return [row for tables, _ in done for table in tables for row in table.to_pylist()]


OPTIONS: list[dict[str, Any]] = [
    {},
    {"seed": "11111", "transitions": 0, "hspthresh": 700, "gappedthresh": 900},
    {"strand": "minus", "transitions": 2, "step": 3},
    {"xdrop": 200_000_000},
    {"gfextend": False, "seed": "111111111"},
    {"gapped": False},
    {"gapped": False, "gfextend": False},
    {"gapped": False, "mode": "independent"},
    {"notrivial": True, "trim": False},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_many_units_at_once_give_the_rows_of_each(tmp_path: Path, options: dict[str, Any]) -> None:
    run = small_queries(tmp_path / "run", replace(DEFAULT, **options))
    expected = rows_of_each(run)
    assert len(expected) >= 10
    beaten: list[int] = []
    assert rows_of_all(run, beaten) == expected
    assert beaten == sorted(beaten)  # who dies at a unit has claimed it
    with mock.patch.multiple(walk, WALKED_TOGETHER=1, CALL_ANCHORS=2), mock.patch.object(units, "LETTERS_TOGETHER", 700):
        assert rows_of_all(run) == expected


def test_room_for_alignments_grows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is kept, of rows, of their runs: a strand for which there is none is walked again."""
    run = small_queries(tmp_path / "run", replace(DEFAULT, seed="11111", transitions=0, hspthresh=300, gappedthresh=300, ydrop=500))
    expected = rows_of_each(run)
    monkeypatch.setattr("tidalign.kernels.commit.walk.FIRST_RUNS", 1)
    monkeypatch.setattr("tidalign.kernels.commit.walk.Paths", Narrow)
    monkeypatch.setattr(walk, "WALKED_TOGETHER", 1000)
    assert rows_of_all(run) == expected


class Narrow(Paths):
    """Has room for next to nothing at first."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("pieces", "alignments", "marks", "crossings", "keys"):
            self.kept = self.kept._replace(**{name: getattr(self.kept, name)[:1].copy()})


def test_kernels_are_called_for_many_units_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for each of them; nor are costs laid out for each."""
    run = small_queries(tmp_path / "run", DEFAULT)
    calls = {}
    for module, name in ((seed_host, "find_hits"), (ungapped_host, "extend_hits"), (commit_host, "walk_few"), (commit_host, "advance")):
        calls[name] = mock.Mock(wraps=getattr(module, name))
        monkeypatch.setattr(module, name, calls[name])
    assert rows_of_all(run)
    found = {name: call.call_count for name, call in calls.items()}
    assert found["find_hits"] <= 2 and found["extend_hits"] <= 2
    assert found["walk_few"] + found["advance"] <= 8  # the two queries that are equal to a piece are walked alone
    assert Unit(run, 0, 0).costs is Unit(run, 0, 7).costs


def test_kernels_of_light_seeds_are_warmed_up_with_few_anchors() -> None:
    """Not with each of the chance hits of three letters, which take minutes to extend."""
    found: list[int] = []
    write_anchors = anchoring.write_anchors

    def counted(unit: Unit, beat: Any) -> int:
        found.append(write_anchors(unit, beat))
        return found[-1]

    with mock.patch.object(anchoring, "write_anchors", counted):
        rows = units.warm_up(replace(GenomeParameters(), seed="111", transitions=0))
    assert 1 <= found[0] <= 500 and len(rows)
