"""Measure alignment of pairs by scores on one core beside parasail's striped kernels: same pairs, scores and gaps; scores alone, and with CIGARs.

python tests/benchmarks/local.py RESULT.json [--rounds N]    with parasail 1.3.4 installed (pip install parasail)

On a processor with AVX-512, TIDALIGN_LANES=16 NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx2 before it, and an XDG_CACHE_HOME of its own, measure AVX2.

Kernels, from letters in memory to scores or to CIGARs; seconds of CPU, the best of alternating rounds. parasail is called as its users call it, pair after pair
from Python: the better of its saturating (8 bits, again in 16) and its 16-bit striped functions, with CIGARs its `trace` functions and `.cigar`.
Scores of both are compared.

python tests/benchmarks/local.py RESULT.json --ksw2 LIBKSW2.so READS.seq.gz:PAIRS ... [--rounds N]

measures extension by z-drop instead, of the first so many pairs of each file, as they are and with the second half of each query from the next one, beside ksw2
(github.com/lh3/ksw2, its SSE functions and kalloc as a shared library). What both find is compared.
"""

import argparse
import ctypes
import gzip
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import record

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.local.pairs import align
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import cigar_text

DNA, RESIDUES = b"ACGT", b"ARNDCQEGHILKMFPSTWYV"
CASES: dict[str, tuple[int, int, bytes, float, str]] = {
    "DNA, 150 bp, 5 % errors": (150, 12_800, DNA, 0.05, "match:2,mismatch:-4,gap:4,2"),
    "DNA, 1 kb, 5 % errors": (1_000, 320, DNA, 0.05, "match:2,mismatch:-4,gap:4,2"),
    "DNA, 10 kb, 5 % errors": (10_000, 32, DNA, 0.05, "match:2,mismatch:-4,gap:4,2"),
    "proteins, about 350 aa, 60 % errors": (350, 2_560, RESIDUES, 0.6, "blosum62,gap:11,1"),
    "DNA, one pair of 10 kb, 5 % errors": (10_000, 1, DNA, 0.05, "match:2,mismatch:-4,gap:4,2"),
    "proteins, one pair of about 5,000 aa, 60 % errors": (5_000, 1, RESIDUES, 0.6, "blosum62,gap:11,1"),
}
"""Letters, pairs, alphabet, share of errors, scoring."""

EXTENSIONS = [("match:2,mismatch:-4,gap:4,2,24,1", 400), ("match:2,mismatch:-4,gap:4,2,24,1", 100), ("match:2,mismatch:-4,gap:4,2", 400)]
"""Scoring and z-drop."""


