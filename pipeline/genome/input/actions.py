"""Read the name of an input with LASTZ's actions (`path[multiple,unmask][100..500]`), and do what they say of names and letters."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tidalign.kernels.scoring.scores import IUPAC
from tidalign.pipeline.errors import InputError, MissingInput, shown

RULES = ("short", "darkspace", "alphanum", "full")
"""What [nameparse=] may be; `short` is what is done without it."""

_ENDS = {"short": re.compile(r"[ \t|:]"), "darkspace": re.compile(r"[ \t]"), "alphanum": re.compile(r"[^A-Za-z0-9_]")}
"""Of a name, by rule: what ends it."""

_SUFFIX = re.compile(r"(?<=.)\.(fa|fasta|2bit|nib|hsx)\Z", re.DOTALL)


def shorten(header: str, rule: str) -> str:
    """Cut the name out of a header line (of FASTA, with its >) or index entry (of 2bit).

    short: what stands before the first blank, | or :. darkspace: before the first blank. Both without the suffix of a sequence file.
    alphanum: the letters, digits and _ at its beginning. full: all of it.
    """
    if rule == "full":
        return header
    text = header.removeprefix(">").lstrip(" \t")
    end = _ENDS[rule].search(text)
    name = text[: end.start()] if end else text
    return _SUFFIX.sub("", name) if rule != "alphanum" and "." in name else name


INVALID = 0xFF
"""What a letter that is not allowed becomes."""

_AMINO_ACIDS = b"EFILPQefilpq"
"""Those that are no code of bases: a third of most proteins."""

WAYS_OUT = {
    ">": "begin every header on a line of its own",
    "U": "RNA: convert U to T",
    "-": "remove the gaps",
    ".": "remove the gaps",
    "*": "give DNA, not protein",
}
"""Say what to do about letters that are not allowed."""


class LetterRules:
    """Says how letters are read.

    ambiguous: None, "n" or "iupac" (GenomeParameters.scoring.ambiguous): "iupac" allows B D H K M R S V W Y.
    table: bytes[256] for bytes.translate: letters as they are (upper case if `unmask`), NUL for the separator, INVALID for others.
    """

    def __init__(self, *, ambiguous: str | None = None, unmask: bool = False, separator: str | None = None) -> None:
        upper = "ACGTNX" + (IUPAC if ambiguous == "iupac" else "")
        self.expected = "A, C, G, T, N and X" + (" and IUPAC codes" if ambiguous == "iupac" else "")
        table = bytearray([INVALID]) * 256
        for letter in upper + upper.lower():
            read = ord(letter.upper() if unmask else letter)
            table[ord(letter)] = 0 if chr(read) == separator else read
        if separator is not None and not separator.isalpha():
            table[ord(separator)] = 0
        self.table = bytes(table)
        self.allowed = bytes(letter for letter in range(256) if table[letter] != INVALID)

    def way_out(self, letter: str, text: bytes | bytearray) -> str:
        """Say what to do about a letter that is not allowed. text: letters of its record."""
        if 10 * len(text.translate(None, _AMINO_ACIDS)) < 9 * len(text):
            return "this looks like protein: `tidalign search --alphabet protein` aligns it, and in pairs `tidalign pairs --matrix blosum62`"
        if letter.upper() in IUPAC:
            return "say what such letters score: --ambiguous=iupac, or replace them by N"
        return WAYS_OUT.get(letter.upper(), "give DNA" if letter.isalpha() else "remove what is no letter")


_NOT_HERE = {
    "revcomp": "give the other strand in the file, or --strand=minus for a query",
    "softmask": "write the masks into the file as lower case",
    "xmask": "write the X into the file",
    "nmask": "write the N into the file",
    "nickname": "name the sequence in the file",
    "chores": "list the jobs for `tidalign genomes`",
    "subsample": "name the sequences: [subset=FILE]",
    "quantum": "give plain DNA",
    "format": "leave it out: the format is told from the file's content",
}

_KNOWN = "multiple, unmask, A..B, subset=FILE, nameparse=darkspace, separator=C"


@dataclass(frozen=True, slots=True)
class Specifier:
    """Says what a file's name and its actions ask for.

    path: of the file, `-` for standard input. select: one sequence of a 2bit file (`path/name`).
    multiple: the sequences are read as one array even if there is one only. unmask: lower case becomes upper case.
    subrange: first and last letter, from 1, None for the end, of each sequence, and whether one that ends before is taken to its end.
    subset: path of a file of names.
    nameparse: of RULES. separator: the letter that stands between pieces of a sequence.
    """

    path: str
    select: str | None = None
    multiple: bool = False
    unmask: bool = False
    subrange: tuple[int, int | None, bool] | None = None
    subset: str | None = None
    nameparse: str = "short"
    separator: str | None = None

    @classmethod
    def parse(cls, text: str) -> "Specifier":
        """Parse a file's name with its actions; InputError for an action that is unknown, not supported, or given twice; MissingInput where no file is
        named."""
        path, brackets, rest = text, "", re.fullmatch(r"(.*?)((?:\[[^\]\[]*\])+)", text)
        if (rest or re.search(r"\[[^\]]*$", text)) and not is_there(text):  # a name may have brackets of its own
            if not rest:
                raise InputError(text, "actions in brackets after the file's name", "no closing bracket", "write path[action,action]")
            path, brackets = rest[1], rest[2]
        if not path:
            raise MissingInput(f"{text!r}: no file is named")
        try:
            chosen = cls(*_select(path))
        except OSError as error:
            raise MissingInput(f"{shown(path)}: {error.strerror}; name a file of sequences") from error
        given: set[str] = set()
        for action in re.findall(r"(?<=[\[,])(?:\d+,\d+|[^\],]*)(?=[\],])", brackets):
            name, value = _action(text, action)
            if name in given and name not in ("multiple", "unmask"):
                raise InputError(text, "each action once", f"[{action}] besides another", "leave one out")
            given.add(name)
            chosen = replace(chosen, **{name: value})
        return chosen


def name_a_file(path: str) -> str:
    """Say the way out where there is no file of a name: which may be another's with what LASTZ takes before or behind it."""
    for found, mark, file, action in (
        (path.endswith("-"), "a minus behind the name of a file", path.removesuffix("-"), "revcomp"),
        ("::" in path, "NICKNAME:: before the name of a file", path.partition("::")[2], "nickname"),
    ):
        if found and is_there(re.sub(r"(\[[^][]*\])+\Z", "", file), Path.is_file):
            return f"{mark} is LASTZ's and not supported: {_NOT_HERE[action]}"
    return "name a file of sequences"


