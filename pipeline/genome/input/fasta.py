"""FASTA of whole genomes: one pass over the text, a piece at a time, however long a sequence is; several threads read the parts of a large plain file."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, pairwise
from pathlib import Path

import numpy as np

from tidalign.kernels.letters.nucleotides import BLANK, FEW_LETTERS, Codes, read_letters
from tidalign.pipeline.errors import MOST_HEADER, SHORT_HEADER, SHORTEN, InputError, MissingInput
from tidalign.pipeline.files.decompress import Damage, changed, read_range
from tidalign.pipeline.genome.input.actions import INVALID, LetterRules

PART = 1 << 20
"""Bytes of a plain file that a thread reads at once: they, and what becomes of them, stay in a core's cache."""

_THREADS, _AHEAD = 4, 8
"""Threads that read parts of a file: writing what they read takes as long. And parts that are read or wait to be taken."""

_LOOK_BACK = 1 << 12  # before a place where a file could be cut, for the line's begin: few headers are longer
_SHORT = 10_000  # letters; for fewer a compiled loop is not called
_BLANKS = b" \t\r\n"

Text = bytes | bytearray
Record = tuple[bytes | None, Text | memoryview, bytes]
"""A header line or name, or None where the record before goes on; letters; qualities, of FASTQ alone."""


def records(
    pieces: Iterator[Text], rules: LetterRules, file: str, record: int = 0, line: int = 1, *, line_start: bool = True, memory: Codes | None = None
) -> Iterator[Record]:
    """Read (header, letters, no qualities) of a text that comes in pieces: the header line, with its >, or None where the letters go on with the record before.

    Blanks and ends of lines (LF or CRLF) are left out. Letters stay as they are until those of another piece are read.
    record, line, line_start: records before the text, the number of its first line, and whether it begins that line.
    memory: uint8[n], where letters are written to if it is enough for them.

    Raises InputError for letters that the rules do not allow, and for damaged data.
    """
    rest: Text = b""
    in_header, seen = False, 0
    table, kept = _table(rules)
    memory = np.empty(0, np.uint8) if memory is None else memory
    try:
        for piece in pieces:
            text: Text = rest + piece if rest else piece
            place = used = 0
            rest, seen = b"", seen + len(piece)
            while place < len(text):
                if in_header:
                    end = text.find(b"\n", place)
                    if (len(text) if end < 0 else end) - place > MOST_HEADER:
                        raise InputError(file, SHORT_HEADER, "a longer one", SHORTEN, record=record, line=line)
                    if end < 0:
                        rest = text[place:]
                        break
                    yield b">" + text[place:end].rstrip(b"\r"), b"", b""
                    in_header, line_start, line, place = False, True, line + 1, end + 1
                    continue
                if line_start and text[place] == ord(">"):
                    in_header, record, place = True, record + 1, place + 1
                    continue
                end = text.find(b">", place + 1)
                if end < 0 or text[end - 1] != ord("\n"):  # within a line it is a letter that is not allowed
                    end = len(text)
                read: Text | memoryview | None
                if seen < FEW_LETTERS or end - place < _SHORT:
                    letters, lines = text[place:end].translate(rules.table, _BLANKS), text.count(b"\n", place, end)
                    read = None if INVALID in letters else letters
                else:
                    if len(memory) < len(text):
                        memory = np.empty(len(text), np.uint8)
                    count, lines = read_letters(memoryview(text)[place:end], table, kept, memory[used:])
                    read = None if count < 0 else memory[used : used + count].data
                    used += max(count, 0)
                if read is None or (len(read) and not record):
                    raise _bad(text[place:end], rules, file, record, line)
                yield None, read, b""
                line += lines
                line_start, place = text[end - 1] == ord("\n"), end
    except Damage as damage:
        raise InputError(file, *damage.args, record=max(1, record)) from damage
    if in_header:
        yield b">" + rest.rstrip(b"\r"), b"", b""


def _table(rules: LetterRules) -> tuple[Codes, int]:
    """Make the table that `read_letters` takes, and tell which bits it keeps of the usual letters."""
    table = np.frombuffer(rules.table, np.uint8).copy()
    table[[*_BLANKS]] = BLANK
    usual = b"ACGTNacgtn"
    read = usual.translate(rules.table)
    return table, 0xFF if read == usual else 0xDF if read == usual.upper() else 0


