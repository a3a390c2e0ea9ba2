"""Kill workers and clients of one run with SIGKILL at random times, take it up again each time, and compare its rows with the kernels' own answer.

python tests/workflows/chaos.py FOLDER [--kills 20] [--chunks 120] [--slow 0.4] [--seed 1]
"""

import argparse
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
from kills import killed_again_and_again

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise.wavefront import align
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import cigar_text
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input import index
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.manifest import read_manifest
from tidalign.pipeline.store import parts
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.pairs.run import run_pairs

LENGTHS = (20, 40, 100, 200, 300)
"""One length bin each, so that a block of the input gives as many chunks."""

BLOCK_PAIRS = 15

Pairs = list[tuple[bytes, bytes]]


def simulate(folder: Path, pairs: int, seed: int) -> Pairs:
    """Random pairs with one change in ten letters, of lengths that take turns; also written to folder/q.fa and t.fa."""
    rng = np.random.default_rng(seed)
    letters = np.frombuffer(b"ACGT", np.uint8)
    made = []
    for i in range(pairs):
        query = rng.choice(letters, LENGTHS[i % len(LENGTHS)])
        target = np.where(rng.random(len(query)) < 0.1, rng.choice(letters, len(query)), query)[rng.random(len(query)) > 0.02]
        made.append((query.tobytes(), target.tobytes()))
    for name, side in (("q.fa", 0), ("t.fa", 1)):
        (folder / name).write_bytes(b"".join(b">r%d\n%s\n" % (i, pair[side]) for i, pair in enumerate(made)))
    return made


def expected(pairs: Pairs) -> list[tuple[int, int, str]]:
    """Align in one call of the kernels: (ordinal, penalty, CIGAR) of each pair; no files, no chunks, no workers."""
    sides = [Sequences.from_strings([pair[side] for pair in pairs]) for side in (0, 1)]
    alignments = align(sides[0], sides[1], Penalties.parse(PairParameters().penalties))
    text, offsets = cigar_text(alignments)
    cigars = [bytes(text[a:b]).decode() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]
    return list(zip(range(len(pairs)), alignments.penalty.tolist(), cigars, strict=True))


def rows(directory: str) -> list[dict[str, Any]]:
    """Read every row of a run, as its parts have them, by ordinal."""
    manifest = read_manifest(directory)
    found, broken = parts.scan(f"{directory}/parts", manifest.run)
    assert broken == []
    table = [row for chunk in found.values() for part in chunk for row in pq.read_table(part.path).to_pylist()]
    return sorted(table, key=lambda row: int(row["ordinal"]))


def answer(directory: Path) -> list[tuple[int, int, str]]:
    """Read what `expected` gives from a run."""
    return [(row["ordinal"], row["penalty"], row["cigar"]) for row in rows(str(directory))]


def drive(directory: str, queries: str, targets: str, progress: Any = None, **resources: Any) -> Any:
    """Run `run_pairs` with small blocks, so that few pairs make many chunks."""
    with mock.patch.object(index, "BLOCK_PAIRS", BLOCK_PAIRS):
        return run_pairs(directory, inspect(queries, targets), PairParameters(), resources=Resources(**resources), progress=progress)


def chaos(folder: Path, kills: int, chunks: int, slow: float, seed: int) -> dict[str, Any]:
    """Run `chunks` chunks on two workers, with `kills` SIGKILLs, every second one at the client; what happened."""
    made = simulate(folder, chunks * BLOCK_PAIRS // len(LENGTHS), seed)
    directory = str(folder / "run")
    command = [sys.executable, __file__, "--drive", directory, str(folder / "q.fa"), str(folder / "t.fa")]
    happened = killed_again_and_again(command, kills, slow, seed)
    found = rows(directory)
    manifest = read_manifest(directory)
    return {
        **happened,
        "chunks": sum(len(record["chunks"]) for record in manifest.blocks),
        "pairs": len(made),
        "same rows": [(row["ordinal"], row["penalty"], row["cigar"]) for row in found] == expected(made),
        "all exact": all(row["status"] == "exact" for row in found),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--chunks", type=int, default=120)
    parser.add_argument("--slow", type=float, default=0.4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", nargs=3)
    arguments = parser.parse_args()
    if arguments.drive:
        return int(drive(*arguments.drive, workers=2).exit)
    arguments.folder.mkdir(parents=True)
    print(chaos(arguments.folder, arguments.kills, arguments.chunks, arguments.slow, arguments.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