def is_there(text: str, kind: Callable[[Path], bool] = Path.exists) -> bool:
    """Tell whether a file, or what `kind` asks for, has this name, which with actions may be no possible one."""
    try:
        return kind(Path(text))
    except OSError:
        return False


def _select(path: str) -> tuple[str, str | None]:
    """Split a path, and the sequence asked for where it is one within a file."""
    above, _, name = path.rpartition("/")
    return (above, name) if not Path(path).exists() and name and Path(above).is_file() else (path, None)


def _action(text: str, action: str) -> tuple[str, Any]:
    """Read the field of Specifier that an action sets, and its value."""
    word, _, value = action.partition("=")
    if action in ("multi", "multiple"):
        return "multiple", True
    if action == "unmask":
        return "unmask", True
    if word == "subset" and value:
        return "subset", value
    if word == "nameparse":
        if value not in RULES[1:]:
            raise InputError(text, f"nameparse={', '.join(RULES[1:])}", f"[{action}]", "leave it out: names end at the first blank, | or :")
        return "nameparse", value
    if word == "separator":
        if len(value) != 1 or not value.isascii() or not value.isprintable():
            raise InputError(text, "one letter after separator=", f"[{action}]", "write [separator=N]")
        return "separator", value
    if re.match(r"\d*(\.\.|,|#)\d*$", action) and any(map(str.isdigit, action)):
        return "subrange", _subrange(text, action)
    if word in _NOT_HERE:
        raise InputError(text, f"actions that tidalign has ({_KNOWN})", f"[{action}]", _NOT_HERE[word])
    raise InputError(text, f"the actions {_KNOWN}", f"[{action}]", "correct it or leave it out")


def _subrange(text: str, action: str) -> tuple[int, int | None, bool]:
    first, mark, last = re.split(r"(\.\.|,|#)", action)
    begin = int(first or 1)
    end = int(last) if last else None
    if mark == "#" and end is not None:
        end += begin - 1
    if not begin or (end is not None and end < begin) or (mark != ".." and not (first and last)):
        raise InputError(text, "a subrange FIRST..LAST, counted from 1", f"[{action}]", "the last letter is not before the first")
    return begin, end, mark == "#"
