"""Cores and memory that a process may use, as the system and its container say: `cluster/task.py` and `pipeline/device.py` count alike, though neither sees the
other."""

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import psutil
import pytest

from tidalign.cluster import task
from tidalign.pipeline import device
from tidalign.workflows.run.devices import DEFAULT, Gpus
from tidalign.workflows.run.genome.run import Genomes
from tidalign.workflows.run.pairs.run import Pairs
from tidalign.workflows.run.runner import RunKind
from tidalign.workflows.run.search.run import Search

HERE = 16
"""Cores that this process is scheduled on, as the tests have it."""


@pytest.fixture(params=[task, device], ids=["cluster", "pipeline"])
def counting(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(request.param, "ROOT", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(HERE)), raising=False)
    monkeypatch.delenv("TIDALIGN_CORES", raising=False)
    return request.param


def write(root: Path, files: dict[str, str]) -> None:
    """Write what the system says; names but that of the process's own cgroups lie below those of all."""
    for name, text in files.items():
        path = root / ("proc/self/cgroup" if name == "own" else f"sys/fs/cgroup/{name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")


V1 = "12:memory:/docker/ab\n7:cpu,cpuacct:/docker/ab\n1:name=systemd:/docker/ab\n0::/docker/ab"
CASES = {
    "no Linux": ({}, HERE),
    "nothing said": ({"own": "0::/"}, HERE),
    "the uppermost group, without a limit": ({"own": "0::/", "cpu.max": "max 100000"}, HERE),
    "a container that sees itself as the uppermost": ({"own": "0::/", "cpu.max": "200000 100000"}, 2),
    "rounded up": ({"own": "0::/", "cpu.max": "210000 100000"}, 3),
    "less than a core": ({"own": "0::/", "cpu.max": "5000 100000"}, 1),
    "more than there is": ({"own": "0::/", "cpu.max": "6400000 100000"}, HERE),
    "nested, the inner one is the least": ({"own": "0::/a/b", "a/b/cpu.max": "300000 100000", "a/cpu.max": "400000 100000"}, 3),
    "nested, an outer one is the least": ({"own": "0::/a/b/c", "a/b/c/cpu.max": "max 100000", "a/b/cpu.max": "900000 100000", "a/cpu.max": "150000 50000"}, 3),
    "a group beside": ({"own": "0::/a", "b/cpu.max": "100000 100000"}, HERE),
    "a group with a colon in its name": ({"own": "0::/a:b c", "a:b c/cpu.max": "200000 100000"}, 2),
    "a group outside of what is seen": ({"own": "0::/../x", "cpu.max": "200000 100000"}, 2),
    "v1": ({"own": V1, "cpu,cpuacct/docker/ab/cpu.cfs_quota_us": "150000", "cpu,cpuacct/docker/ab/cpu.cfs_period_us": "100000"}, 2),
    "v1, by the short name": ({"own": V1, "cpu/docker/ab/cpu.cfs_quota_us": "150000", "cpu/docker/ab/cpu.cfs_period_us": "100000"}, 2),
    "v1, told the path outside": ({"own": V1, "cpu,cpuacct/cpu.cfs_quota_us": "400000", "cpu,cpuacct/cpu.cfs_period_us": "100000"}, 4),
    "v1 without a limit": ({"own": V1, "cpu/docker/ab/cpu.cfs_quota_us": "-1", "cpu/docker/ab/cpu.cfs_period_us": "100000"}, HERE),
    "v1, another controller's": ({"own": "5:cpuset:/a", "cpuset/a/cpu.cfs_quota_us": "100000", "cpuset/a/cpu.cfs_period_us": "100000"}, HERE),
    "both versions": ({"own": V1, "unified/docker/ab/cpu.max": "500000 100000"}, 5),
}


@pytest.mark.parametrize(("files", "wanted"), CASES.values(), ids=CASES)
def test_a_container_has_as_many_cores_as_its_quota(files: dict[str, str], wanted: int, counting: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, files)
    assert counting.cores() == wanted


