"""Read one CIGAR of a row: `tidalign.cigar`. Letters as in SAM: I is in the query alone, D in the target alone.

Columns of many rows are made by kernels/text/.
"""

import re
from collections.abc import Iterator
from itertools import groupby

Letters = str | bytes

_OPERATION = re.compile(r"(\d+)([=XMID])")


def operations(cigar: str) -> list[tuple[int, str]]:
    """Split a CIGAR into (length, letter). Raises ValueError for what is none of `=XMID`: rows have no others.

    >>> operations("3=1X2D")
    [(3, '='), (1, 'X'), (2, 'D')]
    """
    found = [(int(length), letter) for length, letter in _OPERATION.findall(cigar)]
    if sum(len(each) for each in re.findall(r"\d+[=XMID]", cigar)) != len(cigar):
        raise ValueError(f"CIGAR {cigar[:80]!r}: expected lengths and letters of =XMID, as 12=1X3I, found something else")
    return found


def expand(cigar: str) -> str:
    """Write a letter for each column of the alignment.

    >>> expand("3=1X2D")
    '===XDD'
    """
    return "".join(letter * length for length, letter in operations(cigar))


def identity(cigar: str) -> float | None:
    """Give the share of the columns that match, gaps counted letter by letter, as the column `identity`; None where there are no columns.

    >>> identity("3=1X")
    0.75
    """
    totals = dict.fromkeys("=XID", 0)
    for length, letter in operations(cigar):
        if letter == "M":
            raise ValueError(f"CIGAR {cigar[:80]!r}: M says of no column whether it matches: expected = and X")
        totals[letter] += length
    return totals["="] / columns if (columns := sum(totals.values())) else None


def pretty(cigar: str, query: Letters, target: Letters, *, query_start: int = 0, target_start: int = 0, width: int = 80) -> str:
    """Draw an alignment in blocks of three lines: the query, `|` for each match, and the target, gaps as `-`, with the places of the first and last letter.

    query, target: the sequences whole, on the strands that were aligned, and where in them the alignment starts. Places are from 0, half open.

    >>> print(pretty("2=1X1I2=", "ACGTAC", "ACTAC"))
    query  0 ACGTAC 6
             ||  ||
    target 0 ACT-AC 5
    """
    if width < 1:
        raise ValueError(f"width {width}: expected 1 letter or more")
    rows: list[tuple[str, str, str]] = []
    for letter, q, t in _columns(cigar, query, target, query_start, target_start):
        matches = letter == "=" or (letter == "M" and _equal(q, t, "protein"))
        rows.append((q or "-", "|" if matches else " ", t or "-"))
    blocks, q_at, t_at = [], query_start, target_start
    digits = max(len(str(query_start + len(rows))), len(str(target_start + len(rows))))
    for first in range(0, len(rows), width):
        top, middle, bottom = ("".join(row[line] for row in rows[first : first + width]) for line in range(3))
        q_end, t_end = q_at + len(top) - top.count("-"), t_at + len(bottom) - bottom.count("-")
        blocks.append(f"query  {q_at:>{digits}} {top} {q_end}\n{'':{8 + digits}}{middle}".rstrip() + f"\ntarget {t_at:>{digits}} {bottom} {t_end}")
        q_at, t_at = q_end, t_end
    return "\n\n".join(blocks)


def md(cigar: str, query: Letters, target: Letters, *, query_start: int = 0, target_start: int = 0, alphabet: str = "dna") -> str:
    """Write SAM's tag MD: lengths of matches, the target's letters of mismatches, and `^` before those that are deleted.

    Which letters match they say themselves, as for `samtools calmd`: those of DNA where both are A, C, G or T, whatever the case.

    >>> md("2=1X1=2D1=", "ACGTA", "ACTTCCA")
    '2T1^CC1'
    """
    text, matches, last = [], 0, ""
    for letter, q, t in _columns(cigar, query, target, query_start, target_start):
        if letter in "=XM" and _equal(q, t, alphabet):
            matches += 1
        elif letter in "=XM":
            text.append(f"{matches}{t.upper()}")
            matches = 0
        elif letter == "D":
            text.append(t.upper() if last == "D" else f"{matches}^{t.upper()}")
            matches = 0
        last = letter
    return "".join(text) + str(matches)


def cs(cigar: str, query: Letters, target: Letters, *, query_start: int = 0, target_start: int = 0, alphabet: str = "dna", long: bool = False) -> str:
    """Write minimap2's tag cs, in its short form (`:2*tg`) or, with `long`, with the letters that match (`=AC*tg`). Which do: see `md`.

    >>> cs("2=1X1I", "ACGT", "ACT")
    ':2*tg+t'
    """
    words = []
    for letter, q, t in _columns(cigar, query, target, query_start, target_start):
        sign = {"I": "+", "D": "-"}.get(letter) or ("=" if _equal(q, t, alphabet) else "*")
        words.append((sign, t.upper() if sign == "=" else (t + q).lower()))
    text = ""
    for sign, group in groupby(words, key=lambda word: word[0]):
        letters = [each for _, each in group]
        text += "".join(f"*{each}" for each in letters) if sign == "*" else f":{len(letters)}" if sign == "=" and not long else sign + "".join(letters)
    return text


def _equal(query: str, target: str, alphabet: str) -> bool:
    if alphabet not in ("dna", "protein"):
        raise ValueError(f"alphabet: expected dna or protein, not {alphabet!r}")
    return query.upper() == target.upper() and (alphabet == "protein" or query.upper() in "ACGT")


def _columns(cigar: str, query: Letters, target: Letters, query_start: int, target_start: int) -> Iterator[tuple[str, str, str]]:
    """Give each column: its letter in the CIGAR, and those of query and target, empty where there is none. ValueError where the sequences do not fit it."""
    sides = [side.decode() if isinstance(side, bytes) else side for side in (query, target)]
    steps = operations(cigar)
    for name, side, start, letters in (("query", sides[0], query_start, "=XMI"), ("target", sides[1], target_start, "=XMD")):
        wanted = sum(length for length, letter in steps if letter in letters)
        if start < 0 or start + wanted > len(side):
            raise ValueError(f"CIGAR {cigar[:80]!r}: expected {wanted:,} letters of the {name} from {start:,} on, found {max(0, len(side) - start):,}")
    q, t = query_start, target_start
    for length, letter in steps:
        for _ in range(length):
            one, other = (sides[0][q] if letter != "D" else ""), (sides[1][t] if letter != "I" else "")
            q, t = q + len(one), t + len(other)
            yield letter, one, other
