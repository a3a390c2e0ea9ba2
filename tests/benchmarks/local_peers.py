"""Alignment by scores beside GASAL2 and AGAThA, in the same run, on the current GPU. Writes JSON.

    python tests/benchmarks/local_peers.py RESULT.json [--gasal2 PROGRAM.N ...] [--agatha PROGRAM] [--real PAIRS.seq ...] [--only WORD]

`local`: local scores and CIGARs of pairs of a length. `extensions`: from the first letters on, by minimap2's z-drop, in its band, which AGAThA has always, and
without one (null); AGAThA knows gaps of one piece only, and runs once for both.
`real`: both with the pairs of files, repeated. Other pairs are those of `wavefront_device.py`, a quarter of them generated, and repeated: as many as fill the
GPU at a thread a pair, as GASAL2 has them, or at eight threads a pair, as AGAThA. Results of jobs that --only leaves out stay in RESULT.json as they are there.

GCUPS are of whole matrices. Kernels: the device's own times, ours by events around launches, a peer's as it writes them, where a time in which several run
counts once. Whole: our letters are on the device before, results come to the host. Arrays to arrays: from letters on the host to results there, beside
GASAL2's time as it prints it. Peers are built to write when each of their kernels began and ended, in ms, a line each, to the file $KERNELS; GASAL2 also with
batches of $SBS pairs, once for each N, letters of its longest query: each pair clears memory for so many, so the least that is enough is taken. Of long pairs
with CIGARs it has no more than two of its batches hold. Goal: 3 times as fast with real pairs.
"""

import argparse
import gzip
import json
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record
from local_device import DNA, MINIMAP2, measured
from local_programs import BAND, LONG, SUBWARPS, ZDROP, Row, Sides, agatha, gasal2, gcups, most_cells, taken, tried
from wavefront_device import pairs, repeated

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.uploaded import uploaded
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import Alignments

COUNTS = {128: 500_000, 256: 300_000, 512: 200_000, 1024: 100_000, 2048: 60_000, 4096: 20_000, 10_000: 10_000}
"""Pairs of local alignment, by length."""
GENERATED = 4
"""One pair in so many is generated."""
ONE_PIECE = "match:2,mismatch:-4,gap:4,2"
"""The first piece of minimap2's gaps, AGAThA's own default."""
CASES = [(length, error) for length in (1024, 2048, 4096, 10_000) for error in (0.01, 0.05, 0.15)]
SHORT_GAPS = [(1024, 0.05), (2048, 0.05), (4096, 0.05), (4096, 0.01), (1024, 0.15)]
"""Cases that are also measured with the scores of AGAThA's own script, which are those of DNA above."""
REAL_LETTERS, REAL_PAIRS = 1.5e8, 400_000
"""Letters of the queries of a real set, repeated, and pairs, at most."""


