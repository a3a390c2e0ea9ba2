"""Pairs by scores and a search with most of the GPU's memory taken by another process: the same bytes, and seconds beside those with all of it. Writes JSON.

    python tests/benchmarks/little_memory.py RESULT.json [--left GIB] [--pairs N]

Whole commands on one GPU, from FASTA to a table with CIGARs, once with all memory so that kernels are compiled, then twice with all and twice with little.
Pairs are those of `wavefront_device.py` at 5 % error; proteins those of tests/data/search with ever more of their letters drawn again (`searches.resampled`).
GiB taken: the least that was free while a command ran, from what was free before, looked at fifty times a second.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record
from local_device import DNA
from local_programs import written
from searches import TOP, read, resampled
from searches import written as written_records
from wavefront_device import pairs

PROTEINS = Path(__file__).parents[1] / "data" / "search" / "proteins.faa.gz"
COPIES, QUERIES = 400, 500
HOLD = """
import sys
import cupy
held = cupy.cuda.alloc(cupy.cuda.runtime.memGetInfo()[0] - int(float(sys.argv[1]) * 2**30))
print(cupy.cuda.runtime.memGetInfo()[0], flush=True)
sys.stdin.read()
"""


def free() -> int:
    import cupy

    return int(cupy.cuda.runtime.memGetInfo()[0])


@contextmanager
def held(left: float) -> Iterator[None]:
    """Let another process hold all of the GPU's memory but so many GiB."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin and other.stdout
        if not other.stdout.readline().strip():
            raise RuntimeError("no process could take the GPU's memory")
        try:
            yield
        finally:
            other.stdin.close()


def run(words: list[str], out: Path) -> dict[str, Any]:
    """Run a command: its seconds, the memory of the GPU that it took, and a digest of what it wrote."""
    before = least = free()
    command = [sys.executable, "-m", "tidalign.workflows", *words, "-o", str(out), "--device", "gpu", "--gpus", "1", "--new", "--quiet"]
    began = time.perf_counter()
    process = subprocess.Popen(command)
    while process.poll() is None:
        least = min(least, free())
        time.sleep(0.02)
    seconds = time.perf_counter() - began
    if process.returncode:
        raise RuntimeError(f"{' '.join(words)[:80]} ended with {process.returncode}")
    with out.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
    return {"seconds": round(seconds, 2), "GiB free": round(before / 2**30, 1), "GiB taken": round((before - least) / 2**30, 1), "bytes": digest}


def works(folder: Path, count: int) -> dict[str, list[str]]:
    """Write the inputs of all commands; give the commands."""
    found = {}
    for name, (number, length) in {f"{count:,} pairs of 1 kb": (count, 1024), "one pair of 100 kb": (1, 100_000)}.items():
        inputs = folder / str(length)
        inputs.mkdir()
        found[name] = ["pairs", *written(str(inputs), pairs(number, length, 0.05)), "--span", "local", "--scoring", DNA]
    database = resampled(read(str(PROTEINS)), COPIES)
    queries = written_records(folder / "queries.fa", database[:: len(database) // QUERIES][:QUERIES])
    name = f"{QUERIES} proteins against {len(database):,}"
    found[name] = ["search", queries, written_records(folder / "database.fa", database), "--matrix", "blosum62", "--gap", "11,1", "--top", str(TOP)]
    return found


def compared(words: list[str], out: Path, left: float) -> dict[str, Any]:
    """Run a command with all memory and with little: the faster run of each two, and whether all wrote the same."""
    run(words, out)
    all_of_it = [run(words, out) for _ in range(2)]
    with held(left):
        little = [run(words, out) for _ in range(2)]
    best, slower = (min(runs, key=lambda each: float(each["seconds"])) for runs in (all_of_it, little))
    same = len({each["bytes"] for each in all_of_it + little}) == 1
    return {"all memory": best, "little memory": slower, "times the seconds": round(slower["seconds"] / best["seconds"], 2), "same bytes": same}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--left", type=float, default=16, help="GiB that the other process leaves")
    parser.add_argument("--pairs", type=int, default=100_000)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            for work, words in works(folder, args.pairs).items():
                rows.append({"work": work, **compared(words, folder / "out.tsv", args.left)})
                print(json.dumps(rows[-1]), flush=True)
        finally:
            record.write(args.result, {"card": gpu_record.gpu(), "GiB left": args.left, "scoring": DNA, "rows": rows})


if __name__ == "__main__":
    main()
