"""Where the lines of a dot plot lie."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.genome.dots.dotplot import DotPlot, laid_out, segments_of
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.sides import only


class Results:
    """What a dot plot needs of GenomeResults."""

    path = "run"

    def __init__(self, target: Genome, query: Genome, rows: list[tuple[int, int, int, int, int, int, str]]) -> None:
        self.sides = target, query
        numbers = ("target_number", "target_start", "target_end", "query_number", "query_start", "query_end")
        columns = {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(numbers)}
        columns |= {name: pa.array(["x"] * len(rows), pa.string()) for name in ("target_name", "query_name")}
        columns |= {name: pa.array([1] * len(rows), pa.int64()) for name in ("score", "matches", "mismatches", "gap_letters")}
        self.table = pa.table(columns | {"strand": pa.array([row[6] for row in rows], pa.string())})

    def genomes(self, job: int | None) -> tuple[Genome, Genome]:
        return self.sides

    def to_table(self, columns: list[str], *, job: int | None) -> Any:
        return self.table.select(columns)


def drawn(*given: Any, job: int | None = None) -> DotPlot:
    return laid_out(segments_of(Results(*given), job))  # type: ignore[arg-type]


def side(folder: Path, role: str, actions: str = "") -> Genome:
    (folder / "g.fa").write_text(f">a\n{'A' * 30}NN{'C' * 20}\n>b\n{'G' * 40}\n>c\n{'N' * 5}{'T' * 5}\n")
    return read_genome(f"{folder}/g.fa{actions}", role=role)


def test_sequences_follow_each_other(tmp_path: Path) -> None:
    rows = [(0, 3, 10, 1, 0, 7, "+"), (2, 1, 10, 0, 20, 28, "-")]
    plot = drawn(side(tmp_path, "target"), side(tmp_path, "query"), rows)
    assert (plot.target.names, plot.target.ends.tolist(), plot.query.starts.tolist()) == (["a", "b", "c"], [52, 92, 102], [0, 52, 92])
    assert plot.lines.tolist() == [[3, 52, 10, 59], [93, 28, 102, 20]]  # on the strand - the query falls
    assert plot.forward.tolist() == [True, False]


def test_pieces_lie_in_their_sequences(tmp_path: Path) -> None:
    """Pieces of the query: a to its N, a beyond, b, c beyond its N."""
    rows = [(0, 0, 9, 0, 0, 9, "+"), (0, 0, 9, 1, 33, 42, "-"), (0, 0, 9, 2, 4, 13, "+"), (0, 0, 5, 3, 5, 10, "+")]
    plot = drawn(side(tmp_path, "target", "[separator=N]"), side(tmp_path, "query", "[separator=N]"), rows)
    for axis in (plot.target, plot.query):
        assert (axis.names, axis.ends.tolist()) == (["a", "b", "c"], [52, 92, 102])
    assert plot.lines[:, [1, 3]].tolist() == [[0, 9], [42, 33], [56, 65], [97, 102]]


def test_one_pair_of_all_against_all(tmp_path: Path) -> None:
    """Its target is one sequence; rows count it by its place in the file."""
    whole = side(tmp_path, "target")
    plot = drawn(only(whole, whole.codes(), 1)[0], side(tmp_path, "query"), [(1, 2, 9, 2, 1, 8, "+")], job=5)
    assert (plot.target.names, plot.target.ends.tolist(), plot.lines.tolist()) == (["b"], [40], [[2, 93, 9, 100]])


def test_nothing_to_draw(tmp_path: Path) -> None:
    genome = side(tmp_path, "query")
    assert drawn(genome, genome, []).lines.shape == (0, 4)
    nothing = only(genome, genome.codes(), 0)[0]
    nothing.names.clear()
    with pytest.raises(MissingInput, match="no sequences"):
        drawn(nothing, genome, [])
