"""Measure a search on one core beside parasail in a loop and ssearch36: real proteins and 16S genes, same sequences, scores and gaps, in the same run.

python tests/benchmarks/search.py RESULT.json PROTEINS QUERIES GENES [--rounds N]    with parasail 1.3.4 installed, and ssearch36 (Debian package fasta3)

PROTEINS, QUERIES, GENES: FASTA as tests/data/search/README.md names, unpacked. `kernel`: from letters in memory to the ten best of each query (parasail: to
scores, of a share of the pairs, pair after pair from Python), seconds of CPU. `command`: from files to a table of the ten best with their alignments, the
process that does all work itself (ssearch36 with one thread), seconds of CPU, and seconds. Best of alternating rounds. Scores of parasail and first hits of
ssearch36 are compared.

Predicted before the first run, from local.json (cells of pairs alike): 7.5 to 8.5 GCUPS for proteins and 14 to 15 for genes in the kernel, 3 to 4 times
parasail (found: 8.4 and 14.9, 1.7 and 2.3 times: parasail is faster on real proteins that differ than on pairs that are alike). Then scores of one query with
all lanes came from one table for each row in place of a word for each lane, predicted to save 150 of 240 instructions a column: at least 1.5 times as fast.
Lanes of 8 bits, predicted twice as fast where scores fit (found: 14.8 -> 29.7 for proteins; 14.1 -> 20.2 for genes, of which those of the other strand
fit).
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import parasail

sys.path.insert(0, str(Path(__file__).parent))
import record

from tidalign.kernels.letters.nucleotides import COMPLEMENT
from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.lanes import PAIR_LANES
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best

TOP = 10
SHARE = 40
"""Of so many sequences of the database parasail gets one."""


def read(path: str, count: int | None = None) -> list[tuple[str, bytes]]:
    """Read names, to the first blank, and letters."""
    records = [part.partition("\n") for part in Path(path).read_text().split(">")[1:]]
    found = [(head.split()[0], letters.replace("\n", "").upper().encode()) for head, _, letters in records]
    return [each for each in found if each[1]][:count]


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    made = work()
    return time.process_time() - began, made


def command(words: list[str]) -> tuple[float, float, str]:
    """Run a process: seconds of CPU of it and its children, seconds, and what it printed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    said = subprocess.run(words, check=True, capture_output=True, text=True).stdout
    taken, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, taken, said


