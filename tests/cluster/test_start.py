"""Workers listen to this machine and to who started them only, are refused with the way out where they cannot do the work, and are closed in bounded time."""

import multiprocessing
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import dask
import psutil
import pytest
from distributed.deploy import spec
from ending import survivors

import tidalign
from tidalign.cluster import forks, others
from tidalign.cluster import start as starting
from tidalign.cluster.errors import ClusterLost, NoWorkers
from tidalign.cluster.others import CLOSE_TIMEOUT, package_digest
from tidalign.cluster.start import start
from tidalign.cluster.task import cores


def family() -> list[psutil.Process]:
    return [psutil.Process(), *psutil.Process().children(recursive=True)]


def test_nothing_listens_beyond_this_machine() -> None:
    before = {child.pid for child in family()}
    with start(2) as workers:
        assert len(workers.live()) == workers.wanted == 2
        assert set(workers.live().values()) == {1}
        listening = [connection.laddr.ip for process in family() for connection in process.net_connections("inet") if connection.status == "LISTEN"]
        assert len(listening) >= 3
        assert set(listening) == {"127.0.0.1"}
        pids = set(workers.everywhere(os.getpid).values())
        processes = [psutil.Process(pid) for pid in pids]
    assert len(pids - before) == 2
    assert survivors(processes) == []


def ports() -> set[int]:
    """List the ports where this process and its children listen."""
    return {connection.laddr.port for process in family() for connection in process.net_connections("inet") if connection.status == "LISTEN"}


def test_nothing_answers_who_has_no_key() -> None:
    """Not to HTTP, and not with the greeting that Dask's servers have for everybody."""
    before = ports()
    with start(2):
        ours = ports() - before
        assert len(ours) == 5  # of the scheduler, two nannies, two workers
        for port in ours:
            with socket.create_connection(("127.0.0.1", port), timeout=600) as stranger:
                stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
                answer = b""
                with suppress(ConnectionError):
                    while more := stranger.recv(1 << 16):
                        answer += more
            assert b"HTTP" not in answer
            assert len(answer) < 20  # TLS's word for what is no TLS


STRANGER = """
import os, sys
from distributed import Client
from distributed.security import Security
port, foreign = sys.argv[1], Security.temporary()
def knock():
    for address, security in ((f"tcp://127.0.0.1:{port}", None), (f"tls://127.0.0.1:{port}", foreign)):
        try:
            with Client(address, security=security, timeout=10) as client:
                yield f"{address} runs {client.run_on_scheduler(os.getuid)} {client.run(os.getuid)}"
        except OSError:
            yield "refused"
list(knock())  # loads what the second time needs: the packages may be for root's eyes alone
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
print(*knock(), sep="\\n")
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_another_user_gets_no_code_in() -> None:
    with start(1) as workers:
        port = workers.client.scheduler.address.rpartition(":")[2]
        stranger = subprocess.run([sys.executable, "-W", "ignore", "-c", STRANGER, port], stdout=-1, stderr=-1, text=True, timeout=900)
        assert stranger.stdout.split("\n") == ["refused", "refused", ""], stranger.stderr
        assert len(workers.everywhere(os.getpid)) == 1


def test_workers_load_nothing_that_is_only_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide it from them alone: this process, which may be a script's, finds it, and so does whoever forks from what they are forked from."""
    (tmp_path / "pandas.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with start(1) as workers:
        for name in ("pandas", "scipy"):
            assert [type(answer) for answer in workers.everywhere(find_spec, name).values()] == [ModuleNotFoundError]
        with multiprocessing.get_context(forks.METHOD).Pool(1) as pool:
            assert pool.apply(find_spec, ("pandas",))
    assert find_spec("pandas")


def test_closing_takes_a_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "CLOSE_TIMEOUT", 2.0)
    never = threading.Event()
    with start(1) as workers:
        worker = psutil.Process(next(iter(workers.everywhere(os.getpid).values())))
        local: Any = workers.local
        really_close = local.close
        monkeypatch.setattr(local, "close", lambda timeout: never.wait(600))
        began = time.monotonic()
    assert time.monotonic() - began < CLOSE_TIMEOUT
    assert survivors([worker]) == []
    never.set()
    really_close(timeout=600)


