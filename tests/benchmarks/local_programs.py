"""GASAL2 and AGAThA as programs, and what they found: for local_peers.py."""

import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local.coding import Coding

Sides = tuple[Sequences, Sequences]
Row = dict[str, Any]

BATCH = 500_000
"""Pairs of a batch of GASAL2, at most."""
TILES = (1 << 31) - 1
"""Numbers of 32 cells of GASAL2's way back, of a batch: it has 32 bits for them."""
LONG = 5e7
"""Cells of the longest pair from which on GASAL2, which gives it a thread, runs once, and has no more pairs with CIGARs than two batches hold; without CIGARs
from four times as many on."""

SUBWARPS = 25_344
"""Pairs of a batch of AGAThA, as many as it has subwarps then (-b 792 -t 256); more than 32,767 it does not number."""
ZDROP, BAND = 400, 751
"""minimap2's z-drop; AGAThA's default band, where ours is what is shown to be enough."""

LIMIT = 90
"""Seconds of a peer's process."""


def gcups(sides: Sides, seconds: float) -> int:
    return round(cells_of(sides) / seconds / 1e9)


def cells_of(sides: Sides) -> float:
    return float((sides[0].lengths.astype(float) * sides[1].lengths).sum())


def most_cells(sides: Sides) -> float:
    """Count the cells of a pair of the longest query and the longest target."""
    return float(sides[0].lengths.max()) * float(sides[1].lengths.max())


def taken(sides: Sides, rows: npt.NDArray[np.int64]) -> Sides:
    """Take the pairs at these places."""
    query, target = (Sequences.from_strings([side.letters[side.offsets[i] : side.offsets[i + 1]].tobytes() for i in rows.tolist()]) for side in sides)
    return query, target


def written(folder: str, sides: Sides) -> list[str]:
    """Write FASTA files of both sides of pairs, as peers read them."""
    paths = []
    for name, side in zip(("query", "target"), sides, strict=True):
        paths.append(f"{folder}/{name}.fa")
        letters, offsets = side.letters.tobytes(), side.offsets.tolist()
        with Path(paths[-1]).open("wb", buffering=1 << 22) as out:
            out.writelines(b">%d\n%s\n" % (i, letters[begin:end]) for i, (begin, end) in enumerate(pairwise(offsets)))
    return paths