def kernel(queries: list[bytes], database: list[bytes], scoring: Substitution, rounds: int) -> tuple[dict[str, float], Any]:
    """Measure GCUPS of CPU seconds: ours, and parasail's better function."""
    strands = [queries] + ([[query.translate(COMPLEMENT)[::-1] for query in queries]] if scoring.alphabet == "dna" else [])
    coding = Coding(scoring)
    coded = [coding.coded(Sequences.from_strings(strand), 0) for strand in strands]
    targets = coding.coded(Sequences.from_strings(database), 1)
    cells = sum(map(len, queries)) * sum(map(len, database)) * len(strands)
    part = database[::SHARE]
    few = sum(map(len, queries)) * sum(map(len, part))
    matrix = parasail.blosum62 if scoring.alphabet == "protein" else parasail.matrix_create("ACGT", scoring.lower[0], scoring.lower[1])
    opening, extension = scoring.pieces[0]
    texts = [query.decode() for query in queries], [target.decode() for target in part]
    rates: dict[str, float] = {}
    for _ in range(rounds):
        taken, found = seconds(lambda: best.search(coded, targets, coding, top=TOP, least=1))
        rates["tidalign"] = max(rates.get("tidalign", 0.0), cells / taken / 1e9)
        for name in ("sw_striped_sat", "sw_striped_16"):
            align = getattr(parasail, name)
            taken, scores = seconds(lambda a=align: [[a(q, t, opening + extension, extension, matrix).score for t in texts[1]] for q in texts[0]])
            rates[f"parasail {name}"] = max(rates.get(f"parasail {name}", 0.0), few / taken / 1e9)
    kept = {(int(q), int(t)): int(s) for q, t, d, s in zip(found.query, found.target, found.strand, found.score, strict=True) if d == 0 and t % SHARE == 0}
    plain = set(b"ACGTRNDQEHILKMFPSWYV")
    differ = [at for at, score in kept.items() if set(database[at[1]]) <= plain and scores[at[0]][at[1] // SHARE] != score]
    assert not differ, differ
    return rates, found


def whole(folder: Path, scoring: list[str], peer: list[str], rounds: int) -> tuple[dict[str, Any], int]:
    """Measure CPU seconds and seconds of the commands, the best; and count the queries in which their best hits agree."""
    binary = [sys.executable, "-P", "-m", "tidalign.workflows"]
    best_of: dict[str, Any] = {}
    first: dict[str, dict[str, str]] = {}
    for _ in range(rounds):
        out = folder / "out.m8"
        shutil.rmtree(folder / "out.m8.run", ignore_errors=True)
        ours = command(
            [*binary, "search", str(folder / "q.fa"), str(folder / "d.fa"), "-o", str(out), "--top", str(TOP), "--quiet", "--threads", "1", *scoring]
        )
        theirs = command(
            ["ssearch36", "-T", "1", "-m", "8", "-q", "-b", str(TOP), "-d", str(TOP), "-E", "10", *peer, str(folder / "q.fa"), str(folder / "d.fa")]
        )
        for name, (cpu, taken, said) in (("tidalign", ours), ("ssearch36", theirs)):
            before = best_of.get(name, {"cpu": cpu, "seconds": taken})
            best_of[name] = {"cpu": round(min(cpu, before["cpu"]), 2), "seconds": round(min(taken, before["seconds"]), 2)}
            hits = (out.read_text() if name == "tidalign" else said).splitlines()
            first[name] = {line.split("\t")[0]: line.split("\t")[1] for line in reversed(hits) if line.count("\t") == 11}
    agree = sum(first["ssearch36"].get(query) == target for query, target in first["tidalign"].items())
    return best_of, agree


def measure(
    name: str, queries: list[tuple[str, bytes]], database: list[tuple[str, bytes]], text: str, options: tuple[list[str], list[str]], rounds: int
) -> Any:
    scoring = Substitution.parse(text)
    rates, _ = kernel([letters for _, letters in queries], [letters for _, letters in database], scoring, rounds)
    with tempfile.TemporaryDirectory() as place:
        for file, records in (("q.fa", queries), ("d.fa", database)):
            Path(place, file).write_text("".join(f">{head}\n{letters.decode()}\n" for head, letters in records))
        commands, agree = whole(Path(place), *options, rounds)
    fastest = max(rate for peer, rate in rates.items() if peer != "tidalign")
    row = {
        "case": name,
        "queries": len(queries),
        "query_letters": sum(len(letters) for _, letters in queries),
        "sequences": len(database),
        "letters": sum(len(letters) for _, letters in database),
        "kernel_gcups": {peer: round(rate, 2) for peer, rate in rates.items()},
        "kernel_times_parasail": round(rates["tidalign"] / fastest, 2),
        "command": commands,
        "command_times_ssearch36": round(commands["ssearch36"]["cpu"] / commands["tidalign"]["cpu"], 2),
        "same_best_hit": agree,
    }
    print(row, flush=True)
    return row


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("result", "proteins", "queries", "genes"):
        parser.add_argument(name)
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    genes = read(args.genes, 600)
    protein = (["--matrix", "blosum62"], ["-p", "-s", "BL62", "-f", "-11", "-g", "-1"])
    dna = (["--scoring", "match:2,mismatch:-3,gap:5,2"], ["-n", "-r", "+2/-3", "-f", "-5", "-g", "-2"])
    rows = [
        measure("proteins", read(args.queries, 16), read(args.proteins), "blosum62,gap:11,1", protein, args.rounds),
        measure("16S genes, both strands", genes[::60], genes, "match:2,mismatch:-3,gap:5,2", dna, args.rounds),
    ]
    version = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "fasta3"], capture_output=True, text=True).stdout
    about = {"unit": "GCUPS of CPU seconds, one core", "lanes": PAIR_LANES, "parasail": parasail.__version__, "fasta3": version}
    record.write(args.result, {**about, "rows": rows})


if __name__ == "__main__":
    main()
