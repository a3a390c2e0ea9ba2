"""What an input file is, by its content: format, compression, size. Names of files prove nothing."""

import hashlib
import logging
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from select import select
from shlex import quote
from typing import Any, BinaryIO

from tidalign.pipeline.errors import MOST_HEADER, MOST_NAME, MOST_RECORD, SHORT_NAME, SHORTEN, InputError, MissingInput, shown
from tidalign.pipeline.files.decompress import BGZF_END, GZIP_MAGIC, PIECE_BYTES, READ_BYTES, TRUNCATED_BGZF, Damage, decompress, is_bgzf

TABLES = {b"PAR1": "parquet", b"ARROW1": "arrow"}

_OTHERS = {
    b"BZh": "bzip2 data",
    b"\xfd7zXZ": "xz data",
    b"\x28\xb5\x2f\xfd": "Zstandard data",
    b"PK\x03\x04": "a zip archive",
    b"BAM\x01": "a BAM file",
    b"CRAM": "a CRAM file",
    b"FEA1": "a Feather file of version 1",
    b"\xff\xff\xff\xff": "an Arrow stream",
    b"\x43\x27\x41\x1a": "2bit data",
    b"\x1a\x41\x27\x43": "2bit data",
    b"\xef\xbb\xbf": "a byte order mark (BOM)",
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
}
_ONLY_CR = ("lines that end in LF or CRLF", "CR alone", "convert it: tr '\\r' '\\n'")
_WAYS_OUT = {
    "a byte order mark (BOM)": "remove it: sed '1s/^\\xef\\xbb\\xbf//'",
    "an Arrow stream": "write it as an Arrow file (Feather)",
    "2bit data": "convert it: twoBitToFa; `tidalign genome` reads 2bit, but from a file that is not compressed, and not from a pipe",
}


@dataclass(frozen=True, slots=True)
class Input:
    """One input file: text (`fasta`, `fastq`, `seq`) that is `none`, `gzip` or `bgzf` compressed, a table (`parquet`, `arrow`), or `empty`.

    digest: of a sample of its bytes (`sampled`). mtime_ns: 0 where that is of all of them, and the time of change tells nothing more. stream: a pipe, which can
    be read once, by the process that sniffed it; its size and time are unknown (-1).
    """

    path: str
    size: int
    mtime_ns: int
    format: str
    compression: str = "none"
    digest: str = ""
    stream: bool = False

    @property
    def is_table(self) -> bool:
        return self.format in TABLES.values()

    @property
    def has_ranges(self) -> bool:
        """Whether parts of the file can be read by themselves."""
        return not self.stream and self.compression != "gzip"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class _Pipe:
    """A stream whose first bytes can be looked at before they are read."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.kept = file, bytearray()

    def look(self) -> Callable[[int], bytes]:
        """Make a function that reads from the stream's beginning, and keeps what it reads."""
        place = 0

        def read(count: int) -> bytes:
            nonlocal place
            if place + count > len(self.kept):
                self.kept += _filled(self.file, place + count - len(self.kept))
            data = bytes(self.kept[place : place + count])
            place += len(data)
            return data

        return read

    def read(self, count: int) -> bytes:
        data = bytes(self.kept[:count])
        del self.kept[:count]
        return data if len(data) == count else data + _filled(self.file, count - len(data))


def _filled(file: BinaryIO, count: int) -> bytes:
    """Read so many bytes, or what comes before the end, of a stream, for which is waited where it does not block, as its other users may have it."""
    parts, more = list[bytes](), b""
    while count and (more := file.read(count)) != b"":
        if more is None:
            select([file], [], [])
            continue
        parts.append(more)
        count -= len(more)
    return b"".join(parts)


_pipes: dict[str, _Pipe] = {}


def waits(source: Input) -> bool:
    """Tell whether a pipe that was sniffed has not been read yet."""
    return source.path in _pipes


def sniff(path: str, *, allow_empty: bool = False) -> Input:
    """Look into a file, or into standard input for `-`, and say what it is.

    Raises MissingInput where there is nothing to read, InputError where it is nothing that can be read here.
    """
    if path == "-":
        if sys.stdin is None:
            raise MissingInput("standard input: closed; open it, or name a file")
        return _sniff_pipe(path, sys.stdin.buffer, allow_empty)
    path = str(Path(path).absolute())  # workers may have another working directory
    try:
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            raise MissingInput(f"{path}: a directory; name the files in it")
        if not stat.S_ISREG(status.st_mode):
            return _sniff_pipe(path, _pipes[path].file if path in _pipes else Path(path).open("rb"), allow_empty)
        with Path(path).open("rb") as file:
            file.seek(max(0, status.st_size - len(BGZF_END)))
            end = file.read()

            def look() -> Callable[[int], bytes]:
                file.seek(0)
                return file.read

            kind, compression = _kind(path, look, allow_empty)
            digest = sampled(file, status.st_size)
    except MissingInput:
        raise
    except OSError as error:
        raise MissingInput(f"{path}: {error.strerror}") from error
    if compression == "bgzf" and end != BGZF_END:
        raise InputError(path, *TRUNCATED_BGZF)
    if path.endswith((".gz", ".bgz")) and compression == "none":
        logging.getLogger("tidalign").warning("%s: not compressed, whatever its name says; read as it is", path)
    return Input(path, status.st_size, status.st_mtime_ns if status.st_size > _SAMPLES * _SAMPLE_BYTES else 0, kind, compression, digest)


