"""Which letters a genome may have, and what becomes of them: [unmask] and [separator=C] as one table."""

from tidalign.kernels.scoring.scores import IUPAC

INVALID = 0xFF
"""What a letter that is not allowed becomes."""


class LetterRules:
    """How letters are read.

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

    def way_out(self, letter: str) -> str:
        """What to do about a letter that is not allowed."""
        if letter.upper() in IUPAC:
            return "say what such letters score: --ambiguous=iupac, or replace them by N"
        return "remove what is no letter" if not letter.isalpha() else "give DNA"
