"""Long pairs on one GPU beside WFA2-lib's BiWFA on cores of the same machine: whole commands, the stage that aligns, memory, goals. Writes JSON.

python pairs_long.py RESULT.json --folder DIR --peer WFA2_PEER --reads READS.seq.gz [--only PART ..] [--device cpu] [--shrink N]

Parts, all with CIGARs; those that --only leaves out stay in RESULT.json as they are:

  alone    one pair of 100 kb with 1 % errors, affine: arrays to arrays, beside one thread
  batches  400 of 100 kb with 5 %, 200 of 100 kb with 10 %, 32 of 500 kb with 5 %, affine: `tidalign pairs` to a run directory, beside 15 threads
  huge     one pair of 5 Mb with 5 %, two-piece: the command, its memory and the GPU's
  reads    280 pairs of 100 to 300 kb, two-piece and affine: real reads joined end to end (`joined`), beside 15 threads

Pairs are those of wavefront_device.py. WFA2_PEER is wfa2_peer.c, a process for each thread; its seconds are the CPU's of the alignments alone, divided by the
threads as if all ended at once. It aligns some of the pairs. For the others as much time again is added for each pair, or, where lengths differ, for each cell:
the squares of penalties, by which it takes more for the longer ones. In `huge` and `reads` it runs while `huge` does, on other cores.
Penalties must add up to its, and CIGARs spell both sequences and cost their penalty. --shrink: so many times fewer letters and pairs, to try the script.
"""

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
from benchmarks.record import write
from benchmarks.wavefront import Peer
from benchmarks.wavefront_device import pairs
from benchmarks.whole_run_gpus import stages

import tidalign
from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.scoring.penalties import Penalties

AFFINE, TWO_PIECE = "affine:4,6,2", "affine2p:4,6,2,24,1"
PARTS = {"alone": (AFFINE,), "batches": (AFFINE,), "huge": (TWO_PIECE,), "reads": (TWO_PIECE, AFFINE)}
BATCHES = ((400, 100_000, 0.05, 150), (200, 100_000, 0.10, 60), (32, 500_000, 0.05, 15))
"""Pairs, letters, errors, and the pairs that the peer aligns."""

THREADS, REPEATS = 15, 9
HUGE, HUGE_FOR_PEER = 5_000_000, 200_000
READ_PAIRS, LEAST, MOST, READS_FOR_PEER = 280, 100_000, 300_000, 14

Sides = tuple[Sequences, Sequences]
Rows = tuple[npt.NDArray[np.int64], list[str]]
"""Penalties and CIGARs."""


