"""What each part of gapped extension on the current GPU is worth, as FastZ's paper isolates its own (5.3, Table 2), on a million bare seeds. Writes JSON.

    python tests/benchmarks/extension_ablation.py RESULT.json FOLDER

FOLDER has the genomes, NAME.fa.gz. Neighbourhoods and seeds as in seed_extensions.py. `whole`: rejection and exact rule, host arrays to folded rows. Every part
is left out by itself, and the rest stays:
- rejection: the exact rule for every seed (of some);
- rows in registers (cyclic buffers): rows kept in local memory (EXTENSION_SPILLED);
- trimming: traces of all that was swept for alignments beside those up to the ends of their paths;
- shared sweeps: every side sweeps all its rows (EXTENSION_ALONE, of some undecided seeds);
- shared ways: every path gone and fetched whole (folded.py); and rows each with its own runs on the host;
- streams: the inspector without a second batch under way; wide sweeps after the others.
Eager traceback is not built: counted is what it would serve, alignments of 16 x 16 letters on both sides, of all that reach the threshold and of some of all
seeds, rejected or not, whose best ends are asked of the exact rule (Table 2 counts those). Seconds: the least of two after a first, sweeps forgotten.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.extension_device import Passes, swept
from benchmarks.record import write
from benchmarks.seed_extensions import codes_of, timed, used_seeds

from tidalign.kernels.extension import launches as extension_launches
from tidalign.kernels.extension import runs as extension_runs
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.device import LENGTH_BINS, DeviceExtender
from tidalign.kernels.gapped.folded import Folded
from tidalign.kernels.inspection import device as inspection_device
from tidalign.kernels.scoring.scores import Scoring

SETS = {
    "yeast chrIV": ("yeast_scer_S288C_chrIV.fa.gz", "yeast_spar_CBS432_chrIV.fa.gz"),
    "E. coli x Salmonella": ("ecoli_K12_MG1655.fa.gz", "salmonella_LT2.fa.gz"),
    "random": ("random:4600000:1", "random:4600000:2"),
}
SEEDS, UNREJECTED, ALONE, EAGER = 1_000_000, 10_000, 400, 16
BOXED = [0, EAGER, *LENGTH_BINS]


@contextmanager
def macro(name: str) -> Iterator[None]:
    """Leave a part out of the kernels of extenders made meanwhile."""
    made = extension_launches.Launches.__init__

    def with_macro(launches: Any, *arguments: Any) -> None:
        made(launches, *arguments)
        launches._macros[name] = 1

    with patch.object(extension_launches.Launches, "__init__", with_macro):
        yield


def least(extender: DeviceExtender, work: Any) -> tuple[float, Any, dict[str, float]]:
    """Time work on an extender: seconds, what came of it and its kernels' milliseconds."""
    best, found, passes = np.inf, None, {}
    for go in range(3):
        if extender._launches is not None:
            extender._launches.clear()
        with Passes() as under_way:
            taken, found = timed(work)
        if go and taken < best:
            best, passes = taken, under_way.milliseconds
    return best, found, passes


def untrimmed(extender: DeviceExtender, t: Any, q: Any) -> dict[str, Any]:
    """Count the records traced, and milliseconds: up to the ends of paths, and all."""
    import cupy

    launches = extender._launches
    assert launches is not None
    launches.clear()
    launches.sweep(extender._places(t, q))
    records, passed = (extension_launches._SIDE.index(name) for name in ("records", "passed"))
    which, found = np.arange(2 * len(t)), {}
    for name, column in (("to the ends", records), ("all", passed)):
        launches.sides[:, records] = launches.sides[:, column]
        counts = cupy.asnumpy(launches.sides[:, records])
        with Passes() as under_way:
            _, _, trace = extension_runs._traced(launches, which, cupy.asarray(extension_launches.offsets_of(counts)), int(counts.sum()))
        found[name] = {"megabytes of trace": round(trace.nbytes / 1e6, 1), "milliseconds": under_way.milliseconds}
    return found


def table(lengths: Any) -> dict[str, int]:
    """Table 2's bins; lengths: of the longer side of each alignment."""
    counts = np.bincount(np.searchsorted(BOXED, lengths), minlength=len(BOXED) + 1).tolist()
    return dict(zip(["none", *(f"to {length}" for length in BOXED[1:]), "longer"], counts, strict=True))


def ends(extender: DeviceExtender, t: Any, q: Any) -> tuple[Any, Any]:
    """Sweep sides: (rows, columns) of the best ends left and right, int64[n, 2, 2]; and whether no side was too wide."""
    assert extender._launches is not None
    extender._launches.clear()
    found = extender._launches.sweep(extender._places(t, q))
    return np.stack([found["end_row"], found["end_column"]], axis=1).reshape(-1, 2, 2), (found["state"] == extension_launches.DONE).reshape(-1, 2).all(axis=1)


