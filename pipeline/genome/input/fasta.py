"""FASTA of whole genomes: one pass over the text, a piece at a time, however long a sequence is."""

from collections.abc import Iterator

from tidalign.pipeline.errors import MOST_HEADER, SHORT_HEADER, SHORTEN, InputError
from tidalign.pipeline.files.decompress import Damage
from tidalign.pipeline.genome.input.actions import INVALID, LetterRules

_BLANKS = b" \t\r\n"

Record = tuple[bytes | None, bytes, bytes]
"""A header line or name, or None where the record before goes on; letters; qualities, of FASTQ alone."""

WAYS_OUT = {
    ">": "begin every header on a line of its own",
    "U": "RNA: convert U to T",
    "-": "remove the gaps",
    ".": "remove the gaps",
    "*": "give DNA, not protein",
}
"""What to do about letters that are not allowed."""


def records(pieces: Iterator[bytes], rules: LetterRules, file: str) -> Iterator[Record]:
    """Read (header, letters, no qualities) of a text that comes in pieces: the header line, with its >, or None where the letters go on with the record before.

    Blanks and ends of lines (LF or CRLF) are left out. Raises InputError for letters that the rules do not allow, and for damaged data.
    """
    record, line = 0, 1
    rest, in_header, line_start = b"", False, True
    try:
        for piece in pieces:
            text, place = rest + piece, 0
            rest = b""
            more_records = b">" in text  # looked for alone, which is much faster
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
                end = (more_records and text.find(b"\n>", place) + 1) or len(text)
                letters = text[place:end]
                read = letters.translate(rules.table, _BLANKS)
                if INVALID in read or (read and not record):
                    raise _bad(letters, rules, file, record, line)
                yield None, read, b""
                line += letters.count(b"\n")
                line_start, place = letters[-1:] == b"\n", end
    except Damage as damage:
        raise InputError(file, *damage.args, record=max(1, record)) from damage
    if in_header:
        yield b">" + rest.rstrip(b"\r"), b"", b""


def _bad(text: bytes, rules: LetterRules, file: str, record: int, line: int) -> InputError:
    """Say what is wrong with the first letter of a text that is not allowed. line: where the text begins."""
    if not record:
        return InputError(file, "a header line that begins with '>'", repr(text[:20].decode("latin-1")), "name every sequence", line=line)
    others = text.translate(None, rules.allowed + _BLANKS)
    at = text.index(others[:1])
    letter = chr(others[0])
    way_out = WAYS_OUT.get(letter.upper(), rules.way_out(letter))
    return InputError(file, rules.expected, repr(letter), way_out, record=record, line=line + text.count(b"\n", 0, at))