class Bench:
    """Runs tidalign and the peer."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.folder, self.device, self.peer, self.shrink = arguments.folder, arguments.device, str(arguments.peer), arguments.shrink
        self.beside = ThreadPoolExecutor(2)
        self.align = wavefront_device.align if self.device == "gpu" else wavefront.align

    def biwfa(self, sides: Sides, models: tuple[str, ...], threads: int = THREADS, times: int = 1) -> list[tuple[float, int]]:
        """Align by BiWFA: for each time of each model the CPU seconds and the penalties of all processes, added up."""

        def process(number: int) -> list[tuple[float, int]]:
            mine = [(text(sides[0], row), text(sides[1], row)) for row in range(number, len(sides[0]), threads)]
            with tempfile.TemporaryDirectory() as folder:
                peer = Peer(self.peer, mine, folder)
                found = [peer.run(model, "biwfa", True)[:2] for model in models for _ in range(times)]
                peer.close()
            return found

        with ThreadPoolExecutor(threads) as pool:
            processes = list(pool.map(process, range(min(threads, len(sides[0])))))
        return [(sum(seconds for seconds, _ in each), sum(penalty for _, penalty in each)) for each in zip(*processes, strict=True)]

    def command(self, sides: Sides, model: str) -> tuple[dict[str, Any], Rows]:
        """Run `tidalign pairs` on FASTA files: its seconds and memory, and the rows."""
        files = [self.folder / f"{name}.fasta" for name in ("query", "target")]
        for file, side in zip(files, sides, strict=True):
            with file.open("wb") as out:
                out.writelines(b">r%d\n%s\n" % (row, text(side, row)) for row in range(len(side)))
        run = self.folder / "run"
        words = ["pairs", *map(str, files), "-o", str(run), "--new", "--penalties", model, "--device", self.device, "--quiet"]
        with gpu_memory(self.device) as most:
            began = time.perf_counter()
            process = subprocess.Popen([sys.executable, "-m", "tidalign.workflows", *words])
            _, status, usage = os.wait4(process.pid, 0)  # its memory, and that of processes it waited for
            seconds = time.perf_counter() - began
        if status:
            raise SystemExit(f"tidalign {' '.join(words)} ended with status {os.waitstatus_to_exitcode(status)}")
        table = tidalign.Results(run).to_table(["penalty", "cigar"])
        said = {
            "penalties": model,
            "pairs": len(sides[0]),
            "letters": int(sides[0].offsets[-1]),
            "sum of penalties": int(np.sum(table["penalty"].to_numpy())),
            "seconds": round(seconds, 3),
            "seconds of aligning": stages(run)["from the first task to the last"],
            "GB of the largest process": round(usage.ru_maxrss / 1e6, 2),
            "GB of the GPU": round(most[0] / 1e9, 2),
            "left to the host": json.loads((run / "report.json").read_text())["by_host"],
        }
        shutil.rmtree(run)
        return said, (table["penalty"].to_numpy(), table["cigar"].to_pylist())


@contextmanager
def gpu_memory(device: str) -> Iterator[list[int]]:
    """Watch how much more of the GPU's memory is taken, by whatever process: the most bytes, in a list."""
    most, stop = [0], threading.Event()
    if device == "cpu":
        yield most
        return
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    before = cupy.cuda.runtime.memGetInfo()[0]

    def watch() -> None:
        while not stop.wait(0.02):
            most[0] = max(most[0], before - cupy.cuda.runtime.memGetInfo()[0])

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        stop.set()
        thread.join()


def text(side: Sequences, row: int) -> bytes:
    return side.letters[side.offsets[row] : side.offsets[row + 1]].tobytes()


def first(sides: Sides, count: int) -> Sides:
    """Take the first pairs alone."""
    queries, targets = (Sequences(side.letters[: side.offsets[count]], side.offsets[: count + 1]) for side in sides)
    return queries, targets


def joined(path: str, count: int, least: int, most: int) -> Sides:
    """Join reads end to end, queries with queries and targets with targets: pair i has the reads from the i-th on, the first after the last, until its query
    has least + (most - least) i / count letters."""
    lines = gzip.decompress(Path(path).read_bytes()).split()
    reads = [(lines[place][1:], lines[place + 1][1:]) for place in range(0, len(lines), 2)]
    both: list[tuple[bytes, bytes]] = []
    for pair in range(count):
        mine: list[tuple[bytes, bytes]] = []
        while sum(len(query) for query, _ in mine) < least + (most - least) * pair // count:
            mine.append(reads[(pair + len(mine)) % len(reads)])
        both.append((b"".join(query for query, _ in mine), b"".join(target for _, target in mine)))
    queries, targets = (Sequences.from_strings(side) for side in zip(*both, strict=True))
    return queries, targets


