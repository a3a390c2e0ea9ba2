"""Compare local alignments with parasail's and with a plain program's: scores and ends, and starts by what lies between. By hand:

python tests/data/compare_parasail.py PROTEINS.fa [--queries 500] [--starts 50] [--result FILE.json]
python tests/data/compare_parasail.py FOLDER --oracle ORACLE [--result FILE.json]    with parasail 1.3.4 installed (pip install parasail)

Of a FASTA every n-th protein with all of it, BLOSUM62 with gaps 11,1. parasail has no starts: a global alignment from start to end must have the score of the
local one, for `--starts` of each query's pairs. Of a folder all sets of pairs (pairfiles.py), each by two scorings; ORACLE is a program as make_scored.py takes
it, and each CIGAR must spell its letters from start to end and have the score.

parasail is called by its striped functions, whose rule among equal scores is tidalign's: the smallest target end, then the smallest query end.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import parasail
from make_scored import ends

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record
from pairfiles import Pair, read_folder
from scored_oracle import rescored

import tidalign
from tidalign.kernels.scoring.substitution import Substitution

OPENING, EXTENSION = 11, 1
SCORING = f"blosum62,gap:{OPENING},{EXTENSION}"
DNA = ((2, -4, 4, 2), (1, -4, 6, 1))
"""Match, mismatch and gap of the alignments of pairs."""

LETTERS = "ARNDCQEGHILKMFPSTWYVBZX"
"""parasail's matrix has these."""

Columns = tuple[np.ndarray[Any, Any], ...]
PLACES = ("query_start", "query_end", "target_start", "target_end")


def read(path: Path) -> list[str]:
    """Read the proteins of a FASTA, without those that have letters parasail's matrix lacks."""
    proteins = ["".join(lines.split("\n")[1:]) for lines in ("\n" + path.read_text()).split("\n>")[1:]]
    return [letters for letters in proteins if set(letters) <= set(LETTERS)]


def ours(query: str, targets: list[str]) -> dict[str, Any]:
    """Align a query with all targets: columns by name."""
    table = tidalign.align([query], targets, pairs=(np.zeros(len(targets), np.int64), np.arange(len(targets))), span="local", scoring=SCORING, report="ends")
    return {name: table[name].to_numpy() for name in table.column_names if name not in ("cigar", "status", "reason")}


