"""What every benchmark result says of where and of what it was measured."""

import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record

PACKAGES = ("numpy", "numba", "llvmlite", "pyarrow", "dnaio", "dask", "distributed", "cupy-cuda12x", "cupy-cuda13x")


def machine() -> dict[str, Any]:
    """Describe the machine: CPU, cores, system, Python and package versions."""
    cpu = platform.processor()
    info = Path("/proc/cpuinfo")
    if info.exists():
        fields = dict(line.split(":", 1) for line in info.read_text().split("\n\n")[0].splitlines() if ":" in line)
        cpu = " ".join(fields[key].strip() for key in fields if key.strip() in ("model name", "cpu family", "model"))
        widest = [flag for flag in ("avx512f", "avx2", "sse4_1") if flag in " ".join(fields.values()).split()]
        cpu += f" ({widest[0]})" if widest else ""
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {"cpu": cpu, "cores": os.cpu_count(), "system": platform.platform(), "python": platform.python_version(), "packages": versions}


def commit(here: str | Path = Path(__file__).parent) -> str:
    """Name the commit measured, of the checkout that a folder lies in; `+` after it: with sources that are not committed so."""
    try:
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=here, check=True, capture_output=True, text=True).stdout.strip()
        sources = ["git", "status", "--porcelain", "--", ":/*.py", ":/*.cu", ":/*.cuh"]
        changed = subprocess.run(sources, cwd=here, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head + ("+" if changed else "")


def write(path: str, result: dict[str, Any]) -> None:
    """Write a result beside its machine, commit and kernels (`gpu_record.digest`) as JSON."""
    # Folders are of one machine and say nothing to anybody else.
    command = [Path(word).name if "/" in word else word for word in sys.argv]
    text = json.dumps({"command": command, "commit": commit(), "kernels": gpu_record.digest(), "machine": machine(), **result}, indent=1)
    Path(path).write_text(text + "\n")
