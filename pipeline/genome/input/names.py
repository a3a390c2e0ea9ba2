"""Names of sequences, from the headers of a file, as LASTZ shortens them."""

import re

RULES = ("short", "darkspace", "alphanum", "full")
"""What [nameparse=] may be; `short` is what is done without it."""

_SUFFIX = re.compile(r"(?<=.)\.(fa|fasta|2bit|nib|hsx)\Z", re.DOTALL)


def shorten(header: str, rule: str) -> str:
    """The name in a header line (of FASTA, with its >) or index entry (of 2bit).

    short: what stands before the first blank, | or :. darkspace: before the first blank. Both without the suffix of a sequence file.
    alphanum: the letters, digits and _ at its beginning. full: all of it.
    """
    if rule == "full":
        return header
    text = header.removeprefix(">").lstrip(" \t")
    if rule == "alphanum":
        return re.split(r"[^A-Za-z0-9_]", text, maxsplit=1)[0]
    return _SUFFIX.sub("", re.split(r"[ \t]" if rule == "darkspace" else r"[ \t|:]", text, maxsplit=1)[0])
