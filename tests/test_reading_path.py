"""How many files one has to read to follow a read or a genome through the package does not grow."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("reading_path.py")


@pytest.mark.parametrize(("kind", "most"), [("pairs", 56), ("genome", 84)])
def test_files_on_the_way_do_not_grow(kind: str, most: int) -> None:
    files = subprocess.run([sys.executable, str(SCRIPT), kind], capture_output=True, text=True, check=True).stdout.split()
    assert "workflows/cli.py" in files and any(file.startswith("kernels/") for file in files)
    assert len(files) <= most, files
