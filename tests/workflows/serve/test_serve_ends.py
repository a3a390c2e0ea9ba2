"""A server that is killed, stopped or hurt loses no call: callers whose call it leaves do it by themselves, and nothing is written twice."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from serving import NOT_ALONE, Served, ended, pair, server, until

from tidalign.workflows.serve import client, worker

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only there a process with libraries can be forked")


def journals(folder: Path) -> list[Path]:
    """List those of calls that the server is at, of callers whose temporary folder this is."""
    return list(folder.glob("tidalign-*/tidalign-*/run/journal.jsonl"))


def caught(served: Served, folder: Path) -> psutil.Process:
    """Give the server's one worker once it is at a call, and stands still amid it, however long others take to begin theirs."""
    until(lambda: journals(folder))
    [worker] = served.workers()
    worker.suspend()
    return worker


def test_a_worker_that_is_killed_is_replaced(tmp_path: Path) -> None:
    """Its caller works by itself, those who wait are served."""
    sides, folder = pair(tmp_path), {"env": {"TMPDIR": str(tmp_path)}}
    with server(tmp_path, "--workers", "1", TIDALIGN_TEST_SLOW="1") as served:
        expected = served.call(*sides, alone=True).stdout
        first = served.begin(*sides, must=False, **folder)
        worker = caught(served, tmp_path)
        others = [served.begin(*sides) for _ in range(2)]
        time.sleep(0.5)
        worker.kill()
        for each in (first, *others):
            done = ended(each)
            assert (done.returncode, done.stdout, done.stderr) == (0, expected, b"")
        until(lambda: not list(tmp_path.glob("tidalign-*")))
        assert [each.pid for each in served.workers()] != [worker.pid]


def test_a_server_that_is_killed_lets_all_go(tmp_path: Path) -> None:
    """Its worker ends what it is at, and who waits waits no longer. A new server takes the place."""
    sides, folder = pair(tmp_path), {"env": {"TMPDIR": str(tmp_path)}}
    with server(tmp_path, "--workers", "1", TIDALIGN_TEST_SLOW="6") as served:
        first = served.begin(*sides, **folder)
        until(lambda: journals(tmp_path))
        waiting = served.begin(*sides)
        time.sleep(0.5)
        [worker] = served.workers()
        served.process.kill()
        assert (ended(waiting).returncode, first.poll()) == (NOT_ALONE, None)
        assert ended(first).returncode == 0
        until(lambda: not worker.is_running())
        assert served.call(*sides).returncode == NOT_ALONE
    with server(tmp_path, "--workers", "1") as served:
        assert served.call(*sides).returncode == 0
        assert [path.name for path in (tmp_path / "runtime" / "tidalign").glob("*.socket")] == [f"{served.process.pid}.socket"]


def test_stop_finishes_calls_and_hands_back_those_that_wait(tmp_path: Path) -> None:
    sides, folder = pair(tmp_path), {"env": {"TMPDIR": str(tmp_path)}}
    with server(tmp_path, "--workers", "1", TIDALIGN_TEST_SLOW="3") as served:
        first = served.begin(*sides, **folder)
        worker = caught(served, tmp_path)
        waiting = served.begin(*sides)
        time.sleep(0.5)
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(served.stop)
            assert ended(waiting).returncode == NOT_ALONE
            worker.resume()
            stopped = stopping.result()
        assert (stopped.returncode, stopped.stderr) == (0, b"tidalign: the server has ended\n")
        assert ended(first).returncode == 0
        assert served.process.wait(600) == 0
        assert list((tmp_path / "runtime" / "tidalign").glob("*.socket")) == []
        stopped = served.stop()
        assert (stopped.returncode, stopped.stderr) == (0, b"tidalign: no server of this user runs here\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_hands_back_what_runs(tmp_path: Path, number: int) -> None:
    sides, folder = pair(tmp_path), {"env": {"TMPDIR": str(tmp_path)}}
    with server(tmp_path, "--workers", "1", TIDALIGN_TEST_SLOW="8") as served:
        call = served.begin(*sides, **folder)
        until(lambda: journals(tmp_path))
        served.process.send_signal(number)
        time.sleep(1)
        assert (served.process.poll(), call.poll()) == (None, None)
        served.process.send_signal(number)
        assert ended(call).returncode == NOT_ALONE
        assert served.process.wait(600) == 0


def test_a_server_without_calls_ends(tmp_path: Path) -> None:
    with server(tmp_path, "--workers", "1", "--idle-timeout", "1s", ready=False) as served:
        assert served.process.wait(600) == 0
        assert list((tmp_path / "runtime" / "tidalign").glob("*.socket")) == []


def test_workers_that_cannot_begin_are_not_begun_for_ever(tmp_path: Path) -> None:
    with server(tmp_path, "--workers", "1", ready=False, TIDALIGN_TEST_POISON="j000000:0") as served:
        assert served.process.wait(600) == 69
        assert "3 workers died before they were ready" in served.log.read_text()


def test_a_folder_of_others_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "runtime" / "tidalign").mkdir(parents=True, mode=0o755)
    (tmp_path / "runtime" / "tidalign").chmod(0o755)
    with server(tmp_path, "--workers", "1", ready=False) as served:
        assert served.process.wait(300) == 73
        assert "expected a folder that is yours alone" in served.log.read_text()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_stopped_before_it_has_asked_leaves_no_folder(tmp_path: Path, number: int) -> None:
    """While it reads standard input, which does not end."""
    sides, folder = pair(tmp_path), {"env": {"TMPDIR": str(tmp_path)}}
    with server(tmp_path, "--workers", "1") as served, served.begin(sides[0], stdin=subprocess.PIPE, **folder) as call:
        until(lambda: list(tmp_path.glob("tidalign-*")))
        time.sleep(0.5)
        call.send_signal(number)
        assert call.wait(60) == 128 + number
        assert call.stderr is not None and f"tidalign: stopped by {signal.Signals(number).name}" in call.stderr.read().decode()
        assert not list(tmp_path.glob("tidalign-*"))


