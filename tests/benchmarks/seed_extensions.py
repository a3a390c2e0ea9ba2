"""Bare seeds extended on the current GPU, as FastZ's paper measures it: a million seeds of one neighbourhood, arrays to rows whose common runs are held once
(`folded`), and to rows each with its own; and a sample of seeds on the GPU, on one core and on all cores by the host twin, and in one LASTZ process, rows
compared. Of the neighbourhood, all rows of both kinds are compared, also with those of the exact rule alone, which rejects none, and some with the host's.
Writes JSON.

    python seed_extensions.py RESULT.json TARGET QUERY [--seeds N] [--sample N] [--predicted MEGA_EXTENSIONS] [--no-lastz]

TARGET and QUERY: FASTA or 2bit as `tidalign genome` takes them, one sequence a side, or `random:LENGTH:SEED`. Strand +, default scores, seeds 12of19 with a
transition, LASTZ's record of diagonals. The neighbourhood: the used seeds of the least beginning of the query that has N of them, against the whole target.
The sample is that of a shorter beginning, which LASTZ gets as its query; it extends each seed by itself (--limitperquery) and prints each alignment once.
Seconds: the least of two or three after a first, sweeps of earlier ones forgotten. Cells are those LASTZ's rule looks at,
counted on the sample. FastZ's figure: 111 times LASTZ's speed, at 161 seeds a second of a core.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.extension_device import swept
from benchmarks.record import write

from tidalign.kernels.anchors.points import anchor_points
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.alignments import Extensions
from tidalign.kernels.gapped.device import LENGTH_BINS, DeviceExtender
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.letters.nucleotides import ALPHABET, Codes
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed import device as seed_device
from tidalign.kernels.seed.index import SeedPattern
from tidalign.kernels.ungapped import device as ungapped_device
from tidalign.kernels.ungapped.hsps import Segments
from tidalign.pipeline.genome.input.read import read_genome

Integers = npt.NDArray[np.int64]
FASTZ = 111 * 161 / 1e6
ENDS = ("target_start", "target_end", "query_start", "query_end")
SAME = "rows equal to those with their own runs, and 200 undecided anchors' to the host's"
BOUND = "rows equal to those of the exact rule for all seeds, none rejected"
TASK = 64
"""Seeds a core extends at a time."""


def codes_of(word: str, role: str) -> Codes:
    """Give the codes of one sequence."""
    if word.startswith("random:"):
        length, seed = map(int, word.split(":")[1:])
        return np.random.default_rng(seed).integers(0, 4, length, np.uint8)
    return np.asarray(read_genome(word, role=role).codes(0))


def used_seeds(target: Codes, query: Codes, wanted: int, scoring: Scoring) -> tuple[Integers, Integers, int]:
    """Find the anchors of the first seeds, at least `wanted` if there are so many, and where the last of them ends in the query."""
    index = seed_device.build_index(target, SeedPattern.parse("12of19"))
    parts, count = [Segments.concat([])], 0
    for found, _ in ungapped_device.segments(index, query, transitions=1, seed_filter=None, scoring=scoring, exact=True, gapfree=None):
        parts.append(found)
        count += len(found)
        if count >= wanted:
            break
    seeds = Segments.concat(parts)
    t, q = anchor_points(target, query, seeds, scoring.plain())
    return t, q, int(seeds.query[min(wanted, count) - 1]) + index.pattern.span if count else 0


def timed(work: Any) -> tuple[float, Any]:
    begun = time.perf_counter()
    found = work()
    return time.perf_counter() - begun, found


def on_host(target: Codes, query: Codes, costs: Costs, t: Integers, q: Integers, cores: int) -> tuple[Extensions, int]:
    """Align all anchors on the host, tasks of a few on each core; and count how many cells LASTZ's rule looks at for them."""
    bounds = np.array([[0, len(target)]])

    def some(start: int) -> tuple[Extensions, int]:
        extender, cells = Extender(target, query, bounds, costs), 0
        below, boxes = extender.inspect(t[start : start + TASK], q[start : start + TASK])
        cells += int((boxes[below, 0] * boxes[below, 1] + boxes[below, 2] * boxes[below, 3]).sum()) // 2  # a side's cells lie about its diagonal
        found = []
        for i in (start + np.flatnonzero(~below)).tolist():
            one, looked = extender.extend(i, int(t[i]), int(q[i]))
            cells += looked.cells
            found += [one] if one is not None else []
        return Extensions.of(found), cells

    with ThreadPoolExecutor(cores) as pool:
        parts = list(pool.map(some, range(0, len(t), TASK)))
    return Extensions.concat([part for part, _ in parts]), sum(cells for _, cells in parts)


