"""The documents build as a site without a warning; every public name, command and option has its place there; no page names what is not there."""

import argparse
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

import tidalign
from tidalign.workflows.options.arguments import commands

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    place = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    return place


def text(page: Path) -> str:
    """Give what is read on a page; code is in many small elements."""
    return unescape(re.sub(r"<(?!svg)[^>]*>", "", page.read_text()))


def test_every_page_is_there(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix("") for folder in ("", "design") for path in (ROOT / "docs" / folder).glob("*.md")}
    missing = [page for page in pages if page.name != "index" and not (site / page / "index.html").exists()]
    assert missing == [] and (site / "index.html").exists() and (site / "images" / "flies.svg").exists()


def test_the_reference_has_all_that_is_public(site: Path) -> None:
    page = text(site / "reference" / "python" / "index.html")
    assert [name for name in tidalign.__all__ if name not in ("__version__", "cigar", "genome") and f"tidalign.{name}" not in page] == []
    assert "tidalign.genome.seeds" in page and "to_polars" in page and "penalties: str | tuple" in page


def test_the_reference_has_every_option(site: Path) -> None:
    page = text(site / "reference" / "commands" / "index.html")
    for name, parser in commands().items():
        assert f"tidalign {name}" in page
        options = [option for action in parser._actions if action.help != argparse.SUPPRESS for option in action.option_strings]
        assert [option for option in options if option not in page] == []


def test_notebooks_show_what_they_printed(site: Path) -> None:
    page = text(site / "notebooks" / "genomes" / "index.html")
    assert " HSPs, " in page and "<svg" in page and "tidalign genome" in page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """But the drawing of diagrams, which the theme loads where there is one."""
    for page in site.rglob("index.html"):
        for line in page.read_text().splitlines():
            assert not ('<script src="http' in line or '<link rel="stylesheet" href="http' in line), (page, line[:200])
