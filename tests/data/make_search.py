"""Make tests/data/search: real genes and proteins, what parasail scores all pairs of them, and what blastp and blastn find. By hand, with parasail 1.3.4 and
ncbi-blast+:

python tests/data/make_search.py PROTEINS QUERIES GENES    the files that README.md beside the data names, unpacked
"""

import gzip
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import parasail

from tidalign.kernels.scoring.substitution import GAPS

PLACE = Path(__file__).parent / "search"
BLASTP = ["-comp_based_stats", "0", "-seg", "no", "-evalue", "10", "-max_target_seqs", "500"]
BLASTN = ["-task", "blastn", "-dust", "no", "-evalue", "10", "-max_target_seqs", "500"]
DNA = (2, -3, 5, 2)
MORE_DNA = [
    (1, -2, 2, 1),
    (1, -3, 2, 2),
    (1, -4, 1, 2),
    (1, -1, 3, 2),
    (2, -5, 4, 2),
    (2, -7, 2, 4),
    (4, -6, 10, 4),
    (4, -5, 6, 5),
    (5, -4, 8, 6),
    (3, -4, 6, 2),
]
DEAR = [(1, -3, 5, 2), (1, -1, 5, 3), (2, -3, 6, 4), (2, -7, 4, 4), (3, -4, 8, 4), (5, -4, 25, 10)]
"""Gaps that blastn has no numbers for, and takes those without gaps."""


Record = tuple[str, str]


def read(path: str) -> list[Record]:
    """Read names, to the first blank, and letters."""
    records = [record.partition("\n") for record in Path(path).read_text().split(">")[1:]]
    return [(head.split()[0], letters.replace("\n", "").upper()) for head, _, letters in records]


def write(name: str, records: list[Record]) -> None:
    text = "".join(f">{name}\n{letters}\n" for name, letters in records)
    (PLACE / name).write_bytes(gzip.compress(text.encode(), mtime=0))


