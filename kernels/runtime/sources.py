"""Finds the sources that a module's compiled code depends on: its own and those of the modules of this package that it imports, in whatever form."""

import ast
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

PACKAGE, *_BELOW = __name__.split(".")
ROOT = Path(__file__).parents[len(_BELOW) - 1]

_WORD = re.compile(r"\bimport\b")
_STATEMENT = re.compile(r"[ \t]*((?:from\b[^\n(]*\b)?import\b[^\n(]*(?:\([^)]*\))?[^\n]*)")


def sources(module: str) -> dict[str, bytes]:
    """Read a module (its dotted name), the modules that it imports, those that they import, and the `__init__.py` of every package that holds one of them.

    Imports inside functions count, and those under TYPE_CHECKING: a package that hands names on lazily shows there where they come from. ImportError: an import
    that leads to no file of the package.
    """
    found: set[str] = set()
    todo = {module}
    while todo:
        found.add(name := todo.pop())
        todo |= _imports(name) - found
    # The imports of an `__init__.py` are followed where something is imported from the package itself, not where a module in it is imported.
    packages = {name.rsplit(".", up)[0] for name in found for up in range(1, name.count(".") + 1)}
    return {name: _read(name) for name in sorted(found | packages)}


@cache
def _file(module: str) -> Path | None:
    # Asked some hundred times at each start of a command: paths are made only of what is there.
    path = os.path.join(ROOT, *module.split(".")[1:])  # noqa: PTH118
    return next((Path(file) for file in (f"{path}/__init__.py", f"{path}.py") if os.path.isfile(file)), None)  # noqa: PTH113


@cache
def _read(module: str) -> bytes:
    if not _ours(module) or (file := _file(module)) is None:
        raise ImportError(f"{module} is no module of {PACKAGE} (a file below {ROOT}), so what is compiled of it cannot be kept")
    return file.read_bytes()


def _ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _is_package(module: str) -> bool:
    return _ours(module) and (file := _file(module)) is not None and file.name == "__init__.py"


@cache
def _imports(module: str) -> set[str]:
    """Find the modules of this package that a module imports, by their names."""
    text = _read(module).decode()
    found: set[str] = set()
    packages: dict[str, str] = {}  # by what the module calls them
    try:
        for node in _statements(text):
            base = _base(node, module) if isinstance(node, ast.ImportFrom) else None
            for alias in node.names:
                first = alias.name.partition(".")[0]
                target = f"{base}.{alias.name}" if base is not None else alias.name if alias.asname else first
                if not _ours(target):
                    continue
                found |= {alias.name} if base is None else _member(base, alias.name)
                if _is_package(target):
                    packages[alias.asname or first] = target
        if packages:
            found |= _reached(text, packages)
        for name in found:
            _read(name)
    except ImportError as error:
        raise ImportError(f"{_file(module)}: {error}") from None
    return found


def _statements(text: str) -> list[ast.Import | ast.ImportFrom]:
    """Find the import statements of a source.

    To parse all of every source is most of the time that finding takes, at each start of a command. So it is done only where the word import stands elsewhere
    than in a statement that begins a line. And to look for an expression at every letter takes longer than to parse the lines that have the word.
    """
    words = [place for place in _places("import", text) if _WORD.match(text, place)]
    begins = dict.fromkeys(text.rfind("\n", 0, place) + 1 for place in words)
    lines = "\n".join(found[1] for begin in begins if (found := _STATEMENT.match(text, begin)))
    if len(_WORD.findall(lines)) == len(words) and "\\\n" not in text and not {'"', "'"} & set(lines):
        with suppress(SyntaxError):  # a line of a docstring
            return [node for node in ast.parse(lines).body if isinstance(node, ast.Import | ast.ImportFrom)]
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]


def _places(word: str, text: str) -> Iterator[int]:
    """Find where a word stands in a text, or part of another."""
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + len(word))


def _base(node: ast.ImportFrom, module: str) -> str:
    """Give the whole name of the module after `from`."""
    parts = module.split(".")
    kept = parts[: len(parts) - node.level + _is_package(module)] if node.level else []
    return ".".join([*kept, *filter(None, [node.module])])


def _member(base: str, name: str) -> set[str]:
    """Find where a name that is imported from a module comes from: the module itself, or a package's `__init__.py` or module of that name."""
    if not _is_package(base):
        return {base}
    found = {base} if name in _assigned(base) else set()
    if _file(below := f"{base}.{name}"):
        found.add(below)
    if not found:
        raise ImportError(f"{name!r} of {base} is neither a module nor a name that its __init__.py assigns or imports; import it from the module that has it")
    return found


@cache
def _assigned(package: str) -> set[str]:
    """Find the names that an `__init__.py` assigns, defines or imports."""
    found = {"__name__", "__file__", "__path__", "__doc__"}
    for node in ast.walk(ast.parse(_read(package))):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
    return found


def _reached(text: str, packages: dict[str, str]) -> set[str]:
    """Find the modules that a source reaches as attributes of packages it imports, such as `tidalign.kernels.seed.index.find`. packages: by name."""
    found: set[str] = set()

    def package(node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return packages.get(node.id)
        if isinstance(node, ast.Attribute) and (above := package(node.value)) and _is_package(below := f"{above}.{node.attr}"):
            return below
        return None

    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and (base := package(node.value)):
            found |= _member(base, node.attr)
    return found
