"""First runs on a machine: whole commands with empty caches beside the same commands again, on cores or on a GPU.

python first_runs.py RESULT.json [--device cpu] [--repeats 2] [--before FOLDER]

Commands: 1,000 pairs of 150 letters to SAM, by penalties, local ones by scores, and extensions; two yeast chromosomes' windows to MAF; a search of proteins
(all of tests/data); `demo`; `check`.
FOLDER: a checkout of another commit (its `.src` is used), measured by the same commands, in turns. Each first run has a cache of its own that is empty; CuPy's
is moved there too.
"""

import argparse
import gzip
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record

DATA = Path(__file__).parents[1] / "data"


def commands(folder: Path, device: str) -> dict[str, list[str]]:
    """Write inputs into a folder, and give the words of each command."""
    lines = gzip.decompress((DATA / "pairs" / "gasal2_20k_150bp.seq.gz").read_bytes()).splitlines(keepends=True)
    (folder / "reads.seq").write_bytes(b"".join(lines[:2000]))
    yeasts = [str(DATA / "genomes" / f"yeast_{name}.fa.gz") for name in ("scer", "spar")]
    proteins = [str(DATA / "search" / f"{name}.faa.gz") for name in ("queries", "proteins")]
    found = {
        "pairs": ["pairs", "reads.seq", "-o", "out.sam"],
        "pairs by scores": ["pairs", "reads.seq", "-o", "out.sam", "--span=local", "--scoring=match:2,mismatch:-4,gap:4,2"],
        "extensions": ["pairs", "reads.seq", "-o", "out.sam", "--span=extension", "--zdrop=400", "--scoring=match:2,mismatch:-4,gap:4,2"],
        "genome": ["genome", *yeasts, "-o", "out.maf"],
        "search": ["search", *proteins, "-o", "out.m8", "--matrix=blosum62"],
    }
    return {name: [*words, "--new", "--quiet", f"--device={device}"] for name, words in found.items()} | {"demo": ["demo", "-o", "demo"], "check": ["check"]}


def measure(words: list[str], folder: Path, sources: Path, cache: Path) -> dict[str, float]:
    """Run a command: seconds, and processor seconds of it and its processes."""
    for left in ("demo", "out.sam.run", "out.maf.run", "out.m8.run"):
        shutil.rmtree(folder / left, ignore_errors=True)
    paths = os.pathsep.join((str(sources), os.environ.get("PYTHONPATH", "")))
    environment = os.environ | {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(cache), "CUPY_CACHE_DIR": str(cache / "cupy"), "NUMBA_CACHE_DIR": ""}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([sys.executable, "-m", "tidalign", *words], cwd=folder, env=environment, capture_output=True, text=True)
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return {"seconds": seconds, "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--device", default="cpu", choices=["cpu", "gpu"])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--before", type=Path)
    args = parser.parse_args()
    sources = {"now": Path(__file__).resolve().parents[2] / ".src"} | ({"before": args.before.resolve() / ".src"} if args.before else {})
    rows: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        for name, words in commands(Path(place), args.device).items():
            taken: dict[str, list[dict[str, float]]] = {}
            for turn in range(args.repeats):
                for version, folder in sources.items():
                    cache = Path(place, f"cache-{version}-{turn}")
                    shutil.rmtree(cache, ignore_errors=True)
                    cache.mkdir()
                    taken.setdefault(f"{version}, first", []).append(measure(words, Path(place), folder, cache))
                    taken.setdefault(f"{version}, again", []).append(measure(words, Path(place), folder, cache))
                    shutil.rmtree(cache)
            rows[name] = {
                which: {unit: round(statistics.median(each[unit] for each in runs), 2) for unit in ("seconds", "cpu_seconds")} for which, runs in taken.items()
            }
            print(name, rows[name], flush=True)
    load = round(os.getloadavg()[0], 1)
    record.write(args.result, {"device": args.device, "repeats": args.repeats, "load": load, "commands": rows})


if __name__ == "__main__":
    main()