def blastp(queries: list[Record], database: list[Record], columns: str = "6", scoring: Sequence[str] = ()) -> str:
    """Give a table of what blastp prints."""
    with tempfile.TemporaryDirectory() as folder:
        for name, records in (("q", queries), ("d", database)):
            Path(folder, name).write_text("".join(f">{name}\n{letters}\n" for name, letters in records))
        subprocess.run(["makeblastdb", "-in", f"{folder}/d", "-dbtype", "prot", "-out", f"{folder}/db"], check=True, stdout=subprocess.DEVNULL)
        command = ["blastp", "-query", f"{folder}/q", "-db", f"{folder}/db", *BLASTP, *scoring, "-outfmt", columns]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_residues(queries: list[Record], database: list[Record]) -> None:
    """Store the best score of each pair that blastp finds by each matrix, its bit score and E-value."""
    lines = ["matrix\topen\textend\tquery\ttarget\tscore\tbits\tE-value\n"]
    for matrix, (opening, extension) in GAPS.items():
        scoring = ["-matrix", matrix, "-gapopen", str(opening), "-gapextend", str(extension)]
        found = blastp(queries, database, "6 qseqid sseqid score bitscore evalue", scoring).splitlines()
        best = {tuple(line.split("\t")[:2]): line for line in reversed(found)}
        lines += [f"{matrix}\t{opening}\t{extension}\t{line}\n" for _, line in sorted(best.items())]
    (PLACE / "blastp_scores.tsv.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def blastn(queries: list[Record], database: list[Record], scoring: tuple[int, int, int, int], columns: str) -> str:
    """Give a table of what blastn prints."""
    with tempfile.TemporaryDirectory() as folder:
        for name, records in (("q", queries), ("d", database)):
            Path(folder, name).write_text("".join(f">{name}\n{letters}\n" for name, letters in records))
        subprocess.run(["makeblastdb", "-in", f"{folder}/d", "-dbtype", "nucl", "-out", f"{folder}/db"], check=True, stdout=subprocess.DEVNULL)
        options = zip(("-reward", "-penalty", "-gapopen", "-gapextend"), map(str, scoring), strict=True)
        command = ["blastn", "-query", f"{folder}/q", "-db", f"{folder}/db", *BLASTN, *(word for pair in options for word in pair), "-outfmt", columns]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def of_bases(queries: list[Record], database: list[Record]) -> None:
    """Store blastn's hits of genes, and the scores, bit scores and E-values of its hits of genes and pieces of them by other scores and gaps."""
    (PLACE / "blastn.m8").write_text(blastn(queries, database, DNA, "6"))
    pieces = [(f"{name}.{size}", letters[400 : 400 + size]) for size, (name, letters) in zip((30, 45, 60, 100, 250, 600), queries, strict=True)]
    lines = ["match\tmismatch\topen\textend\tquery letters\tscore\tbits\tE-value\n"]
    for scoring in (DNA, *MORE_DNA, *DEAR):
        found = blastn([*queries, *pieces], database, scoring, "6 qlen score bitscore evalue").splitlines()
        lines += ["\t".join(map(str, scoring)) + f"\t{line}\n" for line in dict.fromkeys(found)]
    (PLACE / "blastn_scores.tsv.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))


def scores(queries: list[Record], database: list[Record], opening: int, extension: int, matrix: object) -> str:
    """Write a line of scores for each query."""
    rows = [[parasail.sw_scan_32(query, target, opening + extension, extension, matrix).score for _, target in database] for _, query in queries]
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def main(proteins: str, queries: str, genes: str) -> None:
    chance = random.Random(14)
    known = [record for record in read(proteins) if 40 <= len(record[1]) <= 700 and set(record[1]) <= set("ARNDCQEGHILKMFPSTWYVX")]
    asked = chance.sample([record for record in read(queries) if 60 <= len(record[1]) <= 500 and set(record[1]) <= set("ARNDCQEGHILKMFPSTWYV")], 10)
    alike = {line.split("\t")[1] for line in blastp(asked, known).splitlines() if float(line.split("\t")[10]) < 1e-3}
    near = [record for record in known if record[0] in alike]
    database = sorted(chance.sample(near, min(120, len(near))) + chance.sample([record for record in known if record[0] not in alike], 120))
    write("queries.faa.gz", asked)
    write("proteins.faa.gz", database)
    (PLACE / "blastp.m8").write_text(blastp(asked, database))
    of_residues(asked, database)
    types = chance.sample([record for record in read(genes) if set(record[1]) <= set("ACGTRYKMSWBDHVN")], 46)
    write("genes.fa.gz", types[:40])
    write("asked.fa.gz", types[40:])
    matrix = parasail.matrix_create("ACGTXY", DNA[0], DNA[1])
    plain = str.maketrans(dict.fromkeys("RYKMSWBDHVN", "X"))  # what is no base equals nothing: another letter on either side
    stored = [(name, letters.translate(plain).replace("X", "Y")) for name, letters in types[:40]]
    turned = [(name, letters.translate(str.maketrans("ACGTRYKMBDHV", "TGCAYRMKVHDB"))[::-1].translate(plain)) for name, letters in types[40:]]
    forward = [(name, letters.translate(plain)) for name, letters in types[40:]]
    for name, text in (
        ("proteins.scores.gz", scores(asked, database, 11, 1, parasail.blosum62)),
        ("genes.scores.gz", scores(forward, stored, DNA[2], DNA[3], matrix)),
        ("turned.scores.gz", scores(turned, stored, DNA[2], DNA[3], matrix)),
    ):
        (PLACE / name).write_bytes(gzip.compress(text.encode(), mtime=0))
    of_bases(types[40:], types[:40])
    version = subprocess.run(["blastp", "-version"], check=True, capture_output=True, text=True).stdout.split()[1]
    (PLACE / "versions.json").write_text(
        json.dumps({"parasail": parasail.__version__, "blastp and blastn": version, "options": BLASTP, "options of blastn": BLASTN}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
