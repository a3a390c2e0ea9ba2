"""Imports go one way: workflows -> pipeline -> kernels, workflows -> cluster; a folder of kernels/ is used through its faces; third parties stay where they
belong."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {
    "kernels": {"kernels"},
    "pipeline": {"pipeline", "kernels"},
    "cluster": {"cluster"},
    "workflows": {"workflows", "pipeline", "kernels", "cluster"},
}
BANNED = {
    "kernels": {"pyarrow", "dask", "distributed", "dask_cuda", "dnaio", "argparse"},
    "pipeline": {"dask", "distributed", "dask_cuda", "cupy", "argparse"},
    "cluster": {"pyarrow", "numba", "dnaio", "argparse"},
    "workflows": {"cupy", "numba"},
}

COMMON = ("runtime", "letters", "text", "scoring")
OPERATIONS = (
    ("wavefront", "bidirectional", "pairwise", "local", "search"),
    ("seed", "ungapped", "anchors"),
    ("fences", "extension", "inspection", "gapped", "commit"),
)
"""Folders of kernels/: each imports those before it in its own line, and of COMMON."""

FACES = {
    "runtime": {"bases", "compiler", "entries", "errors", "fault", "gpu", "numba_cache", "numba_internals", "precompile", "vectors"},
    "letters": {"nucleotides", "packing", "sequences", "shared_words", "words"},
    "text": {"bam", "columns", "gapped", "lines", "records", "writing"},
    "scoring": {"heuristic", "penalties", "scores", "substitution"},
    "wavefront": {"alignments"},
    "bidirectional": set(),
    "pairwise": {"wavefront", "wavefront_device"},
    "local": {"choices", "coding", "memory", "pairs", "pairs_device", "uploaded"},
    "search": {"best", "best_device"},
    "seed": {"device", "index"},
    "ungapped": {"device", "hsps"},
    "anchors": {"chain", "points"},
    "fences": set(),
    "extension": {"costs"},
    "inspection": set(),
    "gapped": {"alignments", "device", "extender", "speculated"},
    "commit": {"paths", "walk"},
}
"""By folder of kernels/: the modules that code outside kernels/ imports."""

SHARED = {
    "runtime": {"lanes", "prefetch", "uncounted", "workspace"},
    "letters": {"device", "host", "staging", "uploads", "words_host"},
    "wavefront": {"batch", "device", "device_edit", "device_pruned", "host", "model", "rows", "solve", "trace"},
    "bidirectional": {"device", "host"},
    "seed": {"sort"},
    "local": {"bars", "device.forms", "device.launches", "host"},
    "fences": {"follow", "kept"},
    "extension": {"host", "launches", "runs", "side", "sweep"},
    "inspection": {"device", "host"},
}
"""By folder of kernels/: the modules that other folders of kernels/ import besides."""


class Import(NamedTuple):
    where: str
    """The module that imports, as kernels.seed.host."""
    name: str
    """The module that is imported; of a name in a module, the module."""
    when: str
    """module: as it is loaded; function: as one runs; types: never."""


def dotted(path: Path) -> str:
    """Give the name below tidalign of a file's module."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, ast.Module]:
    """Give every module of the package, by its name below tidalign."""
    return {dotted(path): ast.parse(path.read_text()) for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))}


