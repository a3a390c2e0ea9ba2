"""Every vector width gives the same alignments by scores: each runs in a process of its own, because kernels are compiled for one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
sys.path[:0] = [sys.argv[1]]
import numpy as np
from scored_cases import DNA, PROTEIN, aligned, batch, cases
from tidalign.kernels.local import pairs
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution
for text, alphabet in (("match:2,mismatch:-4,gap:4,2", DNA), ("blosum62,gap:6,2,14,1", PROTEIN)):
    scoring = Substitution.parse(text)
    sides = [batch(strings, scoring) for strings in cases(3, alphabet, 150, 120)]
    for span in ("local", "overlap"):
        print(aligned(pairs.align(*sides, scoring, span=span)))
    coding = Coding(scoring)
    query, target = (coding.coded(side, place) for place, side in enumerate(sides))
    saves, cost = pairs.ALONG_SAVES, pairs.ALONG_COST
    pairs.ALONG_SAVES = pairs.ALONG_COST = -1e18  # lanes have strips of one pair
    print([aligned(pairs.align(*sides, scoring, span=span)) for span in ("local", "overlap")])
    pairs.ALONG_SAVES, pairs.ALONG_COST = saves, cost
    pairs.SHARED_PAIRS = 1
    print(pairs.align_coded(query.at(np.full(len(target), int(query.lengths.argmax()))), target, coding, report="score").score.tolist())
"""


def result(lanes: int | None) -> list[str]:
    environment = {name: value for name, value in os.environ.items() if name != "TIDALIGN_LANES"}
    if lanes is not None:
        environment["TIDALIGN_LANES"] = str(lanes)
    run = subprocess.run([sys.executable, "-c", PROGRAM, str(ROOT)], env=environment, capture_output=True, text=True, check=True)
    return run.stdout.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_widths_do_not_show(lanes: int) -> None:
    assert result(lanes) == result(None)
