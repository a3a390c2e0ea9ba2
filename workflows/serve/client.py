"""Have the server run a command of `tidalign`, as if this process did: same bytes, same messages, same status, and no start-up.

What the server writes goes into files without a name that this process made, and from there, once the command has ended, to where it belongs. So a server that
dies leaves nothing behind, and the command is run here. Standard input that is no file is read into one first, for the same reason; a caller who waits for
its turn thus keeps nobody else waiting.
"""

import array
import os
import select
import signal
import socket
import stat
import struct
import sys
from types import FrameType

from tidalign.workflows.serve import address

TYPE_CHECKING = False  # typing's own takes as long to load as Python itself
if TYPE_CHECKING:
    from signal import _HANDLER as Handler

REQUEST_HEAD = struct.Struct("<QII")
"""Begins a request: bytes that follow, how many of its words are the command's (the rest are the environment), umask. Fields end in a zero byte. With it come
four files: working folder, standard output, errors and input."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
"""Signals that are handed on."""

REPLY = struct.Struct("<i")
"""The answer: the exit status. None comes where the server has died, or hands the call back."""

FOLDER = "tidalign-"
"""Begins the name of a call's folder, in which the server has its temporary files."""

_AT_ONCE = 1 << 20
STANDARD_INPUT = "/dev/stdin"


class Stopped(Exception):
    """Says that the server has left a call to which the signal `number` was handed on."""

    def __init__(self, number: int) -> None:
        self.number = number


class Unwritten(Exception):
    """Says that `name` could not be written, by the system's `number` for why, when it was too late to begin again."""

    def __init__(self, name: str, number: int) -> None:
        self.name, self.number = name, number


class Unread(Unwritten):
    """Says that `name` could not be read to its end."""


def call(words: list[str]) -> int | None:
    """Give the exit status of `tidalign` with these words, run by the server; None where it is to be run here, and nothing was written.

    Raises Stopped and Unwritten.
    """
    found = address.listening()
    if found is None or found[1] != address.identity() or not _can_be_handed_on(words):
        return None
    before = _handle(_stop)
    try:
        return _call(words, found[0])
    finally:
        _handle_again(before)


def _handle(handler: "Handler") -> "dict[int, Handler]":
    """Have what is not ignored of `STOPPING` handled so; gives by what it was."""
    before: dict[int, Handler] = {number: signal.getsignal(number) for number in STOPPING}
    for number, known in before.items():
        if known != signal.SIG_IGN:
            signal.signal(number, handler)
    return before


def _handle_again(before: "dict[int, Handler]") -> None:
    for number, handler in before.items():
        signal.signal(number, handler)


def _stop(number: int, frame: FrameType | None) -> None:
    for each in STOPPING:
        signal.signal(each, signal.SIG_IGN)  # the folder is removed first
    raise Stopped(number)


def _call(words: list[str], server_process: int) -> int | None:
    folder = f"{os.environ.get('TMPDIR') or '/tmp'}/{FOLDER}{os.getpid()}-{os.urandom(4).hex()}"
    files: list[int] = []
    try:
        os.mkdir(folder, 0o700)  # noqa: PTH102 pathlib takes as long as Python's own start
        files.append(os.open(".", os.O_RDONLY | os.O_DIRECTORY))
        output = _unnamed(folder)
        files.append(output)
        together = os.path.samestat(os.fstat(1), os.fstat(2))  # then in the order in which they are written
        errors = os.dup(output) if together else _unnamed(folder)
        files.append(errors)
        files.append(_input(words, folder))
        with socket.socket(socket.AF_UNIX) as server:
            server.connect(address.socket_of(server_process))
            status = _ask(server, words, folder, files) if same_user(server) else None
        if status is not None:
            if not together:
                _hand_out(errors, 2)
            _hand_out(output, 1)
        return status
    except OSError:
        return None
    finally:
        for file in files:
            os.close(file)
        remove(folder)


def same_user(connection: socket.socket) -> bool:
    """Tell whether the process at the other end is of this user."""
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(user == os.geteuid())


