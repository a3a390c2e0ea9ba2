"""Make tests/data/scored: what parasail and a plain program say of pairs aligned by scores. By hand, with parasail 1.3.4 in its own environment:

python tests/data/make_scored.py ORACLE    where ORACLE is a program `ORACLE queries.fa targets.fa match mismatch open extend` (match and costs above 0) that
                                           prints a line a pair: local score, end of the query, end of the target (from 0, the first best, query by query)

ORACLE is given targets as queries, so that its first best end is that of the smallest target end. Scores of parasail are those of its plain `_scan_16` or
`_scan_32` functions; its gap of n letters costs open + (n - 1) * extend.
"""

import gzip
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import parasail

sys.path.insert(0, str(Path(__file__).parent.parent))
from pairfiles import Pair, read_seq

HERE = Path(__file__).parent
PLACE = HERE / "scored"
BLOSUM80 = str(HERE.parents[1] / "kernels" / "scoring" / "matrices" / "BLOSUM80.txt")
"""BLAST's, in half bits; parasail's own is in thirds."""

SETS = {"gasal2_20k_150bp": 300, "ecoli_pacbio_clr_1kb": 60, "ecoli_ont_r9_1-10kb": 4}
DNA = ((2, -4, 4, 2), (1, -4, 6, 1), (5, -4, 0, 3))
MATRICES = (
    ("blosum62", 11, 1),
    ("blosum45", 15, 2),
    ("blosum50", 13, 2),
    ("blosum80", 10, 1),
    ("blosum90", 10, 1),
    ("pam30", 9, 1),
    ("pam70", 10, 1),
    ("pam250", 14, 2),
)
SPANS = {"local": "sw", "global": "nw", "query": "sg_dx", "target": "sg_qx", "overlap": "sg"}
PROTEINS = 60


def score(span: str, query: bytes, target: bytes, opening: int, extension: int, matrix: object) -> int:
    """Score a pair by parasail."""
    align = getattr(parasail, f"{SPANS[span]}_scan_32")
    return int(align(query.decode(), target.decode(), opening + extension, extension, matrix).score)


def ends(oracle: str, pairs: list[Pair], numbers: tuple[int, int, int, int]) -> list[list[str]]:
    """Score, query end and target end (half-open) of local alignments."""
    with tempfile.TemporaryDirectory() as folder:
        for name, side in (("q", 0), ("t", 1)):
            Path(folder, name).write_bytes(b"".join(b">p\n%b\n" % pair[side] for pair in pairs))
        match, mismatch, opening, extension = map(str, (numbers[0], -numbers[1], *numbers[2:]))
        said = subprocess.run([oracle, f"{folder}/t", f"{folder}/q", match, mismatch, opening, extension], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in said.splitlines()]
    return [[row[0], str(int(row[2]) + 1), str(int(row[1]) + 1)] for row in rows]


def proteins() -> list[Pair]:
    """Draw pairs that are alike in part, of all letters that matrices have."""
    chance = random.Random(14)
    pairs = []
    for _ in range(PROTEINS):
        query = chance.choices("ARNDCQEGHILKMFPSTWYVBZX", [8] * 20 + [1] * 3, k=chance.randint(1, 400))
        target = [letter if chance.random() < 0.6 else chance.choice("ARNDCQEGHILKMFPSTWYV") for letter in query if chance.random() > 0.04]
        pairs.append(("".join(query).encode(), "".join(target[chance.randint(0, 20) :] or ["A"]).encode()))
    return pairs


def main(oracle: str) -> None:
    lines = []
    for name, count in SETS.items():
        pairs = read_seq(HERE / "pairs" / f"{name}.seq.gz")[:count]
        for numbers in DNA:
            match, mismatch, opening, extension = numbers
            text = f"match:{match},mismatch:{mismatch},gap:{opening},{extension}"
            matrix = parasail.matrix_create("ACGT", match, mismatch)
            for i, (row, pair) in enumerate(zip(ends(oracle, pairs, numbers), pairs, strict=True)):
                assert int(row[0]) == score("local", *pair, opening, extension, matrix)
                lines.append([name, str(i), text, "local", *row])
                lines += [[name, str(i), text, span, str(score(span, *pair, opening, extension, matrix)), "", ""] for span in SPANS if span != "local"]
    made = proteins()
    (PLACE / "proteins.tsv").write_text("".join(f"{query.decode()}\t{target.decode()}\n" for query, target in made))
    for text, opening, extension in MATRICES:
        matrix = parasail.Matrix(BLOSUM80) if text == "blosum80" else getattr(parasail, text)
        for i, pair in enumerate(made):
            for span in SPANS:
                value = score(span, *pair, opening, extension, matrix)
                lines.append(["proteins", str(i), f"{text},gap:{opening},{extension}", span, str(value), "", ""])
    text = "".join("\t".join(line) + "\n" for line in lines)
    (PLACE / "expected.tsv.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(len(lines), "rows with parasail", parasail.__version__)


if __name__ == "__main__":
    main(sys.argv[1])
