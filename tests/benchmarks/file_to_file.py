"""`tidalign pairs` and `tidalign export` from file to file in this process, with what each of its threads did when.

python file_to_file.py RESULT.json --folder DIR [--pairs N] [--length L] [--error E] [--form fastq|fasta] [--runs 2]
                       [--predicted "STAGE=SECONDS;..."] [--peer NAME COMMAND] .. [-- MORE OPTIONS OF tidalign pairs]

Pairs are simulated (random bases; each base changed, dropped or doubled with probability E / 3 each) into two files under DIR, kept for the next call.
The stages are timed by wrapping the functions that do them, so nothing of it is in the product; work done by processes of a run is not seen.
The last of the runs is recorded: earlier ones leave kernels compiled and files in memory; the run in a process of its own, started after them, has
imports and the device's start in it too. Beside each stage stands what the machine allows: files read and written by as many threads as there are cores
without anything done to them, the bus at its measured speed, the kernels at theirs (`results/wavefront_device_h200.json`).
`stage_timeline.py` makes a picture of the record. A peer's COMMAND finds the same pairs in the file {seq}, a query after > and a target after < on lines
of their own; its process is timed as ours is.
"""

import argparse
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).parent))
import record

if TYPE_CHECKING:
    from collections.abc import Callable

SLICE_BASES = 20_000_000
"""Letters of queries simulated at once, by one process."""

Span = tuple[str, int, float, float]
"""Stage, thread, begin and end in seconds."""


