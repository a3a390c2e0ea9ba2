"""Searches as commands, by us, CUDASW++4 and gpusw, and what they found: for search_peers.py."""

import csv
import gzip
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tidalign.kernels.letters.nucleotides import COMPLEMENT
from tidalign.kernels.scoring.substitution import RESIDUES

TOP = 10
PLAIN = RESIDUES[:20].encode()
GPUSW = ["--scheme", "dna", "--match", "2", "--mismatch", "-3", "--gap-open", "-7", "--gap-extend", "-2"]
"""The options that stand for match:2,mismatch:-3,gap:5,2 there."""

Records = list[tuple[str, bytes]]
Hits = dict[int, dict[tuple[str, str], int]]
"""By the place of each query, the scores of what it hits, by name and strand."""


def read(path: str) -> Records:
    """Read names, to the first blank, and letters; sequences without letters are left out."""
    text = Path(path).read_bytes()
    text = gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text
    parts = (part.partition(b"\n") for part in (b"\n" + text).split(b"\n>")[1:])
    return [(head.split()[0].decode(), b"".join(letters.split()).upper()) for head, _, letters in parts if letters.strip()]


def written(path: Path, records: Iterable[tuple[str, bytes]]) -> str:
    with path.open("wb", buffering=1 << 22) as out:
        out.writelines(b">%s\n%s\n" % (name.encode(), letters) for name, letters in records)
    return str(path)


def letters_of(records: Records) -> float:
    return float(sum(len(letters) for _, letters in records))


def odd_names(records: Records) -> set[str]:
    return {name for name, letters in records if letters.translate(None, PLAIN)}


def resampled(records: Records, copies: int) -> Records:
    """Make `copies` of each sequence: the first as it is, of copy i of n about i / n of the letters drawn again from all letters. The same each time."""
    random = np.random.default_rng(20)
    letters, ends = np.frombuffer(b"".join(each for _, each in records), np.uint8), np.cumsum([len(each) for _, each in records])
    made = []
    for copy in range(copies):
        new = random.random(len(letters), np.float32) < copy / copies
        text = letters.copy()
        text[new] = letters[random.integers(0, len(letters), int(new.sum()))]
        whole, begins = text.tobytes(), np.append(0, ends[:-1])
        made += [(f"{copy}_{i}", whole[begin:end]) for i, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True))]
    return made


def run(words: list[str], limit: float = 90) -> tuple[float, str]:
    """Run a command: its seconds, and all that it said. What fails says why."""
    began = time.perf_counter()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=limit)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)[:80]} ended with {done.returncode}: {done.stdout[-300:]}")
    return time.perf_counter() - began, done.stdout


def tidalign(queries: str, database: str, out: Path, device: str, *options: str) -> float:
    gpus = ["--gpus", "1"] if device == "gpu" else []
    words = ["search", queries, database, "-o", str(out), "--top", str(TOP), "--device", device, *gpus, "--new", "--quiet", *options]
    return run([sys.executable, "-m", "tidalign.workflows", *words])[0]


def cudasw4(folder: str, queries: str, database: str, out: Path, top: int, *options: str, eager: bool = False) -> tuple[float, list[float]]:
    """Run CUDASW++4 on a database that it has made: seconds of the command, and what it says a query took. eager: with its kernels loaded before."""
    fixed = ["--query", queries, "--db", database, "--mat", "blosum62", "--top", str(top), "--tsv", "--of", str(out), "--verbose"]
    first = ["env", "CUDA_MODULE_LOADING=EAGER"] if eager else []
    seconds, said = run([*first, f"{folder}/align", *fixed, *options])
    return seconds, scans(said)


def scans(said: str) -> list[float]:
    return [float(each) for each in re.findall(r"Scan time: ([0-9.e+-]+) s", said)]


def gpusw(queries: Records, target: str, out: Path) -> tuple[float, str]:
    turned = [(f"{i}-", letters.translate(COMPLEMENT)[::-1]) for i, (_, letters) in enumerate(queries)]
    both = [(f"{i}+", letters) for i, (_, letters) in enumerate(queries)] + turned
    source = written(out.with_suffix(".fa"), both)
    return run([sys.executable, "-m", "gpusw.cli", "topk", "--queries", source, "--refs", target, *GPUSW, "-k", str(TOP), "-o", str(out)])


def gpusw_rate(said: str) -> float:
    """Read GCUPS of its last launch, which is its only one up to 512 queries."""
    return float(re.findall(r"([0-9.]+) GCUPS", said)[-1])


def cudasw4_hits(path: Path) -> Hits:
    found: Hits = {}
    for line in path.read_text().splitlines()[1:]:
        query, _, _, _, score, _, head, *_ = line.split("\t")
        found.setdefault(int(query), {})[head.split()[0], "+"] = int(float(score))
    return found


def gpusw_hits(path: Path) -> Hits:
    """Read gpusw's table; names of queries are their place and strand. Of both strands the best are kept."""
    found: Hits = {}
    for row in csv.DictReader(path.read_text().splitlines()):
        found.setdefault(int(row["query"][:-1]), {})[row["reference"], row["query"][-1]] = int(row["score"])
    return {query: dict(sorted(each.items(), key=lambda hit: -hit[1])[:TOP]) for query, each in found.items()}


def our_hits(path: Path) -> Hits:
    found: Hits = {}
    for row in csv.DictReader(path.read_text().splitlines(), delimiter="\t"):
        found.setdefault(int(row["ordinal"]), {})[row["target_name"], row["strand"]] = int(row["score"])
    return found


def compared(ours: Hits, theirs: Hits, odd: set[str]) -> dict[str, Any]:
    """Compare the best hits of each query: lists of scores, and hits of one target with two scores; `lost`: hits of ours that are better than their last.

    odd: targets with letters that the peer scores otherwise.
    """
    differ, lost = [], []
    for query, hits in ours.items():
        there = theirs.get(query, {})
        last = min(there.values(), default=0)
        differ += [(query, *at, score, there[at]) for at, score in hits.items() if there.get(at, score) != score]
        lost += [(query, *at, score, last) for at, score in hits.items() if at not in there and score > last]
    same = sum(sorted(hits.values()) == sorted(theirs.get(query, {}).values()) for query, hits in ours.items())
    unexplained = [each for each in differ + lost if each[1] not in odd]
    counts = {"queries": len(ours), "same scores": same, "hits": sum(map(len, ours.values())), "other score": len(differ), "lost by peer": len(lost)}
    return counts | {"of them without other letters": len(unexplained), "examples": unexplained[:5]}
