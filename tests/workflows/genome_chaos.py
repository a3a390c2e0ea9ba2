"""Kill workers and clients of one genome run with SIGKILL at random times, take it up again each time, and compare its rows with those of a run in peace.

python tests/workflows/genome_chaos.py FOLDER TARGET QUERY [--kills 10] [--slow 0.3] [--seed 1] [--mode exact]
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

from kills import killed_again_and_again

from tidalign.pipeline.device import CPU, GPU
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.walk import walk
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.genome import run
from tidalign.workflows.run.genome.run import SHARED_WORK, run_genomes
from tidalign.workflows.run.runner import RunKind

TILE_ANCHORS = 8


def drive(
    directory: str,
    target: str,
    query: str,
    mode: str = "exact",
    *,
    staged: bool = True,
    speed: float = GPU.speed,
    share: float = SHARED_WORK,
    hire: float = 0.0,
    works: bool = False,
    **resources: Any,
) -> Any:
    """Run `run_genomes` with every unit in stages and few anchors a tile, so that a small genome makes many tasks. speed: of a GPU, in cores. hire: seconds of
    one GPU from which on others are worth it; share: from which on two processes share one. works: whether this process does, until others are there."""
    source = GenomeSource((Pair("pair", target, query),))
    small = {"CPU": replace(CPU, tile_anchors=TILE_ANCHORS), "GPU": replace(GPU, tile_anchors=TILE_ANCHORS, speed=speed)}
    with (
        mock.patch.object(plan, "TILE_SECONDS", 0.0 if staged else 1e9),
        mock.patch.multiple(devices, **small),
        mock.patch.object(RunKind, "hire_seconds", hire),
        mock.patch.object(run, "SHARED_WORK", share),
        mock.patch.object(run.Genomes, "works_until_hired", lambda *_: works),
    ):
        return run_genomes(directory, source, GenomeParameters(mode=mode), resources=Resources(**resources))


def chaos(folder: Path, target: str, query: str, kills: int, slow: float, seed: int, mode: str) -> dict[str, Any]:
    """Run once on two workers with `kills` SIGKILLs, every second one at the client; gives what happened."""
    peace = str(folder / "peace")
    drive(peace, target, query, mode)
    directory = str(folder / "run")
    command = [sys.executable, __file__, "--drive", directory, target, query, mode]
    happened = killed_again_and_again(command, kills, slow, seed)
    found = {}
    for name in (peace, directory):
        GenomeResults(name).export(f"{name}.maf")
        found[name] = Path(f"{name}.maf").read_bytes()
    return {
        **happened,
        "rows": len(GenomeResults(directory)),
        "same bytes": found[peace] == found[directory] and GenomeResults(peace).to_table() == GenomeResults(directory).to_table(),
        "shortfalls": GenomeResults(directory).shortfalls(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("target", nargs="?")
    parser.add_argument("query", nargs="?")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--slow", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="exact")
    parser.add_argument("--drive", nargs=4)
    parser.add_argument("--options", type=json.loads, default={"workers": 2}, help="of run_genomes, with --drive")
    arguments = parser.parse_args()
    if arguments.drive:
        with mock.patch.object(walk, "CHECKPOINT_SECONDS", 0.5):  # so that a walk that is killed goes on from one
            return int(drive(*arguments.drive, **arguments.options).exit)
    arguments.folder.mkdir(parents=True)
    print(chaos(arguments.folder, arguments.target, arguments.query, arguments.kills, arguments.slow, arguments.seed, arguments.mode))
    return 0


if __name__ == "__main__":
    sys.exit(main())
