"""FASTQ of whole genomes: one pass over the text, a piece at a time, however long a sequence is; what is wrong is said as of files of pairs."""

from collections.abc import Iterator

from tidalign.pipeline.errors import MOST_HEADER, SHORT_HEADER, SHORTEN, InputError
from tidalign.pipeline.files.decompress import Damage
from tidalign.pipeline.genome.input.actions import INVALID, LetterRules
from tidalign.pipeline.genome.input.fasta import Record
from tidalign.pipeline.pairs.input.records import FOUR_LINES

_HEAD, _LETTERS, _PLUS, _QUALITIES = range(4)

_QUALITY = bytes(range(ord("!"), ord("~") + 1))


def records(pieces: Iterator[bytes], rules: LetterRules, file: str) -> Iterator[Record]:
    """Read (name, letters, qualities) of a text that comes in pieces, as `fasta.records`: letters first, then as many qualities. Lines end in LF or CRLF.

    Raises InputError for records that are not four lines, for letters that the rules do not allow, and for damaged data.
    """
    state = _State(rules, file)
    rest = b""
    try:
        for piece in pieces:
            text, place = rest + piece, 0
            rest = b""
            while place < len(text):
                end = text.find(b"\n", place)
                if end < 0:
                    # A header line is looked at whole; a CR at the end may have its LF in the next piece.
                    stop = place if state.kind in (_HEAD, _PLUS) else len(text) - text.endswith(b"\r")
                    rest = text[stop:]
                    state.check_header(rest)
                    yield from state.letters(text[place:stop])
                    break
                yield from state.line(text[place:end].removesuffix(b"\r"))
                place = end + 1
    except Damage as damage:
        raise InputError(file, *damage.args, record=state.record + 1) from damage
    if rest or state.begun:
        yield from state.line(rest.removesuffix(b"\r"))
    if state.kind != _HEAD:
        raise state.error("four lines", f"{state.kind} at the end of the file", FOUR_LINES, line=state.kind)


class _State:
    """Where a reader is. record: whole records before. kind: which of its four lines comes. begun: whether a part of that was given already."""

    def __init__(self, rules: LetterRules, file: str) -> None:
        self._rules, self._file = rules, file
        self.record, self.kind, self.begun = 0, _HEAD, False
        self._head = b""
        self._counts = [0, 0, 0, 0]
        """Bytes of each line of the record so far."""

    def error(self, expected: str, found: str, way_out: str = "", *, line: int | None = None) -> InputError:
        """Say what is wrong with the record, in the line that is read or another one (from 1)."""
        return InputError(self._file, expected, found, way_out, record=self.record + 1, line=4 * self.record + (line or self.kind + 1))

    def line(self, text: bytes) -> Iterator[Record]:
        """Take a line, or the rest of one, that ends."""
        yield from self.letters(text) if self.kind in (_LETTERS, _QUALITIES) else self._header(text)
        if self.kind == _QUALITIES:
            if self._counts[_LETTERS] != self._counts[_QUALITIES]:
                raise self.error(f"{self._counts[_LETTERS]} qualities for as many letters", f"{self._counts[_QUALITIES]}", FOUR_LINES)
            self.record += 1
            self._counts = [0, 0, 0, 0]
        self.kind, self.begun = (self.kind + 1) % 4, False

    def check_header(self, begin: bytes) -> None:
        """Raise InputError for the begin of a header line that has too much already."""
        if self.kind in (_HEAD, _PLUS) and len(begin) > MOST_HEADER + 1:
            raise self.error(SHORT_HEADER, "a longer one", SHORTEN)

    def _header(self, text: bytes) -> Iterator[Record]:
        mark = b"@" if self.kind == _HEAD else b"+"
        if not text.startswith(mark):
            shown = repr(text[:20].decode("utf-8", "replace")) if text else "an empty line"
            raise self.error(f"a line that begins with {mark.decode()!r}", shown, FOUR_LINES)
        self.check_header(text)
        if self.kind == _HEAD:
            self._head = text[1:]
            yield self._head, b"", b""
        elif text[1:] not in (b"", self._head):
            raise self.error("the record's name, or nothing, after '+'", repr(text[:20].decode("utf-8", "replace")))

    def letters(self, text: bytes) -> Iterator[Record]:
        """Take a part of a line of letters or qualities."""
        if not text:
            return
        self.begun = True
        place = self._counts[self.kind]
        self._counts[self.kind] += len(text)
        if self.kind == _LETTERS:
            read = text.translate(self._rules.table)
            if INVALID in read:
                at = read.index(INVALID)
                letter = chr(text[at])
                raise self.error(self._rules.expected, f"{letter!r} at position {place + at + 1}", self._rules.way_out(letter, text))
            yield None, read, b""
            return
        if others := text.translate(None, _QUALITY):
            raise self.error("qualities from '!' to '~'", f"{chr(others[0])!r} at position {place + text.index(others[:1]) + 1}", FOUR_LINES)
        yield None, b"", text[: max(0, self._counts[_LETTERS] - place)]
