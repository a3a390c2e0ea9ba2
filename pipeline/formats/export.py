"""Write the rows of any finished run to one file, in any of its formats: names are checked first, threads make the text, and the file is whole or not there."""

import errno
import fcntl
import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from zlib import crc32

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import CannotWrite, DiskFull, InputError, MissingInput, OutputClosed, shown
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.formats.stream import Stream, standard_output
from tidalign.pipeline.formats.table import BLANKS, Format
from tidalign.pipeline.in_turn import Call, in_turn
from tidalign.pipeline.store.outputs import refuse_input, refuse_own
from tidalign.pipeline.text import content


@contextmanager
def destination(output: str) -> Iterator[BinaryIO]:
    """Open a sink whose bytes stand under the name `output` once all are written and on the disk; after any error nothing is left of them."""
    if output == "-":
        if not sys.stdout:
            raise CannotWrite("standard output: closed; open it, or name a file with -o")
        with write_errors("standard output"):
            sys.stdout.flush()
            yield standard_output()
        return
    named = Path(output)
    path = named.resolve()  # a symbolic link stays one
    with write_errors(output):
        if named.is_dir():
            raise CannotWrite(f"{output}: expected a file to write, found a directory")
        if named.exists() and not stat.S_ISREG(named.stat().st_mode):  # a device or a pipe is written to, not replaced; /dev/fd/3 has no other name
            with Stream(named, "wb") as device:
                yield device
            return
        temporary, sink = _temporary(path)
        with sink:  # which holds the name until the file has another or is gone
            try:
                yield sink
                sink.flush()
                os.fsync(sink.fileno())
                temporary.replace(path)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _temporary(path: Path) -> tuple[Path, BinaryIO]:
    """Open what becomes a file, under a name that all exports to it on this host have: one that was killed leaves it to the next. While one has it, or
    where none can, a process has a name of its own; so it has where somebody else made that file, or it has a second name, in a folder that others write to."""
    host = crc32(os.uname().nodename.encode())
    temporary = path.with_name(f".{path.name}.{host:08x}.tmp")
    with suppress(OSError), ExitStack() as opened:
        handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        opened.callback(os.close, handle)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(handle)
        # Else who had it has just given it its name.
        if os.path.samestat(temporary.stat(), found) and (found.st_uid, found.st_nlink) == (os.geteuid(), 1):
            os.ftruncate(handle, 0)
            opened.pop_all()
            return temporary, os.fdopen(handle, "wb", buffering=1 << 20)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    return temporary, os.fdopen(handle, "wb", buffering=1 << 20)


@contextmanager
def write_errors(name: str) -> Iterator[None]:
    """Raise OutputClosed, DiskFull, CannotWrite or MissingInput for what goes wrong inside, where `name` is written."""
    try:
        yield
    except MissingInput:
        raise
    except BrokenPipeError as error:
        raise OutputClosed(name) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{name}: no space left on its disk; free some, then run the same command again") from error
        if error.errno is None or (error.filename and Path(error.filename).resolve().parent != Path(name).resolve().parent):  # it came from what is read
            raise MissingInput(f"{error.filename or 'a file of the run'}: cannot be read: {error.strerror or error}") from error
        raise CannotWrite(f"{name}: cannot be written: {error.strerror or error}; choose another place with -o") from error


def refuse_side(format: Format, role: str, file: str, side: Any) -> None:
    """Raise InputError for a side, read whole, that a format cannot hold. role: target or query; side: has `names`, and what the format looks at beside."""
    if format.banned:
        _refuse(pa.array(side.names, pa.large_string()), role, format, file)
    if format.side:
        format.load(format.side)(role, file, side, format)


def refuse_names(batch: Any, format: Format) -> None:
    """Raise InputError for a batch whose names a format cannot hold."""
    for role in ("target", "query") if format.banned else ():
        _refuse(batch[f"{role}_name"], role, format)