def cost(cigar: str, query: bytes, target: bytes, penalties: Penalties) -> int:
    """Compute the penalty of a CIGAR over exactly these letters, as oracle.rescore does, of millions. ValueError if it does not spell both sequences."""
    if not re.fullmatch(r"(?:[1-9]\d*[=XID])+", cigar):
        raise ValueError(f"not a CIGAR: {cigar[:80]!r}")
    kinds, lengths = np.array(re.findall(r"\D", cigar)), np.array(re.findall(r"\d+", cigar)).astype(np.int64)
    v, h = (np.cumsum(np.where(kinds == gap, 0, lengths)) for gap in "DI")
    if (v[-1], h[-1]) != (len(query), len(target)) or (kinds[1:] == kinds[:-1]).any():
        raise ValueError(f"a CIGAR of {v[-1]} and {h[-1]} letters, or of runs that are one, for sequences of {len(query)} and {len(target)}")
    aligned = np.isin(kinds, ["=", "X"])
    runs = lengths[aligned]
    letter = np.arange(runs.sum()) - np.repeat(np.cumsum(runs), runs)  # of its run, from the end
    same = np.frombuffer(query, np.uint8)[np.repeat(v[aligned], runs) + letter] == np.frombuffer(target, np.uint8)[np.repeat(h[aligned], runs) + letter]
    if (same != np.repeat(kinds[aligned] == "=", runs)).any():
        raise ValueError("a CIGAR says = or X of letters that are not")
    gaps, counts = np.unique(lengths[~aligned], return_counts=True)
    of_gaps = sum(penalties.gap(length) * count for length, count in zip(gaps.tolist(), counts.tolist(), strict=True))
    return penalties.mismatch * int(lengths[kinds == "X"].sum()) + of_gaps


def check(sides: Sides, rows: Rows, model: str) -> dict[str, int]:
    """Hold CIGARs against sequences and penalties; says of how many pairs."""
    for row, penalty in enumerate(rows[0][: len(sides[0])].tolist()):
        if (found := cost(rows[1][row], text(sides[0], row), text(sides[1], row), Penalties.parse(model))) != penalty:
            raise ValueError(f"row {row}: its CIGAR costs {found}, its penalty is {penalty}")
    return {"CIGARs checked": len(sides[0])}


def judged(row: dict[str, Any], **goals: float) -> dict[str, Any]:
    """Add goals by the keys they are of, `times` at least and others at most, and, where one is missed, room to say why."""
    named = {key.replace("_", " "): goal for key, goal in goals.items()}
    met = all(row[key] >= goal if "times" in key else row[key] <= goal for key, goal in named.items())
    return row | {f"goal, {key}": goal for key, goal in named.items()} | ({} if met else {"why the goal is missed": ""})


