"""Slow reference of alignment by scores, written apart from the product: the whole matrix by Gotoh, the end and the way back by the stated rule."""

import re

from tidalign.kernels.scoring.substitution import Substitution

LOW = -(10**12)
FREE = {  # whether rows of column 0, and columns of row 0, cost nothing
    "local": (True, True),
    "query": (False, True),
    "target": (True, False),
    "overlap": (True, True),
    "global": (False, False),
    "extension": (False, False),
}


class Matrix:
    """H, I and D of every cell of a pair."""

    def __init__(self, query: str, target: str, scoring: Substitution, span: str, ambiguous: str = "mismatch", band: int | None = None) -> None:
        self.query, self.target, self.scoring, self.span, self.ambiguous = query.upper(), target.upper(), scoring, span, ambiguous
        self.codes, self.table = scoring.codes(), scoring.matrix(ambiguous)
        n, m = len(query), len(target)
        free_rows, free_columns = FREE[span]
        self.H = [[0] * (m + 1) for _ in range(n + 1)]
        self.I = [[[LOW] * (m + 1) for _ in range(n + 1)] for _ in scoring.pieces]
        self.D = [[[LOW] * (m + 1) for _ in range(n + 1)] for _ in scoring.pieces]
        for i in range(n + 1):
            for j in range(m + 1):
                if band is None or abs(i - j) <= band:
                    self._cell(i, j, free_rows, free_columns)
                else:  # as it is: H, I and D of cells that are not made
                    self.H[i][j] = LOW

    def score(self, i: int, j: int) -> int:
        return int(self.table[self.codes[ord(self.query[i - 1])], self.codes[ord(self.target[j - 1])]])

    def _cell(self, i: int, j: int, free_rows: bool, free_columns: bool) -> None:
        H = self.H
        if i == 0 or j == 0:
            H[i][j] = 0 if (free_rows and j == 0) or (free_columns and i == 0) else -self.scoring.gap(i + j)
            return
        H[i][j] = H[i - 1][j - 1] + self.score(i, j)
        for p, (opening, extension) in enumerate(self.scoring.pieces):
            self.I[p][i][j] = max(self.I[p][i - 1][j], H[i - 1][j] - opening) - extension
            self.D[p][i][j] = max(self.D[p][i][j - 1], H[i][j - 1] - opening) - extension
            H[i][j] = max(H[i][j], self.I[p][i][j], self.D[p][i][j])
        if self.span == "local":
            H[i][j] = max(H[i][j], 0)

    def end(self) -> tuple[int, int, int]:
        """Score, query end and target end: the highest, then the smallest target end, then the smallest query end."""
        n, m = len(self.query), len(self.target)
        cells = [(i, j) for i in range(n + 1) for j in range(m + 1)]
        if self.span in ("query", "target", "overlap"):
            cells = [(i, j) for i, j in cells if (self.span != "target" and i == n) or (self.span != "query" and j == m)]
        elif self.span == "global":
            cells = [(n, m)]
        i, j = min(cells, key=lambda cell: (-self.H[cell[0]][cell[1]], cell[1], cell[0]))
        if self.span == "local" and self.H[i][j] == 0:
            return 0, 0, 0
        return self.H[i][j], i, j

    def back(self, i: int, j: int) -> tuple[int, int, str]:
        """Query start, target start and CIGAR of the way back: the diagonal, I2, I1, D2, D1, whichever is first; a gap goes on where it may."""
        letters, gap = [], None
        free_rows, free_columns = FREE[self.span]
        pieces = range(len(self.scoring.pieces) - 1, -1, -1)
        while i and j:
            if gap:
                state, p = gap
                # The gap's cell is (i, j) with one letter gone already: it was opened at this H only where going on gives less.
                opening = self.scoring.pieces[p][0]
                if (self.I if state == "I" else self.D)[p][i][j] < self.H[i][j] - opening:
                    gap = None
            if not gap:
                if self.span == "local" and self.H[i][j] == 0:
                    break
                if self.H[i][j] == self.H[i - 1][j - 1] + self.score(i, j):
                    letters.append("=" if self.equal(i, j) else "X")
                    i, j = i - 1, j - 1
                    continue
                gap = next((state, p) for state, side in (("I", self.I), ("D", self.D)) for p in pieces if side[p][i][j] == self.H[i][j])
            letters.append(gap[0])
            i, j = (i - 1, j) if gap[0] == "I" else (i, j - 1)
        if not free_rows:
            letters, i = letters + ["I"] * i, 0
        if not free_columns:
            letters, j = letters + ["D"] * j, 0
        return i, j, runs(letters[::-1])

    def equal(self, i: int, j: int) -> bool:
        a, b = self.query[i - 1], self.target[j - 1]
        if self.scoring.alphabet == "protein":
            return a == b
        known = set(self.scoring.letters) - {"N"} | set("ACGT")
        return self.ambiguous == "match" if a not in known or b not in known else a == b


