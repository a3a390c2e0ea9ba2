"""The user's configuration of Dask stands, but for what runs rely on; what Dask would fail over is refused by the name that it has there."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import dask
import pytest

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.settings import _ALWAYS, OF_GPUS, PRELOAD, preloads, settings, temporary
from tidalign.cluster.start import start

TTL, LOG, STEALING, SPILL = (
    f"distributed.{name}" for name in ("scheduler.worker-ttl", "admin.low-level-log-length", "scheduler.work-stealing", "worker.memory.spill")
)
TCP = "distributed.comm.timeouts.tcp"


def test_what_nobody_said_is_ours() -> None:
    assert {name: settings()[name] for name in (TTL, LOG, STEALING, SPILL)} == {TTL: "5 minutes", LOG: 50, STEALING: False, SPILL: False}


def test_what_the_user_said_in_files_and_variables_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it is what Dask has by itself; but nothing that would lose tasks, or have somebody wait for ever."""
    said = {"scheduler": {"worker-ttl": "77s", "work-stealing": True, "allowed-failures": 9}, "admin": {"low-level-log-length": 1000}}
    (tmp_path / "own.yaml").write_text(f"distributed: {said}\n")
    monkeypatch.setenv("DASK_CONFIG", str(tmp_path))
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__MEMORY__SPILL", "0.5")
    monkeypatch.setenv("DASK_DISTRIBUTED__WORKER__MEMORY__PAUSE", "0.5")
    code = "import dask, tidalign.cluster.settings as ours\nwith dask.config.set(ours.settings()):\n    print(*map(dask.config.get, {!r}), sep='|')"
    names = [TTL, LOG, SPILL, STEALING, "distributed.scheduler.allowed-failures", "distributed.worker.memory.pause"]
    done = subprocess.run([sys.executable, "-c", code.format(names)], capture_output=True, text=True, check=True)
    assert done.stdout == "77s|1000|0.5|False|0|False\n"


def test_what_a_program_set_stands_in_its_clusters() -> None:
    with dask.config.set({TTL: "77s", STEALING: True}), start(1) as workers:
        assert workers.client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.worker_ttl) == 77
        assert "stealing" not in workers.client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.extensions))
    assert settings()[TTL] == "5 minutes"


def test_every_one_of_ours_has_its_reason() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "design" / "EXECUTION.md").read_text()
    assert [name for name in _ALWAYS if name.rpartition(".")[2] not in text] == []


@pytest.mark.parametrize(
    ("modules", "arguments", "wanted"),
    [(["own"], [], [[], []]), ("own", ["-v"], [[], ["-v"]]), (["own", "other"], [["-a"], ["-b"]], [[], ["-a"], ["-b"]])],
)
def test_modules_of_the_user_are_loaded_after_ours(modules: Any, arguments: Any, wanted: Any) -> None:
    with dask.config.set({"distributed.worker.preload": modules, "distributed.worker.preload-argv": arguments}):
        named = [modules] if isinstance(modules, str) else modules
        assert preloads([PRELOAD]) == {"preload": [PRELOAD, *named], "preload_argv": wanted}
        with dask.config.set(settings()):
            assert preloads(OF_GPUS) == {"preload": [*OF_GPUS, *named], "preload_argv": [[], *wanted]}


def test_a_module_of_the_user_is_loaded_by_workers(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(f"def dask_setup(worker):\n    open({str(tmp_path / 'seen')!r}, 'w').write(worker.local_directory)\n")
    with dask.config.set({"distributed.worker.preload": [str(tmp_path / "own.py")], "temporary-directory": str(tmp_path / "made" / "scratch")}), start(1):
        pass
    assert (tmp_path / "seen").read_text().startswith(str(tmp_path / "made" / "scratch" / "tidalign-"))
    assert list((tmp_path / "made" / "scratch").iterdir()) == []


def test_a_temporary_folder_that_cannot_be_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with dask.config.set({"temporary-directory": str(tmp_path / "file" / "in")}), pytest.raises(NoWorkers, match="temporary-directory: .*/file/in: no folder"):
        temporary()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        (TCP, "5s", "expected a time of 11s or more, found '5s'; set it so, or leave it out: Dask's default is 30s"),
        (TCP, 10, "expected a time of 11s or more, found 10"),
        (TCP, "soon", "expected a time of 11s or more, found 'soon'"),
        ("distributed.comm.timeouts.connect", "soon", "expected a time, as 30s, found 'soon'"),
        (TTL, "soon", "expected a time, as 30s, found 'soon'"),
    ],
)
def test_a_time_that_dask_would_fail_over_is_refused(name: str, value: object, said: str) -> None:
    with dask.config.set({name: value}), pytest.raises(NoWorkers) as error, start(1):
        pass
    assert str(error.value).startswith(f"Dask's setting {name}: {said}")


def test_a_time_that_dask_takes() -> None:
    with dask.config.set({TCP: "11s", TTL: None}):
        assert TTL not in settings()


def test_the_command_names_the_variable_or_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(">a\nACGT\n")
    words = ["pairs", "a.fa", "b.fa", "-o", "o.sam", "--workers", "2", "--device", "cpu"]

    def refused() -> str:
        done = subprocess.run([sys.executable, "-P", "-m", "tidalign.workflows", *words], cwd=tmp_path, capture_output=True, text=True, timeout=300)
        assert done.returncode == 69 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    with monkeypatch.context() as patched:
        patched.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "5s")
        assert refused().startswith("tidalign: DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP: expected a time of 11s or more, found '5s'")
    (tmp_path / "own.yaml").write_text("distributed: {comm: {timeouts: {tcp: 5s}}}\n")
    monkeypatch.setenv("DASK_CONFIG", str(tmp_path))
    assert refused().startswith(f"tidalign: {tmp_path}/own.yaml: {TCP}: expected a time of 11s or more")
