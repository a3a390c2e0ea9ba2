"""Alignment by scores on the current GPU: cells a second of the kernels and of arrays to arrays, beside the figures of GPU peers and the bound. Writes JSON.

    python tests/benchmarks/local_device.py RESULT.json [--only WORD] [--search NAME QUERIES DATABASE OPTIONS] ...

Pairs are those of `wavefront_device.py` at 5 % error, queries with proteins random residues. Kernel times are the device's own (events around launches), the
best of three calls; whole times are of `pairs_device.align_uploaded`, letters on the device, results on the host.
--search: whole commands, `tidalign search QUERIES DATABASE`, on one GPU and on all.
"""

import argparse
import hashlib
import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record
from wavefront_device import pairs

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import launches
from tidalign.kernels.local.uploaded import uploaded
from tidalign.kernels.scoring.substitution import RESIDUES, Substitution
from tidalign.kernels.search import best_device
from tidalign.kernels.wavefront.alignments import Alignments

DNA = "match:1,mismatch:-4,gap:6,2"
CELLS = {4096: 3e11, 10_000: 1e12}
"""Of a set of pairs of a length; of others 1e11. Fewer long pairs would not fill the GPU."""

LENGTHS = (128, 150, 256, 512, 1024, 2048, 4096, 10_000)
BOUND = {"narrow": 7.43e12, "wide": 3.72e12}
"""Cells a second that the integer unit allows at 1.98 GHz, 64 operations a clock and 4.5 a cell: scores of two pairs of 16 bits, or of one of 32, a lane."""
PEERS = {128: 931, 256: 1038, 512: 1038, 1024: 1038, 4096: 377}
"""GCUPS of GASAL2's local affine scores (kernels, the same kind of GPU, another run)."""

MINIMAP2 = "match:2,mismatch:-4,gap:4,2,24,1"
AGATHA = 683
"""GCUPS of AGAThA's extension over whole matrices, its best (kernel, the same kind of GPU, another run)."""
EXTENSION_BOUND = 2.09e12
"""Cells a second that the integer unit allows at 8 operations: letters' score, two to choose of five states, a gap's state each, and the antidiagonal's."""
PREDICTED = {
    **{(1024, 0.05): 3000, (2048, 0.05): 3500, (4096, 0.05): 5500, (10_000, 0.05): 6000},
    **{(1024, 0.01): 5000, (10_000, 0.01): 15_000, (1024, 0.15): 1500, (10_000, 0.15): 2000},
}
"""By length and error: 1,500 billion cells a second over the share of the matrix that bands have."""

spent: dict[str, list[Any]] = {}


def timed_launch(kernel: Any, *arguments: Any, **options: Any) -> None:
    import cupy

    events = [cupy.cuda.Event() for _ in range(2)]
    events[0].record()
    LAUNCH(kernel, *arguments, **options)
    events[1].record()
    spent.setdefault(kernel.name, []).append(events)


LAUNCH = launches.compiler.launch
launches.compiler.launch = timed_launch


def of_kernels() -> dict[str, float]:
    """Sum the seconds of each kernel since `spent` was cleared."""
    import cupy

    return {name: sum(cupy.cuda.get_elapsed_time(*each) for each in events) / 1e3 for name, events in spent.items()}


def measured(query: Any, target: Any, coding: Coding, *, rounds: int = 3, **options: Any) -> tuple[dict[str, Any], Alignments]:
    """Align so often: the least seconds, of each kernel, of all of these and of the whole call, with rates; and what was found."""
    cells = float((query.lengths.astype(float) * target.lengths).sum())
    best: dict[str, float] = {}
    for _ in range(rounds):
        spent.clear()
        began = time.perf_counter()
        found = pairs_device.align_uploaded(query, target, coding, **options)
        seconds = {"whole": time.perf_counter() - began}
        seconds |= of_kernels()
        seconds["kernels"] = sum(
            seconds.get(name, 0.0) for name in ("local_extensions", "local_paired_extensions", "local_scores", "local_traces", "operations_gathered")
        )
        best = {name: min(value, best.get(name, value)) for name, value in seconds.items()}
    assert found.by_host == 0
    rates = {name: round(cells / best[name] / 1e9) for name in ("kernels", "whole")}
    return {"seconds": {name: round(value, 5) for name, value in best.items()}, "gcups": rates}, found


def one_to_one() -> list[dict[str, Any]]:
    coding = Coding(Substitution.parse(DNA))
    rows = []
    for length in LENGTHS:
        count = int(CELLS.get(length, 1e11) / length**2)
        query, target = (uploaded(side, coding) for side in pairs(count, length, 0.05))
        for report in ("score", "cigar"):
            row = {"length": length, "pairs": count, "report": report, **measured(query, target, coding, report=report)[0]}
            rows.append(row | {"of the bound": round(row["gcups"]["kernels"] * 1e9 / BOUND["narrow"], 3), "GASAL2, another run": PEERS.get(length)})
            print(row, flush=True)
    return rows


