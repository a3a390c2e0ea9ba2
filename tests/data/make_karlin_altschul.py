"""Make kernels/scoring/matrices/karlin_altschul_dna_dear.tsv: statistics of DNA with gaps so dear that blastn takes those without gaps. By hand, with nothing:

python tests/data/make_karlin_altschul.py

blastn takes them from a cost of opening and one of extending on (gap_open_max and gap_extend_max of s_GetNuclValuesArray in blast_stat.c).
"""

import math
from pathlib import Path

PLACE = Path(__file__).parents[2] / "kernels" / "scoring" / "matrices" / "karlin_altschul_dna_dear.tsv"
LEAST = {
    (1, -5): (3, 3),
    (1, -4): (2, 2),
    (2, -7): (4, 4),
    (1, -3): (2, 2),
    (2, -5): (4, 4),
    (1, -2): (2, 2),
    (2, -3): (6, 4),
    (3, -4): (6, 3),
    (4, -5): (12, 8),
    (1, -1): (4, 2),
    (3, -2): (5, 5),
    (5, -4): (25, 10),
}
ROUNDED = {(2, -7), (2, -5), (2, -3), (3, -4)}
"""Scorings whose scores are rounded down to even ones for the E-value."""

SUMMED = 1e-4
"""Term of the sum for K at which BLAST ends it."""

HEAD = """# Statistics of local alignments of DNA by match and mismatch, with gaps that cost at least open and extend (BLAST's, which opens at open + extend)
# and are not in karlin_altschul_dna.tsv: those without gaps, which blastn takes there. Made by tests/data/make_karlin_altschul.py from the formulas of
# Karlin & Altschul 1990 (Proc. Natl Acad. Sci. 87:2264) for bases that are equally frequent. Columns as there; alpha is lambda / H.
#match\tmismatch\topen\textend\tstep\tlambda\tK\talpha\tbeta
"""


def statistics(match: int, mismatch: int) -> tuple[float, float, float]:
    """Give lambda, K and H of scores without a common factor."""
    chances = {match: 0.25, mismatch: 0.75}
    low, high = 1e-6, 10.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if sum(chance * math.exp(middle * score) for score, chance in chances.items()) > 1 else (middle, high)
    entropy = low * sum(score * chance * math.exp(low * score) for score, chance in chances.items())
    if (match, mismatch) == (1, -1):
        return low, (chances[-1] - chances[1]) ** 2 / chances[-1], entropy
    if match == 1:
        return low, entropy / low * (1 - math.exp(-low)), entropy
    total, term, letters, sums = 0.0, 1.0, 0, {0: 1.0}
    while term > SUMMED:
        longer: dict[int, float] = {}
        for before, chance in sums.items():
            for score, of_score in chances.items():
                longer[before + score] = longer.get(before + score, 0.0) + chance * of_score
        letters, sums = letters + 1, longer
        term = sum(chance * (math.exp(low * score) if score < 0 else 1.0) for score, chance in sums.items()) / letters
        total += term
    return low, math.exp(-2 * total) / (entropy / low * (1 - math.exp(-low))), entropy


def main() -> None:
    lines = []
    for (match, mismatch), least in LEAST.items():
        decay, scale, entropy = statistics(match, mismatch)
        beta = -2 if (match, mismatch) in ((1, -1), (2, -3)) else 0
        step = 2 if (match, mismatch) in ROUNDED else 1
        lines.append("\t".join(map(str, (match, mismatch, *least, step, *(f"{number:.8g}" for number in (decay, scale, decay / entropy)), beta))))
    PLACE.write_text(HEAD + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
