"""Measure what work takes on this machine's cores, or on its GPU, by doing some of each kind on made-up sequences: a few seconds."""

import gzip
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.cluster.task import cores
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.files.sniff import Input, sniff, text_pieces
from tidalign.pipeline.pairs.aligner import PairParameters, align_batch, aligner_of, write_rows
from tidalign.pipeline.pairs.input.read import inspect, plan
from tidalign.pipeline.pairs.pack import pack_pairs
from tidalign.pipeline.pairs.partition import partition_block
from tidalign.pipeline.pairs.scored import ScoreParameters
from tidalign.pipeline.schema import PAIRS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import PAIRS as LAYOUT
from tidalign.workflows.estimate import genome, search
from tidalign.workflows.estimate.pairs import counted
from tidalign.workflows.estimate.rates import Counts, Rates, core, fitted

DNA, RESIDUES = b"ACGT", b"ARNDCQEGHILKMFPSTWYV"

PAIR_SETS = ((2000, 100, 0.02), (500, 150, 0.1), (200, 1000, 0.02), (100, 1000, 0.1), (60, 1000, 0.25), (20, 4000, 0.08), (10, 10_000, 0.01), (4, 10_000, 0.06))
"""Pairs, their letters and differences a letter: what terms of pairs by penalties are fitted to."""

LONG_PAIR_SETS = ((1, 40_000, 0.01), (1, 40_000, 0.04), (2, 60_000, 0.002))
"""The same of pairs that are cut from both ends."""

SCORED = ((1024, 150, 0.05), (256, 500, 0.05), (128, 1000, 0.05))
"""The same of pairs by scores, as many as fill the lanes of a vector."""

MODELS = ("edit", "linear:4,2", "affine:4,6,2", "affine2p:4,6,2,24,1")
SCORINGS = {
    "match:2,mismatch:-4,gap:4,2": DNA,
    "match:2,mismatch:-4,gap:4,2,24,1": DNA,
    "blosum62,gap:11,1": RESIDUES,
    "blosum62,gap:11,1,32,1": RESIDUES,
}

REPEATS = 2
"""How often each thing is done after it was compiled; the quickest counts, as whatever else the machine does makes it slower only."""

Measurements = list[tuple[Counts, float]]


def calibrated(device: Device, name: str = "") -> Iterator[tuple[int, int, Rates | None]]:
    """Measure a device; name: of a GPU. Yields how many kinds of work are done, of how many, and at the end the rates."""
    steps: list[Callable[[], dict[str, Measurements]]] = [partial(_wavefront, device, model) for model in MODELS]
    steps += [partial(_scores, device, scoring) for scoring in SCORINGS]
    steps += [partial(_start_of_gpu, device)] if device.takes_gpu else [_reading, _writing, _starting]
    steps += [partial(search.points, device, _best), partial(genome.points, device, _best)]
    seconds: dict[str, dict[str, float]] = {}
    for done, step in enumerate(steps):
        yield done, len(steps), None
        seconds |= {kind: fitted(points) for kind, points in step().items()}
    measured = f"measured on {time.strftime('%Y-%m-%d')} by tidalign {version('tidalign')}"
    yield len(steps), len(steps), Rates(name or core(), device.takes_gpu, measured, seconds)


def _best(device: Device, work: Callable[[], Any]) -> float:
    """Measure the seconds of some work: of this process's cores, or of the clock where a GPU does it."""
    clock = time.perf_counter if device.takes_gpu else time.process_time
    work()
    taken = []
    for _ in range(REPEATS):
        began = clock()
        work()
        taken.append(clock() - began)
    return max(min(taken), 1e-6)


def _waited(work: Callable[[], Any]) -> float:
    """Measure the seconds of some work by the clock, as the disk is waited for, too."""
    taken = []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return min(taken)


def made(alphabet: bytes, count: int, length: int, error: float) -> Any:
    """Make pairs up, a table in `schema.PAIRS`: a third each of their differences are other letters, letters less and letters more."""
    random, letters = np.random.default_rng(length), np.frombuffer(alphabet, np.uint8)
    sides: tuple[list[bytes], list[bytes]] = ([], [])
    for _ in range(count):
        query, change = random.choice(letters, length), random.random(length) / max(error, 1e-9)
        changed = np.where(change < 1 / 3, random.choice(letters, length), query)
        doubled, kept = np.stack([changed, random.choice(letters, length)], axis=1), np.ones((length, 2), np.bool_)
        kept[:, 0], kept[:, 1] = ~((change >= 1 / 3) & (change < 2 / 3)), (change >= 2 / 3) & (change < 1)
        sides[0].append(query.tobytes())
        sides[1].append(doubled[kept].tobytes())
    names = [str(number) for number in range(count)]
    return (
        pa.table([range(count), names, sides[0], names, sides[1]], names=["ordinal", "query_name", "query", "target_name", "target"])
        .select(PAIRS.names)
        .cast(PAIRS)
    )


def _wavefront(device: Device, model: str) -> dict[str, Measurements]:
    found: dict[str, Measurements] = {}
    for sets in (PAIR_SETS, LONG_PAIR_SETS):
        for count, length, error in sets:
            chunk = pack_pairs(made(DNA, count, length, error))
            for penalty_only in (False, True):
                parameters = PairParameters(penalties=model, penalty_only=penalty_only)
                for kind, point in _aligned(device, chunk, parameters).items():
                    found.setdefault(kind, []).append(point)
    return found


