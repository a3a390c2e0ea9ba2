"""Imports go one way: workflows -> pipeline -> kernels, workflows -> cluster; and third parties stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

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
SOURCES = sorted(path for folder in LAYERS for path in (ROOT / folder).rglob("*.py"))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    layer = path.relative_to(ROOT).parts[0]
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "tidalign" and rest:
            assert rest.partition(".")[0] in LAYERS[layer], f"{path.name} imports {name}"
        assert top not in BANNED[layer], f"{path.name} imports {name}"


def test_import_is_light() -> None:
    heavy = ("cupy", "dask", "distributed", "pyarrow", "numba", "numpy")
    code = f"import sys, tidalign; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout
    assert found.strip() == "[]"


# ---- a device is asked what it does, and told apart by name in one place

CHOOSERS = {"pipeline/device.py", "workflows/run/devices.py"}


def told_apart(source: str) -> list[int]:
    """Lines that compare something with a device or its name, or choose by it in a match, a dict or a lookup."""
    lines = []
    for node in ast.walk(ast.parse(source)):
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
    assert told_apart(source) == ([2] if source.startswith("match") else [1])


def test_nobody_else_tells_devices_apart() -> None:
    others = {name: path for path in SOURCES if (name := str(path.relative_to(ROOT))) not in CHOOSERS}
    found = {name: lines for name, path in others.items() if (lines := told_apart(path.read_text()))}
    assert found == {}, "ask the Device (pipeline/device.py)"
