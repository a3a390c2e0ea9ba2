"""Parts of genome runs: whole or not there, theirs or nobody's."""

from pathlib import Path

import pyarrow as pa
import pytest

from tidalign.pipeline.schema import GENOME_ALIGNMENTS
from tidalign.pipeline.store import parts

SHORT = [{"job": 0, "query": "q", "strand": "+", "status": "capped", "reason": "--cells 5"}]


def rows(count: int, status: str = "exact") -> pa.Table:
    names = {"target_name": "t", "query_name": "q", "strand": "+", "cigar": "5=", "status": status, "reason": None}
    return pa.Table.from_pylist([{field.name: names.get(field.name, i) for field in GENOME_ALIGNMENTS} for i in range(count)], schema=GENOME_ALIGNMENTS)


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "parts").mkdir()
    return str(tmp_path / "parts")


def test_what_is_written_is_found(folder: str) -> None:
    parts.write_part(folder, "run", "j000000", 2, 5, GENOME_ALIGNMENTS, [rows(3)], shortfalls=SHORT)
    parts.write_part(folder, "run", "j000000", 0, 2, GENOME_ALIGNMENTS, [rows(2, "capped")], shortfalls=[])
    parts.write_part(folder, "run", "j000001", 0, 1, GENOME_ALIGNMENTS, [rows(0)], shortfalls=[])
    found, broken = parts.scan(folder, "run")
    assert broken == []
    assert {chunk: [(part.start, part.stop) for part in some] for chunk, some in found.items()} == {"j000000": [(0, 2), (2, 5)], "j000001": [(0, 1)]}
    assert parts.counts(found) == {"exact": 3, "capped": 2}
    assert [part.labels for part in parts.all_parts(found)] == [{"shortfalls": []}, {"shortfalls": SHORT}, {"shortfalls": []}]
    assert parts.scan_chunk(folder, "run", "j000001") == found["j000001"]


def test_the_same_range_is_the_same_file(folder: str) -> None:
    path = Path(parts.part_path(folder, "j000000", 0, 3))
    parts.write_part(folder, "run", "j000000", 0, 3, GENOME_ALIGNMENTS, [rows(3)], shortfalls=SHORT)
    first = path.read_bytes()
    parts.write_part(folder, "run", "j000000", 0, 3, GENOME_ALIGNMENTS, [rows(3)], shortfalls=SHORT)
    assert path.read_bytes() == first


def test_files_cut_short_or_of_another_run_are_told(folder: str) -> None:
    parts.write_part(folder, "run", "j000000", 0, 3, GENOME_ALIGNMENTS, [rows(3)], shortfalls=[])
    parts.write_part(folder, "other", "j000000", 3, 4, GENOME_ALIGNMENTS, [rows(1)], shortfalls=[])
    parts.write_part(folder, "run", "j000000", 4, 6, GENOME_ALIGNMENTS, [rows(4)], shortfalls=[])
    cut = Path(parts.part_path(folder, "j000000", 4, 6))
    cut.write_bytes(cut.read_bytes()[:-9])
    Path(parts.part_path(folder, "j000000", 0, 3)).rename(parts.part_path(folder, "j000000", 0, 2))
    found, broken = parts.scan(folder, "run")
    assert found == {} and len(broken) == 3