def neighbourhood(whole: DeviceExtender, t: Integers, q: Integers, exactly: Any) -> dict[str, Any]:
    """Measure a neighbourhood; exactly: the host's rows of so many undecided anchors."""

    def afresh(work: Any) -> Any:
        if whole._launches is not None:
            whole._launches.clear()
        return timed(work)

    whole.folded(t, q)
    before = whole._inspector.swept
    whole.inspect(t, q)
    inspected = whole._inspector.swept - before
    inspecting, (below, _) = min((timed(lambda: whole.inspect(t, q)) for _ in range(3)), key=lambda each: each[0])
    left = np.flatnonzero(~below)
    whole.above_by_length[:] = 0
    both, folded = afresh(lambda: whole.folded(t, q))
    counted = {"alignments by length": dict(zip([*(f"to {length}" for length in LENGTH_BINS), "longer"], whole.above_by_length.tolist(), strict=True))}
    both = min(both, *(afresh(lambda: whole.folded(t, q))[0] for _ in range(2)))
    executing = min(afresh(lambda: whole._exact(t[left], q[left], False, False).folded())[0] for _ in range(2))
    executed = swept(whole)[1]
    alone = afresh(lambda: whole._exact(t, q, False, False).folded())[1]
    bound = all(np.array_equal(ours, theirs) for ours, theirs in zip(*(rows(each.take(np.arange(len(each)))) for each in (folded, alone)), strict=True))
    apart, speculated = min((afresh(lambda: whole.speculate(t, q, ranges=False)) for _ in range(2)), key=lambda each: each[0])
    every = speculated.extensions
    same = all(np.array_equal(ours, theirs) for ours, theirs in zip(rows(folded.take(np.arange(len(folded)))), rows(every), strict=True))
    some = np.sort(np.random.default_rng(1).choice(left, min(200, len(left)), replace=False))
    expected, _ = exactly(t[some], q[some])
    mine = folded.take(np.flatnonzero(np.isin(folded.anchor, some)))
    same = same and np.array_equal(mine.anchor, some[expected.anchor])
    same = same and all(np.array_equal(ours, theirs) for ours, theirs in zip(rows(mine)[:-1], rows(expected)[:-1], strict=True))
    return {
        "seeds": len(t),
        "rejected": int(below.sum()),
        "alignments": len(folded),
        "runs": {"held": len(folded.words), "of all rows": len(every.run_ops)},
        SAME: same,
        BOUND: bound,
        "seconds": {
            "inspector": round(inspecting, 4),
            "executor": round(executing, 4),
            "whole": round(both, 4),
            "whole, each row with its own runs": round(apart, 4),
        },
        "mega extensions a second": {
            "inspector": round(len(t) / inspecting / 1e6, 3),
            "executor": round(len(left) / max(executing, 1e-9) / 1e6, 4),
            "whole": round(len(t) / both / 1e6, 3),
            "whole, each row with its own runs": round(len(t) / apart / 1e6, 3),
        },
        "giga cells swept a second": {
            "inspector": round(inspected / inspecting / 1e9, 1),
            "executor": round(executed / max(executing, 1e-9) / 1e9, 1),
            "whole": round((inspected + executed) / both / 1e9, 1),
        },
        "taken by the host": whole.taken_by_host,
        **counted,
    }


def rows(found: Extensions) -> list[npt.NDArray[Any]]:
    return [values for name, values in found.to_arrays().items() if name != "anchor"] + [found.anchor]


def distinct(found: Extensions) -> set[tuple[int, ...]]:
    """List ends and scores, of alignments with the same ends the first: LASTZ prints no other."""
    scores: dict[tuple[int, ...], int] = {}
    for ends, score in zip(zip(*(getattr(found, name).tolist() for name in ENDS), strict=True), found.score.tolist(), strict=True):
        scores.setdefault(ends, score)
    return {(*ends, score) for ends, score in scores.items()}


