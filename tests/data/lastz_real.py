"""Real genomes for compare_lastz.py: whole pairs, windows of them, single anchors, and every option on half a megabase."""

import gzip
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from lastz_cases import FIELDS, Case

Make = Callable[[Path], Case]

PAIRS = [
    ("mt_human", "mt_chimp"),
    ("mt_human", "mt_orangA"),
    ("mt_chimp", "mt_orangA"),
    ("fly_dmel_2R_slice", "fly_dpse_contigs"),
    ("fly_dpse_contigs", "fly_dmel_2R_slice"),
    ("encode_ENm002_human", "encode_ENm002_mouse"),
    ("encode_ENm002_human", "encode_ENm002_chimp"),
    ("encode_ENm002_chimp", "encode_ENm002_mouse"),
    ("hpylori_F32", "hpylori_Gambia94_24"),
    ("yeast_scer_S288C_chrIV", "yeast_spar_CBS432_chrIV"),
    ("ecoli_K12_MG1655", "salmonella_LT2"),
]
"""Target and query, by file; the lighter ones first."""

WINDOWS = [20_000, 30_000, 40_000, 60_000]


@cache
def records(path: Path) -> list[tuple[str, str]]:
    """Read (header, letters) of a file."""
    found = []
    for record in gzip.decompress(path.read_bytes()).decode().split(">")[1:]:
        header, _, lines = record.partition("\n")
        found.append((header, lines.replace("\n", "")))
    return found


def lay_down(path: Path, sequences: list[tuple[str, str]]) -> str:
    path.write_text("".join(f">{header}\n" + "".join(f"{text[i : i + 100]}\n" for i in range(0, len(text), 100)) for header, text in sequences))
    return str(path)


def case_of(name: str, target: list[tuple[str, str]], query: list[tuple[str, str]], options: list[str], format: str, mode: str, folder: Path) -> Case:
    several = "[multiple]" if len(target) > 1 else ""
    return Case(name, lay_down(folder / "target.fa", target) + several, lay_down(folder / "query.fa", query), options, format, mode)


def genomes(source: Path) -> Iterator[Make]:
    for target, query in PAIRS:
        yield partial(_genomes, source, target, query)


def _genomes(source: Path, target: str, query: str, folder: Path) -> Case:
    sides = [records(source / f"{name}.fa.gz") for name in (target, query)]
    return case_of(f"{target} x {query}", *sides, [], "maf", "exact", folder)


def haplotypes(source: Path) -> Iterator[Make]:
    count = len(records(source / "human_HLA_DRB1_haplotypes.fa.gz"))
    for i in range(count):
        for j in range(count):
            yield partial(_haplotypes, source, i, j)


def _haplotypes(source: Path, i: int, j: int, folder: Path) -> Case:
    every = records(source / "human_HLA_DRB1_haplotypes.fa.gz")
    return case_of(f"haplotypes {i} x {j}", [every[i]], [every[j]], [], "maf", "exact", folder)


def windows(source: Path) -> Iterator[Make]:
    """Choose of each pair some windows that are as far along both sequences, by falling chance of being related."""
    for number in range(8):
        for pair in PAIRS:
            yield partial(_windows, source, pair, number)


def _windows(source: Path, pair: tuple[str, str], number: int, folder: Path) -> Case:
    rng = random.Random(f"{pair} {number}")
    target, query = (_window(source, name, rng.randrange(1 << 20) if number > 5 else number << 17, WINDOWS[number % len(WINDOWS)]) for name in pair)
    return case_of(f"window {number} of {' x '.join(pair)}", [("t", target)], [("q", query)], ["--nogfextend"], "maf", "exact", folder)


def _window(source: Path, name: str, place: int, size: int) -> str:
    """Cut letters out of the first sequence from a place in 2^20ths of it on."""
    text = records(source / f"{name}.fa.gz")[0][1]
    start = (max(len(text) - size, 0) * place) >> 20
    return text[start : start + size]


def anchors(source: Path) -> Iterator[Make]:
    """Independent mode. LASTZ extends an anchor by itself (A) with --limitperquery, (B) if it is the only segment, (C) if each has a copy of the query to
    itself, (D) if each has windows of both genomes to itself."""
    for number in range(4):
        for pair in PAIRS:
            yield partial(_immediate, source, pair, number)
            yield partial(_segments, source, pair, number, 1)
            yield partial(_segments, source, pair, number, 60)
            yield partial(_apart, source, pair, number)


OF_HALF_A_MEGABASE = [("yeast_scer_S288C_chrIV", "yeast_spar_CBS432_chrIV"), ("hpylori_F32", "hpylori_Gambia94_24")]
HALF_A_MEGABASE = 600_000

