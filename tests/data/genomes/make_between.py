"""Make between.json: what LASTZ 1.04.22 prints of small files of several sequences with --inner, --notrivial and --filter=nmatch:N%. By hand, where `lastz` is:

python tests/data/genomes/make_between.py
"""

import json
import random
import subprocess
from pathlib import Path

from make_pipelines import letters, turned
from make_reading import HERE, Case, small_case

FIELDS = "general-:score,name1,strand1,zstart1,end1,name2,strand2,zstart2+,end2+,cigarx-"

EQUAL = {
    "--hspthresh=1000 --inner=600": ["TAAGTGGx", "TTTGCACCTGCTAGTGTCG", "TTTTCTCCTGCTAGGGTCG"],
    "--nogfextend --gappedthresh=2000 --inner=600": ["CCGTAAGAGTTTTTTAGCGCTATCGGGGCCGTAAGTGTTTTGTAGCGTTATCGGG", "A", "GCAGCCG", "G"],
    "--inner=1500 --noytrim": [
        "TAGATAGTCCCCCCGGTGCTGGTCACTTGGACACGTGGCGCCGTCCCAACATAGATAGTCCCCCCCGTGCTTCTCACTTGGAGTCGCGGCGCAATCCCTACATA",
        *("AXACAGTATCTACGCCGCCCTTT", "c"),
    ],
    "--inner=1200": ["AACGCCCCACTCGGTATAGTCTTCTCGCAGCTC", "AACGCCCCACTCGGTATAGTCTTCTCGCAGCTC", "CTGAGGGAGTGGT"],
}
"""Sequences, and options beside --self: of equal sequences the alignment from end to end is there before the others; in the last case a letter before one of
them is searched with it, and it is shown."""


def fasta(*sequences: str) -> str:
    return "".join(f">s{i}\n{sequence}\n" for i, sequence in enumerate(sequences))


def equal() -> list[Case]:
    """Search between alignments where a sequence is equal to one it is searched with."""
    return [small_case({"s.fa": fasta(*every)}, "s.fa[multiple]", "", ["--self", *options.split()], FIELDS) for options, every in EQUAL.items()]


def palindromes() -> list[Case]:
    """Leave out whole sequences of one name, also palindromes, where one of the sides is an array of several; not where equal ones are there already."""
    rng = random.Random(5)
    half, other, last = letters(rng, 30), letters(rng, 80), letters(rng, 80)
    both = half + turned(half)
    files = {
        "s.fa": fasta(both, other),
        "t.fa": fasta(both, last),
        "small.fa": fasta(half.lower()[:4] + both[4:], other),
        "names.fa": f">s1\n{both}\n>s0\n{last}\n",
    }
    files |= {"one.fa": fasta(both), "twice.fa": fasta(other, both, both), "last.fa": fasta(last, other, both)}
    sides = [("s.fa[multi]", ""), ("one.fa[multi]", ""), ("one.fa", ""), ("one.fa", "t.fa[multi]"), ("one.fa", "t.fa"), ("twice.fa[multi]", "last.fa")]
    sides += [("s.fa[multi]", query + together) for query in ("s.fa", "t.fa", "small.fa", "names.fa") for together in ("", "[multi]")]
    return [small_case(files, target, query, ["--notrivial" if query else "--self"], FIELDS) for target, query in sides]


def shares() -> list[Case]:
    """Ask for matches as a share of all letters of the query's sequences."""
    rng = random.Random(8)
    found, cases = letters(rng, 50), []
    for others in (410, 411):
        query = fasta("G" * 20 + found + "T" * 20, "C" * 205, "A" * (others - 205))
        files = {"t.fa": fasta(f"AAAA{found}CCCC"), "q.fa": query, "some": "s0\n"}
        for text in ("", "--inner=800", "--nogapped", "--nogapped --chain", "--nogapped --queryhspbest=3"):
            cases.append(small_case(files, "t.fa", "q.fa[multi]", ["--filter=nmatch:10%", *text.split()], FIELDS))
        cases.append(small_case(files, "t.fa", "q.fa[multi,subset=some]", ["--filter=nmatch:10%"], FIELDS))
    return cases


def main() -> None:
    """Run LASTZ and write the file."""
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.split()[2]
    text = ",\n".join(json.dumps(case) for case in [*equal(), *palindromes(), *shares()])
    Path(HERE, "between.json").write_text(f'{{"lastz": "{version}", "cases": [\n{text}\n]}}\n')


if __name__ == "__main__":
    main()
