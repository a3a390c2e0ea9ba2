"""Make workflows/estimate/stored.json, the rates for those who have measured none: of this machine's core, as `tidalign check --calibrate` kept them, and of an
H200, fitted to what its kernels took in results/wavefront_device_h200.json, from letters in memory to CIGARs in memory.

python tests/benchmarks/stored_rates.py
"""

import json
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import numpy as np

from tidalign.pipeline.device import CPU
from tidalign.pipeline.pairs.aligner import WAVEFRONT, PairParameters
from tidalign.pipeline.pairs.pack import pack_pairs, packed
from tidalign.workflows.estimate import calibrate, rates
from tidalign.workflows.estimate.pairs import counted

RECORD = Path(__file__).parent / "results" / "wavefront_device_h200.json"

START = 0.85
"""Seconds that a command with a GPU takes longer to start there: 1,000 pairs in 1.3 s for 0.48 s without."""

ERRORS_OF = 64
"""Pairs whose penalties stand for those of the record, which has them of the same lengths and errors."""


def of_h200() -> rates.Rates:
    points: dict[str, calibrate.Measurements] = defaultdict(list)
    record = json.loads(RECORD.read_text())
    for each in record["work"]:
        chunk = pack_pairs(calibrate.made(calibrate.DNA, ERRORS_OF if each["length"] <= 1000 else 8, each["length"], each["error"]))
        query, target = packed(chunk, "query"), packed(chunk, "target")
        bare = PairParameters(penalties=each["penalties"], penalty_only=True)
        penalties = WAVEFRONT.on(CPU).align(query, target, bare).penalty.astype(float)
        parameters = PairParameters(penalties=each["penalties"], penalty_only=not each["cigar"])
        weights = np.full(len(chunk), each["pairs"] / len(chunk))
        for kind, counts in counted(parameters, query.lengths.astype(float), target.lengths.astype(float), penalties, weights).kinds.items():
            points[kind].append((counts, each["letters"]["seconds"]))
    seconds = {kind: rates.fitted(found) for kind, found in points.items()} | {"start": {"device": START}}
    return rates.Rates(record["card"]["card"], True, f"fitted to {len(record['work'])} records of {RECORD.name}", seconds)


def rounded(found: rates.Rates, measured: str) -> dict[str, object]:
    seconds = {kind: {term: float(f"{rate:.3g}") for term, rate in terms.items()} for kind, terms in found.seconds.items()}
    return asdict(found) | {"measured": measured, "seconds": seconds}


if __name__ == "__main__":
    core, h200 = rates.of_core(), of_h200()
    if rates.is_stored(core):
        raise SystemExit("no rates of this machine: run `tidalign check --calibrate` first")
    stored = [rounded(core, f"one of {calibrate.cores()} cores, {core.measured}"), rounded(h200, h200.measured)]
    rates._STORED.write_text(json.dumps(stored, indent=1) + "\n")
