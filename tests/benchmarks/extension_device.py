"""Exact gapped extension of many anchors on the current GPU: passes, rates, rows compared with the host's. Writes JSON.

    python tests/benchmarks/extension_device.py RESULT.json FOLDER [PROFILE]
    ncu --clock-control none -k regex:extension_sweep$ -c 1 --set full -o sweep python tests/benchmarks/extension_device.py - FOLDER
    ncu -i sweep.ncu-rep --page raw > PROFILE

The second line sweeps the first set once; what the profiler says of that goes into the result. FOLDER has the genomes, NAME.fa.gz. + strand, LASTZ's default
scores, first sequences. HSPs: anchors of LASTZ's default HSPs. Seeds: bare seeds (12of19 with a transition), 12-mers: every exact hit of 12 letters, as in the
first sketch, which did 78,000 a second of the same 400 kb (goal: ten times that); both of the first letters only where a number says so. `together`: rejection
and exact rule of all of them, to folded rows; the other figures are of those that the inspector could not reject. Seconds: host arrays to host arrays, the
better of two after a first, records of earlier sweeps forgotten before each. `alone`: the anchor with the most cells by itself. Passes: milliseconds of one go
by the GPU's own clock. A sample is extended by the host twin on one core and compared: score, ends, runs, cut, box and all rows' columns.

The bound: a warp takes 392 instructions for a row of 512 columns, 397 of which are looked at on E. coli x Salmonella (median); a scheduler issues one a
clock: 132 * 4 * 1.98e9 / 392 * 397 = 1.06 T cells/s. Predicted: 0.65 T cells/s of those swept, alone 0.9 us a row. `cells_if_alone`: of all anchors if each
were swept by itself. The profiler on what keeps it below: of 5.7 cycles a warp takes for an instruction, 1.7 it waits for the instruction to be fetched (bodies
of 480 to 650 instructions a row, several at a time), 1.2 for fixed latencies; 168 registers leave 2.9 warps a scheduler to hide them: it issues half the time.
"""

import gzip
import re
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write

from tidalign.kernels.anchors.points import anchor_points, lastz_order
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.alignments import Extended
from tidalign.kernels.gapped.device import DeviceExtender
from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.gapped.speculated import ABOVE
from tidalign.kernels.letters.nucleotides import Codes, encode
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.seed import device as seed_device
from tidalign.kernels.seed.index import SeedPattern
from tidalign.kernels.ungapped import device as ungapped_device
from tidalign.kernels.ungapped.hsps import Segments

BOUND_CELLS, PREDICTED_CELLS, PREDICTED_ROW_NS = 132 * 4 * 1.98e9 / 392 * 397, 0.65e12, 900
GOAL_ANCHORS = 780_000
PROFILED = re.compile(
    r"(smsp__average_warps_issue_stalled_(\w+)_per_issue_active.ratio|sm__inst_executed_pipe_(alu|fma|fmaheavy|lsu|xu).avg.pct_of_peak_sustained_active"
    r"|smsp__issue_active.avg.pct_of_peak_sustained_active|smsp__warps_active.avg.per_cycle_active|launch__registers_per_thread|smsp__inst_executed.sum)\s+\S*\s+([\d.,]+)$"
)
SETS = {  # target, query, kind of anchors, letters of each, anchors at most, buffer, compared
    "E. coli x Salmonella, HSPs": ("ecoli_K12_MG1655", "salmonella_LT2", "HSPs", None, 1 << 30, None, 150),
    "yeast chrIV, HSPs, LASTZ's buffer": ("yeast_scer_S288C_chrIV", "yeast_spar_CBS432_chrIV", "HSPs", None, 1 << 30, 80 << 20, 20),
    "E. coli x Salmonella, 400 kb, seeds": ("ecoli_K12_MG1655", "salmonella_LT2", "seeds", 400_000, 1 << 30, None, 150),
    "E. coli x Salmonella, 400 kb, 12-mers": ("ecoli_K12_MG1655", "salmonella_LT2", "12-mers", 400_000, 1 << 30, None, 150),
    "H. pylori, 400 kb, seeds": ("hpylori_F32", "hpylori_Gambia94_24", "seeds", 400_000, 1 << 30, None, 100),
    "human x mouse ENm002, seeds": ("encode_ENm002_human", "encode_ENm002_mouse", "seeds", None, 400_000, None, 300),
}


def letters(path: Path, count: int | None) -> Codes:
    """Read the letters of the first sequence."""
    with gzip.open(path) as file:
        return encode(b"".join(line.strip() for line in file.read().split(b">")[1].split(b"\n")[1:])[:count])


