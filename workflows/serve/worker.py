"""Do the calls that callers make of the server, one at a time, in a process that has all libraries and kernels loaded."""

import array
import gc
import os
import signal
import socket
import sys
import tempfile
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import forkserver
from select import select
from typing import Any

from tidalign.cluster.here import THREAD
from tidalign.kernels.runtime.gpu import GPU_OF_PROCESS
from tidalign.workflows import cli
from tidalign.workflows.serve.client import FOLDER, REPLY, REQUEST_HEAD, STOPPING, remove, same_user

MAX_CALLS = 2_000
"""Calls after which a process gives way to a new one, with whatever libraries may have kept of them."""

_MAX_REQUEST = 1 << 26
"""Bytes of words and environment, at most; systems allow less."""

_PATIENCE = 10.0
"""Seconds that a caller has to say what it wants."""

_GRACE = 30.0
"""Seconds that a call gets to end whose caller has gone."""

BUSY, IDLE = b"b", b"i"
"""What a worker tells the server: it has a call, it has none."""


@dataclass(frozen=True)
class Request:
    """A call: the words, the surroundings of the caller and its files (working folder, standard output, errors, input)."""

    words: list[str]
    environment: dict[bytes, bytes]
    umask: int
    files: list[int]


def serve(listener: socket.socket, ended: int, tell: Callable[[bytes], Any], settle: Callable[[Namespace], None]) -> None:
    """Take calls until the file `ended` ends, as it does with the server, or until this process is better replaced.

    settle: says of a call's arguments where it is done.
    """
    for number in STOPPING:
        signal.signal(number, signal.SIG_IGN)
    tell(IDLE)
    for _ in range(MAX_CALLS):
        ready, _, _ = select([listener.fileno(), ended], [], [])
        if ended in ready:
            return
        try:
            connection, _ = listener.accept()
        except OSError:  # another worker was first, or the server ends
            continue
        with connection:
            tell(BUSY)
            sound = _answer(connection, listener, ended, settle)
        tell(IDLE)
        if not sound:
            return


def _answer(connection: socket.socket, listener: socket.socket, ended: int, settle: Callable[[Namespace], None]) -> bool:
    """Run a call and send its status; gives whether this process is as it was."""
    connection.settimeout(_PATIENCE)
    try:
        request = _received(connection) if same_user(connection) else None
    except OSError:
        request = None
    connection.settimeout(None)
    if request is None:
        return True
    watch = _Watch(connection, listener, ended)
    try:
        with _in_place_of_caller(request):
            watch.start()
            status = _run(request.words, settle)
            watch.end()
    finally:
        for file in request.files:
            os.close(file)
    try:
        connection.sendall(REPLY.pack(status))
    except OSError:  # the caller has gone
        folder = os.fsdecode(request.environment.get(b"TMPDIR", b""))
        if os.path.basename(folder).startswith(FOLDER):  # noqa: PTH119
            remove(folder)
    gc.collect()
    for thread in _others():
        thread.join(1)
    return not (watch.disturbed or _others() or GPU_OF_PROCESS.lost or getattr(forkserver._forkserver, "_forkserver_pid", None))


def _others() -> list[threading.Thread]:
    """List the threads that a call has left behind, but for those that may be."""
    return [thread for thread in threading.enumerate() if thread is not threading.main_thread() and thread.name != THREAD]


def _received(connection: socket.socket) -> Request | None:
    """Read a request; None for what is none."""
    size = array.array("i").itemsize
    head, more, flags, _ = connection.recvmsg(REQUEST_HEAD.size, socket.CMSG_SPACE(4 * size), socket.MSG_WAITALL | socket.MSG_CMSG_CLOEXEC)
    files = array.array("i")
    for level, kind, content in more:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(content[: len(content) - len(content) % size])
    length, words, umask = REQUEST_HEAD.unpack(head) if len(head) == REQUEST_HEAD.size else (0, 0, 0)
    if len(files) == 4 and length <= _MAX_REQUEST and not flags & socket.MSG_CTRUNC:
        body = _whole(connection, length)
        fields = body.split(b"\0")[:-1]
        if len(body) == length and len(fields) >= words:
            pairs = (field.partition(b"=") for field in fields[words:])
            return Request([os.fsdecode(field) for field in fields[:words]], {name: value for name, _, value in pairs}, umask, list(files))
    for file in files:
        os.close(file)
    return None


def _whole(connection: socket.socket, length: int) -> bytes:
    """Receive so many bytes, or what comes before the other end is closed. With a time limit MSG_WAITALL gives what is there."""
    body, at = bytearray(length), 0
    with memoryview(body) as view:
        while at < length and (got := connection.recv_into(view[at:])):
            at += got
    return bytes(body[:at])


@contextmanager
def _in_place_of_caller(request: Request) -> Iterator[None]:
    """Put this process where the caller is, with its environment and files."""
    own, mask = dict(os.environb), os.umask(request.umask)
    for number in STOPPING:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    try:
        os.fchdir(request.files[0])
        _set_environment(request.environment)
        _set_streams(request.files[3], *request.files[1:3])
        tempfile.tempdir = os.environ.get("TMPDIR")
        yield
    finally:
        for number in STOPPING:
            signal.signal(number, signal.SIG_IGN)
        nothing = os.open(os.devnull, os.O_RDWR)
        _set_streams(nothing, nothing, nothing)
        os.close(nothing)
        _set_environment(own)
        os.umask(mask)
        os.chdir("/")
        tempfile.tempdir = None


def _set_environment(wanted: dict[bytes, bytes]) -> None:
    for name in os.environb.keys() - wanted.keys():
        del os.environb[name]
    os.environb.update(wanted)


def _set_streams(*files: int) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    for number, file in enumerate(files):
        os.dup2(file, number)


def _run(words: list[str], settle: Callable[[Namespace], None]) -> int:
    """Run the command; gives its status."""
    sys.argv[1:] = words
    try:
        return cli.main(words, settle=settle)
    except SystemExit as error:  # wrong usage
        return int(error.code or 0)


class _Watch:
    """Looks, while a call is done, at the caller: its signals come to this process, and when it has gone the call is stopped. Sees also to callers who wait for
    their turn when the server has died: they are let go."""

    def __init__(self, connection: socket.socket, listener: socket.socket, ended: int) -> None:
        self._connection, self._listener, self._ended = connection, listener, ended
        self._over = False
        self.disturbed = False
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def end(self) -> None:
        """Stop looking."""
        self._over = True
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RD)
        self._thread.join()

    def _look(self) -> None:
        both: list[Any] = [self._connection, self._ended]
        while not self._over:
            ready, _, _ = select(both, [], [])
            if self._ended in ready:
                hand_back(self._listener)
                both.remove(self._ended)
            if self._over or self._connection not in ready:
                continue
            try:
                said = self._connection.recv(1)
            except OSError:
                said = b""
            if self._over:
                return
            self.disturbed = True
            os.kill(os.getpid(), said[0] if said and said[0] in STOPPING else signal.SIGTERM)
            if not said:
                self._leave()
                return

    def _leave(self) -> None:
        """End this process if the call does not end."""
        timer = threading.Timer(_GRACE, os._exit, (1,))
        timer.daemon = True
        timer.name = THREAD
        timer.start()


def hand_back(listener: socket.socket) -> None:
    """Turn away all who wait for a worker: they do their calls by themselves. Nobody can connect from now on."""
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return
