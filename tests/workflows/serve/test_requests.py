"""Receives whole what a caller sends to the server: long requests, and a standard input that does not come at once."""

import os
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tidalign.workflows.serve import client, worker


def test_a_long_request_comes_whole() -> None:
    """Receives a megabyte from a socket with a time limit, which gives what is there."""
    ours, theirs = socket.socketpair(socket.AF_UNIX)
    theirs.settimeout(60)
    files = [os.open(os.devnull, os.O_RDWR) for _ in range(4)]

    def serve() -> worker.Request | None:
        request = worker._received(theirs)
        theirs.sendall(client.REPLY.pack(0))
        return request

    with ours, theirs, ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        assert client._ask(ours, ["genome", "x" * 1_000_000], "folder", files) == 0
        request = served.result()
    assert request is not None and request.words == ["genome", "x" * 1_000_000]
    for file in [*files, *request.files]:
        os.close(file)


READ = """
import os, sys
from tidalign.workflows.serve import client
try:
    print(os.pread(client._input(["/dev/stdin"], os.environ["TMPDIR"]), 99, 0).decode(), end="")
except client.Unread as error:
    print(error.name, error.number)
"""


def test_standard_input_is_read_whole_or_refused(tmp_path: Path) -> None:
    """Waits for a pipe that does not block, and tells what fails amid it, as its begin is gone."""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    here, there = os.pipe()
    os.set_blocking(here, False)
    with subprocess.Popen([sys.executable, "-c", READ], stdin=here, stdout=subprocess.PIPE, env=environment, text=True) as process:
        for block in (b"first ", b"second"):
            time.sleep(0.7)
            os.write(there, block)
        os.close(there)
        assert process.communicate(timeout=60)[0] == "first second"
    os.close(here)
    failing = READ.replace(
        "try:",
        "blocks = iter([b'first'])\ndef read(*given):\n    for block in blocks:\n        return block\n    raise OSError(5, 'no')\nos.read = read\ntry:",
        1,
    )
    done = subprocess.run([sys.executable, "-c", failing], stdin=subprocess.PIPE, capture_output=True, text=True, env=environment, timeout=60)
    assert done.stdout == "/dev/stdin 5\n", done.stderr
