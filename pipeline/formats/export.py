"""Write the rows of a run of any kind to one file, in a format of the table."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, BinaryIO

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.destination import destination
from tidalign.pipeline.formats.request import Request, Rows
from tidalign.pipeline.formats.text import write_text


def export(rows: Rows, output: str, format: str | None = None, *, notice: Callable[[str], None] | None = None, **options: Any) -> int:
    """Write all rows, in order, to a file or (`-`) to standard output; returns how many.

    format: a name in `table.FORMATS` for this kind of run; left out, the ending of `output`. options: see `table.OPTIONS`.
    notice: takes one line of advice for the user. A file appears under its name only when it is whole. Raises ValueError for what cannot be asked,
    CannotWrite before any work, DiskFull, MissingInput for an unfinished run, InputError for names, lengths or rows that the format cannot hold.
    """
    chosen = table.find(rows.kind, format or PurePath(output).suffix[1:])
    if wrong := table.refused(rows.kind, chosen, options):
        raise ValueError(": ".join(wrong))
    if chosen.cigars and not rows.cigars:
        others = [other.suffix for other in table.formats(rows.kind) if other.suffix and not other.cigars]
        raise InputError(chosen.name.upper(), "a run with CIGARs", "one made with --penalty-only", f"export {table.listed(others)}")
    with destination(output) as sink:
        return write(Request(rows, chosen, notice or _silent, **options), sink)


def write(request: Request[Any], sink: BinaryIO) -> int:
    """Write all rows to a sink; returns how many."""
    format = request.format
    return int(format.load(format.write)(request, sink)) if format.write else write_text(request, sink)


def _silent(text: str) -> None:
    pass