OPTIONS = """
--seed=12of19 | --seed=14of22 | --seed=match12 | --seed=half14 | --seed=111T0T10011T011 | --notransition | --transition=2 | --step=7 | --step=20
--maxwordcount=3 | --maxwordcount=90% | --filter=2,9 | --filter=8 --notransition | --strand=plus | --strand=minus
--nogfextend --step=500 --seed=14of22 --notransition | --nogfextend --step=900 --queryhspbest=300
--exact=30 | --mismatch=2,40 | --mismatch=4,50 --nogapped
--anyornone | --limitperquery=20 | --querydepth=0.5 | --querydepth=keep,nowarn:0.5 | --allgappedbounds --gappedthresh=6000
--hspthresh=top300k | --hspthresh=top20% --nogapped | --hspthresh=1800 | --hspthresh=4000 | --xdrop=300 | --xdrop=2000 | --noentropy | --entropy
--queryhspbest=50 | --queryhspbest=100000 | --queryhspbest=100000 --ydrop=3000 --strand=both | --queryhsplimit=5000 | --queryhsplimit=keep,nowarn:100
--chain | --chain --nogapped | --chain --queryhspbest=200 | --chain=1,1 --nogapped --hspthresh=1500 | --chain=5,2 | --chain=100,0 --hspthresh=1200
--chain=0,30 --nogapped | --chain=3000,20 --nogfextend --step=500 --seed=14of22 --notransition | --chain=9,4 --inner=1000
--match=1,5 | --match=10,12 --gap=60,9 | --gap=600,50 | --gap=200,20
--ambiguous=n | --ambiguous=iupac,50,80 | --nogapped | --ungapped --noentropy | --gappedthresh=500 | --gappedthresh=10000 | --ydrop=910 | --ydrop=15000
--inner=1000 | --inner=2000 --hspthresh=2400 --gappedthresh=3000 --ydrop=9400 --allocate:traceback=800M --format=axt
--noytrim | --allocate:traceback=1M | --filter=identity:80..95 | --filter=coverage:0.5 | --filter=continuity:95 | --filter=nmatch:200 | --filter=ngap:0..3
--filter=cgap:0..5 --filter=nmismatch:0..40 | --identity=75..95 --coverage=1 | --matchcount=300 | --notrivial | --markend
--format=axt | --format=paf | --format=paf:wfmash | --format=sam- | --format=softsam- | --format=cigar | --format=general | --format=mapping | --format=maf-
--nogapped --format=segments | --format=rdotplot | --format=lav | --inner=1500 --format=lav | --verbosity=1 | --runtime | --allocate:query=100M
--format=text | --format=zerotext | --format=lav+text | --format=differences- | --format=blastn | --nogapped --format=text | --nogapped --format=blastn
--yasra98 --format=general | --yasra95 | --yasra90 | --yasra85 --format=general | --yasra75 --strand=plus | --yasra95short | --yasra85short --strand=minus
"""
"""Each once, as pipelines and people give them, on half a megabase: small cases show neither tiles nor ties among thousands of HSPs."""

SEVERAL = """
--inner=2000 --hspthresh=2400 --gappedthresh=3000 --ydrop=9400 --allocate:traceback=800M --format=axt | --inner=1000 --format=paf | --chain --nogapped
--chain=5,2 --nogapped | --chain=20,90 --hspthresh=1500 | --format=rdotplot | --format=sam- | --queryhspbest=100000 --ydrop=3000 --format=paf:wfmash
"""
"""Each once, of as much in some pieces that are one query ([multiple])."""

ITSELF = "--self | --self --nomirror --inner=1000 | --self --nogapped --strand=plus"
"""Each once, of one side in some pieces with itself."""


SEVERAL_QUERIES = """
--masking=1 | --masking=2 --strand=plus | --masking=1 --inner=2000 --hspthresh=2400 --format=axt | --masking=1 --nogapped --format=general
"""
"""Each once, of as much in some pieces that are queries of their own."""


def options(source: Path) -> Iterator[Make]:
    for text in ITSELF.split(" | "):
        for pair in OF_HALF_A_MEGABASE:
            yield partial(_several, source, pair, text.split(), "[multiple]")
    for text in " | ".join(SEVERAL_QUERIES.split("\n")[1:-1]).split(" | "):
        for pair in OF_HALF_A_MEGABASE:
            yield partial(_several, source, pair, text.split(), "")
    for text in " | ".join(SEVERAL.split("\n")[1:-1]).split(" | "):
        for pair in OF_HALF_A_MEGABASE:
            yield partial(_several, source, pair, text.split(), "[multiple]")
    for text in " | ".join(OPTIONS.split("\n")[1:-1]).split(" | "):
        for pair in OF_HALF_A_MEGABASE:
            yield partial(_options, source, pair, text.split())