def ran(words: list[str], **variables: str) -> tuple[float, str, str]:
    """Run a peer: seconds in which any of its kernels ran, and what it said. Its kernels are loaded before the first one runs."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    with tempfile.TemporaryDirectory() as folder:
        kernels = Path(folder, "kernels")
        variables |= {"KERNELS": str(kernels), "CUDA_MODULE_LOADING": "EAGER"}
        done = subprocess.run(words, capture_output=True, text=True, env=os.environ | variables, timeout=LIMIT)
        if done.returncode:
            raise RuntimeError(f"{Path(words[0]).name} ended with {done.returncode}: {done.stderr[-300:]}")
        return busy(kernels.read_text()), done.stdout, done.stderr


def tried(peer: Callable[..., tuple[Row, Any]], *arguments: Any) -> tuple[Row, Any]:
    """Run a peer; where it fails, say how."""
    try:
        return peer(*arguments)
    except (RuntimeError, OSError, LookupError, subprocess.TimeoutExpired) as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}, None


def busy(text: str) -> float:
    """Add up the seconds in which any of these ran: lines of begin and end in ms."""
    whole = last = 0.0
    for begin, end in sorted(tuple(map(float, line.split())) for line in text.splitlines()):
        whole += max(0.0, end - max(begin, last))
        last = max(last, end)
    return whole / 1e3


def gasal2_scores(said: str, count: int) -> npt.NDArray[np.int64]:
    """Read the scores, by the number that a pair has as its name: batches may be printed in any order."""
    found = np.full(count, -1, np.int64)
    for line in said.splitlines():
        if line.startswith("query_name="):
            name, _, score, *_ = line.split("\t")
            found[int(name.partition("=")[2])] = int(score.partition("=")[2])
    return found


def agatha_ends(said: str) -> npt.NDArray[np.int64]:
    """Read scores, and ends of queries and targets, which are its targets and queries, as ours are: behind the last letter."""
    lines = [re.findall(r"-?\d+", line) for line in said.splitlines() if "query_batch_end" in line]
    return np.array([(int(score), int(target) + 1, int(query) + 1) for score, query, target in lines], np.int64).reshape(-1, 3).T


def program(programs: list[str], longest: int) -> str:
    """Choose the program that is built for queries of so many letters."""
    return min((each for each in programs if int(each.rpartition(".")[2]) >= (longest + 7) // 8 * 8), key=lambda each: int(each.rpartition(".")[2]))


def batches(sides: Sides, cigars: bool) -> tuple[int, int]:
    """Say how many pairs GASAL2 has in a batch, for each of its two streams, and how many in all."""
    count = len(sides[0])
    batch = min(BATCH, -(-count // 2))
    if not cigars:
        return batch, count
    n, m = (-(-(int(side.lengths.max()) + 7) // 8) * 8 for side in sides)
    batch = min(batch, TILES // -(-n * m // 32))
    return batch, min(count, 2 * batch) if most_cells(sides) > LONG else count


def gasal2(programs: list[str], sides: Sides, cigars: bool) -> tuple[Row, npt.NDArray[np.int64] | None]:
    """Align local pairs by GASAL2: rates, and scores if there are no CIGARs."""
    batch, count = batches(sides, cigars)
    if count < len(sides[0]):
        sides = taken(sides, np.linspace(0, len(sides[0]) - 1, count).astype(np.int64))
    words = [program(programs, int(sides[0].lengths.max())), "-y", "local", "-a", "1", "-b", "4", "-q", "6", "-r", "2", "-n", "1"]
    words += ["-s", "-t"] if cigars else []
    once = most_cells(sides) > LONG
    scores, seconds = None, []
    with tempfile.TemporaryDirectory() as folder:
        files = written(folder, sides)
        for printed in [[]] if cigars else [["-p"]] if once else [[], ["-p"]]:
            kernels, said, told = ran([*words, *printed, *files], SBS=str(batch))
            seconds.append((kernels, float(re.findall(r"milliseconds\): ([0-9.]+)", told)[-1]) / 1e3))
            scores = gasal2_scores(said, count) if printed else None
    kernels, whole = (min(each) for each in zip(*seconds, strict=True))
    rates = {"kernels": gcups(sides, kernels), "whole": gcups(sides, whole)}
    return {"pairs": count, "of a batch": batch, "built for": words[0].rpartition(".")[2], "kernel seconds": round(kernels, 5), "gcups": rates}, scores


def agatha(peer: str, sides: Sides, coding: Coding, batch: int) -> tuple[Row, npt.NDArray[np.int64]]:
    """Extend pairs by AGAThA: rates, and scores and ends. What is printed in another order than that of pairs is not told apart: batches are two, or alike."""
    match, mismatch, (first, more) = int(coding.matrix[0, 0]), int(coding.matrix[0, 1]), coding.costs
    scores = ["-m", match, "-x", -mismatch, "-q", first - more, "-r", more, "-s", 3, "-z", ZDROP, "-w", BAND, "-b", 792, "-t", 256, "-a", batch]
    with tempfile.TemporaryDirectory() as folder:
        files, raw = written(folder, sides), Path(folder, "raw")
        kernels, said, _ = ran([peer, "-p", *map(str, scores), *reversed(files), str(raw)])
        own = sum(map(float, raw.read_text().split())) / 1e3
    return {"of a batch": batch, "kernel seconds": round(kernels, 5), "own seconds": round(own, 5), "gcups": gcups(sides, kernels)}, agatha_ends(said)