def test_who_is_done_does_not_wait_for_the_end_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next ones do: a GPU may be for one process at a time."""
    let, close, closed = threading.Event(), starting._close, list[Any]()

    def late(*arguments: Any) -> None:
        let.wait(60)
        close(*arguments)
        closed.append(arguments[2].name)

    monkeypatch.setattr(starting, "_close", late)
    with start(1) as workers:
        workers.over = True
        first = workers.everywhere(os.getpid)
    assert not closed
    threading.Timer(0.3, let.set).start()
    with start(1) as workers:
        assert len(closed) == 1 and not Path(closed[0]).exists() and not any(map(psutil.pid_exists, first.values()))
    assert len(closed) == 2, "of what may go on nobody goes before the end"


def test_nothing_is_said_of_the_end_of_workers() -> None:
    """Dask's own messages are kept back to the end of those that nobody waits for, too."""
    program = "import os\nfrom tidalign.cluster.start import start\nif __name__ == '__main__':\n"
    program += "    with start(2) as workers:\n        workers.over = bool(workers.everywhere(os.getpid))\n    print('over')\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_one_worker_a_core_unless_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TIDALIGN_CORES", raising=False)
    monkeypatch.setattr("tidalign.cluster.task.ROOT", tmp_path)  # whose container may have less
    assert cores() == len(os.sched_getaffinity(0))


