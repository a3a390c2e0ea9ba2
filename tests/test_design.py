"""What code and documents cite of the design is there: sections, files, modules, names and links."""

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DESIGN = ROOT / "docs" / "design"
FOLDERS = ("kernels", "pipeline", "cluster", "workflows", "tests", "docs")
SOURCES = sorted(file for folder in FOLDERS for ending in ("py", "cu", "cuh") for file in (ROOT / folder).rglob(f"*.{ending}"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

CITATION = re.compile(r'(?<![/\w])([A-Z][A-Z_]+\.md)(?:((?:[, ]| to | and )\d+(?:(?:, | to | and )\d+)*)|,? \(?"([^"]+)")?')
"""A page and, of the design's, its sections: `LASTZ.md 12, 15`, `EXECUTION.md 1 to 6`, `ARCHITECTURE.md ("The life of a pair")`."""

QUOTED = re.compile(r"`([^`\n]+)`")
PLACE = re.compile(rf"(?:{'|'.join((*FOLDERS, '.src', '.ci'))})/[\w.*/]*".replace(".", r"\."))
NAMED = re.compile(r"`([A-Za-z_][A-Za-z_.]*)`(?:, `[A-Za-z_]+`)* (?:in|of) `([a-z_/]+\.(?:py|cu|cuh))`")
LINK = re.compile(r"\]\(([^)#:]+)\)")


@cache
def sections(page: str) -> tuple[frozenset[int], frozenset[str]]:
    """Read the numbers and the titles of a design page's headings."""
    headings = re.findall(r"^#{2,} (?:(\d+)\. )?(.+)$", (DESIGN / page).read_text(), re.MULTILINE)
    return frozenset(int(number) for number, _ in headings if number), frozenset(title for _, title in headings)


def wrong_citations(text: str, folder: Path) -> Iterator[str]:
    """Name what a text in a file of this folder cites that is not there."""
    for page, numbers, title in CITATION.findall(" ".join(text.split())):
        if (DESIGN / page).exists():
            known, titles = sections(page)
            yield from (f"{page} {number}" for number in map(int, re.findall(r"\d+", numbers)) if number not in known)
            if title and title not in titles:
                yield f'{page} "{title}"'
        elif not any((place / page).exists() for place in (ROOT, folder)):
            yield page


def wrong_names(text: str) -> Iterator[str]:
    """Name the files, folders and modules of this repository that a page has in backquotes and that are not there, and names that are not in the file said."""
    for quoted in QUOTED.findall(text):
        if re.fullmatch(r"tidalign(\.\w+)+", quoted):
            if not (_is_module(quoted) or _has(*quoted.rpartition(".")[::2])):
                yield quoted
        elif PLACE.fullmatch(quoted) and not list(ROOT.glob(quoted.rstrip("/"))):
            yield quoted
    for name, file in NAMED.findall(text):
        if not (ROOT / file).exists() or name.rpartition(".")[2] not in (ROOT / file).read_text():
            yield f"{name} in {file}"


def _is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def _has(module: str, name: str) -> bool:
    return _is_module(module) and hasattr(import_module(module), name)


def test_every_citation_leads_somewhere() -> None:
    files = [file for file in (*SOURCES, *PAGES) if file != Path(__file__)]
    wrong = {str(file.relative_to(ROOT)): list(wrong_citations(file.read_text(), file.parent)) for file in files}
    assert {file: cited for file, cited in wrong.items() if cited} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_file_and_name_of_a_page_exists(page: Path) -> None:
    text = page.read_text()
    assert list(wrong_names(text)) == []
    assert [link for link in LINK.findall(text) if not (page.parent / link).exists()] == []


def test_sections_are_numbered_in_order() -> None:
    for page in ("LASTZ.md", "WAVEFRONT.md", "EXECUTION.md"):
        numbers = [int(number) for number in re.findall(r"^## (\d+)\. ", (DESIGN / page).read_text(), re.MULTILINE)]
        assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("text", ["LASTZ.md 99", "LASTZ.md 3 and 99", 'ARCHITECTURE.md ("The life of a cat")', "see DESIGN.md", "LASTZ.md 3,\n99"])
def test_a_wrong_citation_is_found(text: str) -> None:
    assert len(list(wrong_citations(text, ROOT))) == 1
    assert not list(wrong_citations('LASTZ.md 3 and 4; EXECUTION.md 1 to 3; ARCHITECTURE.md ("The life of a pair"); README.md', ROOT))


@pytest.mark.parametrize(
    "text", ["`kernels/none.py`", "`tests/data/none/`", "`tidalign.none`", "`tidalign.kernels.none.name`", "`NONE` in `kernels/seed/index.py`"]
)
def test_a_wrong_name_is_found(text: str) -> None:
    assert len(list(wrong_names(text))) == 1
    assert not list(wrong_names("`kernels/seed/`, `tests/data/*.py`, `tidalign.align`, `tidalign.kernels.seed`, `hits` in `kernels/seed/index.py`, `a/b`"))
