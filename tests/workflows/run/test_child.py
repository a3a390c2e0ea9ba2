"""What becomes of an order is told by what the child does of it, not by how its process is taken apart."""

import os
from pathlib import Path
from typing import Any

import pytest

from tidalign.pipeline.errors import CannotWrite
from tidalign.pipeline.pairs.manifest import read_manifest
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.child import try_in_child

DIES = "import atexit, os, signal\natexit.register(os.kill, os.getpid(), signal.SIGSEGV)\n"


@pytest.fixture
def order(tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Have children die while Python is taken apart, as threads of libraries have it; gives what one is to do: all rows of a run."""
    (tmp_path / "sitecustomize.py").write_text(DIES)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH")))))
    for name in ("q", "t"):
        (tmp_path / f"{name}.fa").write_text(">a\nGATTACA\n>b\nGATTTCA\n")
    run = str(tmp_path / "run")
    assert command("partition", tmp_path / "q.fa", tmp_path / "t.fa", "-o", run, "--quiet").returncode == 0
    [(chunk, rows)] = read_manifest(run).chunks.items()
    plan = rundir.read_plan(run)
    return [run, rundir.run_of(plan), plan["parameters"], chunk, 0, rows]


def test_a_child_that_dies_after_its_work_has_done_it(order: list[Any]) -> None:
    assert try_in_child("rows", order, 600.0) is None
    assert [path.name for path in Path(order[0], "parts").iterdir()] == [f"{order[3]}.0-2.parquet"]


def test_its_errors_are_told_as_they_were(order: list[Any]) -> None:
    Path(order[0], "parts").rmdir()
    with pytest.raises(CannotWrite, match=r"parts/.*: cannot be written: .*No such file"):
        try_in_child("rows", order, 600.0)


def test_memory_that_is_asked_for_is_told(order: list[Any], tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("from tidalign.kernels.pairwise import wavefront\nwavefront.MAX_LETTERS = 5\n")
    assert try_in_child("rows", order, 600.0) == "asked for more memory than there is: a sequence of 7 letters: pairs have at most 5 on a side"