def _scores(device: Device, scoring: str) -> dict[str, Measurements]:
    found: dict[str, Measurements] = {}
    for count, length, error in SCORED:
        for report in ("score", "ends", "cigar"):
            parameters = ScoreParameters(scoring, report=report)
            chunk = pack_pairs(made(SCORINGS[scoring], count, length, error), plain=parameters.plain)
            for kind, point in _aligned(device, chunk, parameters).items():
                found.setdefault(kind, []).append(point)
    return found


def _aligned(device: Device, chunk: Any, parameters: Any) -> dict[str, tuple[Counts, float]]:
    """Measure the alignment of some pairs, of as many as keep the device busy."""
    times = max(1, int(device.batch_rows / CPU.batch_rows))
    rows = pa.concat_tables([chunk] * times).combine_chunks()
    aligner = aligner_of(parameters)

    def work() -> Any:
        with device.turn():
            return align_batch(aligner, rows, parameters, device)

    penalties = None if parameters.scored else work()["penalty"].to_numpy().astype(np.float64)
    query, target = (rows[f"{side}_length"].to_numpy().astype(np.float64) for side in ("query", "target"))
    counts = counted(parameters, query, target, penalties, np.ones(len(rows))).kinds
    seconds = _best(device, work)
    return {kind: (terms, seconds) for kind, terms in counts.items()}


def _reading() -> dict[str, Measurements]:
    """Measure reading FASTQ and FASTA into chunks, and unpacking gzip."""
    points: Measurements = []
    unpacked: Measurements = []
    with tempfile.TemporaryDirectory(prefix="tidalign-") as place:
        for count, length in ((30_000, 100), (4000, 1000), (10, 100)):
            pairs = made(DNA, min(count, 500), length, 0.02).to_pylist() * (count // min(count, 500))
            queries = b"".join(b"@%d\n%s\n+\n%s\n" % (number, pair["query"], b"I" * len(pair["query"])) for number, pair in enumerate(pairs))
            targets = b"".join(b">%d\n%s\n" % (number, pair["target"]) for number, pair in enumerate(pairs))
            names = Path(place, "queries.fq"), Path(place, "targets.fa")
            for name, text in zip(names, (queries, targets), strict=True):
                name.write_bytes(text)
            source = inspect(*map(str, names))
            runs = iter(range(100))

            def work(source: Any = source, runs: Iterator[int] = runs, length: int = length) -> None:
                run = f"{place}/run{length}.{next(runs)}"
                rundir.probe(run, LAYOUT)
                rundir.create(run, aligner_of(PairParameters()).to_json(PairParameters()), source.to_json())
                for block in plan(source) or ():
                    partition_block(run, source, block)

            points.append(({"pair": count, "byte": len(queries) + len(targets), "run": 1.0}, _waited(work)))
            if count > 10:
                packed = Path(place, "queries.fq.gz")
                packed.write_bytes(gzip.compress(queries, 6))
                found = sniff(str(packed))
                unpacked.append(({"byte": len(queries)}, _best(CPU, partial(_drained, found))))
    return {"read": points, "unpack": unpacked}


def _drained(source: Input) -> None:
    for _ in text_pieces(source):
        pass


def _writing() -> dict[str, Measurements]:
    """Measure writing the parts of pairs."""
    points: Measurements = []
    parameters = PairParameters()
    for count, times, length, error in ((500, 40, 150, 0.02), (200, 5, 1000, 0.1), (20, 1, 100, 0.02)):
        rows = align_batch(aligner_of(parameters), pack_pairs(made(DNA, count, length, error)), parameters, CPU)
        table = pa.concat_tables([rows] * times)
        steps = float(table["penalty"].to_numpy().sum()) / Penalties.parse(parameters.penalties).unit()
        with tempfile.TemporaryDirectory(prefix="tidalign-") as place:
            Path(place, "parts").mkdir()
            seconds = _waited(partial(write_rows, place, "calibration", "b00000", 0, len(table), table))
        points.append(({"row": len(table), "step": steps, "part": 1.0}, seconds))
    return {"write": points}


def _starting() -> dict[str, Measurements]:
    """Measure what a command takes that has next to nothing to do, and what it waits for workers."""
    alone, hired = _command("--device", CPU.name), _command("--device", CPU.name, "--workers", str(cores()))
    return {"start": [({"command": 1.0, "workers": 0.0}, alone), ({"command": 1.0, "workers": 1.0}, max(alone, hired))]}


def _start_of_gpu(device: Device) -> dict[str, Measurements]:
    """Measure what a command takes more that uses the GPU."""
    return {"start": [({"device": 1.0}, max(0.01, _command("--device", device.name) - _command("--device", CPU.name)))]}


def _command(*words: str) -> float:
    """Measure the seconds of a command over one short pair."""
    taken = []
    with tempfile.TemporaryDirectory(prefix="tidalign-") as place:
        Path(place, "a.seq").write_text(">ACGTACGT\n<ACGTACGT\n")
        for number in range(2 * REPEATS):
            began = time.perf_counter()
            line = [sys.executable, "-P", "-m", "tidalign.workflows", "pairs", f"{place}/a.seq", "-o", f"{place}/{number}", "--quiet", *words]
            subprocess.run(line, check=True, stdout=subprocess.DEVNULL)  # why it cannot be done is said by the command
            taken.append(time.perf_counter() - began)
    return min(taken)