def _can_be_handed_on(words: list[str]) -> bool:
    """Tell whether another process sees what the words name: what this one alone has open, and pipes, which can be read once, it does not."""
    if not (sys.stdin and sys.stdout) or words.count("-") > 1:  # closed; the one is that of `-o -`
        return False
    for word in words:
        rest = word.removeprefix(STANDARD_INPUT)
        if "/dev/" in rest or "/proc/" in rest:
            return False
        for name in rest.replace("=", "[").replace(",", "[").replace("]", "[").split("["):
            try:
                if name and stat.S_IFMT(os.stat(name).st_mode) not in (stat.S_IFREG, stat.S_IFDIR):  # noqa: PTH116 pathlib loads long
                    return False
            except (OSError, ValueError):
                continue
    return True


def _unnamed(folder: str) -> int:
    return os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_APPEND, 0o600)


def _input(words: list[str], folder: str) -> int:
    """Open what the server is to have as standard input: a file, which is this process's too from then on."""
    if not any(word.startswith(STANDARD_INPUT) for word in words):
        return os.open(os.devnull, os.O_RDONLY)
    if not stat.S_ISREG(os.fstat(0).st_mode):
        kept = _unnamed(folder)
        while block := _read(os.lseek(kept, 0, os.SEEK_CUR) > 0):
            try:
                _write(kept, block)
            except OSError as error:
                raise Unwritten(folder, error.errno or 0) from error
        os.lseek(kept, 0, os.SEEK_SET)
        os.dup2(kept, 0)
        os.close(kept)
    return os.dup(0)


def _read(begun: bool) -> bytes:
    """Read a block of standard input, for which a pipe that does not block is waited for; what goes wrong when some of it was read cannot be begun again."""
    while True:
        try:
            return os.read(0, _AT_ONCE)
        except BlockingIOError:
            select.select([0], [], [])
        except OSError as error:
            if not begun:
                raise
            raise Unread(STANDARD_INPUT, error.errno or 0) from error


def _ask(server: socket.socket, words: list[str], folder: str, files: list[int]) -> int | None:
    """Send the request, hand on signals and wait for the status; None where there is none. Raises Stopped."""
    umask = os.umask(0o077)
    os.umask(umask)
    environment = os.environb | {b"TMPDIR": os.fsencode(folder)}
    fields = [*map(os.fsencode, words), *(b"%b=%b" % each for each in environment.items())]
    body = b"".join(field + b"\0" for field in fields)
    stopped, early = list[int](), list[int]()
    asked = False

    def hand_on(number: int, frame: FrameType | None) -> None:
        stopped.append(number)
        if asked:
            _send(server, number)
        else:  # it would be a byte of the request
            early.append(number)

    before = _handle(hand_on)
    reply = b""
    try:
        head = REQUEST_HEAD.pack(len(body), len(words), umask)
        server.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))])
        server.sendall(body)
        asked = True
        for number in early:
            _send(server, number)
        reply = server.recv(REPLY.size, socket.MSG_WAITALL)
    except OSError:
        reply = b""  # it has died
    finally:
        _handle_again(before)
    if len(reply) == REPLY.size:
        return int(REPLY.unpack(reply)[0])
    if stopped:
        raise Stopped(stopped[0])
    return None


def _send(server: socket.socket, number: int) -> None:
    """Hand on a signal."""
    try:
        server.send(bytes([number]))
    except OSError:
        return  # it has ended


def _hand_out(file: int, to: int) -> None:
    """Write what the server has written to standard output or errors. Raises Unwritten."""
    os.lseek(file, 0, os.SEEK_SET)
    try:
        while block := os.read(file, _AT_ONCE):
            _write(to, block)
    except OSError as error:
        if to == 1:
            raise Unwritten("standard output", error.errno or 0) from error


def _write(file: int, block: bytes) -> None:
    """Write all of a block."""
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(file, rest) :]


def remove(folder: str) -> None:
    """Remove the folder of a call, with what a server that died may have left in it. The server does it for a caller that was killed."""
    try:
        os.rmdir(folder)  # noqa: PTH106
    except FileNotFoundError:
        return
    except OSError:
        import shutil  # seldom

        shutil.rmtree(folder, ignore_errors=True)
