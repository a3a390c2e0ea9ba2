"""Write the results of a run to one file: PAF, SAM, TSV or Parquet; whole or not at all."""

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow.parquet as pq

from tidalign.pipeline.errors import CannotWrite, DiskFull
from tidalign.pipeline.pairs.formats import paf, sam, tsv
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import ALIGNMENTS

CIGARS = ("=X", "M")

Notice = Callable[[str], None]


def _parquet(results: Results, sink: BinaryIO, cigar: str, notice: Notice) -> None:
    with pq.ParquetWriter(sink, ALIGNMENTS, compression="zstd") as writer:
        for batch in results.to_batches():
            writer.write_batch(batch)


_WRITERS: dict[str, Callable[[Results, BinaryIO, str, Notice], None]] = {"paf": paf.write, "sam": sam.write, "tsv": tsv.write, "parquet": _parquet}

FORMATS = tuple(_WRITERS)
"""What a run over pairs can be written as."""


def export(results: Results, output: str, *, format: str | None = None, cigar: str = "=X", notice: Notice | None = None) -> int:
    """Write all rows of a finished run, in input order, to a file or (`-`) to standard output; returns the number of rows.

    format: `paf`, `sam`, `tsv` or `parquet`; left out, the suffix of `output`. cigar: `=X`, or `M` for matches and mismatches alike (PAF and SAM).
    notice: takes one line of advice for the user. A file appears under its name only when it is whole. Raises ValueError for what cannot be asked,
    CannotWrite before any work, DiskFull, MissingInput for an unfinished run, InputError for names or lengths the format cannot hold.
    """
    kind = format or Path(output).suffix[1:].lower()
    if kind not in _WRITERS:
        raise ValueError(f"no format {kind!r}: use one of {', '.join(_WRITERS)}")
    if cigar not in CIGARS or (cigar != "=X" and kind not in ("paf", "sam")):
        raise ValueError(f"cigar {cigar!r} for {kind}: PAF and SAM take one of {', '.join(CIGARS)}, other formats keep =X")
    with destination(output) as sink:
        _WRITERS[kind](results, sink, cigar, notice or (lambda text: None))
    return len(results)


@contextmanager
def destination(output: str) -> Iterator[BinaryIO]:
    """A sink whose bytes stand under the name `output` once all are written and on the disk; after any error nothing is left of them."""
    if output == "-":
        with _write_errors("standard output"):
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        return
    path = Path(output).resolve()  # a symbolic link stays one
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with _write_errors(output):
        if path.is_dir():
            raise CannotWrite(f"{output}: expected a file to write, found a directory")
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):  # a device or a pipe is written to, not replaced
            with path.open("wb") as sink:
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
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise DiskFull(f"{name}: no space left on its disk; free some and export again, nothing is lost") from error
        raise CannotWrite(f"{name}: cannot be written: {error.strerror or error}; choose another place with -o") from error