class Interrupted:
    """A socket whose process gets a signal when the begin of a request is sent."""

    def __init__(self, inner: socket.socket) -> None:
        self.send, self.sendall, self.recv, self._inner = inner.send, inner.sendall, inner.recv, inner

    def sendmsg(self, *content: Any) -> None:
        self._inner.sendmsg(*content)
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_signal_within_a_request_is_handed_on_after_it() -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    files = [os.open(os.devnull, os.O_RDWR) for _ in range(4)]

    def serve() -> tuple[worker.Request | None, bytes]:
        request = worker._received(theirs)
        said = theirs.recv(1)
        theirs.sendall(client.REPLY.pack(7))
        return request, said

    handler = signal.getsignal(signal.SIGTERM)
    with ours, theirs, ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        assert client._ask(cast("socket.socket", Interrupted(ours)), ["genome", "a", "b"], "folder", files) == 7
        request, said = served.result()
    assert request is not None and request.words == ["genome", "a", "b"] and request.environment[b"TMPDIR"] == b"folder"
    assert said == bytes([signal.SIGTERM]) and signal.getsignal(signal.SIGTERM) is handler
    for file in [*files, *request.files]:
        os.close(file)


# ---- many callers


def many(served: Callable[[], Served], folder: Path, calls: int, callers: int) -> int:
    """Make so many calls of a few kinds, so many at a time; how many of them the servers did. Each must end as it does without a server."""
    kinds = []
    for seed in range(4):
        place = folder / f"sides{seed}"
        place.mkdir()
        sides = pair(place, 600 + 900 * seed, seed)
        kinds += [(*sides, "--format=maf"), (*sides, "--seed=match5", "--format=general-"), (sides[0], place / "none.fa")]
    first = served()
    expected = [first.call(*words, alone=True) for words in kinds]
    done_by_servers = []

    def one(number: int) -> None:
        words, should = kinds[number % len(kinds)], expected[number % len(kinds)]
        found = served().call(*words, must=False, env={"TMPDIR": str(folder / "temporary")})
        assert (found.returncode, found.stdout, found.stderr) == (should.returncode, should.stdout, should.stderr), (number, found)
        done_by_servers.append(number)

    (folder / "temporary").mkdir()
    with ThreadPoolExecutor(callers) as pool:
        list(pool.map(one, range(calls)))
    assert list((folder / "temporary").iterdir()) == []
    return len(done_by_servers)


def harass(stop: threading.Event, current: list[Served], begun: Callable[[], Served], seconds: float, rng: random.Random) -> list[str]:
    """Kill workers and servers, and stop servers, each some time after it was ready, until told to end; what was done."""
    done: list[str] = []
    while not stop.wait(0.05):
        if not current[-1].ready():
            continue
        stop.wait(rng.uniform(0, seconds))
        what = ("worker", "server", "worker", "stop")[len(done) % 4]
        served = current[-1]
        if what == "worker":
            rng.choice(served.workers()).kill()
        else:
            served.process.kill() if what == "server" else served.process.terminate()
            served.process.wait(600)
            current.append(begun())
        done.append(what)
    return done


def harassed(folder: Path, calls: int, callers: int, workers: int, seconds: float, seed: int) -> list[str]:
    """Make many calls while servers are killed."""
    contexts = []

    def begun() -> Served:
        contexts.append(server(folder, "--workers", str(workers), ready=False))
        return contexts[-1].__enter__()

    current, stop, rng = [begun()], threading.Event(), random.Random(seed)
    with ThreadPoolExecutor(1) as pool:
        try:
            until(current[0].ready)
            told = pool.submit(harass, stop, current, begun, seconds, rng)
            assert many(lambda: current[-1], folder, calls, callers) == calls
        finally:
            stop.set()
            done = told.result()
            for context in contexts:
                context.__exit__(None, None, None)
    return done


def test_kills_of_the_server_lose_no_call(tmp_path: Path) -> None:
    done = harassed(tmp_path, calls=60, callers=4, workers=2, seconds=1.0, seed=1)
    assert {"worker", "server"} <= set(done)


@pytest.mark.slow
def test_two_thousand_calls_of_sixteen_processes(tmp_path: Path) -> None:
    done = harassed(tmp_path, calls=2000, callers=16, workers=4, seconds=8.0, seed=2)
    assert {"worker", "server", "stop"} <= set(done)