def one_to_many() -> list[dict[str, Any]]:
    """Measure 20 queries of a length with sequences of 512 letters, the best ten of each."""
    random = np.random.default_rng(1)
    rows = []
    for text, alphabet in (("blosum62", RESIDUES[:20]), (DNA, "ACGT")):
        coding = Coding(Substitution.parse(text))
        letters = np.frombuffer(alphabet.encode(), np.uint8)
        for length in (144, 512, 1024, 2005, 5478):
            count = int(1e11 / length / 512)
            query = uploaded(Sequences(random.choice(letters, 20 * length), np.arange(21) * length), coding)
            target = uploaded(Sequences(random.choice(letters, 512 * count), np.arange(count + 1) * 512), coding)
            best: dict[str, float] = {}
            for _ in range(2):
                spent.clear()
                began = time.perf_counter()
                best_device.search([query], target, coding, top=10, least=1)
                seconds = {"whole": time.perf_counter() - began, **of_kernels()}
                best = {name: min(value, best.get(name, value)) for name, value in seconds.items()}
            rates = {name: round(20.0 * length * 512 * count / best[name] / 1e9) for name in ("local_scores", "whole")}
            rows.append({"scoring": text, "queries": 20, "query": length, "targets": count, "target": 512, "gcups": rates})
            print(rows[-1], flush=True)
    return rows


def long_pairs() -> list[dict[str, Any]]:
    rows = []
    for text in (DNA, "match:2,mismatch:-4,gap:4,2,24,1"):
        coding = Coding(Substitution.parse(text))
        query, target = (uploaded(side, coding) for side in pairs(1, 100_000, 0.05))
        for report in ("score", "cigar"):
            rows.append({"scoring": text, "length": 100_000, "pairs": 1, "report": report, **measured(query, target, coding, report=report)[0]})
            print(rows[-1], flush=True)
    return rows


def extensions() -> list[dict[str, Any]]:
    """Measure extensions from the first letters on, by minimap2's defaults: cells are those of whole matrices, as AGAThA's are, most of which are not made."""
    coding = Coding(Substitution.parse(MINIMAP2))
    rows = []
    for length, error in ((1024, 0.05), (2048, 0.05), (4096, 0.05), (10_000, 0.05), (1024, 0.01), (10_000, 0.01), (1024, 0.15), (10_000, 0.15)):
        count = int(CELLS.get(length, 1e11) / length**2)
        query, target = (uploaded(side, coding) for side in pairs(count, length, error))
        for report in ("ends", "cigar") if error == 0.05 else ("ends",):
            row = {"length": length, "error": error, "pairs": count, "report": report}
            row |= measured(query, target, coding, span="extension", zdrop=400, report=report)[0]
            if report == "ends":
                row |= {"predicted gcups": PREDICTED[length, error], "of AGAThA's, another run": round(row["gcups"]["kernels"] / AGATHA, 2)}
                row["of the bound without a band"] = round(row["gcups"]["kernels"] * 1e9 / EXTENSION_BOUND, 3)
            rows.append(row)
            print(row, flush=True)
    return rows


def searched(name: str, queries: str, database: str, options: str) -> list[dict[str, Any]]:
    import cupy

    rows = []
    for gpus in sorted({1, cupy.cuda.runtime.getDeviceCount()}):
        with tempfile.TemporaryDirectory() as folder:
            words = ["search", queries, database, "-o", f"{folder}/out", "--device", "gpu", "--gpus", str(gpus), "--quiet", *shlex.split(options)]
            began = time.perf_counter()
            subprocess.run([sys.executable, "-m", "tidalign.workflows", *words], check=True)
            seconds = time.perf_counter() - began
            report = json.loads(Path(folder, "out", "report.json").read_text())
            parts = sorted(Path(folder, "out", "parts").glob("*.parquet"))
            digest = hashlib.sha256(b"".join(part.name.encode() + part.read_bytes() for part in parts)).hexdigest()[:16]
        row = {"search": name, "options": options, "gpus": gpus, "cells": report["cells"], "seconds": round(seconds, 2), "parts": digest}
        rows.append(row | {"gcups": round(report["cells"] / seconds / 1e9), "rows": sum(report["statuses"].values())})
        print(rows[-1], flush=True)
    return rows


JOBS = {"one to one": one_to_one, "one to many": one_to_many, "long": long_pairs, "extensions": extensions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--only", default="")
    parser.add_argument("--search", nargs=4, action="append", default=[], metavar=("NAME", "QUERIES", "DATABASE", "OPTIONS"))
    arguments = parser.parse_args()
    found = {name: job() for name, job in JOBS.items() if arguments.only in name}
    found["searches"] = [row for each in arguments.search for row in searched(*each)]
    record.write(arguments.result, {"card": gpu_record.gpu(), **found})


if __name__ == "__main__":
    main()