def pairs(length: int, count: int, alphabet: bytes, errors: float, random: np.random.Generator) -> tuple[list[bytes], list[bytes]]:
    """Draw sequences of about a length with copies of them: mostly substitutions, a letter in a hundred left out; proteins differ in length by a fifth."""
    letters = np.frombuffer(alphabet, np.uint8)
    queries, targets = [], []
    for _ in range(count):
        size = length if alphabet is DNA else int(random.integers(length * 9 // 10, length * 11 // 10))
        query = letters[random.integers(0, len(letters), size)]
        target = np.where(random.random(size) < errors, letters[random.integers(0, len(letters), size)], query)
        queries.append(query.tobytes())
        targets.append(target[random.random(size) > 0.01].astype(np.uint8).tobytes())
    return queries, targets


def peers(scoring: Substitution, cigar: bool) -> dict[str, Callable[[str, str], int]]:
    """List parasail's functions that suit, by name."""
    import parasail

    opening, extension = scoring.pieces[0]
    matrix = parasail.blosum62 if scoring.alphabet == "protein" else parasail.matrix_create("ACGT", scoring.lower[0], scoring.lower[1])
    names = ["sw_trace_striped_sat", "sw_trace_striped_16"] if cigar else ["sw_striped_sat", "sw_striped_16"]
    found = {}
    for name in names:
        function = getattr(parasail, name)

        def one(query: str, target: str, function: Any = function) -> int:
            result = function(query, target, opening + extension, extension, matrix)
            if cigar:
                _ = result.cigar.decode
            return int(result.score)

        found[name] = one
    return found


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def measure(name: str, rounds: int) -> list[dict[str, Any]]:
    """Measure one case: rows of score and CIGAR."""
    length, count, alphabet, errors, text = CASES[name]
    scoring = Substitution.parse(text)
    queries, targets = pairs(length, count, alphabet, errors, np.random.default_rng(14))
    cells = sum(len(query) * len(target) for query, target in zip(queries, targets, strict=True))
    sides = [Sequences.from_strings(strings) for strings in (queries, targets)]
    ours = [pack(side) for side in sides] if alphabet is DNA else sides
    share = max(1, count // 10)
    texts = [(query.decode(), target.decode()) for query, target in zip(queries[:share], targets[:share], strict=True)]
    part = sum(len(query) * len(target) for query, target in texts)
    rows = []
    for report in ("score", "cigar"):

        def mine(report: str = report) -> Any:
            found = align(*ours, scoring, report=report)
            if found.cigar is not None:
                cigar_text(found)
            return found.score

        functions = peers(scoring, report == "cigar")
        mine()  # compiled
        best: dict[str, float] = {}
        for _ in range(rounds):
            taken, score = seconds(mine)
            best["tidalign"] = min(best.get("tidalign", taken), taken)
            for peer, one in functions.items():
                taken, scores = seconds(lambda one=one: [one(*pair) for pair in texts])
                assert scores == score[:share].tolist(), peer
                best[peer] = min(best.get(peer, taken), taken)
        rates = {peer: (cells if peer == "tidalign" else part) / taken / 1e9 for peer, taken in best.items()}
        fastest = max(rate for peer, rate in rates.items() if peer != "tidalign")
        rows.append(
            {"case": name, "report": report, "gcups": {peer: round(rate, 2) for peer, rate in rates.items()}, "times": round(rates["tidalign"] / fastest, 2)}
        )
        print(rows[-1], flush=True)
    return rows


class Found(ctypes.Structure):
    """Hold what ksw2 finds: `ksw_extz_t` of ksw2.h."""

    _fields_ = [
        ("highest", ctypes.c_uint32),  # and in the highest bit whether it was dropped
        *((name, ctypes.c_int) for name in ("query", "target", "mqe", "mqe_t", "mte", "mte_q", "score", "room", "operations", "reached")),
        ("cigar", ctypes.c_void_p),
    ]


def ksw2(library: ctypes.CDLL, texts: list[tuple[bytes, bytes]], scoring: Substitution, zdrop: int, cigar: bool) -> Callable[[], Any]:
    """Give what extends pairs by ksw2, of letters that are coded already: rows of score, query end and target end."""
    match, mismatch = scoring.lower[:2]
    matrix = bytes((match if i == j else mismatch) & 255 for i in range(4) for j in range(5)) + bytes([mismatch & 255] * 5)
    code = bytes("ACGT".find(chr(letter)) & 255 if chr(letter) in "ACGT" else 4 for letter in range(256))
    coded = [tuple(side.translate(code) for side in pair) for pair in texts]
    function = library.ksw_extd2_sse if len(scoring.pieces) == 2 else library.ksw_extz2_sse
    gaps = [ctypes.c_int8(cost) for piece in scoring.pieces for cost in piece]
    library.km_init.restype = ctypes.c_void_p
    memory = ctypes.c_void_p(library.km_init())  # that lasts from pair to pair, as minimap2's does
    rest = (ctypes.c_int8(5), matrix, *gaps, -1, zdrop, 0, 0x40 | (not cigar))  # no band, no bonus, KSW_EZ_EXTZ_ONLY, KSW_EZ_SCORE_ONLY

    def extended() -> Any:
        found, rows = Found(), []
        for query, target in coded:
            function(memory, len(query), query, len(target), target, *rest, ctypes.byref(found))
            rows.append((found.highest & 0x7FFFFFFF, found.query + 1, found.target + 1))
        return np.array(rows)

    return extended


def extensions(library: ctypes.CDLL, name: str, texts: list[tuple[bytes, bytes]], rounds: int) -> list[dict[str, Any]]:
    """Measure extension of pairs beside ksw2: rows of ends and CIGARs."""
    sides = [pack(Sequences.from_strings([pair[k] for pair in texts])) for k in range(2)]
    rows = []
    for text, zdrop in EXTENSIONS:
        scoring = Substitution.parse(text)
        for report in ("ends", "cigar"):

            def mine(scoring: Substitution = scoring, report: str = report, zdrop: int = zdrop) -> Any:
                found = align(*sides, scoring, span="extension", report=report, zdrop=zdrop)
                return np.transpose([found.score, found.query_end, found.target_end])

            works = {"tidalign": mine, "ksw2": ksw2(library, texts, scoring, zdrop, report == "cigar")}
            mine()  # compiled
            best: dict[str, float] = {}
            made: dict[str, Any] = {}
            for _ in range(rounds):
                for peer, work in works.items():
                    taken, made[peer] = seconds(work)
                    best[peer] = min(best.get(peer, taken), taken)
            differ = made["tidalign"] != made["ksw2"]
            rows.append({"case": name, "pairs": len(texts), "scoring": text, "zdrop": zdrop, "report": report})
            rows[-1] |= {"seconds": {peer: round(taken, 3) for peer, taken in best.items()}, "times": round(best["ksw2"] / best["tidalign"], 2)}
            rows[-1] |= {"scores that differ": int(differ[:, 0].sum()), "ends that differ": int(differ[:, 1:].any(axis=1).sum())}
            print(rows[-1], flush=True)
    return rows


def beside_ksw2(path: str, files: list[str], rounds: int) -> list[dict[str, Any]]:
    library, rows = ctypes.CDLL(path), []
    for file in files:
        name, _, count = file.rpartition(":")
        lines = [line[1:] for line in gzip.decompress(Path(name).read_bytes()).upper().split()]
        texts = list(zip(lines[::2], lines[1::2], strict=True))[: int(count)]
        halves = [(query[: len(query) // 2] + other[len(other) // 2 :], target) for (query, target), (other, _) in zip(texts, texts[1:], strict=False)]
        rows += extensions(library, Path(name).name, texts, rounds) + extensions(library, f"{Path(name).name}, other second halves", halves, rounds)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ksw2", nargs="+", metavar=("LIBRARY", "READS:PAIRS"))
    args = parser.parse_args()
    if args.ksw2:
        rows = beside_ksw2(args.ksw2[0], args.ksw2[1:], args.rounds)
        record.write(args.result, {"unit": "seconds of CPU, one core", "lanes": PAIR_LANES, "rows": rows})
        return
    import parasail

    rows = [row for name in CASES for row in measure(name, args.rounds)]
    compiled = {"lanes": PAIR_LANES, "compiled for": os.environ.get("NUMBA_CPU_NAME", "this processor")}
    record.write(args.result, {"unit": "GCUPS of CPU seconds, one core", **compiled, "parasail": parasail.__version__, "rows": rows})


if __name__ == "__main__":
    main()
