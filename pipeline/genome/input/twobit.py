"""Sequences of UCSC's .2bit files (https://genome.ucsc.edu/FAQ/FAQformat.html#format7), of both byte orders, versions 0 and 1 (64-bit places)."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.errors import InputError, MissingInput, shown
from tidalign.pipeline.genome.input.actions import LetterRules
from tidalign.pipeline.genome.input.fasta import Record

Counts = npt.NDArray[np.int64]

MAGIC = 0x1A412743

_NOT_READ = {
    0x6BE93D3A: ("nib", "make FASTA of it with UCSC's nibFrag"),
    0xD2527095: ("hsx, an index of other files", "name the files of sequences that it was made of"),
}
"""Other formats of LASTZ's: by their first bytes what they are, and what to do about them."""

_AT_ONCE = 1_000_000  # packed bytes
_LOWER = 0x20
_AGAIN = "copy the file again, or make it anew with faToTwoBit"


def _unpacking() -> npt.NDArray[np.uint8]:
    """Make the table of the letters of a packed byte, the first in its top bits: uint8[256, 4]."""
    packed = np.arange(256)[:, None] >> np.array([6, 4, 2, 0])
    return np.ascontiguousarray(np.frombuffer(b"TCAG", np.uint8)[packed & 3])


_LETTERS = _unpacking().view(np.uint32)[:, 0]


class _File:
    """Numbers of an open file, in its byte order."""

    def __init__(self, path: str, file: BinaryIO, order: str) -> None:
        self.path, self.file, self.order = path, file, order
        self.size = Path(path).stat().st_size

    def bytes(self, count: int) -> bytes:
        if count > self.size - self.file.tell():
            raise InputError(self.path, f"{count} bytes at byte {self.file.tell()}", "the end of the file (truncated or damaged)", _AGAIN)
        return self.file.read(count)

    def numbers(self, count: int, width: int = 4) -> Counts:
        return np.frombuffer(self.bytes(count * width), f"{self.order}u{width}").astype(np.int64)

    def number(self, width: int = 4) -> int:
        return int(self.numbers(1, width)[0])

    def seek(self, place: int) -> None:
        if not 0 <= place <= self.size:
            raise InputError(self.path, f"a sequence at byte {place}", f"a file of {self.size} bytes (truncated or damaged)", _AGAIN)
        self.file.seek(place)

    def blocks(self, size: int) -> tuple[Counts, Counts]:
        """Read begins and ends of blocks of a sequence."""
        count, place = self.number(), self.file.tell()
        starts, sizes = self.numbers(count), self.numbers(count)
        ends = starts + sizes
        if (ends > np.append(starts[1:], size)).any():
            raise InputError(self.path, "blocks in order, within the sequence", f"others at byte {place} (damaged)", _AGAIN)
        return starts, ends


def is_twobit(path: str) -> bool:
    """Tell whether a file is in this format, by its first bytes. InputError where these are of a format that LASTZ reads, and nothing here."""
    if not Path(path).is_file():
        return False
    with Path(path).open("rb") as file:
        begin = file.read(4)
    for magic, (name, way_out) in _NOT_READ.items():
        if begin in _both_orders(magic):
            raise InputError(path, "FASTA, FASTQ or 2bit", name, way_out)
    return begin in _both_orders(MAGIC)


def _both_orders(magic: int) -> tuple[bytes, bytes]:
    return magic.to_bytes(4, "little"), magic.to_bytes(4, "big")


def records(path: str, rules: LetterRules, select: str | None = None) -> Iterator[Record]:
    """Read (name, letters, no qualities) as fasta.records gives them, in the order of the file's index; masked letters are in lower case.

    select: the one sequence wanted; others come without letters, as they are counted. Raises InputError for a file that is damaged, MissingInput where it has
    no such sequence.
    """
    with Path(path).open("rb") as opened:
        order = "<" if opened.read(4) == MAGIC.to_bytes(4, "little") else ">"
        file = _File(path, opened, order)
        version, count, _ = map(int, file.numbers(3))
        if version > 1:
            raise InputError(path, "2bit of version 0 or 1", f"version {version}", "make it anew with faToTwoBit")
        index = []
        for _ in range(count):
            name = file.bytes(file.bytes(1)[0])
            index.append((name, file.number(8 if version else 4)))
        wanted = next((place for name, place in index if is_selected(name, select)), None)
        if select is not None and wanted is None:
            raise MissingInput(f"{path}: no sequence named {shown(select)}")
        for name, place in index:
            yield name, b"", b""
            if select is None or place == wanted:  # of sequences of one name the first
                file.seek(place)
                yield from ((None, letters, b"") for letters in _sequence(file, rules))


def is_selected(name: bytes, select: str | None) -> bool:
    """Tell whether a sequence is wanted: the one that was named (`FILE.2bit/NAME`), or all."""
    return select is None or name.decode("latin-1") == select


def _sequence(file: _File, rules: LetterRules) -> Iterator[bytes]:
    """Read the letters of the record where the file stands."""
    size = file.number()
    unknown, masked = file.blocks(size), file.blocks(size)
    file.number()
    packed = memoryview(file.bytes(-(-size // 4)))
    for begin in range(0, size, 4 * _AT_ONCE):
        end = min(size, begin + 4 * _AT_ONCE)
        letters = _LETTERS[np.frombuffer(packed[begin // 4 : -(-end // 4)], np.uint8)].view(np.uint8)[: end - begin]
        letters[_covered(*unknown, begin, end)] = ord("N")
        letters |= _covered(*masked, begin, end) * np.uint8(_LOWER)
        yield letters.tobytes().translate(rules.table)


def _covered(starts: Counts, ends: Counts, begin: int, end: int) -> npt.NDArray[np.bool_]:
    """Find the letters [begin, end) that lie in blocks, which are in order and do not overlap: bool[end - begin]."""
    inside = slice(np.searchsorted(ends, begin, "right"), np.searchsorted(starts, end, "left"))
    borders = np.stack([starts[inside], ends[inside]], axis=1).clip(begin, end).ravel()
    lengths = np.diff(borders, prepend=begin, append=end)
    return np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