def records_of_file(path: str, size: int, rules: LetterRules) -> Iterator[Record]:
    """Read what `records` gives of a plain file, its parts by several threads. Where one has something wrong or unusual, all from there on is read as a stream,
    which says what it is."""
    try:
        cuts, begun = _cuts(path, size), False
        rooms = [_Room() for _ in cuts[:_AHEAD]]
        with ThreadPoolExecutor(min(_THREADS, len(cuts)), "fasta") as pool:
            ahead = ((room, start, stop, whole) for room, ((start, whole), (stop, _)) in zip(cycle(rooms), pairwise([*cuts, (size, True)]), strict=False))
            parts = deque(pool.submit(_part, path, size, rules, *each) for each in islice(ahead, _AHEAD))
            for start, line_start in cuts:
                found = parts.popleft().result()
                if found is None or (not begun and found[0][0] is None):
                    headers = sum(header is not None for header, *_ in records(_pieces(path, 0, start), rules, path))
                    line = 1 + sum(piece.count(b"\n") for piece in _pieces(path, 0, start))
                    yield from records(_pieces(path, start, size), rules, path, headers, line, line_start=line_start)
                    return
                yield from found
                begun = True
                parts += [pool.submit(_part, path, size, rules, *each) for each in islice(ahead, 1)]  # in the room of what was taken
    except OSError as error:
        raise MissingInput(f"{path}: {error.strerror}") from error


class _Room:
    """Memory for a part of a file and its letters, used for one part after the other: new memory costs more than reading."""

    def __init__(self) -> None:
        self.text, self.letters = bytearray(PART), np.empty(PART + _LOOK_BACK, np.uint8)

    def read(self, path: str, start: int, stop: int) -> bytearray:
        """Read a range of a file."""
        del self.text[stop - start :]
        self.text += bytes(stop - start - len(self.text))
        with Path(path).open("rb") as file:
            file.seek(start)
            if file.readinto(self.text) < len(self.text):
                raise changed(path)
        return self.text


def _pieces(path: str, start: int, stop: int) -> Iterator[bytes]:
    return (read_range(path, "none", place, min(place + PART, stop)) for place in range(start, stop, PART))


def _cuts(path: str, size: int) -> list[tuple[int, bool]]:
    """Say where the parts of a file begin, in no header line that is not very long; and whether a line begins there."""
    found = [(0, True)]
    with Path(path).open("rb") as file:
        for place in range(PART, size, PART):
            begin = place - _LOOK_BACK
            file.seek(begin)
            before = file.read(_LOOK_BACK + 1)
            line = before.rfind(b"\n", 0, _LOOK_BACK) + 1
            in_header = line > 0 and before[line : line + 1] == b">"
            found.append((begin + line if in_header else place, in_header or line == _LOOK_BACK))
    return found


def _part(path: str, size: int, rules: LetterRules, room: _Room, start: int, stop: int, line_start: bool) -> list[Record] | None:
    """Read a part of a file; None where something is wrong in it, or it ends within a header line."""
    try:
        text = room.read(path, start, stop)
        found = list(records(iter([text]), rules, path, min(start, 1), line_start=line_start, memory=room.letters))
    except InputError:
        return None
    return None if stop < size and found[-1][0] is not None and not text.endswith(b"\n") else found


def one_header(path: str) -> bool:
    """Tell whether a plain file has one header line only."""
    found, before = 0, b"\n"
    with Path(path).open("rb", buffering=0) as file:
        while found < 2 and (text := file.read(PART)):
            place = text.find(b">")
            while place >= 0 and found < 2:
                found += (text[place - 1 : place] or before) == b"\n"
                place = text.find(b">", place + 1)
            before = text[-1:]
    return found == 1


def _bad(text: Text, rules: LetterRules, file: str, record: int, line: int) -> InputError:
    """Say what is wrong with the first letter of a text that is not allowed. line: where the text begins."""
    if not record:
        return InputError(file, "a header line that begins with '>'", repr(text[:20].decode("latin-1")), "name every sequence", line=line)
    others = text.translate(None, rules.allowed + _BLANKS)
    at = text.index(others[:1])
    letter = chr(others[0])
    return InputError(file, rules.expected, repr(letter), rules.way_out(letter, text), record=record, line=line + text.count(b"\n", 0, at))
