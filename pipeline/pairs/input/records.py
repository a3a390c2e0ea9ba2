"""Text of FASTA, FASTQ and .seq to columns of names and letters: whole blocks at a time, every record checked.

No Python object is made for a record.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.text.lines import before_blanks, copy_ranges, line_bounds, other_record
from tidalign.pipeline.errors import MOST_HEADER, MOST_NAME, MOST_RECORD, SHORT_HEADER, SHORT_NAME, SHORTEN, shown
from tidalign.pipeline.files.decompress import PLAIN_BYTES, Damage
from tidalign.pipeline.pairs.pack import RecordPlace, check_letters, check_names, column

Positions = npt.NDArray[np.int64]

STREAM_BYTES = 8_000_000
"""Text parsed at once where a file is read from its beginning to its end."""

FOUR_LINES = "every record has four lines, its letters and its qualities one each: get the whole file again, or rewrite it so"


@dataclass(frozen=True, slots=True)
class Format:
    """Says how records lie in a text. A mark is a line that is counted: any line, or one that begins with `first`.

    marks: of a record. lines: of a record, 0 if they vary. records: for one number in messages (a .seq pair is two of our records).
    weight: letters in a byte, about.
    """

    name: str
    first: bytes
    marks: int
    lines: int
    records: int
    weight: float


FORMATS = {
    "fasta": Format("FASTA", b">", 1, 0, 1, 1.0),
    "fastq": Format("FASTQ", b"", 4, 4, 1, 0.5),
    "seq": Format(".seq", b"", 1, 1, 2, 1.0),
}


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of a text: line i is text[starts[i]:ends[i]], its LF or CRLF left out."""

    text: memoryview | bytes
    starts: Positions
    ends: Positions

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, rows: Any) -> "Lines":
        return Lines(self.text, self.starts[rows], self.ends[rows])

    def first_letters(self) -> npt.NDArray[np.uint8]:
        """Give the first byte of each line; 0 for an empty one."""
        letters = np.frombuffer(self.text, np.uint8)
        return np.where(self.starts < self.ends, letters[np.minimum(self.starts, len(letters) - 1)], 0).astype(np.uint8) if len(self) else np.empty(0, np.uint8)


def without_blanks(form: Format, lines: int, blank: int) -> int:
    """Count the lines of a whole text of so many, the empty ones at its end left out; not the qualities of a record without letters."""
    filled = lines - blank
    return filled + (form.lines == 4 and filled % 4 == 3 and blank > 0)


def find_lines(text: memoryview | bytes, *, at_line_start: bool = True) -> Lines:
    """Find the lines that begin in a text; the last may lack its end. at_line_start: whether one begins at its first byte."""
    return Lines(text, *line_bounds(np.frombuffer(text, np.uint8), at_line_start))


def marked(lines: Lines, form: Format) -> Positions:
    """Find the lines that are marks of a format."""
    return np.flatnonzero(lines.first_letters() == ord(form.first)) if form.first else np.arange(len(lines))


