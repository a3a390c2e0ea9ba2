"""A great many random pairs on the GPU and on the host's cores: every row and every CIGAR must be equal. Writes the counts as JSON.

    python tests/benchmarks/random_pairs_device.py RESULT.json [PAIRS] [--scores]

By penalties, or with `--scores` by scores: DNA and proteins, all spans, each report, one strand and both. Lengths lie in 0..3,000, error rates in 0..40 %.
Every fourth pair has other letters (N; B, Z, X and what no matrix has) at 1 %, every fourth letters in lower case. By scores most are short, and every third
pair has ends that are unlike. Letters of DNA are aligned on the GPU as they are and packed. Cases that RESULT has
of these kernels are left as they are there: a call that was cut off goes on.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write

from tidalign.kernels.letters.sequences import Sequences, pack, reverse_complement
from tidalign.kernels.local.choices import SPANS
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.pairs.aligner import PairParameters, aligner_of, alignments
from tidalign.pipeline.pairs.scored import ScoreParameters

PENALTIES = {"edit": 0.3, "affine:4,6,2": 0.3, "affine:2,3,1": 0.2, "linear:4,2": 0.1, "affine2p:4,6,2,24,1": 0.1}
SCORINGS: tuple[tuple[str, str, int | None, int, int | None], ...] = (
    ("match:2,mismatch:-4,gap:4,2", "mismatch", 400, 0, None),
    ("match:2,mismatch:-4,gap:4,2,24,1", "mismatch", 100, 10, 60),
    ("match:1,mismatch:-1,gap:1", "mismatch", 40, 5, None),
    ("match:2,mismatch:-3,gap:5,2", "match", None, 20, 300),
    ("match:1,mismatch:-4,n:-1,gap:6,1", "mismatch", 10, 0, None),
    ("letters:ACGT,scores:91,-114,100,-31,-125,100,-123,-31,-114,91,gap:400,30", "mismatch", 4000, 0, None),
    ("match:25,mismatch:-60,gap:50,20", "mismatch", None, 0, 17),
    ("blosum62,gap:11,1", "mismatch", 60, 0, None),
    ("blosum62,gap:8", "mismatch", None, 5, 100),
    ("pam250,gap:6,2,14,1", "mismatch", 100, 0, None),
)
"""Scoring, what other letters equal, z-drop, end bonus and band of extensions. LASTZ's matrix and the one after it give scores over 32,767 and 65,535."""
REPORTS = ("cigar", "ends", "cigar", "score")
TOTALS = ("pairs", "differing", "differing_packed", "taken_by_host", "scores_over_32767")
COLUMNS = ("penalty", "score", "query_start", "query_end", "target_start", "target_end", "reverse")

TASK = 1250
"""Pairs that a core generates and aligns at a time."""
CORES = 16
LONGEST = 3000
LETTERS = {"dna": (b"ACGT", b"N"), "protein": (b"ARNDCQEGHILKMFPSTWYV", b"BZX*UOJ")}


@dataclass(frozen=True)
class Case:
    """Say how pairs are aligned, how many tasks they are, and how they are drawn. power: of a number in 0..1 that says the length: above 1 most are short.
    ends: whether some have ends that are unlike."""

    parameters: PairParameters | ScoreParameters
    tasks: int
    power: float = 1
    ends: bool = False

    @property
    def name(self) -> str:
        """Name it by its options."""
        report = ["--report", self.parameters.report] if isinstance(self.parameters, ScoreParameters) else []
        return " ".join([*self.parameters.words(), *report])


def of_penalties(pairs: int) -> Iterator[Case]:
    for text, share in PENALTIES.items():
        yield Case(PairParameters(text), int(pairs * share / TASK))


def of_scores(pairs: int) -> Iterator[Case]:
    """List every scoring with every span, reports and strands in turn."""
    tasks = -(-pairs // (TASK * len(SCORINGS) * len(SPANS)))
    for i, (scoring, ambiguous, zdrop, bonus, band) in enumerate(SCORINGS):
        for j, span in enumerate(SPANS):
            options: dict[str, Any] = {"zdrop": zdrop, "end_bonus": bonus, "band": band} if span == "extension" else {}
            parameters = ScoreParameters(scoring, span=span, report=REPORTS[(i + j) % len(REPORTS)], ambiguous=ambiguous, **options)
            if parameters.alphabet == "dna" and (i + j) % 3 == 0:
                parameters = ScoreParameters(**{**parameters.to_json(), "strand": "both"})
            yield Case(parameters, tasks, 5 if span == "extension" else 3, True)


def random_pairs(seed: int, count: int, case: Case) -> tuple[Sequences, Sequences]:
    """Draw flat arrays at once: a target is its query with each letter replaced, doubled by a random one or left out at the pair's rate."""
    random = np.random.default_rng(seed)
    lengths, rates = (random.random(count) ** case.power * (LONGEST + 1)).astype(np.int64), random.uniform(0, 0.4, count)
    known, others = (np.frombuffer(letters, np.uint8) for letters in LETTERS[case.parameters.alphabet])
    total = int(lengths.sum())
    query, pair = random.integers(0, len(known), total, np.uint8), np.repeat(np.arange(count), lengths)
    place = np.arange(total) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rate = np.where(case.ends & (pair % 3 == 0) & (abs(2 * place - lengths[pair]) > lengths[pair] * 3 // 4), 1, rates[pair])
    change = np.where(random.random(total) < rate, random.integers(0, 3, total), -1)
    other = (query + random.integers(1, len(known), total, np.uint8)) % len(known)
    both = np.stack([np.where(change == 0, other, query), random.integers(0, len(known), total, np.uint8)], axis=1)
    kept = np.stack([change != 1, change == 2], axis=1)
    sides = []
    for codes, of in ((query, pair), (both[kept], np.repeat(pair, 2)[kept.ravel()])):
        letters = known[codes]
        rare = (of % 4 == 0) & (random.random(len(letters)) < 0.01)
        letters[rare] = others[random.integers(0, len(others), int(rare.sum()))]
        letters[(of % 4 == 1) & (letters != ord("*")) & (random.random(len(letters)) < 0.3)] |= 32
        sides.append(Sequences(letters, np.concatenate([[0], np.cumsum(np.bincount(of, minlength=count))]).astype(np.int64)))
    if case.parameters.strand == "both":
        turned = reverse_complement(sides[0])
        assert isinstance(turned, Sequences)
        sides[0] = Sequences(np.where(pair % 2, turned.letters, sides[0].letters), turned.offsets)
    return sides[0], sides[1]


def joined(sides: list[Sequences]) -> Sequences:
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([side.lengths for side in sides]))])
    return Sequences(np.concatenate([side.letters for side in sides]), offsets.astype(np.int64))


