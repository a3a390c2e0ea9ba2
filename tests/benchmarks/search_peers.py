"""Search of a database by scores beside CUDASW++4 and gpusw, in the same run, on one GPU. Writes JSON.

    python tests/benchmarks/search_peers.py RESULT.json [--queries FASTA --proteins FASTA --cudasw4 FOLDER] [--genes FASTA --gpusw] [--only WORD]

--cudasw4: a folder with its programs `align` and `makedb`; QUERIES: its `allqueries.fasta`; PROTEINS: some thousand real ones (FASTA, plain or gzip).
--gpusw: the package is installed; GENES: 16S genes. Without a peer only our side is measured; so it is with --device cpu, for a look at small data.
Results of jobs that --only leaves out stay in RESULT.json as they are there.

`rates`: proteins against 500,000 made of the real ones (`resampled`). CUDASW++4's own timer, its database on the GPU, the best of each query; ours from
codes on the device to hits on the host, all queries in a call and one after the other, and the kernel alone. `commands`: proteins against the real ones,
whole commands, and the scores of all pairs compared. `genes`: 16S genes on both strands, whole commands; gpusw has no strands and is given both.
CUDASW++4 takes 11 for the first letter of a gap, whatever --gop says, and -4 for letters beyond the 20; gpusw takes costs of the first letter too.
Goals: 1 time CUDASW++4's rate, its whole command and 0.5 s, 20 times gpusw.
"""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record
from local_device import of_kernels, spent
from searches import (
    PLAIN,
    TOP,
    Hits,
    Records,
    compared,
    cudasw4,
    cudasw4_hits,
    gpusw,
    gpusw_hits,
    gpusw_rate,
    letters_of,
    odd_names,
    our_hits,
    read,
    resampled,
    run,
    tidalign,
    written,
)

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.uploaded import uploaded
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best, best_device

BOUND = 7430
"""GCUPS that the integer unit allows of 16 bits at 1.98 GHz (local_device.py)."""
SKETCH = 5390
"""GCUPS of a kernel that scores random letters from registers, with nothing around it, on the same kind of GPU in another run."""
BLOSUM62 = Substitution.parse("blosum62,gap:10,1")
PROTEIN = ["--matrix", "blosum62", "--gap", "10,1"]
DNA = "match:2,mismatch:-3,gap:5,2"
PILOT = 24
"""Genes that say how fast gpusw is, and so how many more it gets: with both strands against some thousand others a thread of the GPU each, about."""


def sequences(records: Records) -> Sequences:
    return Sequences.from_strings([letters for _, letters in records])