def _refuse(names: Any, role: str, format: Format, file: str | None = None) -> None:
    strange = pc.index(pc.match_substring_regex(names, f"[{format.banned}]"), True).as_py()
    if strange >= 0:
        kind = "blanks" if format.banned == BLANKS else "tabs and quotes" if '"' in format.banned else "tabs"
        expected = f"{role} names without {kind}" + (f" for format {format.name}" if file else "")
        raise InputError(file or f"format {format.name}", expected, shown(names[strange].as_py()), f"read the {role} with [nameparse=darkspace]")


def refuse_less(kind: str, format: Format, *, cigars: bool, placed: bool) -> None:
    """Raise InputError for a format that needs what the rows of a run do not have."""
    for needed, there, what, found in ((format.placed, placed, "places", "--report score"), (format.cigars, cigars, "CIGARs", "--penalty-only or --report")):
        if needed and not there:
            others = [each.suffix for each in table.formats(kind) if each.suffix and (placed or not each.placed) and (cigars or not each.cigars)]
            raise InputError(format.name.upper(), f"a run with {what}", f"one made with {found}", f"export {table.listed(others)}")


class _Handed:
    """Hold what a piece of a text gives to the one after it: `rest`, how many rows there were and the begin of a block that is not full yet, as soon as that is
    known, so that pieces are compressed at once; and `written`."""

    def __init__(self) -> None:
        self.rest: Future[tuple[int, bytes]] = Future()
        self.written: Future[None] = Future()

    def fail(self, error: BaseException) -> None:
        for future in (each for each in (self.rest, self.written) if not each.done()):
            future.set_exception(error)