def alone(bench: Bench) -> dict[str, Any]:
    sides, seconds = pairs(1, 100_000 // bench.shrink, 0.01), []
    for _ in range(REPEATS + 1):
        began = time.perf_counter()
        found = bench.align(*sides, Penalties.parse(AFFINE))
        seconds.append(time.perf_counter() - began)
    (_, penalty), *peer = bench.biwfa(sides, (AFFINE,), 1, REPEATS + 1)
    assert penalty == found.penalty[0], f"penalty {found.penalty[0]}, BiWFA's {penalty}"
    fastest, row = min(each for each, _ in peer), {"penalties": AFFINE, "letters": len(sides[0].letters), "penalty": penalty}
    row |= {"first seconds": round(seconds[0], 4), "median seconds": round(float(np.median(seconds[1:])), 5), "seconds": round(min(seconds[1:]), 5)}
    row |= {"left to the host": found.by_host, "BiWFA seconds": round(fastest, 5), "times one thread": round(fastest / min(seconds[1:]), 1)}
    return judged(row, times_one_thread=15)


def batches(bench: Bench) -> list[dict[str, Any]]:
    found = []
    for count, length, error, aligned in BATCHES:
        sides, arrays = pairs(max(count // bench.shrink, 1), length // bench.shrink, error), []
        for _ in range(2):
            began = time.perf_counter()
            bench.align(*sides, Penalties.parse(AFFINE))
            arrays.append(time.perf_counter() - began)
        row, rows = bench.command(sides, AFFINE)
        some = first(sides, min(aligned, len(sides[0])))
        ((cpu, penalty),) = bench.biwfa(some, (AFFINE,))
        assert penalty == rows[0][: len(some[0])].sum(), f"penalties add up to {rows[0][: len(some[0])].sum()}, BiWFA's to {penalty}"
        peer = cpu / THREADS * len(sides[0]) / len(some[0])
        row |= {"errors": error, "seconds from arrays to arrays": round(min(arrays), 3), **check(some, rows, AFFINE)}
        row |= {"pairs that BiWFA aligned": len(some[0]), "BiWFA seconds on 15 threads": round(peer, 3)}
        row |= {"times 15 threads": round(peer / row["seconds of aligning"], 1), "times 15 threads, whole command": round(peer / row["seconds"], 1)}
        found.append(judged(row, times_15_threads=30))
    return found


def huge(bench: Bench) -> dict[str, Any]:
    sides, less = pairs(1, HUGE // bench.shrink, 0.05), pairs(1, HUGE_FOR_PEER // bench.shrink, 0.05)
    peer = bench.beside.submit(bench.biwfa, less, (TWO_PIECE,), 1)
    row, rows = bench.command(sides, TWO_PIECE)
    ((cpu, penalty),) = peer.result()
    row |= check(sides, rows, TWO_PIECE) | {"letters that BiWFA aligned": len(less[0].letters), "BiWFA seconds of these on a thread": round(cpu, 2)}
    row["BiWFA seconds by cells"] = round(cpu * (float(rows[0][0]) / penalty) ** 2)
    return judged(row, seconds=20, GB_of_the_largest_process=2, GB_of_the_GPU=2)


def reads(bench: Bench, sides: Sides, peer: "Future[list[tuple[float, int]]]") -> list[dict[str, Any]]:
    found, some = [], first(sides, min(READS_FOR_PEER, len(sides[0])))
    for model, (cpu, penalty) in zip(PARTS["reads"], peer.result(), strict=True):
        row, rows = bench.command(sides, model)
        assert penalty == rows[0][: len(some[0])].sum(), f"penalties add up to {rows[0][: len(some[0])].sum()}, BiWFA's to {penalty}"
        cells = np.cumsum(rows[0].astype(np.float64) ** 2)
        seconds = cpu / THREADS * cells[-1] / cells[len(some[0]) - 1]
        row |= check(sides, rows, model) | {"pairs that BiWFA aligned": len(some[0]), "BiWFA seconds of these": round(cpu, 2)}
        row |= {"BiWFA seconds by cells on 15 threads": round(seconds, 1), "times 15 threads": round(seconds / row["seconds of aligning"], 1)}
        found.append(judged(row, seconds=8, left_to_the_host=0) if model == TWO_PIECE else row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result", type=Path)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--peer", type=Path, required=True)
    parser.add_argument("--reads", required=True)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    parser.add_argument("--shrink", type=int, default=1)
    bench = Bench(arguments := parser.parse_args())
    old = json.loads(arguments.result.read_text()) if arguments.result.exists() else {}
    result = {name: old[name] for name in ("seconds of parts", *PARTS) if name in old}
    walls = result.setdefault("seconds of parts", {})

    @contextmanager
    def timed(name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        walls[name] = round(time.perf_counter() - began, 1)
        print(f"{name}: {walls[name]} s", result.get(name, ""), flush=True)

    def part(name: str, work: Any, *more: Any) -> None:
        if name in arguments.only:
            with timed(name):
                result[name] = work(bench, *more)
            write(str(arguments.result), {**(gpu_record.gpu() if bench.device == "gpu" else {}), "peer": arguments.peer.name, **result})

    with timed("warm-up"):  # compiles
        for model in dict.fromkeys(model for name in arguments.only for model in PARTS[name]):
            bench.command(pairs(2, 40_000 // bench.shrink, 0.01), model)
    part("alone", alone)
    part("batches", batches)
    more: tuple[Any, ...] = ()
    if "reads" in arguments.only:
        sides = joined(arguments.reads, max(READ_PAIRS // bench.shrink, 1), LEAST // bench.shrink, MOST // bench.shrink)
        more = sides, bench.beside.submit(bench.biwfa, first(sides, min(READS_FOR_PEER, len(sides[0]))), PARTS["reads"], READS_FOR_PEER)
    part("huge", huge)
    part("reads", reads, *more)


if __name__ == "__main__":
    main()