def test_the_digest_sees_every_source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(starting.__file__).parent.parent
    for folder in ("kernels", "pipeline", "cluster", "workflows"):
        shutil.copytree(root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    before = package_digest()
    monkeypatch.setattr(tidalign, "__path__", [str(tmp_path)])
    assert package_digest() == before
    for path in (tmp_path / "kernels/scoring/penalties.py", tmp_path / "workflows/cli.py", tmp_path / "kernels/wavefront/wavefront.cuh"):
        path.write_text(path.read_text() + "\n")
        assert package_digest() != before
        before = package_digest()


@pytest.mark.parametrize(("processors", "told"), [("1", True), ("4", False)])
def test_a_job_of_one_node_with_too_few_processors_is_told_of(
    processors: str, told: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def none(*_: Any) -> Any:
        raise NoWorkers("none here")

    monkeypatch.setattr(starting, "_local", none)
    monkeypatch.setattr("tidalign.cluster.allocation.processors.cores", lambda: 64)
    for name, value in {"JOB_ID": "7", "JOB_NUM_NODES": "1", "JOB_CPUS_PER_NODE": processors, "NODEID": "0"}.items():
        monkeypatch.setenv(f"SLURM_{name}", value)
    with pytest.raises(NoWorkers, match="none here"), start(gpus=["0", "1", "0", "1"]):
        pass
    assert ["job 7 has 1 processor on" in text and "for 4 workers with GPUs" in text for text in caplog.messages] == [True] * told


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", 1.0)
    with pytest.raises(NoWorkers, match=r"tcp://127.0.0.1:1: no Dask scheduler answers"), start(scheduler="tcp://127.0.0.1:1"):
        pass


def test_what_listens_there_is_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", 0.5)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        address = f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(NoWorkers, match=r"no Dask scheduler answers there \(what listens there said nothing for 1 s\)"), start(scheduler=address):
            pass


def test_a_scheduler_without_workers(external_alone: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = others.Client.wait_for_workers
    monkeypatch.setattr(others.Client, "wait_for_workers", lambda client, count, timeout: wait(client, count, timeout / 30))
    said = r"none came in .* `dask worker tcp://127.0.0.1:\d+ --nthreads 1`; an adaptive cluster"
    with pytest.raises(NoWorkers, match=said), start(scheduler=external_alone.address):
        pass


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--nthreads", "3"), r"runs 3 tasks at a time; start workers with `--nthreads 1`"),
        (("--nthreads", "1", "--no-nanny"), r"no nanny .* without `--no-nanny`"),
    ],
)
def test_workers_of_the_wrong_kind(external_alone: Any, options: tuple[str, ...], said: str) -> None:
    external_alone.worker(*options)
    external_alone.wait_for_workers(1)
    with pytest.raises(NoWorkers, match=said), start(scheduler=external_alone.address):
        pass


def test_workers_with_another_tidalign(external: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(others, "package_digest", lambda: "0" * 64)
    with pytest.raises(NoWorkers, match=r"the scheduler has another tidalign; install tidalign"), start(scheduler=external.address):
        pass


def test_somebody_elses_scheduler(external: Any) -> None:
    with start(scheduler=external.address) as workers:
        assert workers.local is None
        assert len(workers.live()) == 2


@pytest.mark.parametrize("step", ["wait_for_workers", "nthreads", "get_versions", "run_on_scheduler", "run"])
def test_a_scheduler_that_dies_while_it_is_asked(external: Any, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    really = getattr(others.Client, step)

    def dies(client: Any, *arguments: Any, **options: Any) -> Any:
        external.scheduler.kill()
        external.scheduler.wait()
        return really(client, *arguments, **options)

    monkeypatch.setattr(others.Client, step, dies)
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", 5.0)
    soon = dask.config.set({"distributed.comm.timeouts.connect": "5 s"})
    with soon, pytest.raises(ClusterLost, match="the scheduler went away; run the same command again"), start(scheduler=external.address):
        pass


def test_a_scheduler_that_dies_while_we_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes connections, and is gone before it has said a word."""
    monkeypatch.setattr(others, "CONNECT_TIMEOUT", 3.0)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def die() -> None:
            server.accept()[0].close()
            connection, _ = server.accept()
            server.close()
            connection.close()

        threading.Thread(target=die).start()
        with pytest.raises(ClusterLost, match="the scheduler went away"), start(scheduler=f"tcp://127.0.0.1:{server.getsockname()[1]}"):
            pass


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_signals_to_all_processes_leave_the_tracker_alone() -> None:
    """Slurm sends SIGUSR1 to every process of a step, LSF SIGUSR2 to all of a job; a tracker that is gone makes a traceback of each thing that it knew."""
    program = (
        "from multiprocessing.resource_tracker import _resource_tracker as tracker; from tidalign.cluster import forks; forks.track(); print(tracker._pid)"
    )
    program += "; print(next(line for line in open(f'/proc/{tracker._pid}/status') if line.startswith('SigBlk')))"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60).stdout.split()
    blocked = int(said[-1], 16)
    assert all(blocked >> (number - 1) & 1 for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP))


def test_a_process_that_ends_at_once_leaves_nothing_behind_and_says_nothing_of_it(tmp_path: Path) -> None:
    """Neither the folder of what workers are forked from, nor a word of the semaphore that it could not give back."""
    code = (
        "import os; from multiprocessing import get_context; from tidalign.cluster import forks; from tidalign.workflows.__main__ import end; "
        "forks.serve([]); lock = get_context(forks.METHOD).Lock(); print(os.listdir(os.environ['TMPDIR']), flush=True); end(2)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"TMPDIR": str(tmp_path)}, timeout=300)
    assert (done.returncode, done.stderr) == (130, "tidalign: stopped by SIGINT; run the same command again\n")
    assert "pymp-" in done.stdout and list(tmp_path.iterdir()) == []


def test_dask_closes_nothing_at_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster that a signal cut short cannot be closed: it would be said after the command's last line."""

    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError("closed at exit")

    with start(1) as workers:
        with monkeypatch.context() as patched:
            patched.setattr(workers.local, "close", fail)
            spec.close_clusters()
        assert workers.client.submit(int, "3").result() == 3
