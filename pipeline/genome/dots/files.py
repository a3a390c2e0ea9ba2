"""Read alignments of PAF, MAF and chain files that any tool wrote, as segments."""

import gzip
import zlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.decompress import GZIP_MAGIC
from tidalign.pipeline.genome.dots.segments import Segments, Side

SUFFIXES = (".paf", ".maf", ".chain")

JOINED = 1000
"""Letters of a gap of a chain up to which a line goes on through it."""

Row = tuple[str, int, int, int, str, int, int, int, bool, float, int]
"""Target's name, length, start and end, the query's, whether on the strand +, identity, score. Places on the forward strands."""


def is_file(path: str) -> bool:
    """Tell whether a path names a file of alignments, by its ending, .gz behind it or not."""
    return _suffix(path) in SUFFIXES


def _suffix(path: str) -> str:
    """Give the ending of a path in lower case, without .gz behind it."""
    return Path(path.lower().removesuffix(".gz")).suffix


def read_segments(path: str) -> Segments:
    """Read a file of alignments; sequences are in the order in which they come up. MissingInput without the file, InputError for a line that is none."""
    read = {".paf": _paf, ".maf": _maf, ".chain": _chain}[_suffix(path)]
    sides: list[dict[str, tuple[int, int]]] = [{}, {}]
    columns = [array("q") for _ in range(8)]
    identity = array("d")
    try:
        with gzip.open(path, "rt", errors="replace") if _zipped(path) else Path(path).open(errors="replace") as lines:
            for place, row in _numbered(path, lines, read):
                t, t_size, t0, t1, q, q_size, q0, q1, forward, like, score = row
                at = []
                for side, name, size in ((sides[0], t, t_size), (sides[1], q, q_size)):
                    known = side.setdefault(name, (len(side), size))
                    if known[1] != size:
                        raise InputError(path, f"{known[1]:,} letters in {name}, as before", f"{size:,} in line {place}", "draw one pair of genomes at a time")
                    at.append(known[0])
                if not (0 <= t0 < t1 <= t_size and 0 <= q0 < q1 <= q_size):
                    raise InputError(path, f"places within {t} and {q}", f"others in line {place}", "write the file again")
                for column, value in zip(columns, (at[0], t0, t1, at[1], q0, q1, int(forward), score), strict=True):
                    column.append(value)
                identity.append(like)
    except OverflowError as error:
        raise InputError(path, "numbers of at most 64 bits", f"a larger one in line {place}", "write the file again") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(path, "a gzip file", f"one that is damaged ({error})", "write it again") from error
    except FileNotFoundError as error:
        raise MissingInput(f"{path}: no such file") from error
    except OSError as error:
        raise MissingInput(f"{path}: cannot be read: {error.strerror or error}") from error
    if not len(identity):
        raise MissingInput(f"{path}: no alignments to draw")
    values = [np.frombuffer(column, np.int64) for column in columns]
    target, query = (Side.of(list(side), np.array([size for _, size in side.values()], np.int64)) for side in sides)
    return Segments(
        target,
        query,
        **dict(zip(("target_at", "target_start", "target_end", "query_at", "query_start", "query_end", "score"), (*values[:6], values[7]), strict=True)),
        forward=values[6].astype(bool),
        identity=np.frombuffer(identity),
    )


def _zipped(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(2) == GZIP_MAGIC


def _numbered(path: str, lines: IO[str], read: Callable[["_Counted"], Iterator[Row]]) -> Iterator[tuple[int, Row]]:
    """Give the rows of a file with their lines' numbers, and say which line is none."""
    counted = _Counted(lines)
    try:
        for row in read(counted):
            yield counted.line, row
    except (ValueError, IndexError, OverflowError) as error:
        kind = _suffix(path)[1:].upper()
        raise InputError(path, f"a line of {kind}", f"{counted.text.strip()[:40]!r} in line {counted.line}", "write the file again") from error


class _Counted:
    """Counts lines as they are read."""

    def __init__(self, lines: IO[str]) -> None:
        self._lines, self.line, self.text = lines, 0, ""

    def __iter__(self) -> Iterator[str]:
        for text in self._lines:
            self.line, self.text = self.line + 1, text
            yield text


def _paf(lines: _Counted) -> Iterator[Row]:
    """Read PAF: the query first; identity from `de`, else from its columns 10 and 11."""
    for line in lines:
        if not line.strip() or line.startswith("#"):
            continue
        words = line.rstrip("\n").split("\t")
        if words[5] == "*":  # a pair without a place, as `tidalign pairs` writes what is rejected
            continue
        places = *map(int, words[6:9]), *map(int, words[1:4])
        matches, columns = int(words[9]), int(words[10])
        if 0 <= places[1] == places[2] or 0 <= places[4] == places[5]:  # of a side without letters
            continue
        tags = {word[:5]: word[5:] for word in words[12:]}
        like = 1.0 - float(tags["de:f:"]) if "de:f:" in tags else matches / columns if columns else np.nan
        score = int(float(tags.get("AS:i:", matches)))
        yield (words[5], *places[:3], words[0], *places[3:], words[4] != "-", like, score)  # type: ignore[misc]


def _maf(lines: _Counted) -> Iterator[Row]:
    """Read MAF: the first sequence of a block is the target, each further one a query."""
    first: list[str] = []
    score = 0
    for line in lines:
        words = line.split()
        if not words or words[0] == "a":
            first = []
            score = next((int(float(word[6:])) for word in words if word.startswith("score=")), 0)
        elif words[0] == "s":
            if not first:
                first = words
                continue
            t0, t1 = _forward(first)
            q0, q1 = _forward(words)
            if t1 > t0 and q1 > q0:
                yield first[1], int(first[5]), t0, t1, words[1], int(words[5]), q0, q1, first[4] == words[4], _alike(first[6], words[6]), score


def _forward(words: list[str]) -> tuple[int, int]:
    """Give the places of a line of MAF on the forward strand."""
    start, size, whole = int(words[2]), int(words[3]), int(words[5])
    return (start, start + size) if words[4] == "+" else (whole - start - size, whole - start)


def _alike(target: str, query: str) -> float:
    """Divide matches by columns of two rows of letters, columns of two gaps left out."""
    t, q = (np.frombuffer(text.upper().encode(), np.uint8) for text in (target, query))
    if len(t) != len(q):
        raise ValueError("rows of different length")
    columns = int(((t != ord("-")) | (q != ord("-"))).sum())
    return float(((t == q) & (t != ord("-"))).sum() / columns) if columns else float("nan")


def _chain(lines: _Counted) -> Iterator[Row]:
    """Read chains: their gap-free pieces, as one where the gap between two is short."""
    header: list[str] = []
    t = q = t_begin = q_begin = 0

    def row() -> Row:
        t_size, q_size = int(header[3]), int(header[8])
        t0, t1 = (t_begin, t) if header[4] == "+" else (t_size - t, t_size - t_begin)
        q0, q1 = (q_begin, q) if header[9] == "+" else (q_size - q, q_size - q_begin)
        return header[2], t_size, t0, t1, header[7], q_size, q0, q1, header[4] == header[9], float("nan"), int(float(header[1]))

    for line in lines:
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if words[0] == "chain":
            header = words
            t, q = t_begin, q_begin = int(words[5]), int(words[10])
            continue
        t, q = t + int(words[0]), q + int(words[0])
        if len(words) < 3:
            yield row()
        elif max(int(words[1]), int(words[2])) > JOINED:
            yield row()
            t, q = t_begin, q_begin = t + int(words[1]), q + int(words[2])
        else:
            t, q = t + int(words[1]), q + int(words[2])