def gather(text: Any, starts: Positions, ends: Positions) -> Any:
    """Gather text[starts[i]:ends[i]] for each i as large_binary."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(ends - starts, out=offsets[1:])
    found = np.empty(offsets[-1], np.uint8)
    copy_ranges(np.frombuffer(text, np.uint8), np.ascontiguousarray(starts), offsets, found)
    return column(found, offsets)


def parse(form: Format, lines: Lines, file: str, first: int, alphabet: str, qualities: bool = False) -> Any:
    """Parse whole records to a table of `name` (string; null in .seq) and `letters` (large_binary); with `qualities`, of FASTQ, also `quality` (large_binary).

    first: records of the file before these, for messages. alphabet: of `pack.ALPHABETS`. Raises InputError for the first record that is not right.
    """
    place = RecordPlace(file, first, form.lines, form.records, alphabet)
    if form.name == "FASTQ":
        names, letters = _fastq(lines, place)
    elif form.name == "FASTA":
        names, letters = _fasta(lines, place)
    else:
        letters = _seq(lines, place)
        return pa.table({"name": pa.nulls(len(letters), pa.string()), "letters": check_letters(letters, None, place)})
    names = check_names(names, place)
    columns = {"name": names, "letters": check_letters(letters, names, place)}
    if qualities and form.name == "FASTQ":
        quality = lines[3::4]
        columns["quality"] = gather(lines.text, quality.starts, quality.ends)
    return pa.table(columns)


def names_in(text: Any, starts: Positions, ends: Positions) -> Any:
    """Give what each text[starts[i]:ends[i]] has before its first blank or tab, as large_binary."""
    return gather(text, starts, before_blanks(np.frombuffer(text, np.uint8), np.ascontiguousarray(starts), np.ascontiguousarray(ends)))


def _fastq(lines: Lines, place: RecordPlace) -> tuple[Any, Any]:
    head, letters, plus, quality = (lines[i : len(lines) // 4 * 4 : 4] for i in range(4))
    row, named = other_record(np.frombuffer(lines.text, np.uint8), lines.starts, lines.ends)
    if row < len(head):
        for line, part, mark in ((1, head, "@"), (3, plus, "+")):
            if part[row : row + 1].first_letters() != ord(mark):
                raise place.error(row, f"a line that begins with {mark!r}", _shown(part, row), FOUR_LINES, line=line)
        lengths = (int(part.ends[row] - part.starts[row]) for part in (letters, quality))
        raise place.error(row, f"{next(lengths)} qualities for as many letters", f"{next(lengths)}", FOUR_LINES, line=4)
    if len(lines) % 4:
        raise place.error(len(lines) // 4, "four lines", f"{len(lines) % 4} at the end of the file", FOUR_LINES, line=len(lines) % 4)
    if named:
        repeated = np.flatnonzero(plus.ends - plus.starts > 1)
        whole, said = (gather(lines.text, part[repeated].starts + 1, part[repeated].ends) for part in (head, plus))
        name = names_in(lines.text, head[repeated].starts + 1, head[repeated].ends)
        for row in repeated[pc.and_(pc.not_equal(whole, said), pc.not_equal(name, said)).to_numpy(zero_copy_only=False)]:
            raise place.error(row, "the record's name, or nothing, after '+'", _shown(plus, row), line=3)
    return _headers(head, place), gather(lines.text, letters.starts, letters.ends)


def _headers(lines: Lines, place: RecordPlace) -> Any:
    """Find the names of records, each ended at the first blank or tab of its header line."""
    lengths = lines.ends - lines.starts
    if lengths.max(initial=0) > MOST_HEADER:
        raise place.error(int((lengths > MOST_HEADER).argmax()), SHORT_HEADER, "a longer one", SHORTEN)
    return names_in(lines.text, lines.starts + 1, lines.ends)


def _fasta(lines: Lines, place: RecordPlace) -> tuple[Any, Any]:
    is_head = lines.first_letters() == ord(">")
    heads = lines[is_head]
    if len(lines) and not is_head[0]:
        raise place.error(0, "a header line that begins with '>'", _shown(lines, 0))
    letters = gather(lines.text, lines.starts[~is_head], lines.ends[~is_head])
    # A record's letters are those of its lines, which lie one after the other already.
    line_offsets = np.frombuffer(letters.buffers()[1], np.int64)[: len(letters) + 1] if len(letters) else np.zeros(1, np.int64)
    rows = np.flatnonzero(is_head)
    offsets = np.append(line_offsets[rows - np.arange(len(rows))], line_offsets[-1])
    joined = pa.Array.from_buffers(pa.large_binary(), len(rows), [None, pa.py_buffer(offsets), letters.buffers()[2]])
    return _headers(heads, place), joined


def _seq(lines: Lines, place: RecordPlace) -> Any:
    marks = np.where((place.first + np.arange(len(lines))) % 2, ord("<"), ord(">"))
    wrong = np.flatnonzero(lines.first_letters() != marks)
    if len(wrong):
        expected = f"a line that begins with {chr(marks[wrong[0]])!r}"
        raise place.error(wrong[0], expected, _shown(lines, wrong[0]), "a pair is a line >QUERY and a line <TARGET", line=1)
    return gather(lines.text, lines.starts + 1, lines.ends)


def _shown(lines: Lines, row: int) -> str:
    text = bytes(lines.text[lines.starts[row] : min(lines.ends[row], lines.starts[row] + 20)]).decode("utf-8", "replace")
    return repr(text) if text else "an empty line"


class _Headers:
    """Looks for a header line without end in a text that comes in pieces, before all of it is held.

    skip: marks before the first record. place: of that record. line_start: whether a line begins with the text.
    """

    def __init__(self, form: Format, skip: int, place: RecordPlace, line_start: bool) -> None:
        self._form, self._skip, self._place, self._line_start = form, skip, place, line_start
        self._rest = b""
        self._marks = 0  # before the rest

    def look(self, piece: bytes) -> None:
        """Raise InputError for a header line that is too long."""
        text = self._rest + piece
        lines = find_lines(text, at_line_start=self._line_start)
        if not len(lines):
            return
        self._line_start = True
        marks = marked(lines, self._form)
        numbers = self._marks - self._skip + np.arange(len(marks))
        heads = marks[numbers % self._form.marks == 0]
        long = heads[lines.ends[heads] - lines.starts[heads] > MOST_HEADER]
        if len(long):
            record = numbers[np.searchsorted(marks, long[0])] // self._form.marks
            raise self._place.error(record, SHORT_HEADER, "a longer one", SHORTEN)
        self._rest = b"" if text.endswith(b"\n") else text[lines.starts[-1] :]
        # A mark of the rest comes again, whole.
        self._marks += len(marks) - int(bool(self._rest) and bool(len(marks)) and marks[-1] == len(lines) - 1)
        if len(self._rest) > MOST_HEADER:  # no header line: its first letter says as much
            self._rest = self._rest[:1]


def gathered(pieces: Iterator[bytes], form: Format, file: str, first: int, skip: int, line_start: bool) -> bytes:
    """Join the pieces of a text. More than PLAIN_BYTES of them are a record or two: InputError for a header line without end before all are held."""
    headers = _Headers(form, skip, RecordPlace(file, first, form.lines, form.records), line_start)
    held: list[bytes] = []
    total = 0
    for piece in pieces:
        held.append(piece)
        if form.name != ".seq" and total + len(piece) > PLAIN_BYTES:
            for unseen in held if total <= PLAIN_BYTES else [piece]:
                headers.look(unseen)
        total += len(piece)
    return b"".join(held)


def check_rest(rest: bytes, form: Format, place: RecordPlace) -> None:
    """Raise InputError for the beginning of a record, of which more is to come, that has too much already."""
    begin = rest[: MOST_NAME + 2]
    if form.name != ".seq" and len(begin) == MOST_NAME + 2 and not any(end in begin for end in (b" ", b"\t", b"\n")):
        raise place.error(0, SHORT_NAME, f"a longer one, {shown(begin[1:41].decode('utf-8', 'replace'))}...", SHORTEN)
    if form.name != ".seq" and len(rest) > MOST_HEADER + 1 and rest.find(b"\n", 0, MOST_HEADER + 2) < 0:
        raise place.error(0, SHORT_HEADER, "a longer one", SHORTEN)
    if len(rest) > MOST_RECORD:
        raise place.error(0, f"a record of at most {MOST_RECORD:,} bytes", "a longer one", "cut it: pairs have fewer than 2^28 letters on a side")


def parsers(pieces: Iterator[bytes], form: Format, file: str, alphabet: str, qualities: bool = False) -> Iterator[Callable[[], Any]]:
    """Read a whole text that comes in pieces: calls of `parse`, in order, which anyone may make meanwhile."""
    first, last = 0, False
    parts: list[bytes] = []
    while not last:
        # At least as much again as is left over, so that one long record is not looked through over and over.
        wanted = max(STREAM_BYTES, sum(map(len, parts)))
        while wanted > 0 and not last:
            try:
                piece = next(pieces, b"")
            except Damage as damage:
                whole = max(0, len(marked(find_lines(b"".join(parts)), form)) - 1) // form.marks
                raise RecordPlace(file, first, 0, form.records).error(whole, *damage.args) from damage
            last = not piece
            wanted -= len(piece)
            parts.append(piece)
        text = b"".join(parts)
        parts.clear()
        lines, records, rest = _complete(text, last, form, file, first)
        del text  # as long as the longest record
        parts.append(rest)
        if records:
            yield partial(parse, form, lines, file, first, alphabet, qualities)
            first += records
        del lines
        check_rest(rest, form, RecordPlace(file, first, form.lines, form.records))


def _complete(text: bytes, last: bool, form: Format, file: str, first: int) -> tuple[Lines, int, bytes]:
    """Find the records that end in a text: their lines, how many they are (of the last one some lines may be missing), and what is left of it; `last`: nothing
    follows."""
    lines = find_lines(text)
    marks = marked(lines, form)
    if form.lines:  # every line is a mark; empty ones stay for what follows, or are the last
        filled = int(np.flatnonzero(lines.ends > lines.starts).max(initial=-1)) + 1
        marks = marks[: without_blanks(form, len(lines), len(lines) - filled) if last else filled]
    complete = len(marks) if last else max(0, len(marks) - 1) // form.marks * form.marks
    begin = int(marks[0]) if len(marks) else len(lines)
    end = int(marks[complete]) if complete < len(marks) else len(marks) if form.lines else len(lines)
    if (lines.ends[:begin] > lines.starts[:begin]).any():
        raise RecordPlace(file, first, form.lines, form.records).error(0, f"a line that begins with {form.first.decode()!r}", _shown(lines, 0))
    return lines[begin:end], -(-complete // form.marks), text[lines.starts[end] :] if end < len(lines) else b""
