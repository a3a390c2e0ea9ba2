"""Names of sequences, from the headers of a file, as LASTZ shortens them."""

import re
from collections.abc import Callable

_SUFFIX = re.compile(r"(?<=.)\.(fa|fasta|2bit|nib|hsx)\Z", re.DOTALL)


def _darkspace(header: str) -> str:
    return re.split(r"[ \t]", header.lstrip(" \t"), maxsplit=1)[0]


def _short(header: str) -> str:
    return re.split(r"[|:]", _darkspace(header), maxsplit=1)[0]


def _alphanum(header: str) -> str:
    found = re.match(r"[ \t]*([A-Za-z0-9_]*)", header)
    return found[1] if found else ""


SHORTENED: dict[str, Callable[[str], str]] = {
    "short": lambda header: _SUFFIX.sub("", _short(header)),
    "darkspace": lambda header: _SUFFIX.sub("", _darkspace(header)),
    "alphanum": _alphanum,
    "full": lambda header: ">" + header,
}
"""By the action [nameparse=]; `short` where there is none: what stands before the first blank, | or :, without the suffix of a sequence file."""
