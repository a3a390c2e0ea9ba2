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


SHUFFLED = """
import sys
sys.path[:0] = [sys.argv[1]]
import numpy as np
from scored_cases import PROTEIN, batch, cases
from tidalign.kernels.local import lookups, pairs, scored
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution
lookups.PERMUTES = lookups.PERMUTES and sys.argv[2] == "True"
scoring = Substitution.parse("blosum62")
coding, pairs.SHARED_PAIRS = Coding(scoring), 1
query, target = (coding.coded(batch(strings, scoring), place) for place, strings in enumerate(cases(3, PROTEIN, 300, 120)))
for scored.MOST_COST in (127, 0):  # in 8 bits, and in 16
    print(pairs.align_coded(query.at(np.full(len(target), int(query.lengths.argmax()))), target, coding, report="score").score.tolist())
"""


def printed(program: str, *arguments: str, **environment: str) -> list[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "TIDALIGN_LANES"}
    line = [sys.executable, "-c", program, str(ROOT), *arguments]
    return subprocess.run(line, env=inherited | environment, capture_output=True, text=True, check=True).stdout.splitlines()


def result(lanes: int | None) -> list[str]:
    return printed(PROGRAM, **({} if lanes is None else {"TIDALIGN_LANES": str(lanes)}))


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 8, 16])
def test_widths_do_not_show(lanes: int) -> None:
    assert result(lanes) == result(None)


@pytest.mark.slow
def test_scores_are_looked_up_by_shuffles_too(tmp_path: Path) -> None:
    """Look scores up as processors do that have no instruction for 64 bytes; kept elsewhere, as kernels do not say which they were compiled for."""
    shuffled = printed(SHUFFLED, "False", NUMBA_CACHE_DIR=str(tmp_path))
    assert shuffled == printed(SHUFFLED, "True") and shuffled[0] == shuffled[1]