class Searched:
    """Searches on the current device or the host, letters coded once."""

    def __init__(self, queries: Records, database: Records, scoring: Substitution, device: str) -> None:
        self.coding, self.names, self.gpu = Coding(scoring), [name for name, _ in database], device == "gpu"
        sides = sequences(queries), sequences(database)
        self._sides: list[Any] = [uploaded(side, self.coding) if self.gpu else self.coding.coded(side, place) for place, side in enumerate(sides)]

    def search(self, rows: Any = None, *, top: int = TOP, least: int = 1) -> Any:
        query = self._sides[0] if rows is None else self._sides[0].at(np.asarray(rows))
        return (best_device if self.gpu else best).search([query], self._sides[1], self.coding, top=top, least=least)

    def hits(self) -> Hits:
        found: Hits = {}
        result = self.search()
        for query, target, score in zip(result.query.tolist(), result.target.tolist(), result.score.tolist(), strict=True):
            found.setdefault(query, {})[self.names[target], "+"] = score
        return found


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def rates(args: argparse.Namespace, folder: Path, row: dict[str, Any]) -> None:
    queries, real = read(args.queries), read(args.proteins)[: args.sequences // args.copies]
    database = resampled(real, args.copies)
    cells = letters_of(queries) * letters_of(database)
    files = written(folder / "q.fa", queries), written(folder / "d.fa", database)
    row |= {"queries": len(queries), "sequences": len(database), "letters": letters_of(database), "cells": cells}
    if args.cudasw4:
        made, _ = run([f"{args.cudasw4}/makedb", files[1], f"{folder}/db"])
        row["CUDASW++4"] = {"makedb": round(made, 2)}
        for name, kinds, rounds in (("DPX", ["--dpx"], 2), ("half2", [], 1)):
            options = ("--uploadFull", "--prefetchDBFile", *kinds)
            runs = [cudasw4(args.cudasw4, files[0], f"{folder}/db", folder / f"{name}.tsv", TOP, *options, eager=True) for _ in range(rounds)]
            scan = [min(each) for each in zip(*(times for _, times in runs), strict=True)]
            row["CUDASW++4"][name] = {"align": round(min(runs)[0], 2), "scan": round(sum(scan), 4), "gcups": round(cells / sum(scan) / 1e9)}
            row["CUDASW++4"][name]["gcups of queries"] = each_rate(queries, cells, scan)
    ours = Searched(queries, database, BLOSUM62, args.device)
    hits = ours.hits()  # and kernels are compiled
    taken: dict[str, float] = {}
    for _ in range(args.rounds):
        spent.clear()
        taken["call"] = min(taken.get("call", 1e9), timed(ours.search))
        if ours.gpu:
            taken["kernel"] = min(taken.get("kernel", 1e9), of_kernels()["local_scores"])
    alone = [min(timed(partial(ours.search, [i])) for _ in range(args.rounds)) for i in range(len(queries))]
    taken["one by one"] = sum(alone)
    row["tidalign"] = {"seconds": rounded(taken), "gcups": {name: round(cells / each / 1e9) for name, each in taken.items()}}
    row["tidalign"]["gcups of queries"] = each_rate(queries, cells, alone)
    best_of = max(row["tidalign"]["gcups"].values())
    row["of the bound"], row["of the sketch"] = round(best_of / BOUND, 3), round(best_of / SKETCH, 3)
    if args.cudasw4:
        peer = max(row["CUDASW++4"][name]["gcups"] for name in ("DPX", "half2"))
        row["times CUDASW++4"] = {name: round(rate / peer, 2) for name, rate in row["tidalign"]["gcups"].items()}
        odd = odd_names(database)
        row["hits"] = {name: compared(hits, cudasw4_hits(folder / f"{name}.tsv"), odd) for name in ("DPX", "half2")}
    row["tidalign"]["command"] = round(tidalign(*files, folder / "out.tsv", args.device, *PROTEIN, "--report", "score"), 2)


def each_rate(queries: Records, cells: float, seconds: list[float]) -> dict[int, int]:
    """Give GCUPS by length of the query."""
    letters = letters_of(queries)
    return {len(query): round(cells * len(query) / letters / each / 1e9) for (_, query), each in zip(queries, seconds, strict=True)}


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}


def commands(args: argparse.Namespace, folder: Path, row: dict[str, Any]) -> None:
    queries, database = read(args.queries), read(args.proteins)
    files = written(folder / "q.fa", queries), written(folder / "d.fa", database)
    cells = letters_of(queries) * letters_of(database)
    row |= {"queries": len(queries), "sequences": len(database), "cells": cells}
    row["tidalign"] = {"first call": round(tidalign(*files, folder / "first.tsv", args.device, *PROTEIN), 2)}
    for name, options in (("score", ["--report", "score"]), ("cigar", [])):
        calls = [tidalign(*files, folder / f"{name}.tsv", args.device, *PROTEIN, *options) for _ in range(args.rounds)]
        row["tidalign"] |= {name: round(min(calls), 2), f"gcups, {name}": round(cells / min(calls) / 1e9)}
    if args.cudasw4:
        made = min(run([f"{args.cudasw4}/makedb", files[1], f"{folder}/db"])[0] for _ in range(args.rounds))
        runs = [cudasw4(args.cudasw4, files[0], f"{folder}/db", folder / "theirs.tsv", TOP, "--dpx")[0] for _ in range(args.rounds)]
        row["CUDASW++4"] = {"makedb": round(made, 2), "align": round(min(runs), 2), "whole": round(made + min(runs), 2)}
        row["seconds more than CUDASW++4"] = {name: round(row["tidalign"][name] - made - min(runs), 2) for name in ("score", "cigar")}
        row["hits"] = compared(our_hits(folder / "score.tsv"), cudasw4_hits(folder / "theirs.tsv"), odd_names(database))
        cudasw4(args.cudasw4, files[0], f"{folder}/db", folder / "all.tsv", len(database), "--dpx")
        row["all pairs"] = all_pairs(queries, database, cudasw4_hits(folder / "all.tsv"), args.device)