def generated(count: int, length: int, error: float) -> Sides:
    query, target = pairs(max(1, count // GENERATED), length, error)
    return repeated(query, GENERATED), repeated(target, GENERATED)


def read(path: str) -> Sides:
    """Read pairs, `>` before a query and `<` before its target, those with short queries first: GASAL2 takes memory by the last query."""
    data = Path(path).read_bytes()
    lines = (gzip.decompress(data) if path.endswith(".gz") else data).decode().split()
    query, target = lines[0::2], lines[1::2]
    order = sorted(range(len(query)), key=lambda i: len(query[i]))
    return Sequences.from_strings([query[i][1:] for i in order]), Sequences.from_strings([target[i][1:] for i in order])


def local_rows(sides: Sides, programs: list[str], about: Row) -> Iterator[Row]:
    """Align local pairs, scores and CIGARs, by us and by GASAL2."""
    coding = Coding(Substitution.parse(DNA))
    on_device = [uploaded(side, coding) for side in sides]
    for report in ("score", "cigar"):
        row, found = measured(*on_device, coding, report=report)
        whole = min(timed(sides, coding, report) for _ in range(2))
        row = {**about, "report": report, **row, "arrays to arrays": {"seconds": round(whole, 5), "gcups": gcups(sides, whole)}}
        if programs and (report == "score" or most_cells(sides) < 4 * LONG):
            row["GASAL2"], scores = tried(gasal2, programs, sides, report == "cigar")
            if peer := row["GASAL2"].get("gcups"):
                ours = {"kernels": row["gcups"]["kernels"], "whole": row["arrays to arrays"]["gcups"]}
                row["times"] = {name: round(rate / max(1, peer[name]), 2) for name, rate in ours.items()}
            if scores is not None:
                row["same scores"] = int((scores == score_of(found)).sum())
        yield shown(row)


def timed(sides: Sides, coding: Coding, report: str) -> float:
    began = time.perf_counter()
    pairs_device.align(*sides, coding.scoring, report=report)
    return time.perf_counter() - began


def score_of(found: Alignments) -> npt.NDArray[np.int64]:
    assert found.score is not None
    return found.score


def shown(row: Row) -> Row:
    print(json.dumps(row), flush=True)
    return row


def extension_rows(sides: Sides, peer: str | None, text: str, about: Row, batch: int = SUBWARPS) -> Iterator[Row]:
    """Extend pairs by z-drop, in the band and without one, by us and, if gaps have one piece, by AGAThA."""
    coding = Coding(Substitution.parse(text))
    on_device = [uploaded(side, coding) for side in sides]
    told = tried(agatha, peer, sides, coding, batch) if peer and len(coding.costs) == 2 else None
    for band in (BAND, None):
        row, found = measured(*on_device, coding, rounds=2, span="extension", zdrop=ZDROP, band=band, report="ends")
        row = {**about, "scoring": text, "band": band, **row}
        if told is not None:
            row["AGAThA"], theirs = told
            if theirs is not None:
                row["times"] = round(row["gcups"]["kernels"] / max(1, row["AGAThA"]["gcups"]), 2)
                row |= same_ends(np.stack([score_of(found), found.query_end, found.target_end]), theirs)
        yield shown(row)


def same_ends(ours: npt.NDArray[np.int64], theirs: npt.NDArray[np.int64]) -> Row:
    """Compare scores and ends pair by pair."""
    if ours.shape != theirs.shape:
        return {"pairs printed": theirs.shape[1]}
    differ = np.flatnonzero(ours[0] != theirs[0])
    examples = [(i, ours[:, i].tolist(), theirs[:, i].tolist()) for i in differ[:3].tolist()]
    counts = {"same scores": len(ours[0]) - len(differ), "ours higher": int((ours[0] > theirs[0]).sum()), "same ends": int((ours == theirs).all(0).sum())}
    return counts | ({"examples": examples} if examples else {})


def local(args: argparse.Namespace, rows: list[Row]) -> None:
    for length, count in COUNTS.items():
        sides = generated(int(count * args.share), length, 0.05)
        rows.extend(local_rows(sides, args.gasal2, {"length": length, "error": 0.05, "pairs": len(sides[0]), "scoring": DNA}))


def extensions(args: argparse.Namespace, rows: list[Row]) -> None:
    for length, error in CASES:
        sides = generated(int(SUBWARPS * (2 if length == 1024 else 1) * args.share), length, error)
        for text in [ONE_PIECE, *[DNA] * ((length, error) in SHORT_GAPS), MINIMAP2]:
            rows.extend(extension_rows(sides, args.agatha, text, {"length": length, "error": error, "pairs": len(sides[0])}))


def real(args: argparse.Namespace, rows: list[Row]) -> None:
    for path in args.real:
        sides = read(path)
        count = len(sides[0])
        times = max(1, int(args.share * min(REAL_LETTERS / sides[0].offsets[-1], REAL_PAIRS / count)))
        about = {"set": Path(path).name, "of its pairs": count}
        many = taken(sides, np.repeat(np.arange(count), times))
        rows.extend(local_rows(many, args.gasal2, {**about, "pairs": len(many[0]), "scoring": DNA}))
        of_batch = max(1, min(times, SUBWARPS // count))
        many = taken(sides, np.tile(np.arange(count), of_batch * max(1, min(8, times // of_batch))))
        for text in (ONE_PIECE, MINIMAP2):
            rows.extend(extension_rows(many, args.agatha, text, {**about, "pairs": len(many[0])}, of_batch * count))


JOBS = {"local": local, "extensions": extensions, "real": real}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--gasal2", nargs="+", default=[], metavar="PROGRAM.N")
    parser.add_argument("--agatha")
    parser.add_argument("--real", nargs="+", default=[], metavar="PAIRS.seq")
    parser.add_argument("--only", default="")
    parser.add_argument("--share", type=float, default=1, help="of the pairs, for a look")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    there = json.loads(Path(args.result).read_text()) if Path(args.result).exists() else {}
    found = {name: there[name] for name in JOBS if name in there}
    for name, job in JOBS.items():
        if args.only in name:
            found[name] = []
            try:
                job(args, found[name])
            finally:  # also what there was when a limit of time ended it
                record.write(args.result, {"card": gpu_record.gpu(), **found})


if __name__ == "__main__":
    main()
