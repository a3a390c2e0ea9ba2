"""`tidalign genomes` of thousands of small jobs on cores: jobs a second, processor time and files for each.

python many_jobs.py RESULT.json [--jobs 5000] [--before SOURCES --before-jobs 1000]

Jobs are windows of 3,000 letters of two yeasts (tests/data/genomes), each side in a file of its own. Processor time is that of `--workers 0`; the wall is that
of two workers on a machine whose load is told. SOURCES: of another commit (a folder `.src`), measured by the same jobs, its bytes compared. Kernels are
compiled before.
"""

import argparse
import gzip
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record

GENOMES = Path(__file__).parents[1] / "data" / "genomes"
LETTERS = 3000


def letters(name: str) -> str:
    lines = gzip.decompress((GENOMES / f"{name}.fa.gz").read_bytes()).decode().splitlines()
    return "".join(line for line in lines if not line.startswith(">"))


def make(folder: Path, jobs: int) -> Path:
    """Write the table and its files."""
    chance, target, query = random.Random(3), letters("yeast_scer"), letters("yeast_spar")
    lines = ["target\tquery\tname"]
    for job in range(jobs):
        at = chance.randrange(len(target) - LETTERS)
        for side, text, place in (("t", target, at), ("q", query, max(0, min(len(query) - LETTERS, at + chance.randrange(-500, 500))))):
            (folder / f"{side}{job}.fa").write_text(f">{side}{job}\n{text[place : place + LETTERS]}\n")
        lines.append(f"t{job}.fa\tq{job}.fa\tp{job}")
    (folder / f"jobs{jobs}.tsv").write_text("\n".join(lines) + "\n")
    return folder / f"jobs{jobs}.tsv"


def measure(table: Path, out: Path, workers: int, sources: str | None = None) -> dict[str, Any]:
    """Do a run in a process of its own."""
    command = [sys.executable, "-m", "tidalign", "genomes", str(table), "-o", str(out), "--device=cpu", "--format=axt", "--quiet", f"--workers={workers}"]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, env=os.environ | ({"PYTHONPATH": sources} if sources else {}))
    seconds, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = len(table.read_text().splitlines()) - 1
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = {"jobs": jobs, "workers": workers, "seconds": round(seconds, 1), "jobs a second": round(jobs / seconds, 1), "load": round(os.getloadavg()[0], 1)}
    cpu = {"cpu_seconds": round(spent, 1), "jobs a cpu second": round(jobs / spent, 1)} if not workers else {}  # workers are not children of ours
    return found | cpu | {"files": sum(path.is_file() for path in (out / "run").rglob("*"))}


def same(one: Path, other: Path) -> bool:
    """Whether the outputs of two runs are the same bytes."""
    files = [{path.name: path.read_bytes() for path in folder.glob("*.axt")} for folder in (one, other)]
    return files[0] == files[1] != {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result", type=Path)
    parser.add_argument("--jobs", type=int, default=5000)
    parser.add_argument("--before")
    parser.add_argument("--before-jobs", type=int, default=1000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        few, many = (make(folder, count) for count in (arguments.before_jobs, arguments.jobs))
        measure(few, folder / "warm", 0)
        found = {f"{workers} workers": measure(many, folder / f"w{workers}", workers) for workers in (0, 2)}
        found["same bytes"] = same(folder / "w0", folder / "w2")
        if arguments.before:
            make(folder, arguments.before_jobs)
            found["few"], found["few, before"] = measure(few, folder / "few", 0), measure(few, folder / "before", 0, arguments.before)
            found["same bytes as before"] = same(folder / "few", folder / "before")
    record.write(str(arguments.result), {"letters of a side": LETTERS, "runs": found})


if __name__ == "__main__":
    main()
