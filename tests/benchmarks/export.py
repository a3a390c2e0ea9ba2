"""Results of a run to SAM, BAM, PAF, TSV and Parquet: seconds, CPU seconds and the largest memory of `tidalign export`, and of `tidalign pairs` to some, a
process for each, the median.

python export.py RESULT.json --folder DIR [--rows N] [--repeats N] [--before PROGRAM]

The pairs are simulated (reads of 150 bp with qualities, 2 % of letters changed, a fifth with a deletion, in windows of 182 bp) and aligned once by each
program; inputs and run directories stay under DIR for the next call. PROGRAM is the `tidalign` of another version, whose exports are measured in turns with
ours; what it cannot write is left out. Its SAM may lack letters: `bytes` shows it.
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import record

OURS = shutil.which("tidalign", path=os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))) or "tidalign"
LIFTED = ("--lift",)
KINDS = (
    *(("paf", ()), ("paf", ("--cigar", "M")), ("sam", ()), ("sam", LIFTED), ("tsv", ()), ("parquet", ())),
    *(("sam.gz", ()), ("paf.gz", ()), ("bam", ()), ("bam", LIFTED), ("bam", (*LIFTED, "--sort"))),
)
WHOLE = ("paf", "sam", "bam")
"""Of whole commands, from files to a file."""

READ, FLANK, GENOME, BLOCK = 150, 16, 5_000_000, 50_000


def simulate(folder: Path, rows: int) -> list[str]:
    """Write reads and windows, unless they are there; returns their paths."""
    paths = [folder / f"{rows}.fastq", folder / f"{rows}.fasta"]
    if all(path.exists() for path in paths):
        return list(map(str, paths))
    random, bases = np.random.default_rng(1), np.frombuffer(b"ACGT", np.uint8)
    genome = bases[random.integers(0, 4, GENOME)]
    with paths[0].open("wb") as fastq, paths[1].open("wb") as fasta:
        for first in range(0, rows, BLOCK):
            count = min(BLOCK, rows - first)
            starts = random.integers(100, GENOME - 400, count)
            reads = genome[starts[:, None] + np.arange(READ)]
            changed = random.random(reads.shape) < 0.02
            reads[changed] = bases[random.integers(0, 4, int(changed.sum()))]
            deleted = random.random(count) < 0.2
            reads[deleted, READ // 2 : -1] = reads[deleted, READ // 2 + 1 :]
            qualities = random.integers(33 + 28, 33 + 41, reads.shape).astype(np.uint8)
            windows = genome[starts[:, None] - FLANK + np.arange(READ + 2 * FLANK)]
            for i in range(count):
                fastq.write(b"@sim.%d\n%b\n+\n%b\n" % (first + i, reads[i].tobytes(), qualities[i].tobytes()))
                fasta.write(b">chr1:%d-%d\n%b\n" % (starts[i] - FLANK + 1, starts[i] + READ + FLANK, windows[i].tobytes()))
    return list(map(str, paths))


def aligned(program: str, inputs: list[str], folder: Path, name: str) -> str:
    """Make a finished run of a program's, unless it is there."""
    run = folder / f"run-{name}-{Path(inputs[0]).stem}"
    if not any((run / marker).exists() for marker in ("SUCCESS", "PARTIAL")):
        shutil.rmtree(run, ignore_errors=True)
        free = f"0,0,{FLANK},{FLANK}"
        subprocess.run([program, "pairs", *inputs, "-o", str(run), "--ends-free", free, "--device", "cpu", "--quiet"], check=True)
    return str(run)


def measure(program: str, words: list[str], options: tuple[str, ...], output: Path) -> dict[str, Any] | None:
    """Measure one command; None where the program cannot. CPU seconds are without those of workers that nobody waited for."""
    output.unlink(missing_ok=True)
    began = time.perf_counter()
    child = subprocess.Popen([program, *words, "-o", str(output), "--quiet", *options], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        return None
    seconds, cpu = time.perf_counter() - began, usage.ru_utime + usage.ru_stime
    size = output.stat().st_size
    output.unlink()
    return {"seconds": seconds, "cpu_seconds": cpu, "bytes": size, "peak_bytes": usage.ru_maxrss * 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--before", metavar="PROGRAM")
    args = parser.parse_args()
    folder = Path(args.folder)
    inputs = simulate(folder, args.rows)
    programs = {"now": OURS} | ({"before": args.before} if args.before else {})
    runs = {name: ["export", aligned(program, inputs, folder, name)] for name, program in programs.items()}
    commands = [(kind, options, runs) for kind, options in KINDS]
    free = ("--ends-free", f"0,0,{FLANK},{FLANK}", "--device", "cpu")
    commands += [(kind, free, dict.fromkeys(programs, ["pairs", *inputs])) for kind in WHOLE]
    exports = []
    for kind, options, words in commands:
        tried: dict[str, list[dict[str, Any]]] = {name: [] for name in programs}
        for _ in range(args.repeats):
            for name, program in programs.items():
                if (one := measure(program, words[name], options, folder / f"out.{kind}")) is not None:
                    tried[name].append(one)
        for name, each in tried.items():
            if each:
                median = {value: statistics.median(one[value] for one in each) for value in each[0]}
                rates = {f"rows_per_{value}": round(args.rows / median[f"{value}s"]) for value in ("second", "cpu_second")}
                rounded = {value: round(number, 2) for value, number in median.items()}
                exports.append({"program": name, "command": words[name][0], "format": kind, "options": list(options), "rows": args.rows, **rounded, **rates})
                print(exports[-1], flush=True)
    record.write(args.result, {"repeats": args.repeats, "exports": exports})


if __name__ == "__main__":
    main()