def runs(letters: list[str]) -> str:
    text = ""
    for match in re.finditer(r"(.)\1*", "".join(letters)):
        text += f"{len(match[0])}{match[1]}"
    return text


def align(query: str, target: str, scoring: Substitution, span: str, ambiguous: str = "mismatch") -> tuple[int, int, int, int, int, str]:
    """Score, query start, query end, target start, target end, CIGAR."""
    matrix = Matrix(query, target, scoring, span, ambiguous)
    score, i, j = matrix.end()
    start, from_target, cigar = matrix.back(i, j)
    return score, start, i, from_target, j, cigar


def rescored(query: str, target: str, places: tuple[int, int, int, int], cigar: str, scoring: Substitution, ambiguous: str = "mismatch") -> int:
    """Score a CIGAR; AssertionError where it does not spell its pair."""
    matrix = Matrix("", "", scoring, "global", ambiguous)
    matrix.query, matrix.target = query.upper(), target.upper()
    i, stop, j, target_stop = places
    score = 0
    for count, letter in re.findall(r"(\d+)([=XID])", cigar):
        length = int(count)
        if letter in "=X":
            for _ in range(length):
                i, j = i + 1, j + 1
                assert matrix.equal(i, j) == (letter == "=")
                score += matrix.score(i, j)
        else:
            score -= scoring.gap(length)
            i, j = (i + length, j) if letter == "I" else (i, j + length)
    assert (i, j) == (stop, target_stop)
    return score


def extended(
    query: str,
    target: str,
    scoring: Substitution,
    zdrop: int | None = None,
    end_bonus: int = 0,
    ambiguous: str = "mismatch",
    band: int | None = None,
) -> tuple[int, int, int]:
    """Score, query end and target end of an extension by minimap2's z-drop and BWA-MEM's bonus, over the cells of a whole matrix, or of a band of it."""
    H = Matrix(query, target, scoring, "extension", ambiguous, band).H
    n, m = len(query), len(target)
    slope = max(scoring.pieces)[1]
    seen, at = 0, (0, 0)
    made = [(0, 0)]
    for a in range(1, n + m + 1):
        cells = [(a - j, j) for j in range(max(0, a - n), min(a, m) + 1) if band is None or abs(a - 2 * j) <= band]
        if not cells:
            break
        made += cells
        i, j = min(cells, key=lambda cell: (-H[cell[0]][cell[1]], cell[1]))
        if H[i][j] > seen:
            seen, at = H[i][j], (i, j)
        elif zdrop is not None and i >= at[0] and j >= at[1] and seen - H[i][j] > zdrop + slope * abs((i - at[0]) - (j - at[1])):
            break
    best = min(made, key=lambda cell: (-H[cell[0]][cell[1]], cell[1], cell[0]))
    whole = min((cell for cell in made if cell[0] == n), key=lambda cell: (-H[cell[0]][cell[1]], cell[1]), default=None)
    if end_bonus and whole and H[whole[0]][whole[1]] > 0 and H[whole[0]][whole[1]] + end_bonus > H[best[0]][best[1]]:
        best = whole
    return H[best[0]][best[1]], *best