_SAMPLES, _SAMPLE_BYTES = 16, 65_536


def sampled(file: BinaryIO, size: int) -> str:
    """Digest the bytes of a file at 16 places, from its beginning to its end: all of a small one."""
    digest = hashlib.blake2b(digest_size=16)
    if size <= _SAMPLE_BYTES:  # of thousands of small files
        file.seek(0)
        digest.update(file.read(_SAMPLE_BYTES) * _SAMPLES)
        return digest.hexdigest()
    for place in range(_SAMPLES):
        file.seek(max(0, size - _SAMPLE_BYTES) * place // (_SAMPLES - 1))
        digest.update(file.read(_SAMPLE_BYTES))
    return digest.hexdigest()


def with_time(path: str, mtime_ns: int) -> str:
    """Say how a file that has another time of change, and is too long to be known by its digest, is known as the same again."""
    return f"if it is the same, give it back its time: touch -d @{mtime_ns // 10**9}.{mtime_ns % 10**9:09} {quote(path)}"


def _sniff_pipe(path: str, file: BinaryIO, allow_empty: bool) -> Input:
    if path not in _pipes or _pipes[path].file is not file:
        _pipes[path] = _Pipe(file)
    kind, compression = _kind(path, _pipes[path].look, allow_empty)
    if kind in TABLES.values():
        raise InputError(path, "text from a pipe", f"{kind} data", "give the file itself")
    return Input(path, -1, -1, kind, "none" if compression == "none" else "gzip", stream=True)


def text_pieces(source: Input) -> Iterator[bytes]:
    """Read the text of an input from its beginning to its end, decompressed. Raises Damage where that fails.

    A pipe can be read only once, where it was sniffed.
    """
    if source.stream:
        pipe = _pipes.pop(source.path, None)
        if pipe is None:
            raise MissingInput(f"{source.path}: a pipe, already read or given to another process; write it to a file first")
        try:
            yield from _text(pipe.read, source.compression)
        finally:
            if source.path != "-":
                pipe.file.close()
        return
    try:
        with Path(source.path).open("rb") as file:
            yield from iter(lambda: file.read(PIECE_BYTES), b"") if source.compression == "none" else _text(file.read, source.compression)
    except OSError as error:
        raise MissingInput(f"{source.path}: {error.strerror}") from error


def _text(read: Callable[[int], bytes], compression: str) -> Iterator[bytes]:
    return iter(lambda: read(READ_BYTES), b"") if compression == "none" else decompress(read)


def _kind(name: str, look: Callable[[], Callable[[int], bytes]], allow_empty: bool) -> tuple[str, str]:
    """Format and compression of what `look()` gives a function to read of."""
    head = look()(READ_BYTES)
    for magic, table in TABLES.items():
        if head.startswith(magic):
            return table, "none"
    compression = "none" if not head.startswith(GZIP_MAGIC) else "bgzf" if is_bgzf(head) else "gzip"
    try:
        return _text_format(name, _text(look(), compression), allow_empty), compression
    except Damage as damage:
        raise InputError(name, *damage.args) from damage


def _is_header(name: str, begin: bytes) -> bool:
    """Tell whether a long line that begins with > is FASTA's header, by its beginning; else it is letters, of .seq. InputError if it cannot be either."""
    if b"\r" in begin:
        raise InputError(name, *_ONLY_CR, line=1)
    if b" " in begin or b"\t" in begin:
        return True
    if begin[1:].isalpha():
        return False
    raise InputError(name, SHORT_NAME, f"a longer one, {shown(begin[1:41].decode('utf-8', 'replace'))}...", SHORTEN, record=1, line=1)


def _text_format(name: str, pieces: Iterator[bytes], allow_empty: bool) -> str:
    expected = "FASTA (>), FASTQ (@), .seq (> and <), Parquet or Arrow"
    text, passed = b"", 0
    for piece in pieces:
        text = (text + piece).lstrip(b"\r\n") if not text.strip(b"\r\n") else text + piece
        # The second line tells .seq from FASTA; FASTQ is known by its first letter. A CR at the end may have its LF in the next piece.
        if text and not text.endswith(b"\r") and (text[:1] != b">" or b"\n" in text[:-1]):
            break
        if text[:1] == b">" and len(text) > MOST_HEADER and b"\n" not in text:
            if _is_header(name, text[: MOST_NAME + 2]):
                return "fasta"
            text, passed = text[:1] + text[-MOST_NAME:], passed + len(text)
            if passed > MOST_RECORD:
                raise InputError(name, f"a line of at most {MOST_RECORD:,} bytes", "a longer one", SHORTEN, record=1, line=1)
    if not text:
        if allow_empty:
            return "empty"
        raise MissingInput(f"{name}: expected sequences, found nothing: the file is empty; name another one, or leave it out")
    for magic, other in _OTHERS.items():
        if text.startswith(magic):
            raise InputError(name, expected, other, _WAYS_OUT.get(other, "convert it first"))
    if b"\r" in text and b"\n" not in text:
        raise InputError(name, *_ONLY_CR, line=1)
    if text[:1] == b"@":
        return "fastq"
    if text[:1] == b">":
        return "seq" if text[text.find(b"\n") + 1 :][:1] == b"<" else "fasta"
    raise InputError(name, expected, f"{text[:1].decode('latin-1')!r} at its beginning", "give every sequence a header line", line=1)
