"""`tidalign-lastz` in the place of `lastz`, with and without `tidalign serve`: what a call costs, many calls of many processes, pipelines' lines on genomes.

python lastz_serve.py RESULT.json FOLDER [--part calls crowd lines] [--workers N] [--crowd 2000] [--callers 16] [--repeats 15]

FOLDER has gzipped FASTA files of the pairs in PAIRS. LASTZ is found as `lastz` (Debian's package 1.04.22). Calls of all programs take turns. A part that is not
measured keeps what RESULT.json says of it. On cores; kernels are compiled before.
"""

import argparse
import gzip
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record

import tidalign

OURS = str(Path(sys.executable).parent / "tidalign-lastz")

SEEDS = ([], ["--seed=match3"], ["--seed=match4"], ["--seed=match5"], ["--seed=half8"])
"""Of the calls that cost little but their start, on 2,500 letters."""

PAIRS = (("encode_ENm002_human", "encode_ENm002_mouse"), ("encode_ENm002_human", "encode_ENm002_chimp"), ("hpylori_F32", "hpylori_Gambia94_24"))

_CACTUS = ["--format=paf:wfmash", "--queryhspbest=100000", "--ambiguous=iupac,100,100"]
LINES = {
    "Cactus one": [*_CACTUS, "--step=2", "--ydrop=3000", "--notransition"],
    "Cactus two": [*_CACTUS, "--step=5", "--ydrop=3000"],
    "Cactus three": [*_CACTUS, "--step=4", "--ydrop=3000"],
    "Cactus four": [*_CACTUS, "--step=3", "--hspthresh=2600", "--gappedthresh=2800"],
    "Cactus five": [*_CACTUS, "--step=2", "--hspthresh=2400"],
    "Cactus default": [*_CACTUS, "--step=1", "--ydrop=4000", "--hspthresh=2200", "--gappedthresh=2400"],
    "make_lastz_chains": ["Y=9400", "H=2000", "L=3000", "K=2400", "--traceback=800.0M", "--format=axt+"],
}


@contextmanager
def server(folder: Path, workers: int) -> Iterator[dict[str, str]]:
    """Have a server; gives the environment of its callers."""
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700, exist_ok=True)
    surroundings = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    program = str(Path(sys.executable).parent / "tidalign")
    process = subprocess.Popen([program, "serve", "--device", "cpu", "--quiet", "--workers", str(workers)], env=surroundings)
    lock = runtime / "tidalign" / "serve.lock"
    while not (lock.exists() and "(" in lock.read_text()):
        if process.poll() is not None:
            raise SystemExit("the server has ended")
        time.sleep(0.05)
    time.sleep(3)  # until the last worker is ready, too
    try:
        yield surroundings
    finally:
        process.terminate()
        process.wait()


ALONE = {**os.environ, "XDG_RUNTIME_DIR": "/none"}


def timed(command: Sequence[str], surroundings: dict[str, str]) -> tuple[float, bytes]:
    """Make a call: wall seconds and output, without comments."""
    began = time.perf_counter()
    done = subprocess.run(command, env=surroundings, capture_output=True, check=True)
    return time.perf_counter() - began, b"\n".join(line for line in done.stdout.split(b"\n") if not line.startswith(b"#"))


def sides(folder: Path, letters: int = 2500) -> tuple[str, str]:
    """Write a target and a query that is like it."""
    rng = random.Random(letters)
    target = rng.choices("ACGT", k=letters)
    query = [rng.choice("ACGT") if rng.random() < 0.1 else letter for letter in target]
    for name, text in (("target", target), ("query", query)):
        (folder / f"{name}.fa").write_text(f">{name}\n{''.join(text)}\n")
    return str(folder / "target.fa"), str(folder / "query.fa")


def work(pair: tuple[str, str], options: Sequence[str], folder: Path) -> float:
    """Give the seconds that aligning takes in a process that has done it before, without reading and writing."""
    taken = []
    named = dict(option.removeprefix("--").split("=") for option in options)
    for _ in range(5):
        tidalign.align_genomes(*pair, out=folder / "run", new=True, workers=0, device="cpu", **named)
        taken.append(json.loads((folder / "run" / "report.json").read_text())["stages"]["work"])
    return min(taken)