def by_lastz(target: Codes, query: Codes, folder: Path) -> tuple[float, set[tuple[int, ...]]]:
    """Run a LASTZ process: its seconds and its alignments' ends and scores."""
    for name, codes in (("target", target), ("query", query)):
        (folder / f"{name}.fa").write_bytes(b">" + name.encode() + b"\n" + np.frombuffer(ALPHABET, np.uint8)[codes].tobytes() + b"\n")
    command = ["lastz", f"{folder}/target.fa", f"{folder}/query.fa", "--nogfextend", "--strand=plus", "--limitperquery=100000000"]
    seconds, ended = timed(lambda: subprocess.run([*command, "--format=general-:zstart1,end1,zstart2,end2,score"], capture_output=True, text=True, check=True))
    return seconds, {tuple(map(int, line.split("\t"))) for line in ended.stdout.splitlines() if not line.startswith("#")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--seeds", type=int, default=1_000_000)
    parser.add_argument("--sample", type=int, default=10_000)
    parser.add_argument("--predicted", type=float)
    parser.add_argument("--no-lastz", action="store_true")
    arguments = parser.parse_args()
    from tidalign.cluster.task import cores

    target, query = codes_of(arguments.target, "target"), codes_of(arguments.query, "query")
    scoring = Scoring()
    costs = Costs(scoring.plain())
    t, q, _ = used_seeds(target, query, arguments.seeds, scoring)
    t, q = t[: arguments.seeds], q[: arguments.seeds]
    _, _, end = used_seeds(target, query, arguments.sample, scoring)
    piece = query[:end].copy()
    sample_t, sample_q, _ = used_seeds(target, piece, 1 << 60, scoring)
    bounds = np.array([[0, len(target)]])

    part = DeviceExtender(target, piece, bounds, costs)
    first, folded = timed(lambda: part.folded(sample_t, sample_q))
    found = folded.take(np.arange(len(folded)))
    on_gpu = np.inf
    for _ in range(3):
        if part._launches is not None:
            part._launches.clear()
        on_gpu = min(on_gpu, timed(lambda: part.folded(sample_t, sample_q))[0])
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(1) as beside:
        peer = beside.submit(by_lastz, target, piece, Path(name)) if shutil.which("lastz") and not arguments.no_lastz else None
        on_host(target, piece, costs, sample_t[:TASK], sample_q[:TASK], 1)
        few = slice(0, max(TASK, len(sample_t) // 10))
        one_core = timed(lambda: on_host(target, piece, costs, sample_t[few], sample_q[few], 1))[0] / len(sample_t[few])
        all_cores, (expected, cells) = timed(lambda: on_host(target, piece, costs, sample_t, sample_q, cores()))
        different = not all(np.array_equal(ours, theirs) for ours, theirs in zip(rows(found), rows(expected), strict=True))
        lastz = peer.result() if peer else None
    whole = DeviceExtender(target, query, bounds, costs)
    around = neighbourhood(whole, t, q, lambda t, q: on_host(target, query, costs, t, q, cores()))
    around["mega extensions a second"]["predicted"] = arguments.predicted
    mega = around["mega extensions a second"]["whole"]
    around["tera cells a second, LASTZ's"] = round(mega * cells / len(sample_t) / 1e6, 3)
    around["times FastZ's figure"] = round(mega / FASTZ, 1)
    result: dict[str, Any] = {
        "card": gpu_record.gpu(),
        "target": Path(arguments.target).name,
        "query": Path(arguments.query).name,
        "letters": [len(target), len(query)],
        "neighbourhood": around,
        "sample": {
            "seeds": len(sample_t),
            "alignments": len(found),
            "cells a seed": round(cells / len(sample_t)),
            "rows equal to the host's": not different,
            "seconds": {"card, first": round(first, 3), "card": round(on_gpu, 4), "host, all cores": round(all_cores, 3), "cores": cores()},
            "seconds a seed, host, one core": round(one_core, 7),
            "card times host, all cores": round(all_cores / on_gpu, 1),
        },
    }
    if lastz:
        result["sample"]["seconds"]["LASTZ"] = round(lastz[0], 2)
        result["sample"]["card times LASTZ"] = round(lastz[0] / on_gpu, 1)
        result["sample"]["alignments equal to LASTZ's"] = lastz[1] == distinct(found)
    write(arguments.result, result)
    print(result["neighbourhood"], result["sample"])
    if different or not (around[SAME] and around[BOUND]) or (lastz and lastz[1] != distinct(found)):
        raise SystemExit("rows differ")


if __name__ == "__main__":
    main()