def test_the_least_of_all_counts(counting: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for asked, wanted in (("3", 3), ("64", HERE), ("", HERE)):
        monkeypatch.setenv("TIDALIGN_CORES", asked)
        assert counting.cores() == wanted
    write(tmp_path, {"own": "0::/", "cpu.max": "400000 100000"})
    for asked, wanted in (("3", 3), ("64", 4), ("", 4)):
        monkeypatch.setenv("TIDALIGN_CORES", asked)
        assert counting.cores() == wanted


@pytest.mark.parametrize("asked", ["x", "0", "-1", "1.5", "٣"])
def test_what_is_no_number_of_cores(asked: str, counting: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIDALIGN_CORES", asked)
    with pytest.raises(ValueError, match=rf"^TIDALIGN_CORES={asked}: expected a whole number, 1 or more; set one, or unset it"):
        counting.cores()


def test_a_command_says_so(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "tidalign", "pairs", "q.fa", "t.fa", "-o", "run"]
    done = subprocess.run(words, env={**os.environ, "TIDALIGN_CORES": "x"}, cwd=tmp_path, capture_output=True, text=True)
    said = "tidalign pairs: TIDALIGN_CORES=x: expected a whole number, 1 or more; set one, or unset it to use all cores"
    assert (done.returncode, done.stderr.splitlines()) == (2, [said, "see: tidalign pairs --help"])


def test_both_count_by_the_same_lines() -> None:
    for ours, theirs in ((task.cores, device.cores), (task._limits, device._limits)):
        first, second = ("".join(inspect.getsource(each).rpartition('"""\n')[2:]) for each in (ours, theirs))
        assert first == second


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, 1 << 40),
        ({"own": "0::/a/b", "a/b/memory.max": "max", "a/memory.max": str(1 << 34)}, 1 << 34),
        ({"own": "0::/", "memory.max": str(1 << 50)}, 1 << 40),
        ({"own": V1, "memory/docker/ab/memory.limit_in_bytes": str(1 << 33), "memory/memory.limit_in_bytes": "9223372036854771712"}, 1 << 33),
        ({"own": V1, "memory/memory.limit_in_bytes": "9223372036854771712"}, 1 << 40),
    ],
)
def test_memory_of_a_container(files: dict[str, str], wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "ROOT", tmp_path)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"total": 1 << 40})())
    write(tmp_path, files)
    assert device.memory() == wanted


# ---- when they are counted


@pytest.mark.parametrize(("kind", "small"), [(Pairs, {2: 6.0, 8: 24.0}), (Search, {2: 60.0, 8: 24.0}), (Genomes, {2: 60.0, 8: 5.0})])
def test_a_run_counts_cores_as_it_begins(kind: type[RunKind], small: dict[int, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that serves calls has modules loaded before any of them says how many cores it wants."""
    monkeypatch.setattr(task, "ROOT", tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: set(range(HERE)), raising=False)
    run = kind.__new__(kind)
    run._shard = None
    for count, seconds in small.items():
        monkeypatch.setenv("TIDALIGN_CORES", str(count))
        working, _ = run.threads(DEFAULT, "threads", Gpus({}, ""))
        assert (working, run.small()) == (min(count, 4) if kind is Genomes else count, seconds)


def test_cores_are_counted_in_functions_alone() -> None:
    root = Path(__file__).parents[1]
    for path in (path for folder in ("cluster", "pipeline", "workflows") for path in (root / folder).rglob("*.py")):
        assert not [*counted_at_import(ast.parse(path.read_text()))], path


def counted_at_import(node: ast.AST) -> list[int]:
    """List the lines below a node that count cores as the module is loaded: in its body, in that of a class, as the default of an argument."""
    if isinstance(node, ast.FunctionDef | ast.Lambda):
        return [line for each in (*node.args.defaults, *filter(None, node.args.kw_defaults)) for line in counted_at_import(each)]
    own = [node.lineno] if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "cores" else []
    return own + [line for child in ast.iter_child_nodes(node) for line in counted_at_import(child)]


def test_such_lines_are_found() -> None:
    source = "class A:\n a = min(cores(), 2)\n def b(self, c=cores()):\n  return cores()\nd = task.cores()\n"
    assert counted_at_import(ast.parse(source)) == [2, 3, 5]
