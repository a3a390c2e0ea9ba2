"""The notebooks in docs/ run from their first cell to their last, and are kept with what they printed.

python tests/documents/test_notebooks.py: run them and keep the outputs
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


def ran(path: Path, folder: str) -> Any:
    """Run a notebook in a folder; with its outputs."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(path, as_version=4)
    os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
    nbclient.NotebookClient(notebook, timeout=900, startup_timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}).execute()
    return notebook


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    found = ran(path, str(tmp_path))
    kept = pytest.importorskip("nbformat").read(path, as_version=4)
    for cell, before in zip(found.cells, kept.cells, strict=True):
        assert cell.source == before.source
        if cell.cell_type == "code":
            kinds = [[output.output_type for output in each.outputs] for each in (cell, before)]
            assert kinds[0] == kinds[1], cell.source  # what the page shows is what one gets


def test_there_are_notebooks() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["genomes", "reads"]


if __name__ == "__main__":
    import nbformat

    for each in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as place:
            nbformat.write(ran(each, place), each)
        print(each, file=sys.stderr)