def simulate(folder: Path, pairs: int, length: int, error: float, form: str, processes: int) -> tuple[Path, Path]:
    """Write two files of the pairs; seeded, so that the same arguments give the same files."""
    files = tuple(folder / f"{pairs}x{length}_{error}_{side}.{form}" for side in ("query", "target"))
    if all(file.exists() for file in files):
        return files[0], files[1]
    step = max(1, SLICE_BASES // length)
    slices = [(start, min(step, pairs - start), length, error, form, str(folder)) for start in range(0, pairs, step)]
    with ProcessPoolExecutor(processes) as pool, files[0].open("wb") as queries, files[1].open("wb") as targets:
        for written in pool.map(_simulate, slices):
            for path, out in zip(written, (queries, targets), strict=True):
                with path.open("rb") as part:
                    shutil.copyfileobj(part, out, 1 << 24)
                path.unlink()
    return files[0], files[1]


def _simulate(work: tuple[int, int, int, float, str, str]) -> list[Path]:
    start, count, length, error, form, folder = work
    letters = np.frombuffer(b"ACGT", np.uint8)
    rng = np.random.default_rng([start, length])
    query = rng.integers(0, 4, (count, length), np.uint8)
    draw = rng.random((count, length), np.float32)
    target = np.where(draw < error / 3, (query + rng.integers(1, 4, (count, length), np.uint8)) & 3, query)
    copies = np.where(draw < error / 3, 1, np.where(draw < 2 * error / 3, 0, np.where(draw < error, 2, 1))).astype(np.uint8)
    flat = letters[np.repeat(target.ravel(), copies.ravel())]
    ends = np.concatenate([[0], np.cumsum(copies.sum(axis=1, dtype=np.int64))])
    paths = [Path(folder, f"{start}.{side}.part") for side in ("query", "target")]
    for path, text, bounds in ((paths[0], letters[query].ravel(), np.arange(count + 1) * length), (paths[1], flat, ends)):
        _write(path, text.tobytes(), bounds, start, form)
    return paths


def _write(path: Path, text: bytes, bounds: npt.NDArray[np.int64], start: int, form: str) -> None:
    quality = b"I" * int(np.diff(bounds).max())
    with path.open("wb", buffering=1 << 20) as out:
        for i, (a, b) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
            if form == "fasta":
                out.write(b">r%d\n%s\n" % (start + i, text[a:b]))
            else:
                out.write(b"@r%d\n%s\n+\n%s\n" % (start + i, text[a:b], quality[: b - a]))


class Watch:
    """Spans of the functions it wraps."""

    def __init__(self) -> None:
        self.spans: list[Span] = []

    def wrap(self, owner: Any, name: str, stage: str) -> None:
        function: Callable[..., Any] = getattr(owner, name)

        def timed(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                self.spans.append((stage, threading.get_ident(), begin, time.perf_counter()))

        setattr(owner, name, timed)


def watched(gpu: bool) -> Watch:
    """Wrap the stages of a run to watch them."""
    from tidalign.pipeline.pairs import aligner as align
    from tidalign.pipeline.pairs import partition, results
    from tidalign.pipeline.store import parts
    from tidalign.workflows.run import crew
    from tidalign.workflows.run.pairs import alignment, tasks

    watch = Watch()
    watch.wrap(crew.Crew, "_hire", "start workers")
    watch.wrap(alignment, "_placed", "count records")
    watch.wrap(partition, "packed_block", "read and pack")
    watch.wrap(partition, "write_table", "write chunk")
    watch.wrap(tasks, "read_chunk", "read chunk")
    if gpu:
        from tidalign.kernels.pairwise import wavefront_device as kernels
    else:
        from tidalign.kernels.pairwise import wavefront as kernels  # type: ignore[no-redef]
    watch.wrap(kernels, "align", "copy in, align, copy out")
    watch.wrap(align, "cigar_text", "CIGAR text")
    watch.wrap(align, "cigar_counts", "CIGAR counts")
    watch.wrap(parts, "write_tables", "write part")
    watch.wrap(results.Results, "export", "export")
    return watch


def summary(spans: list[Span]) -> dict[str, dict[str, float]]:
    """Sum up each stage: calls, seconds of all threads together, and seconds in which at least one was at it."""
    stages: dict[str, list[tuple[float, float]]] = {}
    for stage, _, begin, end in spans:
        stages.setdefault(stage, []).append((begin, end))
    result = {}
    for stage, times in stages.items():
        busy, reached = 0.0, float("-inf")
        for begin, end in sorted(times):
            busy += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        result[stage] = {"calls": len(times), "thread seconds": round(sum(e - b for b, e in times), 3), "seconds": round(busy, 3)}
    return result


def file_speeds(inputs: tuple[Path, ...], folder: Path, threads: int) -> dict[str, float]:
    """Measure bytes a second of reading files that are in memory, and of writing as many bytes as a run's parts, forced to disk."""
    piece, size = 1 << 22, 1 << 26

    def read(place: tuple[Path, int]) -> int:
        buffer = bytearray(piece)
        with place[0].open("rb", buffering=0) as file:
            file.seek(place[1])
            return sum(file.readinto(buffer) for _ in range(8))

    def write(number: int) -> int:
        path = folder / f"{number}.written"
        with path.open("wb", buffering=0) as file:
            for _ in range(size // len(data)):
                file.write(data)
            os.fsync(file.fileno())
        path.unlink()
        return size

    data = os.urandom(piece)
    speeds = {}
    with ThreadPoolExecutor(threads) as pool:
        for name, work, items in (
            ("read", read, [(path, start) for path in inputs for start in range(0, path.stat().st_size, 8 * piece)]),
            ("write", write, range(2 * threads)),
        ):
            began = time.perf_counter()
            moved = sum(pool.map(work, items))  # type: ignore[arg-type]
            speeds[name] = moved / (time.perf_counter() - began)
    return speeds


def bounds(arguments: argparse.Namespace, options: list[str], sizes: dict[str, int], speeds: dict[str, float]) -> dict[str, float]:
    """Compute the seconds that each stage takes at least."""
    found = {
        "count records": sizes["input"] / speeds["read"],
        "read and pack": sizes["input"] / speeds["read"],
        "write chunk": sizes["chunks"] / speeds["write"],
        "read chunk": sizes["chunks"] / speeds["read"],
        "write part": sizes["parts"] / speeds["write"],
        "export": sizes["export"] / speeds["write"],
    }
    known = json.loads((Path(__file__).parent / "results" / "wavefront_device_h200.json").read_text())["work"]
    for work in known:
        if (work["length"], work["error"], work["penalties"], work["cigar"]) == (arguments.length, arguments.error, _penalties(options), True):
            found["copy in, align, copy out (kernels)"] = arguments.pairs / work["kernel_mega_pairs_per_second"] / 1e6
            found["copy in, align, copy out (bus)"] = arguments.pairs / work["packed"]["bus_bound"] / 1e6
    return {stage: round(seconds, 4) for stage, seconds in found.items()}


def _penalties(options: list[str]) -> str:
    return options[options.index("--penalties") + 1] if "--penalties" in options else "affine:4,6,2"


def alone(words: list[str]) -> float:
    """Time the command in a process of its own."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tidalign.workflows", *words], check=True)
    return round(time.perf_counter() - began, 3)


def one_file(queries: Path, targets: Path, form: str, seq: Path) -> Path:
    """Write both sides into one file, a query after > and a target after < on lines of their own, if it is not there; gives the file."""
    if not seq.exists():
        lines = 4 if form == "fastq" else 2
        with queries.open("rb") as query, targets.open("rb") as target, seq.open("wb", buffering=1 << 22) as out:
            for i, (one, other) in enumerate(zip(query, target, strict=True)):
                if i % lines == 1:
                    out.write(b">%s<%s" % (one, other))
    return seq


def peer_seconds(command: str, seq: Path, queries: Path, targets: Path, form: str) -> float:
    """Time a peer's process over the same pairs, the better of two."""
    one_file(queries, targets, form, seq)
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        subprocess.run(shlex.split(command.format(seq=seq)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - began)
    return round(min(seconds), 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=2_000_000)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--error", type=float, default=0.05)
    parser.add_argument("--form", choices=("fastq", "fasta"), default="fastq")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--predicted", default="")
    parser.add_argument("--peer", nargs=2, action="append", default=[], metavar=("NAME", "COMMAND"))
    own, _, more = shlex.join(sys.argv[1:]).partition(" -- ")
    arguments = parser.parse_args(shlex.split(own))
    options = shlex.split(more)
    from tidalign.cluster.task import cores
    from tidalign.workflows import cli

    queries, targets = simulate(arguments.folder, arguments.pairs, arguments.length, arguments.error, arguments.form, cores())
    gpu = "cpu" not in options  # as in --device cpu
    run, exported = arguments.folder / "run", arguments.folder / "run.paf"
    watch = watched(gpu)
    walls = []
    for _ in range(arguments.runs):
        shutil.rmtree(run, ignore_errors=True)
        watch.spans.clear()
        began = time.perf_counter()
        if status := cli.main(["pairs", str(queries), str(targets), "-o", str(run), *options]):
            raise SystemExit(status)
        aligned = time.perf_counter()
        if status := cli.main(["export", str(run), "-o", str(exported)]):
            raise SystemExit(status)
        walls.append([round(aligned - began, 3), round(time.perf_counter() - aligned, 3)])
    digest = hashlib.sha256()
    with exported.open("rb") as file:
        while piece := file.read(1 << 24):
            digest.update(piece)
    shutil.rmtree(run)
    alone_seconds = alone(["pairs", str(queries), str(targets), "-o", str(run), *options])
    peers = {name: peer_seconds(command, arguments.folder / "pairs.seq", queries, targets, arguments.form) for name, command in arguments.peer}
    names = {thread: place for place, thread in enumerate(dict.fromkeys(thread for _, thread, _, _ in sorted(watch.spans, key=lambda span: span[2])))}
    input_bytes = queries.stat().st_size + targets.stat().st_size
    sizes = {
        "input": input_bytes,
        "chunks": sum(file.stat().st_size for file in run.glob("chunks/*")),
        "parts": sum(file.stat().st_size for file in run.glob("parts/*")),
        "export": exported.stat().st_size,
    }
    speeds = file_speeds((queries, targets), arguments.folder, cores())
    least = bounds(arguments, options, sizes, speeds)
    stages = summary(watch.spans)
    result = {
        "what": "tidalign pairs and export, file to file, in one process",
        "pairs": arguments.pairs,
        "length": arguments.length,
        "error": arguments.error,
        "options": options,
        "bytes": sizes,
        "sha256 of the export": digest.hexdigest(),
        "seconds of the runs (pairs, export)": walls,
        "pairs/s": round(arguments.pairs / walls[-1][0]),
        "input MB/s": round(input_bytes / walls[-1][0] / 1e6),
        "seconds of pairs in a process of its own": alone_seconds,
        "seconds of peers' processes": peers,
        "GB/s of files": {name: round(speed / 1e9, 2) for name, speed in speeds.items()},
        "stages": stages,
        "least seconds": least,
        "predicted seconds": {stage: float(seconds) for stage, _, seconds in (entry.partition("=") for entry in arguments.predicted.split(";") if entry)},
        "spans (stage, thread, begin, end)": [[stage, names[thread], round(b - began, 4), round(e - began, 4)] for stage, thread, b, e in watch.spans],
    }
    record.write(arguments.result, result)
    print(arguments.result, walls, result["pairs/s"], "pairs/s; alone", alone_seconds, peers, result["GB/s of files"])
    for stage, times in stages.items():
        print(f"{stage:28s} {times} {least.get(stage)}")


if __name__ == "__main__":
    main()