def found(where: str, node: ast.AST, when: str = "module") -> Iterator[Import]:
    """List the imports under a node; those of the package by their names below tidalign."""
    for child in ast.iter_child_nodes(node):
        inside = when
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            inside = "function" if when == "module" else when
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            inside = "types"
        elif isinstance(child, ast.Import):
            yield from (Import(where, alias.name.removeprefix("tidalign."), when) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            home = (child.module or "").removeprefix("tidalign.")
            for name in (f"{home}.{alias.name}" for alias in child.names):
                yield Import(where, name if name in modules() else home, when)
        yield from found(where, child, inside)


@cache
def imports() -> list[Import]:
    """List every import of every module."""
    return [each for where, tree in modules().items() for each in found(where, tree)]


def test_imports_go_one_way() -> None:
    layer = [(each, each.where.partition(".")[0], each.name.partition(".")[0]) for each in imports()]
    assert [each for each, where, top in layer if top in LAYERS and top not in LAYERS[where]] == []
    assert [each for each, where, top in layer if top in BANNED[where]] == []


def between_kernels() -> Iterator[tuple[Import, str, str]]:
    """List the imports of one folder of kernels/ in another, with the names of both."""
    for each in imports():
        where, name = each.where.split("."), each.name.split(".")
        if where[0] == name[0] == "kernels" and len(name) > 2 and where[1] != name[1]:
            yield each, where[1], name[1]


def test_operations_import_in_order() -> None:
    earlier = {name: set(COMMON[:place]) for place, name in enumerate(COMMON)}
    for line in OPERATIONS:
        earlier |= {name: {*COMMON, *line[:place]} for place, name in enumerate(line)}
    assert earlier.keys() == {path.name for path in (ROOT / "kernels").iterdir() if (path / "__init__.py").exists()}
    assert [each for each, where, name in between_kernels() if name not in earlier[where]] == []


def test_others_import_faces() -> None:
    """Each table holds what is imported, no less and no more."""
    outside = {tuple(each.name.split(".")[1:]) for each in imports() if each.name.startswith("kernels.") and not each.where.startswith("kernels.")}
    assert outside == {(folder, *module.split(".")) for folder, names in FACES.items() for module in names}
    inside = {tuple(each.name.split(".")[1:]) for each, *_ in between_kernels()} - outside
    assert inside == {(folder, *module.split(".")) for folder, names in SHARED.items() for module in names}


@pytest.mark.parametrize("whens", [{"module"}, {"module", "function"}, {"module", "function", "types"}], ids=["module", "function", "types"])
def test_no_imports_in_circles(whens: set[str]) -> None:
    """As modules are loaded, as functions run, and for types alone."""
    wants: dict[str, set[str]] = {name: set() for name in modules()}  # in the end, what is in a circle or between two
    for each in imports():
        if each.when in whens and each.name in wants and each.name != each.where:
            wants[each.where].add(each.name)
    while free := {name for name, wanted in wants.items() if not wanted} | wants.keys() - {name for wanted in wants.values() for name in wanted}:
        wants = {name: wanted - free for name, wanted in wants.items() if name not in free}
    assert wants == {}


def test_import_is_light() -> None:
    heavy = ("cupy", "dask", "distributed", "pyarrow", "numba", "numpy")
    code = f"import sys, tidalign; print([m for m in {heavy!r} if m in sys.modules])"
    output = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout
    assert output.strip() == "[]"


# ---- a device is asked what it does, and told apart by name in one place

CHOOSERS = {"pipeline.device", "workflows.run.devices"}


def told_apart(tree: ast.AST) -> list[int]:
    """Find lines that compare something with a device or its name, or choose by it in a match, a dict or a lookup."""
    lines = []
    for node in ast.walk(tree):
        looked: list[ast.expr | None] = []
        if isinstance(node, ast.Compare):
            looked = [part for side in (node.left, *node.comparators) for part in (side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side])]
            looked += [part.value for part in looked if isinstance(part, ast.Attribute)]
        elif isinstance(node, ast.Dict):
            looked = [*node.keys]
        elif isinstance(node, ast.Subscript):
            looked = [node.slice]
        elif isinstance(node, ast.MatchValue):
            looked = [node.value]
        if any(map(_names_device, looked)):
            lines.append(node.lineno)
    return lines


def _names_device(part: ast.expr | None) -> bool:
    return (isinstance(part, ast.Constant) and part.value in ("cpu", "gpu")) or (isinstance(part, ast.Name) and part.id in ("CPU", "GPU"))


@pytest.mark.parametrize(
    "source",
    ['a == "cpu"', '"gpu" != a.b', 'a in ("auto", "gpu")', '{"cpu": 1}', 'a["gpu"]', "a is GPU", "a.name == CPU.name", 'match a:\n case "cpu":\n  1'],
)
def test_every_way_to_tell_devices_apart_is_seen(source: str) -> None:
    assert told_apart(ast.parse(source)) == ([2] if source.startswith("match") else [1])


def test_nobody_else_tells_devices_apart() -> None:
    others = {name: tree for name, tree in modules().items() if name not in CHOOSERS}
    apart = {name: lines for name, tree in others.items() if (lines := told_apart(tree))}
    assert apart == {}, "ask the Device (pipeline/device.py)"