def theirs(query: str, targets: list[str], matrix: Any, opening: int, extension: int) -> Columns:
    """Align a query with all targets by parasail: scores, query ends and target ends, the ends exclusive."""
    narrow, wide = (create(query, matrix) for create in (parasail.profile_create_16, parasail.profile_create_32))
    rows = []
    for target in targets:
        result = parasail.sw_striped_profile_16(narrow, target, opening + extension, extension)
        if result.saturated:
            result = parasail.sw_striped_profile_32(wide, target, opening + extension, extension)
        rows.append((result.score, result.end_query + 1, result.end_ref + 1))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def of_proteins(path: Path, queries: int, starts: int) -> dict[str, Any]:
    """Compare proteins with all of a FASTA."""
    targets = read(path)
    chosen = targets[:: max(1, len(targets) // queries)][:queries]
    random, counts = np.random.default_rng(1), Counter[str]()
    seconds = [0.0, 0.0]
    for number, query in enumerate(chosen):
        began = time.process_time()
        found = ours(query, targets)
        middle = time.process_time()
        scores, query_ends, target_ends = theirs(query, targets, parasail.blosum62, OPENING, EXTENSION)
        seconds = [seconds[0] + middle - began, seconds[1] + time.process_time() - middle]
        some = scores > 0
        counts["pairs"] += len(targets)
        counts["scores that differ"] += int((found["score"] != scores).sum())
        counts["ends that differ"] += int(((found["query_end"] != query_ends) | (found["target_end"] != target_ends))[some].sum())
        for row in random.choice(np.flatnonzero(some), starts):
            pieces = query[found["query_start"][row] : found["query_end"][row]], targets[row][found["target_start"][row] : found["target_end"][row]]
            counts["global alignments from start to end"] += 1
            counts["whose scores differ"] += int(parasail.nw_striped_32(*pieces, OPENING + EXTENSION, EXTENSION, parasail.blosum62).score != scores[row])
        counts["scores over 32,767"] += int((scores > 32_767).sum())
        if number % 50 == 49:
            print(f"{number + 1} queries: {dict(counts)}", flush=True)
    what = f"{len(chosen)} proteins with {len(targets)}, local, {SCORING}, beside parasail {parasail.__version__}"
    times = {"tidalign, scores with ends and starts": round(seconds[0], 1), "parasail, scores with ends": round(seconds[1], 1)}
    return {"what": what, **counts, "CPU seconds": times}


def of_pairs(folder: Path, oracle: str) -> dict[str, Any]:
    """Compare all sets of pairs of a folder."""
    rows = []
    for name, pairs in read_folder(folder).items():
        for numbers in DNA:
            rows.append({"set": name, "match, mismatch, gap": numbers, **compared(pairs, numbers, oracle)})
            print(rows[-1], flush=True)
    what = f"pairs, local, beside parasail {parasail.__version__} and a plain program ({Path(oracle).name})"
    totals = sum((Counter({key: value for key, value in row.items() if isinstance(value, int)}) for row in rows), Counter[str]())
    return {"what": what, **{key: totals[key] for key, value in rows[0].items() if isinstance(value, int)}, "sets": rows}


def compared(pairs: list[Pair], numbers: tuple[int, int, int, int], oracle: str) -> dict[str, Any]:
    """Count what differs of pairs by a scoring. AssertionError where a CIGAR does not spell its letters."""
    match, mismatch, opening, extension = numbers
    scoring = Substitution.plain(match, mismatch, ((opening, extension),))
    matrix = parasail.matrix_create("ACGT", match, mismatch)
    texts = [(query.decode(), target.decode()) for query, target in pairs]
    began = time.process_time()
    table = tidalign.align(*map(list, zip(*texts, strict=True)), span="local", scoring=str(scoring), device="cpu")
    middle = time.process_time()
    expected = [tuple(int(column[0]) for column in theirs(query, [target], matrix, opening, extension)) for query, target in texts]
    seconds = {"tidalign, with CIGARs": round(middle - began, 1), "parasail, scores with ends": round(time.process_time() - middle, 1)}
    plain = [tuple(map(int, row)) for row in ends(oracle, pairs, numbers)]
    scores, cigars, *places = (table[name].to_pylist() for name in ("score", "cigar", *PLACES))
    found = list(zip(scores, places[1], places[3], strict=True))
    spelled = [rescored(*text, at, cigar, scoring) for text, at, cigar in zip(texts, zip(*places, strict=True), cigars, strict=True)]
    return {
        "pairs": len(pairs),
        "scores that differ": sum(one[0] != other[0] for one, other in zip(found, expected, strict=True)),
        "ends that differ": sum(one[1:] != other[1:] for one, other in zip(found, expected, strict=True) if other[0] > 0),
        "scores or ends that differ from the plain program": sum(one != other for one, other in zip(found, plain, strict=True) if other[0] > 0),
        "CIGARs whose scores differ": sum(score != other for score, other in zip(scores, spelled, strict=True)),
        "scores over 32,767": sum(score > 32_767 for score in scores),
        "CPU seconds": seconds,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("letters", type=Path)
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--starts", type=int, default=50)
    parser.add_argument("--oracle")
    parser.add_argument("--result")
    args = parser.parse_args()
    result = of_pairs(args.letters, args.oracle) if args.oracle else of_proteins(args.letters, args.queries, args.starts)
    print(result)
    if args.result:
        record.write(args.result, result)
    return int(any(count for name, count in result.items() if "differ" in name))


if __name__ == "__main__":
    sys.exit(main())