def calls(folder: Path, surroundings: dict[str, str], repeats: int) -> list[dict[str, Any]]:
    """Measure what one call costs."""
    pair, rows = sides(folder), []
    for seed in SEEDS:
        words = [*pair, *seed, "--format=maf-"]
        ways = {"served": ([OURS, *words], surroundings), "lastz": (["lastz", *words], ALONE), "alone": ([OURS, *words], ALONE)}
        found: dict[str, list[float]] = {name: [] for name in ways}
        texts = set()
        for turn in range(repeats + 1):
            for name, (command, with_these) in ways.items():
                if name == "alone" and turn > 3:
                    continue
                seconds, text = timed(command, with_these)
                texts.add(text)
                if turn:
                    found[name].append(seconds)
        aligning = work(pair, seed, folder)
        medians = {name: round(statistics.median(seconds), 4) for name, seconds in found.items()}
        least = {name: round(min(seconds), 4) for name, seconds in found.items()}
        equal = len(texts) == 1
        beside = round(least["served"] - aligning, 4)
        rows.append({"options": seed, "median seconds": medians, "least seconds": least, "aligning": aligning, "beside aligning": beside, "equal": equal})
        print(rows[-1], flush=True)
    return rows


def crowd(folder: Path, surroundings: dict[str, str], count: int, callers: int) -> dict[str, Any]:
    """Measure many calls, so many at a time."""
    pair = sides(folder)
    result: dict[str, Any] = {"calls": count, "callers": callers}
    for name, program, with_these in (("served", OURS, surroundings), ("lastz", "lastz", ALONE)):
        began = time.perf_counter()
        with ThreadPoolExecutor(callers) as pool:
            texts = set(pool.map(lambda _, command=(program, *pair, "--format=maf-"), env=with_these: timed(command, env)[1], range(count)))
        result[name] = {"seconds": round(time.perf_counter() - began, 2), "outputs": len(texts)}
        print(name, result[name], flush=True)
    return result


def lines(folder: Path, data: Path, surroundings: dict[str, str]) -> list[dict[str, Any]]:
    """Give pipelines' lines to both programs, once each; with another worker's call beside it neither is run."""
    rows = []
    for names in PAIRS:
        for name in names:
            (folder / f"{name}.fa").write_bytes(gzip.decompress((data / f"{name}.fa.gz").read_bytes()))
        for line, options in LINES.items():
            actions = "[multiple]" if line == "make_lastz_chains" else "[multiple][nameparse=darkspace]"
            words = [*(f"{folder / name}.fa{actions}" for name in names), *options]
            (ours, text), (lastz, expected) = timed([OURS, *words], surroundings), timed(["lastz", *words], ALONE)
            equal = text == expected
            rows.append({"pair": names, "line": line, "lastz": round(lastz, 2), "served": round(ours, 2), "equal": equal, "lines": expected.count(b"\n")})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", nargs="+", choices=("calls", "crowd", "lines"), default=["calls", "crowd", "lines"])
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--crowd", type=int, default=2000)
    parser.add_argument("--callers", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=15)
    args = parser.parse_args()
    found = {part: json.loads(Path(args.result).read_text()).get(part) for part in ("calls", "crowd", "lines") if Path(args.result).exists()}
    with tempfile.TemporaryDirectory() as name, server(Path(name), args.workers) as surroundings:
        folder = Path(name)
        if "calls" in args.part:
            found["calls"] = calls(folder, surroundings, args.repeats)
        if "crowd" in args.part:
            found["crowd"] = crowd(folder, surroundings, args.crowd, args.callers)
        if "lines" in args.part:
            found["lines"] = lines(folder, args.folder, surroundings)
    record.write(args.result, {"workers": args.workers, **found})


if __name__ == "__main__":
    main()
