"""Write the rows of any finished run to one file, in any of its formats: names are checked first, threads make the text, and the file is whole or not there."""

import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import CannotWrite, DiskFull, InputError, MissingInput, OutputClosed, shown
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.formats.table import BLANKS, Format
from tidalign.pipeline.text import content


@contextmanager
def destination(output: str) -> Iterator[BinaryIO]:
    """Open a sink whose bytes stand under the name `output` once all are written and on the disk; after any error nothing is left of them."""
    if output == "-":
        if not sys.stdout:
            raise CannotWrite("standard output: closed; open it, or name a file with -o")
        with _write_errors("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    named = Path(output)
    path = named.resolve()  # a symbolic link stays one
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _write_errors(output):
        if named.is_dir():
            raise CannotWrite(f"{output}: expected a file to write, found a directory")
        if named.exists() and not stat.S_ISREG(named.stat().st_mode):  # a device or a pipe is written to, not replaced; /dev/fd/3 has no other name
            with named.open("wb") as sink:
                yield sink
            return
        try:
            with temporary.open("wb", buffering=1 << 20) as sink:
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


@contextmanager
def _write_errors(name: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError as error:
        raise OutputClosed(name) from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{name}: no space left on its disk; free some and export again, nothing is lost") from error
        if error.errno is None or (error.filename and Path(error.filename).resolve().parent != Path(name).resolve().parent):  # it came from what is read
            raise MissingInput(f"{error.filename or 'a file of the run'}: cannot be read: {error.strerror or error}") from error
        raise CannotWrite(f"{name}: cannot be written: {error.strerror or error}; choose another place with -o") from error


def refuse_side(format: Format, role: str, file: str, side: Any) -> None:
    """Raise InputError for a side, read whole, that a format cannot hold. role: target or query; side: has `names`, and what the format looks at beside."""
    if format.banned:
        _refuse(pa.array(side.names, pa.large_string()), role, format, file)
    if format.side:
        format.load(format.side)(role, file, side)


def refuse_names(batch: Any, format: Format) -> None:
    """Raise InputError for a batch whose names a format cannot hold."""
    for role in ("target", "query") if format.banned else ():
        _refuse(batch[f"{role}_name"], role, format)


def _refuse(names: Any, role: str, format: Format, file: str | None = None) -> None:
    strange = pc.index(pc.match_substring_regex(names, f"[{format.banned}]"), True).as_py()
    if strange >= 0:
        kind = "blanks" if format.banned == BLANKS else "tabs"
        expected = f"{role} names without {kind}" + (f" for format {format.name}" if file else "")
        raise InputError(file or f"format {format.name}", expected, shown(names[strange].as_py()), f"read the {role} with [nameparse=darkspace]")


def write_text(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Memory: the text of as many pieces as the rows have threads."""
    format, count = request.format, 0
    if request.lift is not None:
        from tidalign.pipeline.pairs.formats.lift import contigs

        request.found["contigs"] = contigs(request.rows, request.lift)
    if format.header:
        _write(format.load(format.header)(request), format, sink)
    for rows, pieces in _made(request):
        if format.above and rows and not count:
            _write(format.load(format.above)(request), format, sink)
        sink.writelines(pieces)
        count += rows
    if request.markend:
        _write([format.footer.encode()], format, sink)
    if format.bgzf:
        from tidalign.pipeline.formats.bgzf import END

        sink.write(END)
    return count


def _write(pieces: Iterable[Any], format: Format, sink: BinaryIO) -> None:
    """Write what does not come from threads."""
    if format.bgzf:
        from tidalign.pipeline.formats.bgzf import compressed, gathered

        pieces = compressed(gathered(pieces))
    sink.writelines(pieces)


def _made(request: Request[Any]) -> Iterator[tuple[int, list[Any]]]:
    """Make the lines of every batch, in order: how many rows they are of, and their bytes, compressed where the format is."""
    format, threads = request.format, request.rows.threads
    lines_of = format.load(format.lines)
    pack = _packer(format)

    def made(piece: Callable[[], Iterable[Any]]) -> list[tuple[int, list[Any]]]:
        written = []
        for batch in piece():
            refuse_names(batch, format)
            if request.lift is not None:
                batch = request.found["contigs"].lifted(batch)
            lines = lines_of(batch, request)
            written.append((len(lines), pack([content(lines)])))
        return written

    coming: deque[Future[list[tuple[int, list[Any]]]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in request.rows.pieces(letters=True) if format.wants_letters({"cs": request.cs}) else request.rows.pieces():
                if len(coming) == threads:
                    yield from coming.popleft().result()
                coming.append(pool.submit(made, piece))
            while coming:
                yield from coming.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _packer(format: Format) -> Callable[[list[Any]], list[Any]]:
    """Give what compresses pieces of an output, if the format is compressed."""
    if not format.bgzf:
        return list
    from tidalign.pipeline.formats.bgzf import compressed

    return lambda pieces: list(compressed(pieces))


def export(rows: Rows, output: str, format: str | None = None, *, notice: Callable[[str], None] | None = None, **options: Any) -> int:
    """Write all rows, in order, to a file or (`-`) to standard output; returns how many.

    format: a name in `table.FORMATS` for this kind of run; left out, the ending of `output`. options: see `table.OPTIONS`.
    notice: takes one line of advice for the user. A file appears under its name only when it is whole. Raises ValueError for what cannot be asked,
    CannotWrite before any work, DiskFull, MissingInput for an unfinished run, InputError for names, lengths or rows that the format cannot hold.
    """
    if options.get("rg"):
        options["rg"] = table.find(table.PAIRS, "sam").load("read_group")(options["rg"])
    chosen = table.find(rows.kind, format or table.ending(output))
    if wrong := table.refused(rows.kind, chosen, options):
        raise ValueError(": ".join(wrong))
    if chosen.cigars and not rows.cigars:
        others = [other.suffix for other in table.formats(rows.kind) if other.suffix and not other.cigars]
        raise InputError(chosen.name.upper(), "a run with CIGARs", "one made with --penalty-only or --report", f"export {table.listed(others)}")
    if chosen.placed and not rows.placed:
        others = [other.suffix for other in table.formats(rows.kind) if other.suffix and not other.placed]
        raise InputError(chosen.name.upper(), "a run with places", "one made with --report score", f"export {table.listed(others)}")
    with destination(output) as sink:
        return write(Request(rows, chosen, notice or _silent, **options), sink)


def write(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows to a sink; returns how many."""
    format = request.format
    return int(format.load(format.write)(request, sink)) if format.write else write_text(request, sink)


def _silent(text: str) -> None:
    pass
