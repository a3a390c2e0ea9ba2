"""Every vector width gives the same alignments: each runs in a process of its own, because kernels are compiled for one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import simulate
from tidalign.kernels.wavefront.alignments import cigar_text
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.runtime.vectors import VECTOR_LANES
from tidalign.kernels.pairwise.wavefront import align
import numpy as np
random = np.random.default_rng(11)
pairs = [simulate.pair(random, length, 0.15, kind) for length in (0, 1, 7, 16, 33, 70, 250, 600) for kind in simulate.KINDS]
queries, targets = (Sequences.from_strings(side) for side in zip(*pairs))
print(VECTOR_LANES)
for penalties in Penalties.presets().values():
    rules = [Heuristic.parse(rule) for rule in ("adaptive:4,15,1", "band:-9,20", "xdrop:20")]
    for free, rule in [(free, rule) for free in (None, (3, 40, 0, 9)) for rule in (None, *rules)]:
        found = align(queries, targets, penalties, ends_free=free, heuristic=rule)
        print(found.penalty.tolist(), found.target_end.tolist(), bytes(cigar_text(found)[0]))
"""


def result(lanes: int | None) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TIDALIGN_LANES"}
    if lanes is not None:
        environment["TIDALIGN_LANES"] = str(lanes)
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(ROOT)], env=environment, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_every_width_gives_the_same(lanes: int) -> None:
    """What a processor without wide vectors computes is what the reference-tested width of this one does."""
    used, *found = result(lanes)
    assert used == str(lanes)
    assert found == result(None)[1:]
    assert len(found) == 32
