"""Compare local alignments of every n-th protein of a FASTA with all of it with parasail's: scores and ends, and starts by a global alignment. By hand:

python tests/data/compare_parasail.py PROTEINS.fa [--queries 500] [--starts 50] [--result FILE.json]    with parasail 1.3.4 installed (pip install parasail)

BLOSUM62 with gaps 11,1. Scores and ends of all pairs are compared with parasail's striped functions, whose rule among equal scores is tidalign's: the smallest
target end, then the smallest query end. parasail has no starts: a global alignment from start to end must have the score of the local one, for `--starts` of
each query's pairs.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import parasail

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record

import tidalign

OPENING, EXTENSION = 11, 1
SCORING = f"blosum62,gap:{OPENING},{EXTENSION}"
FIRST = OPENING + EXTENSION
"""What parasail calls opening: the first letter of a gap included."""

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX"
"""parasail's matrix has these."""


def read(path: Path) -> list[str]:
    """Read the proteins of a FASTA, without those that have letters parasail's matrix lacks."""
    proteins = ["".join(lines.split("\n")[1:]) for lines in ("\n" + path.read_text()).split("\n>")[1:]]
    return [letters for letters in proteins if set(letters) <= set(LETTERS)]


def ours(query: str, targets: list[str]) -> dict[str, Any]:
    """Align a query with all targets: columns by name."""
    table = tidalign.align([query], targets, pairs=(np.zeros(len(targets), np.int64), np.arange(len(targets))), span="local", scoring=SCORING, report="ends")
    return {name: table[name].to_numpy() for name in table.column_names if name not in ("cigar", "status", "reason")}


def theirs(query: str, targets: list[str]) -> tuple[np.ndarray[Any, Any], ...]:
    """Align a query with all targets by parasail: scores, query ends and target ends, the ends exclusive."""
    narrow, wide = (create(query, parasail.blosum62) for create in (parasail.profile_create_16, parasail.profile_create_32))
    rows = []
    for target in targets:
        result = parasail.sw_striped_profile_16(narrow, target, FIRST, EXTENSION)
        if result.saturated:
            result = parasail.sw_striped_profile_32(wide, target, FIRST, EXTENSION)
        rows.append((result.score, result.end_query + 1, result.end_ref + 1))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proteins", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--result")
    args = parser.parse_args()
    targets = read(args.proteins)
    chosen = targets[:: max(1, len(targets) // args.queries)][: args.queries]
    random, counts = np.random.default_rng(1), Counter[str]()
    seconds = [0.0, 0.0]
    for number, query in enumerate(chosen):
        began = time.process_time()
        found = ours(query, targets)
        middle = time.process_time()
        scores, query_ends, target_ends = theirs(query, targets)
        seconds = [seconds[0] + middle - began, seconds[1] + time.process_time() - middle]
        some = scores > 0
        counts["pairs"] += len(targets)
        counts["scores that differ"] += int((found["score"] != scores).sum())
        counts["ends that differ"] += int(((found["query_end"] != query_ends) | (found["target_end"] != target_ends))[some].sum())
        for row in random.choice(np.flatnonzero(some), args.starts):
            pieces = query[found["query_start"][row] : found["query_end"][row]], targets[row][found["target_start"][row] : found["target_end"][row]]
            counts["global alignments from start to end"] += 1
            counts["whose score differs"] += int(parasail.nw_striped_32(*pieces, FIRST, EXTENSION, parasail.blosum62).score != scores[row])
        counts["scores over 32,767"] += int((scores > 32_767).sum())
        if number % 50 == 49:
            print(f"{number + 1} queries: {dict(counts)}", flush=True)
    result = {"what": f"{len(chosen)} proteins with {len(targets)}, local, {SCORING}, beside parasail {parasail.__version__}", **counts}
    result |= {"CPU seconds": {"tidalign, scores with ends and starts": round(seconds[0], 1), "parasail, scores with ends": round(seconds[1], 1)}}
    print(result)
    if args.result:
        record.write(args.result, result)
    return int(any(counts[name] for name in ("scores that differ", "ends that differ", "whose score differs")))


if __name__ == "__main__":
    sys.exit(main())
