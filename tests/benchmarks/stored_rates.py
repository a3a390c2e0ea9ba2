"""Make workflows/estimate/stored.json, the rates for those who have measured none: of this machine's core, as `tidalign check --calibrate` kept them (or those
that were stored stay), and of an H200, from the file that it kept there (or those that were stored stay); but of pairs by penalties fitted to what its kernels
took in results/wavefront_device_h200.json and pairs_long_h200.json, from letters in memory to CIGARs in memory or, where that is not there, of a command's
aligning, and of seeds to the work of whole commands over large genomes.

python tests/benchmarks/stored_rates.py [RATES_OF_THE_H200.json]
"""

import json
import sys
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import numpy as np
from pairs_long import LEAST, MOST

from tidalign.pipeline.device import CPU
from tidalign.pipeline.pairs.aligner import WAVEFRONT, PairParameters
from tidalign.pipeline.pairs.pack import pack_pairs, packed
from tidalign.workflows.estimate import calibrate, rates
from tidalign.workflows.estimate.pairs import counted

RESULTS = Path(__file__).parent / "results"
RECORD, LONG = RESULTS / "wavefront_device_h200.json", RESULTS / "pairs_long_h200.json"

GENOMES = {
    "genome_175x50_h200": 9_365_631_168,
    "genome_250x230_h200": 61_537_212_887,
    "genome_2900x650_h200": 1.95e12,
    "genome_2900x2600_2gpus_h200": 8.15e12,
}
"""Seed hits of each, of the last two as `tidalign estimate` has them; counted were the others."""

ERRORS_OF = 64
"""Pairs whose penalties stand for those of the record, which has them of the same lengths and errors."""


def seed(index: float) -> dict[str, float]:
    """Fit the rates of seeds to whole runs. index: seconds of a letter of the target."""
    points: calibrate.Measurements = []
    for name, hits in GENOMES.items():
        record = json.loads((RESULTS / f"{name}.json").read_text())
        target, query = record["letters"]
        taken = record["stages"]["work"] if "stages" in record else record["seconds as the run says"]
        points.append(({"letter": 2.0 * query, "hit": hits}, taken * record["gpu"]["cards"] - index * target))
    return rates.fitted(points)


def long_pairs() -> dict[str, calibrate.Measurements]:
    """Give what pairs took that are aligned from both ends, by kind of work. Joined reads have lengths from the least to the most; penalties go with them."""
    record = json.loads(LONG.read_text())
    points: dict[str, calibrate.Measurements] = defaultdict(list)
    for each in [*record["batches"], record["huge"], *record["reads"]]:
        count, lengths = each["pairs"], np.ones(each["pairs"])
        if each in record["reads"]:
            lengths = np.linspace(LEAST, MOST, count)
        shares = lengths / lengths.sum()
        parameters = PairParameters(penalties=each["penalties"])
        seconds = each.get("seconds from arrays to arrays", each["seconds of aligning"])
        sides = 2 * [shares * each["letters"]]
        for kind, counts in counted(parameters, *sides, shares * each["sum of penalties"], np.ones(count)).kinds.items():
            points[kind].append((counts, seconds))
    return points


def of_h200(kept: dict[str, dict[str, float]]) -> rates.Rates:
    points = long_pairs()
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
    seconds = kept | {kind: rates.fitted(found) for kind, found in points.items()} | {"seed": seed(kept["index"]["letter"])}
    return rates.Rates(
        record["card"]["card"], True, f"measured there; of pairs fitted to {RECORD.name} and {LONG.name}, of seeds to genomes of up to 2.9 Gb", seconds
    )


def rounded(found: rates.Rates, measured: str) -> dict[str, object]:
    seconds = {kind: {term: float(f"{rate:.3g}") for term, rate in terms.items()} for kind, terms in found.seconds.items()}
    return asdict(found) | {"measured": measured, "seconds": seconds}


if __name__ == "__main__":
    were = {each["device"]: each["seconds"] for each in json.loads(rates._STORED.read_text())}
    kept = json.loads(Path(sys.argv[1]).read_text())["seconds"] if len(sys.argv) > 1 else were["NVIDIA H200"]
    core, h200 = rates.of_core(), of_h200(kept)
    measured = core.measured if rates.is_stored(core) else f"one of {calibrate.cores()} cores, {core.measured}"
    stored = [rounded(core, measured), rounded(h200, h200.measured)]
    rates._STORED.write_text(json.dumps(stored, indent=1) + "\n")
