"""Measure alignment of pairs by scores on one core beside parasail's striped kernels: same pairs, scores and gaps; scores alone, and with CIGARs.

python tests/benchmarks/local.py RESULT.json [--rounds N]    with parasail 1.3.4 installed (pip install parasail)

On a processor with AVX-512, TIDALIGN_LANES=16 NUMBA_CPU_NAME=haswell NUMBA_CPU_FEATURES=+avx2 before it, and an XDG_CACHE_HOME of its own, measure AVX2.

Kernels, from letters in memory to scores or to CIGARs; seconds of CPU, the best of alternating rounds. parasail is called as its users call it, pair after pair
from Python: the better of its saturating (8 bits, again in 16) and its 16-bit striped functions, with CIGARs its `trace` functions and `.cigar`.
Scores of both are compared.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import parasail

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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    rows = [row for name in CASES for row in measure(name, args.rounds)]
    compiled = {"lanes": PAIR_LANES, "compiled for": os.environ.get("NUMBA_CPU_NAME", "this processor")}
    record.write(args.result, {"unit": "GCUPS of CPU seconds, one core", **compiled, "parasail": parasail.__version__, "rows": rows})


if __name__ == "__main__":
    main()
