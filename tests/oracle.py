"""Slow reference programs for pairwise alignment, written apart from the product and from each other.

`gotoh` fills the whole matrix and gives the penalty (Gotoh 1982, J. Mol. Biol. 162:705; any number of gap pieces).
`wavefront` gives the alignment that WFA2-lib's tie rule picks (Marco-Sola et al. 2021, Bioinformatics 37:456, and the library's backtrace), in
SAM's letters: I consumes the query, D the target. tests/kernels/pairwise/test_golden.py compares it with WFA2-lib itself.
`rescore` reads a CIGAR back. All take bytes of any case and `ambiguous`: what a letter other than ACGT equals, `mismatch` nothing, `match` everything.
"""

import re
from dataclasses import dataclass

import numpy as np

from tidalign.kernels.scoring.penalties import Penalties

INFINITE = np.int64(1) << 40
NULL = -(1 << 40)
EndsFree = tuple[int, int, int, int]


def equal_letters(query: bytes, target: bytes, ambiguous: str = "mismatch") -> np.ndarray:
    """Tell which letters match: bool[len(query), len(target)]."""
    q, t = (np.frombuffer(letters.upper(), np.uint8) for letters in (query, target))
    known_q, known_t = (np.isin(letters, np.frombuffer(b"ACGT", np.uint8)) for letters in (q, t))
    both = known_q[:, None] & known_t[None, :]
    return ((q[:, None] == t[None, :]) & both) | (~both if ambiguous == "match" else False)


def gotoh(query: bytes, target: bytes, penalties: Penalties, ends_free: EndsFree | None = None, ambiguous: str = "mismatch") -> int:
    """Optimal penalty by the full matrix, one row at a time.

    A horizontal gap is opened from the cells of its row before horizontal gaps are added: opening one from another never pays, as gap costs are subadditive.
    """
    n, m = len(query), len(target)
    free_query, free_query_end, free_target, free_target_end = ends_free or (0, 0, 0, 0)
    equal = equal_letters(query, target, ambiguous)
    columns = np.arange(m + 1)
    row = np.array([penalties.gap(max(0, j - free_target)) for j in range(m + 1)], np.int64)
    vertical = [np.full(m + 1, INFINITE) for _ in penalties.pieces]
    best = INFINITE
    for i in range(n + 1):
        if i > 0:
            above = row
            row = np.full(m + 1, INFINITE)
            row[0] = penalties.gap(max(0, i - free_query))
            row[1:] = above[:-1] + np.where(equal[i - 1], 0, penalties.mismatch)
            for piece, (opening, extension) in enumerate(penalties.pieces):
                vertical[piece] = np.minimum(above + opening, vertical[piece]) + extension
                row = np.minimum(row, vertical[piece])
            started = row
            for opening, extension in penalties.pieces:
                open_at = np.minimum.accumulate(started - extension * columns)
                row[1:] = np.minimum(row[1:], open_at[:-1] + opening + extension * columns[1:])
        if n - i <= free_query_end:
            best = min(best, row[m])
        if i == n:
            best = min(best, row[max(0, m - free_target_end) :].min())
    return int(best)


@dataclass(frozen=True)
class Alignment:
    penalty: int
    query_start: int
    query_end: int
    target_start: int
    target_end: int
    cigar: str