def all_pairs(queries: Records, database: Records, theirs: Hits, device: str) -> dict[str, Any]:
    """Compare the scores of all pairs: by BLOSUM62, and by it with the peer's score of other letters."""
    place = {name: i for i, (name, _) in enumerate(database)}
    there = np.full((len(queries), len(database)), -1, np.int64)
    for query, hits in theirs.items():
        there[query, [place[name] for name, _ in hits]] = list(hits.values())
    odd = np.array([bool(letters.translate(None, PLAIN)) for _, letters in database])
    row: dict[str, Any] = {"pairs": there.size, "not given by peer": int((there < 0).sum())}
    for name, scoring in (("BLOSUM62", BLOSUM62), ("peer's matrix", of_peer(BLOSUM62))):
        found = Searched(queries, database, scoring, device).search(top=len(database), least=0)
        here = np.full(there.shape, -1, np.int64)
        here[found.query, found.target] = found.score
        differ = (here != there) & (there >= 0)
        row[name] = {"differ": int(differ.sum()), "without other letters": int((differ & ~odd).sum())}
        examples = [
            (i, database[j][0], int(here[i, j]), int(there[i, j])) for i, j in np.argwhere(differ & (~odd if name == "BLOSUM62" else True))[:5].tolist()
        ]
        row[name]["examples"] = examples
    return row


def of_peer(scoring: Substitution) -> Substitution:
    """Score every other letter -4, as CUDASW++4 does."""
    i, _ = np.tril_indices(len(scoring.letters))
    return replace(scoring, lower=tuple(np.where(i < len(PLAIN), scoring.lower, -4).tolist()))


def genes(args: argparse.Namespace, folder: Path, row: dict[str, Any]) -> None:
    database = read(args.genes)
    count = min(args.gene_queries, len(database))
    target = written(folder / "d.fa", database)
    row |= {"sequences": len(database), "strands": 2}
    if args.gpusw:
        _, said = gpusw(database[:PILOT], target, folder / "pilot.csv")
        row["gpusw"] = {"gcups, pilot": gpusw_rate(said)}
        count = int(min(count, max(PILOT, args.gpusw_seconds * gpusw_rate(said) * 1e9 / (2 * letters_of(database) ** 2 / len(database)))))
    queries = database[:: max(1, len(database) // count)][:count]
    cells = 2 * letters_of(queries) * letters_of(database)
    row |= {"queries": len(queries), "cells": cells, "tidalign": {}}
    source = written(folder / "q.fa", queries)
    for name, options in (("score", ["--report", "score"]), ("cigar", [])):
        seconds = min(tidalign(source, target, folder / f"{name}.tsv", args.device, "--scoring", DNA, *options) for _ in range(args.rounds))
        row["tidalign"] |= {name: round(seconds, 2), f"gcups, {name}": round(cells / seconds / 1e9)}
    row["of the bound, whole command"] = round(cells / row["tidalign"]["score"] / 1e9 / BOUND, 3)
    if args.gpusw:
        seconds, said = gpusw(queries, target, folder / "theirs.csv")
        row["gpusw"] |= {"command": round(seconds, 2), "gcups": gpusw_rate(said), "gcups, command": round(cells / seconds / 1e9, 1)}
        row["times gpusw"] = {name: round(seconds / row["tidalign"][name], 1) for name in ("score", "cigar")}
        every = 2 * letters_of(database) ** 2
        row["gpusw, all genes at this rate"] = round(every / gpusw_rate(said) / 1e9)
        row["hits"] = compared(our_hits(folder / "score.tsv"), gpusw_hits(folder / "theirs.csv"), set())


JOBS = {"rates": rates, "commands": commands, "genes": genes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    for name in ("--queries", "--proteins", "--genes", "--cudasw4"):
        parser.add_argument(name)
    parser.add_argument("--gpusw", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu")
    for name, number in (("--sequences", 500_000), ("--copies", 25), ("--gene-queries", 250), ("--rounds", 2)):
        parser.add_argument(name, type=int, default=number)
    parser.add_argument("--gpusw-seconds", type=float, default=25, help="as long as gpusw may take for the genes, about")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(124))
    there = json.loads(Path(args.result).read_text()) if Path(args.result).exists() else {}
    found = {name: there[name] for name in JOBS if name in there}
    about = {"card": gpu_record.gpu()} if args.device == "gpu" else {}
    for name, job in JOBS.items():
        if args.only not in name or not (args.genes if name == "genes" else args.queries and args.proteins):
            continue
        found[name] = {}
        try:
            with tempfile.TemporaryDirectory() as folder:
                job(args, Path(folder), found[name])
        except Exception as error:
            found[name]["error"] = f"{type(error).__name__}: {error}"
        finally:  # also what there was when a limit of time ended it
            record.write(args.result, {**about, **found})
            print(name, json.dumps(found[name]), flush=True)


if __name__ == "__main__":
    main()
