"""How far estimates are off: `tidalign estimate` of each set before its run, and the whole command, from files to finished files, in the same call.

python tests/benchmarks/estimate.py REAL OUT.json [--times N] [--only NAME]

REAL: a folder with real pairs and genomes (pairs/*.gz, wga/*.gz); other sets are made up. Rates are those that `tidalign check --calibrate` measured
on sequences of its own. Runs of a set alternate with others and wait for an idle machine; the least of its times counts, as one that does other things is only
slower.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import record

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import simulate  # noqa: E402  # beside this folder


def sets(real: Path, made: Path, only: str) -> dict[str, list[str]]:
    """Give the words of each command, without -o, of those sets whose name has a word in it."""
    pairs, wga = real / "pairs", real / "wga"
    gasal = [str(pairs / f"gasal2_20k_150bp_{side}.fasta.gz") for side in ("query", "target")]
    found = {
        "gasal 150 bp, ends free, SAM": ["pairs", *gasal, "--ends-free", "0,0,1000,1000", "--format", "sam"],
        "PacBio CLR 1 kb": ["pairs", str(pairs / "ecoli_pacbio_clr_1kb.seq.gz")],
        "PacBio CLR 1 kb, two pieces": ["pairs", str(pairs / "ecoli_pacbio_clr_1kb.seq.gz"), "--penalties", "affine2p:4,6,2,24,1"],
        "ONT 1-10 kb": ["pairs", str(pairs / "ecoli_ont_r9_1-10kb.seq.gz")],
        "ONT 1-10 kb, edit, penalty": ["pairs", str(pairs / "ecoli_ont_r9_1-10kb.seq.gz"), "--penalties", "edit", "--penalty-only"],
        "ONT 10 kb": ["pairs", str(pairs / "ecoli_ont_r9_10kb.seq.gz")],
        "HiFi": ["pairs", str(pairs / "ecoli_k12_hifi.seq.gz")],
        "PacBio CLR 1 kb, local scores": ["pairs", str(pairs / "ecoli_pacbio_clr_1kb.seq.gz"), "--scoring", "match:2,mismatch:-4,gap:4,2"],
    }
    for name, query, target in (
        ("human, mouse 1 Mb", "encode_ENm002_human", "encode_ENm002_mouse"),
        ("human, chimpanzee 1 Mb", "encode_ENm002_human", "encode_ENm002_chimp"),
        ("H. pylori", "hpylori_F32", "hpylori_Gambia94_24"),
        ("yeast IV", "yeast_scer_S288C_chrIV", "yeast_spar_CBS432_chrIV"),
        ("E. coli, Salmonella", "ecoli_K12_MG1655", "salmonella_LT2"),
        ("human, gorilla 22", "human_chr22_10Mb", "gorilla_chr22_11Mb"),
    ):
        found[name] = ["genome", str(wga / f"{query}.fa.gz"), str(wga / f"{target}.fa.gz")]
    for name, count, length, error in (
        ("made 150 bp, 5 %", 1_000_000, 150, 0.05),
        ("made 500 bp, 15 %", 60_000, 500, 0.15),
        ("made 20 kb, 3 %", 400, 20_000, 0.03),
    ):
        files = made / f"{length}.fq", made / f"{length}.fa"
        if only in name:
            _write(files, count, length, error)
        found[name] = ["pairs", *map(str, files)]
    return {name: words for name, words in found.items() if only in name}


def _write(files: tuple[Path, Path], count: int, length: int, error: float) -> None:
    random = np.random.default_rng(17)
    with files[0].open("wb") as queries, files[1].open("wb") as targets:
        for number in range(count):
            query = simulate.sequence(random, length)
            queries.write(b"@%d\n%s\n+\n%s\n" % (number, query, b"I" * length))
            targets.write(b">%d\n%s\n" % (number, simulate.mutate(random, query, error)))


WORKERS = (0, 1, 2)
"""Lists how many each set is run with; 0: by threads of the command, as one of these sizes is without --workers."""

PATIENCE = 5.0
"""Seconds that a run waits for the machine to do nothing else, at most."""


def quiet() -> bool:
    """Wait until the machine has been idle for a second; whether it has."""
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        if psutil.cpu_percent(1.0) < 8:
            return True
    return False


def once(words: list[str], place: Path, workers: int) -> dict[str, Any]:
    """Run a command: its seconds, start to end, the CPU seconds of all its processes, and whether the machine was idle before."""
    form = words[words.index("--format") + 1] if "--format" in words else ""
    output = place / (f"out.{form}" if form else "run")
    shutil.rmtree(output, ignore_errors=True)
    line = [sys.executable, "-P", "-m", "tidalign.workflows", *words, "-o", str(output), "--new", "--device", "cpu", "--workers", str(workers), "--quiet"]
    idle, began = quiet(), time.perf_counter()
    cpu: dict[int, float] = {}
    with psutil.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            with suppress(psutil.Error):
                for each in (process, *process.children(recursive=True)):
                    with suppress(psutil.Error):
                        times = each.cpu_times()
                        cpu[each.pid] = times.user + times.system
            time.sleep(0.02)
    assert process.returncode in (0, 3), words
    return {"seconds": round(time.perf_counter() - began, 3), "cpu": round(sum(cpu.values()), 3), "idle": idle}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("real", type=Path)
    parser.add_argument("out")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        chosen = sets(args.real, Path(folder), args.only)
        Path(folder, "one.seq").write_text(">ACGTACGT\n<ACGTACGT\n")
        empty = [once(["pairs", f"{folder}/one.seq"], Path(folder), 1) for _ in range(3)]
        found: dict[str, dict[str, Any]] = {}
        for name, words in chosen.items():
            line = [sys.executable, "-P", "-m", "tidalign.workflows", "estimate", "--json", *words, "-o", f"{folder}/out", "--device", "cpu"]
            began = time.perf_counter()
            said = json.loads(subprocess.run(line, check=True, capture_output=True, text=True).stdout)
            found[name] = {"estimate": said, "seconds_of_estimate": round(time.perf_counter() - began, 2), "taken": {str(workers): [] for workers in WORKERS}}
        for _ in range(args.times):
            for name, words in chosen.items():
                for workers in WORKERS:
                    found[name]["taken"][str(workers)].append(once(words, Path(folder), workers))
    least = min(each["cpu"] for each in empty)
    for name, each in found.items():
        taken = {workers: min(run["seconds"] for run in runs) for workers, runs in each["taken"].items()}
        cpu = min(run["cpu"] for run in each["taken"]["1"]) - least
        each["off"] = {workers: round(each["estimate"]["seconds"]["workers"][workers] / seconds, 3) for workers, seconds in taken.items()}
        each["off_in_cpu_seconds"] = round(sum(each["estimate"]["core_seconds"].values()) / cpu, 3)
        idle = [run["idle"] for runs in each["taken"].values() for run in runs]
        seconds = " ".join(f"{each:6.2f}" for each in taken.values())
        print(
            f"{name:32} taken {seconds} s, CPU {cpu:6.2f} s; predicted / taken {each['off']}, of CPU {each['off_in_cpu_seconds']}; "
            f"idle before {sum(idle)} of {len(idle)} runs, estimate took {each['seconds_of_estimate']} s"
        )
    record.write(args.out, {"empty": empty, "sets": found})


if __name__ == "__main__":
    main()