def wavefront(query: bytes, target: bytes, penalties: Penalties, ends_free: EndsFree | None = None, ambiguous: str = "mismatch") -> Alignment:
    """Find the optimal alignment by WFA2-lib's tie rule: at each step of the way back the largest source offset; equal ones by X, then I before D, the
    second piece before the first, extending before opening. Free ends are left out of the CIGAR. Memory: penalty x diagonals x states."""
    n, m = len(query), len(target)
    free = tuple(min(f, length) for f, length in zip(ends_free or (0, 0, 0, 0), (n, n, m, m), strict=True))
    shift = n + 1  # column of diagonal 0
    diagonals = np.arange(-n - 1, m + 2)
    runs = np.zeros((n + 1, m + 1), np.int64)  # matching letters from (v, h) on
    equal = equal_letters(query, target, ambiguous)
    for v in range(n - 1, -1, -1):
        runs[v, :m] = np.where(equal[v], runs[v + 1, 1:] + 1, 0)

    def extended(h: np.ndarray) -> np.ndarray:
        v = h - diagonals
        inside = (h >= 0) & (h <= m) & (v >= 0) & (v <= n)
        run = runs[np.where(inside, v, 0), np.where(inside, h, 0)]
        return np.where(inside, h + run, NULL)

    def end_diagonal(h: np.ndarray) -> int | None:
        v = h - diagonals
        at_end = ((h == m) & (v >= n - free[1]) & (v <= n)) | ((v == n) & (h >= m - free[3]) & (h <= m))
        found = np.flatnonzero(at_end)
        return int(found[0]) if len(found) else None

    stateful = penalties.model not in ("edit", "linear")
    nothing = np.full(len(diagonals), NULL)
    matched: list[np.ndarray] = []
    inserted: list[list[np.ndarray]] = [[] for _ in penalties.pieces]  # by piece, then penalty
    deleted: list[list[np.ndarray]] = [[] for _ in penalties.pieces]

    def at(rows: list[np.ndarray], penalty: int) -> np.ndarray:
        return rows[penalty] if penalty >= 0 else nothing

    start = np.where((diagonals >= -free[0]) & (diagonals <= free[2]), np.maximum(diagonals, 0), NULL)
    penalty = 0
    while True:
        if penalty == 0:
            row = start
            gaps_i = gaps_d = [nothing for _ in penalties.pieces]
        else:
            gaps_i, gaps_d = [], []
            for piece, (opening, extension) in enumerate(penalties.pieces):
                opened = at(matched, penalty - opening - extension)
                longer_i = at(inserted[piece], penalty - extension) if stateful else nothing
                longer_d = at(deleted[piece], penalty - extension) if stateful else nothing
                gap_i, gap_d = nothing.copy(), nothing.copy()
                gap_i[:-1] = np.maximum(opened, longer_i)[1:]
                gap_d[1:] = np.maximum(opened, longer_d)[:-1] + 1
                gaps_i.append(gap_i)
                gaps_d.append(gap_d)
            row = np.maximum.reduce([at(matched, penalty - penalties.mismatch) + 1, *gaps_i, *gaps_d])
        matched.append(extended(row))
        for piece in range(len(penalties.pieces)):
            inserted[piece].append(gaps_i[piece])
            deleted[piece].append(gaps_d[piece])
        end = end_diagonal(matched[-1])
        if end is not None:
            break
        penalty += 1

    column, h = end, int(matched[penalty][end])
    v = h - (column - shift)
    query_end, target_end = v, h
    operations: list[str] = []
    left, state, piece_open = penalty, "M", 0
    while v > 0 and h > 0 and left > 0:
        # (offset after the step, operation, penalty before it, state before it); the first of the largest is taken.
        steps: list[tuple[int, str, int, str, int]] = []
        if state == "M":
            steps.append((int(at(matched, left - penalties.mismatch)[column]) + 1, "X", left - penalties.mismatch, "M", 0))
        for letter, rows, move, gain in (("I", inserted, 1, 0), ("D", deleted, -1, 1)):
            for piece in range(len(penalties.pieces) - 1, -1, -1):
                if state not in ("M", letter) or (state == letter and piece != piece_open):
                    continue
                opening, extension = penalties.pieces[piece]
                if stateful:
                    steps.append((int(at(rows[piece], left - extension)[column + move]) + gain, letter, left - extension, letter, piece))
                steps.append((int(at(matched, left - opening - extension)[column + move]) + gain, letter, left - opening - extension, "M", piece))
        offset, operation, before, state_before, piece_before = max(steps, key=lambda step: step[0])
        if state == "M":
            operations.append("=" * (h - offset))
            v, h = v - (h - offset), offset
            if v <= 0 or h <= 0:
                break
        operations.append(operation)
        left, state, piece_open = before, state_before, piece_before
        if operation in "XD":
            h -= 1
        if operation in "XI":
            v -= 1
        column = h - v + shift
    if v > 0 and h > 0:
        matches = min(v, h)
        operations.append("=" * matches)
        v, h = v - matches, h - matches
    query_start, target_start = (min(v, free[0]), 0) if v else (0, min(h, free[2]))
    operations.append("I" * (v - query_start) + "D" * (h - target_start))
    text = "".join(operations)[::-1]
    return Alignment(penalty, query_start, query_end, target_start, target_end, run_lengths(text))


def run_lengths(operations: str) -> str:
    """Shorten "==X" to "2=1X"."""
    return "".join(f"{len(run.group())}{run.group()[0]}" for run in re.finditer(r"(.)\1*", operations))


def counts(cigar: str) -> dict[str, int]:
    """Count letters and runs of a CIGAR, as the columns `schema.COUNTS` have them; every X is a mismatch."""
    runs = [(int(length), letter) for length, letter in re.findall(r"(\d+)(.)", cigar)]
    letters = {letter: sum(length for length, other in runs if other == letter) for letter in "=XID"}
    openings = sum(letter in "ID" for _, letter in runs)
    return {"matches": letters["="], "mismatches": letters["X"], "gap_openings": openings, "gap_letters": letters["I"] + letters["D"]}


def identity(cigar: str) -> float | None:
    """Share of a CIGAR's columns that match, gaps included; None where it has no columns."""
    columns = [letter for length, letter in re.findall(r"(\d+)(.)", cigar) for _ in range(int(length))]
    return columns.count("=") / len(columns) if columns else None


def rescore(cigar: str, query: bytes, target: bytes, penalties: Penalties, ambiguous: str = "mismatch") -> int:
    """Compute the penalty of a CIGAR over exactly these letters. ValueError if it does not spell both sequences or two neighbouring runs have one letter."""
    if not re.fullmatch(r"(?:[1-9]\d*[=XID])*", cigar):
        raise ValueError(f"not a CIGAR: {cigar!r}")
    codes = np.arange(256, dtype=np.uint8)
    codes[ord("a") : ord("z") + 1] -= 32
    q, t = codes[np.frombuffer(query, np.uint8)], codes[np.frombuffer(target, np.uint8)]
    v = h = penalty = 0
    last = ""
    for count, letter in re.findall(r"(\d+)(.)", cigar):
        length = int(count)
        if letter == last:
            raise ValueError(f"two runs of {letter} in a row at query {v}, target {h}")
        last = letter
        if letter in "=X":
            a, b = q[v : v + length], t[h : h + length]
            if len(a) != length or len(b) != length:
                raise ValueError(f"{count}{letter} at query {v}, target {h} runs past an end")
            known = np.isin(a, np.frombuffer(b"ACGT", np.uint8)) & np.isin(b, np.frombuffer(b"ACGT", np.uint8))
            same = ((a == b) & known) | (~known if ambiguous == "match" else False)
            if not np.all(same == (letter == "=")):
                raise ValueError(f"{count}{letter} at query {v}, target {h} has letters that say otherwise")
            penalty += penalties.mismatch * length if letter == "X" else 0
        else:
            penalty += penalties.gap(length)
        v += length if letter in "=XI" else 0
        h += length if letter in "=XD" else 0
    if (v, h) != (len(query), len(target)):
        raise ValueError(f"the CIGAR spells {v} query and {h} target letters, not {len(query)} and {len(target)}")
    return penalty
