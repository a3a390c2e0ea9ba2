"""What names and letters of an input may be, checked on whole columns; where one is not, the first is found and named."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.kernels.text.lines import has_controls, is_plain_dna
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.pack import flat

DNA = b"ACGTRYKMSWBDHVNacgtrykmswbdhvn"
"""ACGT and the IUPAC codes for one of several bases, in both cases."""

_CONTROLS = bytes([*range(32), 127])
_NAME_BYTES = bytes(sorted({*range(256)} - {*_CONTROLS}))
_AT_ONCE = 1_000_000  # bytes

_WAYS_OUT = {
    "U": "RNA: convert U to T",
    "\r": "line ends of CR alone: convert them to LF, tr '\\r' '\\n'",
    "-": "remove the gaps: sequences are aligned from the beginning",
    ".": "remove the gaps: sequences are aligned from the beginning",
    "*": "give DNA, not protein",
    " ": "remove white space within sequences",
    "\t": "remove white space within sequences",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows come from: `first` records of the file before them, `lines` lines a record (0: not known), `records` counted as one."""

    file: str
    first: int
    lines: int = 0
    records: int = 1

    def error(self, row: int, expected: str, found: str, way_out: str = "", *, line: int | None = None) -> InputError:
        """An InputError about a row. line: of the record, from 1."""
        record = self.first + int(row)
        number = record * self.lines + (line or 1) if self.lines else None
        return InputError(self.file, expected, found, way_out, record=record // self.records + 1, line=number)


def _others(letters: Any, allowed: bytes) -> bytes:
    """The first bytes found that are not allowed; empty if all are."""
    for start in range(0, len(letters), _AT_ONCE):
        piece = letters[start : start + _AT_ONCE]
        usual = is_plain_dna(piece) if allowed is DNA else not has_controls(piece)
        others = b"" if usual else bytes(piece).translate(None, allowed)
        if others:
            return others
    return b""


def check_letters(letters: Any, names: Any, place: Place) -> Any:
    """The large_binary column itself, if all of it is DNA. names: to name the record by, or None."""
    data, offsets = flat(letters)
    others = _others(data, DNA)
    if not others:
        return letters
    at = int(np.flatnonzero(data == others[0])[0])
    row = int(np.searchsorted(offsets, at, "right")) - 1
    letter = chr(others[0])
    of = f" of {names[row].as_py()!r}" if names is not None else ""
    way_out = _WAYS_OUT.get(letter.upper(), "protein and other letters cannot be aligned as DNA" if letter.isalpha() else "correct or remove the record")
    raise place.error(row, "DNA letters (ACGT, IUPAC codes)", f"{letter!r} at position {at - int(offsets[row]) + 1}{of}", way_out, line=min(2, place.lines))


def check_names(names: Any, place: Place) -> Any:
    """A large_binary column as string. Names are UTF-8, have a letter at least, and no control characters."""
    data, offsets = flat(names)
    empty = np.flatnonzero(np.diff(offsets) == 0)
    if len(empty):
        raise place.error(empty[0], "a name", "none", "name every record")
    if others := _others(data, _NAME_BYTES):
        at = int(np.flatnonzero(data == others[0])[0])
        row = int(np.searchsorted(offsets, at, "right")) - 1
        way_out = _WAYS_OUT.get(chr(others[0]), "remove it")
        raise place.error(row, "a name of printable characters", f"{chr(others[0])!r} at its position {at - int(offsets[row]) + 1}", way_out)
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        for row, name in enumerate(names.to_pylist()):
            try:
                name.decode()
            except UnicodeDecodeError:
                raise place.error(row, "a name in UTF-8", f"{name!r}", "convert it: iconv -f latin1 -t utf8") from None
        raise