def write_text(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Memory: the text of as many pieces as the rows have threads.

    Threads make the text, and each writes its own when those before it have. Not all at once to known places (EXECUTION.md 13).
    """
    format = request.format
    if request.lift is not None:
        from tidalign.pipeline.pairs.formats.lift import contigs

        request.found["contigs"] = contigs(request.rows, request.lift)
    whole, rest = _blocks(format, format.load(format.header)(request) if format.header else (), threads=request.rows.threads)
    if request.sort and format.index:
        request.found["index"] = format.load(format.index)(request, len(list(whole)), len(rest))
    _write(request, sink, whole)
    last = _Handed()
    last.rest.set_result((0, rest))
    last.written.set_result(None)

    def calls() -> Iterator[Call[int]]:
        nonlocal last
        for text in _texts(request):
            before, last = last, _Handed()
            yield text.then(partial(_write_piece, request, sink, before, last))

    count = sum(in_turn(calls(), request.rows.threads))
    whole, rest = _blocks(format, [last.rest.result()[1], format.footer.encode() if request.markend else b""])
    _write(request, sink, whole)
    if format.bgzf:
        from tidalign.pipeline.formats.bgzf import ended

        _write(request, sink, ended(rest))
    return count


def _pieces(request: Request[Any]) -> Iterator[Call[Iterable[Any]]]:
    """Give what makes the batches of a request, in order."""
    rows: Iterator[Call[Iterable[Any]]]
    rows = request.rows.pieces(letters=True) if request.format.wants_letters({"cs": request.cs}) else request.rows.pieces()
    return rows


def _texts(request: Request[Any]) -> Iterator[Call[tuple[int, list[Any]]]]:
    """Give what makes the text of the rows, a piece at a time: how many rows, and their lines."""
    if not request.sort:
        yield from (piece.then(partial(_text, request)) for piece in _pieces(request))
        return
    from tidalign.pipeline.pairs.formats.coordinate import records, texts

    def tables(piece: Callable[[], Iterable[Any]]) -> list[Any]:
        return [records(batch, lines, request) for batch, lines in text_lines(request, piece)]

    made = in_turn((piece.then(tables) for piece in _pieces(request)), request.rows.threads)
    yield from map(Call, texts(chain.from_iterable(made), request))


def text_lines(request: Request[Any], piece: Callable[[], Iterable[Any]]) -> Iterator[tuple[Any, Any]]:
    """Give each batch of a piece, as it is written, with its lines."""
    lines_of = request.format.load(request.format.lines)
    for batch in piece():
        refuse_names(batch, request.format)
        lifted = batch if request.lift is None else request.found["contigs"].lifted(batch)
        yield lifted, lines_of(lifted, request)


def _text(request: Request[Any], piece: Callable[[], Iterable[Any]]) -> tuple[int, list[Any]]:
    """Make the text of a piece: how many rows, and their lines."""
    made = list(text_lines(request, piece))
    count = sum(len(lines) for batch, lines in made if not getattr(batch, "part", (0, 1))[0])  # a row counts with the first part of its text
    return count, [content(lines) for _, lines in made]


def _write_piece(request: Request[Any], sink: BinaryIO, before: _Handed, after: _Handed, text: Callable[[], tuple[int, list[Any]]]) -> int:
    """Make the text of a piece and write it when that before it is written; returns how many rows it has."""
    try:
        format = request.format
        count, texts = text()
        rows, rest = before.rest.result()
        above = format.load(format.above)(request) if format.above and count and not rows else ()
        whole, _ = _blocks(format, [rest, *above, *texts], lambda rest: after.rest.set_result((rows + count, rest)))
        before.written.result()
        _write(request, sink, whole)
        after.written.set_result(None)
    except BaseException as error:
        after.fail(error)
        raise
    return count


def _write(request: Request[Any], sink: BinaryIO, texts: Iterable[Any]) -> None:
    """Write the next bytes of the output; the index, if there is one, learns where blocks begin."""
    sink.writelines(texts)
    if "index" in request.found:
        request.found["index"].blocks.extend(map(len, texts))


def _blocks(format: Format, texts: Iterable[Any], known: Callable[[bytes], None] = lambda rest: None, threads: int = 1) -> tuple[Iterable[Any], bytes]:
    """Give what is written of a text, and what is left of it for the next one to begin with: of a compressed format the end that fills no block.
    known: is told this end before anything is compressed. threads: compress it, where none do so beside this one."""
    if not format.bgzf:
        known(b"")
        return texts, b""
    from tidalign.pipeline.formats.bgzf import blocks, cut

    whole, rest = cut(texts)
    known(rest)
    return blocks(whole, threads), rest


def export(
    rows: Rows,
    output: str,
    format: str | None = None,
    *,
    notice: Callable[[str], None] | None = None,
    into: Callable[[str], AbstractContextManager[BinaryIO]] = destination,
    **options: Any,
) -> int:
    """Write all rows, in order, to a file or (`-`) to standard output; returns how many.

    format: a name in `table.FORMATS` for this kind of run; left out, the ending of `output`. options: see `table.OPTIONS`.
    notice: takes one line of advice for the user. into: opens the sink of an output. A file has its name only when it is whole, and then its index, if any.
    Raises ValueError for what cannot be asked, CannotWrite before any work, DiskFull, MissingInput for an unfinished run, InputError for names, lengths or
    rows that the format cannot hold.
    """
    chosen = table.chosen(rows.kind, format, output)
    if wrong := table.refused(rows.kind, chosen, options):
        raise ValueError(": ".join(wrong))
    if options.get("rg"):
        options["rg"] = table.find(table.PAIRS, "sam").load("read_group")(options["rg"])
    refuse_less(rows.kind, chosen, cigars=rows.cigars, placed=rows.placed)
    refuse_input(output, rows.source)
    refuse_own(output)
    stream = output == "-" or (Path(output).exists() and not Path(output).is_file())
    request = Request(rows, chosen, notice or (lambda text: None), **options, folder=tempfile.gettempdir() if stream else str(Path(output).resolve().parent))
    with into(output) as sink:
        count = write(request, sink)
        for suffix in (".bai", ".csi") if chosen.index and not stream else ():
            Path(f"{output}{suffix}").unlink(missing_ok=True)  # of an earlier file; readers would take it for this one's
    index = request.found.get("index")
    if index is not None and not stream:
        with destination(f"{output}{index.suffix}") as sink:
            sink.write(index.content())
    return count


def write(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows to a sink; returns how many."""
    format = request.format
    return int(format.load(format.write)(request, sink)) if format.write else write_text(request, sink)