def differing(host: list[Alignments], device: Alignments) -> int:
    """Count the pairs with another column or CIGAR."""
    wrong = np.zeros(len(device), bool)
    for column in COLUMNS:
        parts, found = [getattr(part, column) for part in host], getattr(device, column)
        assert (found is None) == (parts[0] is None), column
        wrong |= False if found is None else np.concatenate(parts) != found
    assert (device.cigar is None) == (host[0].cigar is None)
    if device.cigar is None or device.cigar_offsets is None:
        return int(wrong.sum())
    cigar = np.concatenate([part.cigar for part in host])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(part.cigar_offsets) for part in host]))])
    if not (np.array_equal(offsets, device.cigar_offsets) and np.array_equal(cigar, device.cigar)):
        for pair in range(len(device)):
            wrong[pair] |= not np.array_equal(
                cigar[offsets[pair] : offsets[pair + 1]], device.cigar[device.cigar_offsets[pair] : device.cigar_offsets[pair + 1]]
            )
    return int(wrong.sum())


def compared(case: Case, done: list[tuple[Sequences, Sequences, Alignments]]) -> dict[str, Any]:
    """Align on the GPU what the host has aligned, and count what differs."""
    aligner, begun = aligner_of(case.parameters), time.perf_counter()
    sides, hosts = [joined([part[side] for part in done]) for side in (0, 1)], [part[2] for part in done]
    found = alignments(aligner, (sides[0], sides[1]), case.parameters, GPU)
    row = {"pairs": len(found), "bases": int(sides[0].offsets[-1] + sides[1].offsets[-1]), "differing": differing(hosts, found)}
    if not case.parameters.plain:
        again = alignments(aligner, (pack(sides[0]), pack(sides[1])), case.parameters, GPU)
        row["differing_packed"] = differing(hosts, again)
    row["taken_by_host"] = found.by_host
    if found.score is not None:
        row |= {"highest_score": int(found.score.max()), "scores_over_32767": int((found.score > 32_767).sum())}
    return {**row, "seconds_device_with_compilation": round(time.perf_counter() - begun, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("pairs", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--scores", action="store_true")
    args = parser.parse_args()
    cases, begun = list((of_scores if args.scores else of_penalties)(args.pairs)), time.perf_counter()
    for case in cases:
        aligner_of(case.parameters).on(CPU).warm_up(case.parameters, LONGEST)
    there = json.loads(Path(args.result).read_text()) if Path(args.result).exists() else {}
    rows: dict[str, dict[str, Any]] = there.get("cases", {}) if there.get("kernels") == gpu_record.digest() else {}
    before = there["seconds"] if rows else 0.0
    with ThreadPoolExecutor(CORES) as cores:

        def task(seed: int, case: Case) -> tuple[Sequences, Sequences, Alignments]:
            queries, targets = random_pairs(seed, TASK, case)
            return queries, targets, alignments(aligner_of(case.parameters), (queries, targets), case.parameters, CPU)

        # Cores go on with the next cases while the GPU has one.
        under_way = [
            (case, [cores.submit(task, 1000 * number + i, case) for i in range(case.tasks)])
            for number, case in enumerate(cases)
            if rows.get(case.name, {}).get("pairs") != case.tasks * TASK
        ]
        while under_way:
            case, tasks = under_way.pop(0)
            rows[case.name] = compared(case, [each.result() for each in tasks])
            print(case.name, rows[case.name], flush=True)
            totals = {key: sum(row.get(key, 0) for row in rows.values()) for key in TOTALS}
            write(args.result, {"card": gpu_record.gpu(), **totals, "seconds": round(before + time.perf_counter() - begun, 1), "cases": rows})


if __name__ == "__main__":
    main()
