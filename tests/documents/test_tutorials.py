"""The tutorials in docs/ do what they say: their commands and scripts are run, in order, in a folder of their own."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

TUTORIALS = {"python.md": 9, "pairs.md": 8, "genomes.md": 7, "search.md": 3, "cluster.md": 2, "estimate.md": 1}
"""By page: how many blocks are run at least. Those of commands that are shown only (`console`) and what is printed (`text`) are not."""

SLOW = ("pairs.md", "genomes.md", "cluster.md")

LEFT_OUT = ("pip install", "git clone")


def blocks(page: str) -> list[tuple[str, str]]:
    """Give the blocks of a page that are commands or scripts: (language, text)."""
    found = [(language, text) for language, text in BLOCK.findall((DOCS / page).read_text()) if language in ("", "sh", "python")]
    return [each for each in found if not any(word in each[1] for word in LEFT_OUT)]


def commands(text: str) -> str:
    """Leave the lines out whose program is not on this machine."""
    words = re.compile(r"\bsamtools\b|\bminimap2\b|\bmultiqc\b")
    return "\n".join(line for line in text.splitlines() if all(shutil.which(word) for word in words.findall(line)))


@pytest.mark.parametrize("page", [pytest.param(page, marks=pytest.mark.slow if page in SLOW else ()) for page in TUTORIALS])
def test_a_tutorial_does_what_it_says(page: str, tmp_path: Path) -> None:
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    if page == "search.md":
        shutil.copytree(DOCS.parent / "tests" / "data" / "search", tmp_path / "tests" / "data" / "search")
    done = blocks(page)
    assert len(done) >= TUTORIALS[page]
    for place, (language, text) in enumerate(done):
        if language == "python":
            script = tmp_path / f"block{place}.py"
            script.write_text(text)
            command = [sys.executable, str(script)]
        else:
            command = ["bash", "-eu", "-c", commands(text)]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=1200)
        assert ran.returncode == 0, f"{page}, block {place}:\n{text}\n{ran.stdout[-2000:]}\n{ran.stderr[-3000:]}"