def _several(source: Path, pair: tuple[str, str], words: list[str], actions: str, folder: Path) -> Case:
    """Cut both sides into sequences of some tens of kilobases, all of a side read as one, or (without actions) the query's each by itself."""
    rng = random.Random(f"{pair}")
    sides = []
    for role, name in zip("tq", pair, strict=True):
        text = _window(source, name, 0, HALF_A_MEGABASE)
        cuts = [0, *sorted(rng.sample(range(1, len(text)), 14)), len(text)]
        sides.append([(f"{role}{i}", text[start:stop]) for i, (start, stop) in enumerate(zip(cuts, cuts[1:], strict=False))])
    format = next((word.partition("=")[2] for word in words if word.startswith("--format=")), "maf")
    case = case_of(f"several: {' '.join(words)} of {' x '.join(pair)}", *sides, [word for word in words if "format" not in word], format, "exact", folder)
    return replace(case, query="" if "--self" in words else case.query + actions)


def _options(source: Path, pair: tuple[str, str], words: list[str], folder: Path) -> Case:
    target, query = (_window(source, name, 0, HALF_A_MEGABASE) for name in pair)
    format = next((word.partition("=")[2] for word in words if word.startswith("--format=")), "maf")
    given = [word for word in words if not word.startswith("--format=")]
    return case_of(f"{' '.join(words)} of {' x '.join(pair)}", [("t", target)], [("q", query)], given, format, "exact", folder)


GENERAL = f"general-:{FIELDS}"


def _immediate(source: Path, pair: tuple[str, str], number: int, folder: Path) -> Case:
    options = ["--nogfextend"] if number % 2 else []
    size = 6_000 if number % 2 else 30_000  # diagonals share no record below 65,536 letters in all
    target, query = (_window(source, name, number << 17, size) for name in pair)
    return case_of(f"A {number} {' x '.join(pair)}", [("t", target)], [("q", query)], options, GENERAL, "independent", folder)


def _segments(source: Path, pair: tuple[str, str], number: int, count: int, folder: Path) -> Case:
    target, query = (_window(source, name, number << 17, 20_000) for name in pair)
    places = _shared(target, query, count, random.Random(number))
    (folder / "segments").write_text("".join(f"t\t{t + 1}\t{t + 1}\tq{i}\t{q + 1}\t{q + 1}\t+\n" for i, (t, q) in enumerate(places)))
    copies = [(f"q{i}", query) for i in range(len(places))]
    options = [f"--segments={folder}/segments", "--gappedthresh=1000"]
    return case_of(f"{'B' if count == 1 else 'C'} {number} {' x '.join(pair)}", [("t", target)], copies, options, GENERAL, "apart", folder)


def _apart(source: Path, pair: tuple[str, str], number: int, folder: Path) -> Case:
    rng = random.Random(number)
    target, query = (records(source / f"{name}.fa.gz")[0][1] for name in pair)
    targets, queries, lines = [], [], []
    for i, (t, q) in enumerate(_shared(target, query, 40, rng)):
        starts = [max(place - 10_000, 0) for place in (t, q)]
        targets.append((f"t{i}", target[starts[0] : t + 10_000]))
        queries.append((f"q{i}", query[starts[1] : q + 10_000]))
        lines.append(f"t{i}\t{t - starts[0] + 1}\t{t - starts[0] + 1}\tq{i}\t{q - starts[1] + 1}\t{q - starts[1] + 1}\t+\n")
    (folder / "segments").write_text("".join(lines))
    options = [f"--segments={folder}/segments", "--gappedthresh=1000"]
    return case_of(f"D {number} {' x '.join(pair)}", targets, queries, options, GENERAL, "apart", folder)


def _shared(target: str, query: str, count: int, rng: random.Random) -> list[tuple[int, int]]:
    """Find middles of words that both sequences have, on diagonals and places of all sorts; some are there by chance."""
    size = 11
    words: dict[str, int] = {target[i : i + size].upper(): i for i in range(0, len(target) - size, 7)}
    places = [(words[query[i : i + size].upper()], i) for i in range(len(query) - size) if query[i : i + size].upper() in words]
    chosen = rng.sample(places, min(count, len(places))) if places else [(len(target) // 2, len(query) // 2)]
    return [(t + size // 2, q + size // 2) for t, q in chosen]
