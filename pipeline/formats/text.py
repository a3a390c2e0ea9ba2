"""Write text formats: header, the lines of every row, the last line; batches are turned into text by threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

from tidalign.pipeline.formats.names import refuse_names
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.text import content


def write_text(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Memory: the text of as many pieces as the rows have threads."""
    format, count = request.format, 0
    if format.header:
        sink.writelines(format.load(format.header)(request))
    for lines in _made(request):
        if format.above and len(lines) and not count:
            sink.writelines(format.load(format.above)(request))
        sink.write(content(lines))
        count += len(lines)
    if request.markend:
        sink.write(format.footer.encode())
    return count


def _made(request: Request[Any]) -> Iterator[Any]:
    """Make the large_string column of lines of every batch, in order."""
    format, threads = request.format, request.rows.threads
    lines_of = format.load(format.lines)

    def made(piece: Callable[[], Iterable[Any]]) -> list[Any]:
        lines = []
        for batch in piece():
            refuse_names(batch, format)
            lines.append(lines_of(batch, request))
        return lines

    coming: deque[Future[list[Any]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for piece in request.rows.pieces():
                if len(coming) == threads:
                    yield from coming.popleft().result()
                coming.append(pool.submit(made, piece))
            while coming:
                yield from coming.popleft().result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
