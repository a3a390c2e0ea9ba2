"""Words that users and readers meet: docstrings of functions begin with a verb, and things have the names that the field gives them."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LATER = ()
"""Folders whose words are still to be gone over."""

FOLDERS = ("kernels", "pipeline", "cluster", "workflows", ".src/tidalign")
SOURCES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

NO_VERBS = """
a an the this that these those it its his her their our one two three both all each every any some many few no such other another same more
what when where which who whose whether how why
of as at by for from in into on onto out over to under up upon with within without before behind between beyond after against among about above
below beside besides but and or nor not if while until than then so
"""
"""Articles, numbers, question words, prepositions and conjunctions: what follows them is a noun or a riddle."""

OLD_WORDS = {r"\bcards?\b|_cards?\b|\bcard_": "GPU", r"not to be had": "not supported"}
"""Words that the field does not have, and its own."""


def nouns_first(source: str) -> list[str]:
    """List the functions of a source, properties left out, whose docstring does not begin with a verb as one tells somebody what to do."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not any("property" in ast.unparse(each) for each in node.decorator_list):
            said = ast.get_docstring(node)
            word = re.fullmatch(r"([A-Z][a-z]+)[,:]?", said.split()[0]) if said else None
            # A verb in this form has no s at its end, but for `pass` and the like: plurals and `Gives` have.
            if said and (word is None or word[1].lower() in NO_VERBS.split() or re.search("[^s]s$", word[1])):
                found.append(f"{node.name}: {' '.join(said.split()[:8])}")
    return found


@pytest.mark.parametrize("source", SOURCES, ids=lambda file: str(file.relative_to(ROOT)))
def test_docstrings_of_functions_begin_with_a_verb(source: Path) -> None:
    assert nouns_first(source.read_text()) == []


@pytest.mark.parametrize("said", ["The rows.", "Rows of it.", "Gives rows.", "What it is.", "`rows`, sorted.", "int64[n].", "(first, last).", "HSPs."])
def test_a_noun_is_found(said: str) -> None:
    assert len(nouns_first(f'class A:\n async def a(self):\n  """{said}"""\n')) == 1
    assert not nouns_first(f'def a():\n """Pass rows."""\n@property\ndef b():\n """{said}"""\nclass B:\n """{said}"""\n')


@pytest.mark.parametrize("file", [*SOURCES, *PAGES], ids=lambda file: str(file.relative_to(ROOT)))
def test_words_are_those_of_the_field(file: Path) -> None:
    text = " ".join(file.read_text().split())
    assert {new: found[0] for old, new in OLD_WORDS.items() if (found := re.search(old, text))} == {}
