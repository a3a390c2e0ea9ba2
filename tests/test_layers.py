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
