"""What lies between the stages of a unit."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tidalign.pipeline.genome.units import forget


def test_what_somebody_is_still_writing_is_not_taken_away(tmp_path: Path) -> None:
    mine, written, other = "j000000.u0.0-9.ahead.parquet", "j000000.u0.9-18.ahead.parquet.0a1b.tmp", "j000000.u1.anchors.arrow"
    for folder in ("stages", "extended"):
        (tmp_path / folder).mkdir()
    for name in (mine, written, other):
        (tmp_path / "stages" / name).touch()
    unit: Any = SimpleNamespace(directory=str(tmp_path), name="j000000.u0")
    forget(unit)
    assert sorted(path.name for path in (tmp_path / "stages").iterdir()) == [written, other]
