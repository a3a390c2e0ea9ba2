"""What keeps the sources easy to find one's way in: small files, small folders, a sentence for each folder, and nothing that is not here."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("kernels", "pipeline", "cluster", "workflows")
SOURCES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".cu", ".cuh"))


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_no_source_is_long() -> None:
    assert {name(path): lines for path in SOURCES if (lines := len(path.read_text().splitlines())) > 300} == {}


def test_no_line_of_cuda_is_long() -> None:
    """ruff looks at Python's."""
    assert [f"{name(path)}:{i}" for path in SOURCES for i, line in enumerate(path.read_text().splitlines(), 1) if len(line) > 160] == []


def test_no_merge_is_left_half_done() -> None:
    texts = [path for folder in (*FOLDERS, "docs", "tests") for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py", ".cu", ".cuh", ".sh")]
    marks = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert [name(path) for path in [*texts, *ROOT.glob("*.md")] if marks.search(path.read_text())] == []


def test_no_folder_is_large() -> None:
    folders = {path.parent for path in SOURCES}
    assert {name(folder): files for folder in folders if (files := sum(path.is_file() for path in folder.iterdir())) > 20} == {}


def test_every_folder_says_what_it_does() -> None:
    packages = {path.parent for path in SOURCES if path.suffix == ".py"}
    without = [name(folder) for folder in packages if not (folder / "__init__.py").exists()]
    silent = [name(path) for path in SOURCES if path.name == "__init__.py" and not ast.get_docstring(ast.parse(path.read_text()))]
    assert without + silent == []


def test_what_is_named_is_here() -> None:
    """Documents, but for addresses; and nothing that lies outside the repository."""
    named = {name(path): re.sub(r"https?://\S+", "", path.read_text()) for path in [*SOURCES, *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]}
    documents = {path.name for folder in (ROOT, ROOT / "docs", ROOT / "tests", ROOT / "workflows") for path in folder.rglob("*.md")}
    missing = [(path, word) for path, text in named.items() for word in re.findall(r"[\w-]+\.md\b", text) if word not in documents]
    outside = [(path, word) for path, text in named.items() for word in re.findall(r"(?:\.\./)+shared\b|\bshared/\w+|(?<![\w.])/work/\w+", text)]
    assert missing + outside == []


def test_documents_link_to_what_is_here() -> None:
    broken = []
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for link in re.findall(r"\]\(([^)#\s]+)", path.read_text()):
            if "://" not in link and not (path.parent / link).exists():
                broken.append((name(path), link))
    assert broken == []


def test_what_is_referred_to_is_here() -> None:
    """Names such as `kernels.gapped.speculated.Speculated` in comments and documents."""
    missing = []
    for path in [*SOURCES, *(ROOT / "docs").rglob("*.md")]:
        for reference in re.findall(rf"`((?:{'|'.join(FOLDERS)})(?:\.\w+)+)`", path.read_text()):
            words, at = reference.split("."), ROOT
            while words and (at / words[0]).is_dir():
                at /= words.pop(0)
            module = at / f"{words[0]}.py" if words else at / "__init__.py"
            text = module.read_text() if module.exists() else ""
            if not text or not all(re.search(rf"^\s*(?:(?:def|class) {word}\b|{word}\b\s*[:=])|self\.{word}\b", text, re.MULTILINE) for word in words[1:]):
                missing.append((name(path), reference))
    assert missing == []
