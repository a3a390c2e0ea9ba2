"""What the GPU tests last ran on: all of `pytest -m gpu`, on a GPU, writes gpu_record.json; elsewhere one line says if kernels/ has changed since."""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

RECORD = Path(__file__).parent / "gpu_record.json"
KERNELS = Path(__file__).parents[1] / "kernels"


def digest() -> str:
    """Digest every source of kernels/, names included."""
    found = hashlib.sha256()
    for file in sorted(file for ending in ("py", "cu", "cuh") for file in KERNELS.rglob(f"*.{ending}")):
        found.update(f"{file.relative_to(KERNELS).as_posix()}\0".encode() + file.read_bytes())
    return found.hexdigest()


def gpu() -> dict[str, Any]:
    """Describe the current device and what runs on it."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.runtime.getDevice())
    driver = Path("/proc/driver/nvidia/version")
    words = driver.read_text().split("Kernel Module")[-1].split() if driver.exists() else []
    return {
        "card": properties["name"].decode(),
        "cards": cupy.cuda.runtime.getDeviceCount(),  # tests of several are passed over where there is one
        "compute_capability": f"{properties['major']}.{properties['minor']}",
        "driver": next((word for word in words if word[0].isdigit()), "unknown"),
        "cuda": cupy.cuda.runtime.runtimeGetVersion(),
        "python": platform.python_version(),
        "packages": {
            package: version(package) for package in ("numpy", "numba", next(name for name in ("cupy-cuda13x", "cupy-cuda12x", "cupy") if _is_there(name)))
        },
    }


def _is_there(package: str) -> bool:
    try:
        version(package)
    except ImportError:
        return False
    return True


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Write the record after a run of the GPU tests; else say in a line that it is stale."""
    outcomes = {
        outcome: sum(
            "gpu" in getattr(report, "keywords", ()) and getattr(report, "when", "call") == "call"  # a file that cannot be imported has no keywords
            for report in terminalreporter.stats.get(outcome, ())
        )
        for outcome in ("passed", "failed", "error")
    }
    whole = config.option.markexpr == "gpu" and not config.option.keyword and config.args_source is not config.ArgsSource.ARGS
    if whole and outcomes["passed"]:
        record = {"kernels": digest(), "passed": outcomes["passed"], "failed": outcomes["failed"] + outcomes["error"], **gpu()}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
        terminalreporter.write_line(f"{RECORD.name} written: {record['passed']} passed, {record['failed']} failed on {record['card']}")
    elif RECORD.exists():
        record = json.loads(RECORD.read_text())
        if record["kernels"] != digest():
            terminalreporter.write_line(f"GPU tests last ran on other kernels ({record['card']}, {record['passed']} passed): run `pytest -m gpu` on a GPU")
