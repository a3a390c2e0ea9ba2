"""Links of the documents that lead into the repository lead to a file that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").glob("data/**/*.md")])


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_linked_is_there(document: Path) -> None:
    links = [link for link in LINK.findall(document.read_text()) if "://" not in link and not link.startswith("mailto:")]
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_record_of_a_benchmark_is_named() -> None:
    said = (ROOT / "docs" / "benchmarks.md").read_text()
    assert [path.name for path in (ROOT / "tests" / "benchmarks" / "results").iterdir() if path.name not in said] == []