def anchors(target: Codes, query: Codes, kind: str, most: int) -> tuple[Any, Any]:
    scoring = Scoring()
    if kind == "12-mers":
        tiles = list(seed_device.hits(seed_device.build_index(target, SeedPattern.parse("1" * 12)), query, transitions=0))
        t, q = (np.concatenate([tile[side] for tile in tiles]).astype(np.int64) + 6 for side in range(2))
        return t, q
    index = seed_device.build_index(target, SeedPattern.parse("12of19"))
    gapfree = (910, 3000, True) if kind == "HSPs" else None
    parts: list[Segments] = []
    for segments, _ in ungapped_device.segments(index, query, transitions=1, seed_filter=None, scoring=scoring, exact=True, gapfree=gapfree):
        parts.append(segments)
        if sum(map(len, parts)) >= most:
            break
    found = Segments.concat(parts).take(np.arange(min(most, sum(map(len, parts)))))
    t, q = anchor_points(target, query, found, scoring.plain())
    order = lastz_order(t, q, found.score)
    return t[order], q[order]


class Passes:
    """Milliseconds of every kernel launched meanwhile."""

    def __enter__(self) -> "Passes":
        import cupy

        self._real, self._events = compiler.launch, defaultdict(list)

        def launch(function: Any, *arguments: Any, **options: Any) -> None:
            both = cupy.cuda.Event(), cupy.cuda.Event()
            both[0].record()
            self._real(function, *arguments, **options)
            both[1].record()
            self._events[function.name.removeprefix("extension_")].append(both)

        compiler.launch = launch
        return self

    def __exit__(self, *_: object) -> None:
        import cupy

        compiler.launch = self._real
        cupy.cuda.Device().synchronize()
        self.milliseconds = {name: round(sum(cupy.cuda.get_elapsed_time(*both) for both in events), 3) for name, events in self._events.items()}