def measured(target: Any, query: Any) -> dict[str, Any]:
    import cupy

    costs, bounds = Costs(Scoring().plain()), np.array([[0, len(target)]])
    t, q, _ = used_seeds(target, query, SEEDS, Scoring())
    t, q = t[:SEEDS], q[:SEEDS]
    extender = DeviceExtender(target, query, bounds, costs)
    whole, folded, passes = least(extender, lambda: extender.folded(t, q))
    below, _ = extender.inspect(t, q)
    left = np.flatnonzero(~below)

    def exact(these: Any, of: DeviceExtender = extender) -> Folded:
        return of._exact(t[these], q[these], False, False).folded()

    executor, _, _ = least(extender, lambda: exact(left))
    again = min(timed(lambda: extender.folded(t, q))[0] for _ in range(2))
    records, cells = swept(extender)
    some = np.arange(0, len(t), max(1, len(t) // UNREJECTED))
    few = left[:: max(1, len(left) // ALONE)]
    without: dict[str, Any] = {}
    unrejected = least(extender, lambda: exact(some))[0]
    without["rejection"] = {"seeds": len(some), "seconds": round(unrejected, 4), "mega extensions a second": round(len(some) / unrejected / 1e6, 4)}
    with macro("EXTENSION_SPILLED"):
        spilled = DeviceExtender(target, query, bounds, costs)
        seconds, _, slower = least(spilled, lambda: exact(left, spilled))
    without["rows in registers"] = {"executor, seconds": round(seconds, 4), "sweeps, milliseconds": [passes["sweep"], slower["sweep"]]}
    together, _, kernels = least(extender, lambda: exact(few))
    with macro("EXTENSION_ALONE"):
        lonely = DeviceExtender(target, query, bounds, costs)
        seconds, _, slower = least(lonely, lambda: exact(few, lonely))
    without["shared sweeps"] = {
        "undecided": len(few),
        "executor, seconds": [round(together, 4), round(seconds, 4)],
        "sweeps, ms": [kernels["sweep"], slower["sweep"]],
    }
    with patch.object(extension_runs, "TRACE_BYTES", 64 << 30):
        without["trimming"] = untrimmed(extender, t[folded.anchor], q[folded.anchor]) if len(folded) else {}
    with patch.object(extension_runs, "_leads", lambda last, ends, records: np.arange(len(records), dtype=np.int32)):
        seconds, apart, slower = least(extender, lambda: exact(left))
    without["shared ways"] = {
        "executor, seconds": round(seconds, 4),
        "walk, ms": [passes.get("walk"), slower.get("walk")],
        "runs": [len(folded.words), len(apart.words)],
    }
    without["shared runs on the host"] = {"executor, seconds": round(least(extender, lambda: extender.extend(t[left], q[left]))[0], 4)}
    turns = inspection_device._turns
    with patch.object(inspection_device, "_turns", lambda inspector, most, count: turns(inspector, most, 1)):
        seconds = min(timed(lambda: extender.inspect(t, q))[0] for _ in range(2))
    without["a second batch of the inspector"] = {
        "inspector, seconds": [round(min(timed(lambda: extender.inspect(t, q))[0] for _ in range(2)), 4), round(seconds, 4)]
    }
    assert extender._launches is not None
    with patch.object(extender._launches, "_beside", cupy.cuda.Stream.null):
        without["a stream for wide sweeps"] = {"executor, seconds": round(least(extender, lambda: exact(left))[0], 4)}
    sides, known = ends(extender, t[some], q[some])
    all_ends, _ = ends(extender, t[left], q[left])
    short = (all_ends <= EAGER).all(axis=(1, 2))
    above = np.searchsorted(left, folded.anchor)
    return {
        "seeds": len(t),
        "rejected": int(below.sum()),
        "alignments": len(folded),
        "seconds": {"whole": round(whole, 4), "executor": round(executor, 4), "whole, with the sweeps of a go before": round(again, 4)},
        "mega extensions a second": round(len(t) / whole / 1e6, 3),
        "records": records,
        "giga cells swept": round(cells / 1e9, 2),
        "kernels, milliseconds": passes,
        "without": without,
        "eager traceback would serve": {"undecided": [int(short.sum()), len(left)], "alignments": [int(short[above].sum()), len(folded)]},
        "Table 2": {
            "alignments, of all seeds": table(np.maximum(folded.target_end - folded.target_start, folded.query_end - folded.query_start)),
            "best ends of some seeds, above the threshold or not": table(sides[known].sum(axis=1).max(axis=1)),
        },
    }


def main() -> None:
    path, folder = sys.argv[1:]
    results = {}
    for name, words in SETS.items():
        target, query = (codes_of(word if ":" in word else str(Path(folder) / word), role) for word, role in zip(words, ("target", "query"), strict=True))
        results[name] = measured(target, query)
        print(name, results[name], flush=True)
    write(path, {"card": gpu_record.gpu(), "sets": results})


if __name__ == "__main__":
    main()