def swept(extender: DeviceExtender) -> tuple[int, int]:
    """Count the records and cells of all sweeps, each once."""
    import cupy

    launches = extender._launches
    assert launches is not None
    words = cupy.asnumpy(launches._pool[: 32 * int(cupy.asnumpy(launches._counters[:1])[0])])
    at, records, cells = 2, 0, 0
    while 32 * at < len(words):
        header = words[32 * at : 32 * at + 24]
        fresh, width = int(header[7]), int(header[8])
        records += 1
        cells += int(header[18]) if header[9] != 1 else 0
        at += -(-(32 + 128 + (0 if fresh else width)) // 32)
    return records, cells


def same(one: Extended | None, looked: Any, found: Any, row: int, anchor: int) -> bool:
    if (one is not None) != (found.known[anchor] == ABOVE) or (looked.box != found.boxes[anchor]).any():
        return False
    if one is None:
        return True
    [mine] = found.extensions.take([row])
    offsets = found.range_offsets[2 * row : 2 * row + 3]
    columns = (found.ranges[offsets[0] : offsets[1]], found.ranges[offsets[1] : offsets[2]])
    return (mine.score, mine.capped) == (one.score, one.capped) and all(
        np.array_equal(a, b)
        for a, b in ((mine.ends, one.ends), (mine.ops, one.ops), (mine.lengths, one.lengths), (columns[0], looked.left), (columns[1], looked.right))
    )


def afresh(extender: DeviceExtender, work: Any) -> tuple[float, Any, dict[str, float]]:
    """Time the better of two goes after a first, earlier sweeps forgotten before each: seconds, what came of it, and its kernels' milliseconds."""
    best, found, passes = np.inf, None, Passes()
    for go in range(3):
        found = None
        if extender._launches is not None:
            extender._launches.clear()
        with Passes() as timed:
            begun = time.perf_counter()
            found = work()
            taken = time.perf_counter() - begun
        if go and taken < best:
            best, passes = taken, timed
    return best, found, passes.milliseconds


def profile(path: str) -> dict[str, Any]:
    """Read a profile of the sweep of the first set: warps stalled for each instruction issued, by reason; use of pipes in %, instructions, registers."""
    with Path(path).open() as file:
        found = {match[1]: float(match[4].replace(",", "")) for line in file if (match := PROFILED.search(line))}
    stalls = {PROFILED.search(f"{name} a 0")[2]: value for name, value in found.items() if "stalled" in name and value > 0}  # type: ignore[index]
    ordered = dict(sorted(stalls.items(), key=lambda one: -one[1]))
    return {"stalls": ordered, **{name: value for name, value in found.items() if "stalled" not in name}}


def measured(folder: Path, name: str) -> dict[str, Any]:
    target_name, query_name, kind, count, most, buffer, compared = SETS[name]
    target, query = (letters(folder / f"{one}.fa.gz", count) for one in (target_name, query_name))
    costs, bounds = Costs(Scoring().plain(), traceback=buffer), np.array([[0, len(target)]])
    t, q = anchors(target, query, kind, most)
    result: dict[str, Any] = {"anchors": len(t)}
    extender = DeviceExtender(target, query, bounds, costs)
    if kind != "HSPs":
        together = afresh(extender, lambda: extender.folded(t, q))[0]
        result["together"] = {
            "seconds": round(together, 4),
            "anchors_a_second": round(len(t) / together),
            "of_the_goal": round(len(t) / together / GOAL_ANCHORS, 2),
        }
        below, _ = extender.inspect(t, q)
        t, q = t[~below], q[~below]
        result["undecided"] = len(t)
    shared, folded, ways = afresh(extender, lambda: extender._exact(t, q, False, False).folded())
    result["folded"] = {"seconds": round(shared, 4), "anchors_a_second": round(len(t) / shared), "runs_held": len(folded.words), "milliseconds": ways}
    whole, found, passes = afresh(extender, lambda: extender.extend(t, q))
    records, cells = swept(extender)
    extender.above_by_length[:] = 0
    extender.extend(t, q)
    result["by_length"] = extender.above_by_length.tolist()
    result |= {"seconds": round(whole, 4), "anchors_a_second": round(len(t) / whole), "milliseconds": passes, "records": records, "cells_swept": cells}
    result |= {"cells_swept_a_second": round(cells / passes["sweep"] * 1e3), "of_the_bound": round(cells / passes["sweep"] * 1e3 / BOUND_CELLS, 3)}
    result |= {
        "above": len(found.extensions),
        "runs": len(found.extensions.run_ops),
    }
    distinct, fewer, _ = afresh(extender, lambda: extender.extend(t, q, distinct=True))
    result |= {"distinct_seconds": round(distinct, 4), "distinct": len(fewer.extensions), "distinct_anchors_a_second": round(len(t) / distinct)}
    sample = np.sort(np.random.default_rng(1).choice(len(t), min(compared, len(t)), replace=False))
    found = extender.extend(t[sample], q[sample], ranges=True)
    host = Extender(target, query, bounds, costs)
    host.extend(0, int(t[0]), int(q[0]))
    rows, equal, looked_at, most_cells, busiest = 0, 0, 0, -1, 0
    begun = time.perf_counter()
    by_host = [host.extend(0, int(t[i]), int(q[i]), ranges=True) for i in sample.tolist()]
    host_seconds = time.perf_counter() - begun
    for i, (one, looked) in enumerate(by_host):
        equal += same(one, looked, found, rows, i)
        rows += one is not None
        looked_at += looked.cells
        if looked.cells > most_cells:
            most_cells, busiest = looked.cells, int(sample[i])
    result |= {"compared": len(sample), "equal": equal, "taken_by_host": extender.taken_by_host}
    result |= {"host_seconds_an_anchor": round(host_seconds / len(sample), 6), "cells_if_alone": round(looked_at / len(sample) * len(t))}
    alone, found, passes = afresh(extender, lambda: extender.extend(t[busiest : busiest + 1], q[busiest : busiest + 1]))
    rows = int(max(found.boxes[0, 0], found.boxes[0, 2]))
    result["alone"] = {"seconds": round(alone, 5), "rows_of_the_longer_side": rows, "ns_a_row": round(passes["sweep"] / rows * 1e6), "milliseconds": passes}
    return result


def main() -> None:
    path, folder, *profiled = sys.argv[1:]
    if path == "-":
        target_name, query_name, kind, count, most, buffer, _ = next(iter(SETS.values()))
        target, query = (letters(Path(folder) / f"{one}.fa.gz", count) for one in (target_name, query_name))
        DeviceExtender(target, query, np.array([[0, len(target)]]), Costs(Scoring().plain(), traceback=buffer)).extend(*anchors(target, query, kind, most))
        return
    results = {}
    for name in SETS:
        results[name] = measured(Path(folder), name)
        print(name, results[name], flush=True)
    bounds = {"bound_cells_a_second": round(BOUND_CELLS), "predicted_cells_a_second": PREDICTED_CELLS, "predicted_ns_a_row_alone": PREDICTED_ROW_NS}
    write(path, {"card": gpu_record.gpu(), **bounds, "sets": results, **({"profile of the sweep": profile(profiled[0])} if profiled else {})})


if __name__ == "__main__":
    main()
