"""Gapped extension of single anchors against the reference model, which was compared with the LASTZ program."""

import ctypes
import os
import random
import subprocess
import sys
from pathlib import Path

import genome_oracle_extension
import numpy as np
import pytest
from genome_cases import WHOLE, Case, single

from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped import extender as gapped
from tidalign.kernels.gapped.alignments import Extensions, best_of_equals
from tidalign.kernels.gapped.extender import Extender, extend
from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.runtime.vectors import VECTOR_LANES
from tidalign.kernels.scoring.scores import Scoring

ROOT = Path(__file__).parents[3]


def found(case: Case) -> tuple[object, list[list[int]], list[list[int]]]:
    """Extend a case's anchor: score, ends, runs, whether it was cut; and the columns looked at, left and right."""
    target, query, bounds = case.codes()
    [(t, q, _)] = case.anchors
    one, looked = Extender(target, query, bounds, case.costs()).extend(0, t, q, ranges=True)
    if one is None:
        return None, looked.left.tolist(), looked.right.tolist()
    runs = tuple(zip(one.ops.tolist(), one.lengths.tolist(), strict=True))
    return (one.score, *one.ends.tolist(), runs, one.capped), looked.left.tolist(), looked.right.tolist()


def expected(case: Case) -> tuple[object, list[list[int]], list[list[int]]]:
    footprints: list[tuple[np.ndarray, np.ndarray]] = []
    [(t, q, _)] = case.anchors
    one = genome_oracle_extension.extend(*case.letters(), t, q, case.oracle_costs(), None, footprints)
    left, right = (side[1:].tolist() for side in footprints[0])
    return (None if one is None else (one.score, *one.ends(), one.runs, one.cut)), left, right


@pytest.mark.parametrize("first", range(0, 1500, 250))
def test_single_anchors_equal_the_reference(first: int) -> None:
    """Score, ends, path, cut, and every row's columns: all letters, gaps for nothing, tiny y-drops, either trimming, small buffers, small segments."""
    for seed in range(first, first + 250):
        case = single(seed)
        assert found(case) == expected(case), seed


def test_cases_reach_the_corners() -> None:
    cases = [single(seed) for seed in range(300)]
    kinds = {case.costs().compiled[3].dtype.itemsize for case in cases}
    assert kinds == {2, 4}  # both widths of lanes
    outcomes = [expected(case)[0] for case in cases]
    assert sum(one is not None and one[-1] for one in outcomes) > 10  # cut by the buffer
    assert sum(one is None for one in outcomes) > 3


def inspected(seed: int) -> tuple[int, int]:
    """Inspect anchors of random sequences with shared words: how many are decided, of how many; what is decided agrees with the reference."""
    rng = random.Random(seed)
    alphabet = rng.choice(["ACGT", "ACGT", "ACGTacgt", "ACG", "ACGTN"])
    target, query = ("".join(rng.choices(alphabet, k=rng.randint(700, 900))) for _ in range(2))
    if rng.random() < 0.3:
        target = f"{target[:350]}\0{target[351:]}"
    anchors = []
    for _ in range(40):
        t, q = rng.randrange(20, len(target) - 20), rng.randrange(20, len(query) - 20)
        word = rng.randint(2, 18)
        query = query[: q - word] + target[t - word : t + word].replace("\0", "A") + query[q + word :]
        anchors += [(t, q, 0)] if target[t] != "\0" else []
    traceback = rng.choice([WHOLE, WHOLE, 20_000])
    case = Case(target, query, anchors, Scoring(), rng.choice([150, 300, 910, 2000]), rng.choice([200, 800, 3000]), rng.random() < 0.8, traceback)
    below, boxes = Extender(*case.codes(), case.costs()).inspect(*case.places())
    for (t, q, _), sure, box in zip(anchors, below, boxes, strict=True):
        if sure:
            footprints: list[tuple[np.ndarray, np.ndarray]] = []
            one = genome_oracle_extension.extend(*case.letters(), t, q, case.oracle_costs(), None, footprints)
            assert one is None or one.score < case.threshold
            assert box.tolist() == [int(value) for side in footprints[0] for value in (len(side) - 1, side[:, 1].max())]
    return int(below.sum()), len(below)


def test_inspection_is_sure_of_what_it_says() -> None:
    counts = np.array([inspected(seed) for seed in range(120)])
    assert counts[:, 0].sum() > 800


def test_what_memory_held_before_does_not_matter() -> None:
    noise = np.random.default_rng(3)
    for seed in range(120):
        case = single(seed)
        memory = gapped.memory()
        for work, slots in ((memory.work, range(0, 12, 2)), (memory.spare, range(0, 4, 2))):
            for slot in slots:
                size = int(work[slot + 1])
                if size:
                    held = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(int(work[slot])))
                    held[:] = noise.integers(256) if seed % 2 else noise.integers(0, 256, size)
        assert found(case) == expected(case), seed


WIDTHS = """
import sys
sys.path.insert(0, sys.argv[1])
sys.path.insert(0, sys.argv[2])
from genome_cases import single
from test_gapped import VECTOR_LANES, found, inspected
print(VECTOR_LANES)
assert sum(inspected(seed)[0] for seed in range(120, 140)) > 50
for seed in range(1500, 1650):
    print(found(single(seed)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("lanes", [1, 8])
def test_every_width_gives_the_same(lanes: int) -> None:
    run = subprocess.run(
        [sys.executable, "-c", WIDTHS, str(ROOT / "tests"), str(Path(__file__).parent)],
        env={**os.environ, "TIDALIGN_LANES": str(lanes)},
        capture_output=True,
        text=True,
        check=True,
    )
    used, *lines = run.stdout.splitlines()
    assert (int(used), VECTOR_LANES) == (lanes, VECTOR_LANES)
    assert lines == [str(expected(single(seed))) for seed in range(1500, 1650)]


def test_totals_have_64_bits() -> None:
    """Equal sequences of 300,000 letters that score 9,000 each: 2.7e9."""
    letters = np.random.default_rng(1).integers(0, 4, 300_000).astype(np.uint8)
    matrix = tuple(tuple(9000 if a == b else -9000 for b in range(4)) for a in range(4))
    costs = Costs(Scoring(matrix).plain(), 9000, 3000, 30_000, segment=1 << 20)
    result = extend(letters, letters, [[0, len(letters)]], [150_000], [150_000], costs)
    assert result.score.tolist() == [9000 * 300_000]
    assert (result.target_start[0], result.target_end[0], result.query_start[0], result.query_end[0]) == (0, 300_000, 0, 300_000)
    assert (result.run_ops.tolist(), result.run_lengths.tolist()) == ([0], [300_000])


def test_a_long_gap_costs_open_and_extends() -> None:
    noise = np.random.default_rng(2)
    one, other, between = (noise.integers(0, 4, n).astype(np.uint8) for n in (400, 400, 57))
    target, query = np.concatenate([one, between, other]), np.concatenate([one, other])
    result = extend(target, query, [[0, len(target)]], [100], [100], Costs(Scoring().plain()))
    matches = sum(int(Scoring().plain()[code, code]) for code in query.tolist())
    assert result.score.tolist() == [matches - 400 - 57 * 30]
    assert result.run_ops.tolist() == [0, 2, 0]
    assert result.run_lengths[1] == 57


def test_extensions_do_not_leave_their_sequence() -> None:
    letters = encode(b"\0".join([b"ACGTTGCATTGACCATGACA" * 10] * 3))
    bounds = [[0, 200], [201, 401], [402, 602]]
    query = encode(b"ACGTTGCATTGACCATGACA" * 40)
    result = extend(letters, query, bounds, [100, 300, 500], [400, 400, 400], Costs(Scoring().plain()))
    assert result.target_start.tolist() == [0, 201, 402]
    assert result.target_end.tolist() == [200, 401, 602]


def test_tables_of_extensions() -> None:
    """take, concat and arrays keep each row's runs."""
    cases = [single(seed) for seed in range(40)]
    parts = [extend(*case.codes(), *case.places(), case.costs()) for case in cases]
    both = Extensions.concat(parts)
    alone = [(one.score, one.ends.tolist(), one.ops.tolist(), one.lengths.tolist()) for part in parts for one in part]
    order = np.random.default_rng(0).permutation(len(both))
    taken = Extensions.from_arrays(both.take(order).to_arrays())
    assert [(one.score, one.ends.tolist(), one.ops.tolist(), one.lengths.tolist()) for one in taken] == [alone[i] for i in order]
    assert len(both) == len(alone) > 30
    assert len(Extensions.concat([])) == len(Extensions.empty()) == 0


def test_costs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="pass 32 bits"):
        Costs(Scoring().plain(), ydrop=1 << 31)
    with pytest.raises(ValueError, match="gap_open is -1"):
        Costs(Scoring().plain(), gap_open=-1)


def test_the_best_of_equals() -> None:
    random = np.random.default_rng(3)
    pairs, score, anchor = random.integers(0, 5, (2, 200)), random.integers(0, 3, 200), random.permutation(200)
    best: dict[tuple[int, int], tuple[int, int, int]] = {}
    for place, pair in enumerate(zip(*pairs.tolist(), strict=True)):
        one = (-int(score[place]), int(anchor[place]), place)
        best[pair] = min(best.get(pair, one), one)
    assert best_of_equals(anchor, score, *pairs).tolist() == sorted(place for _, _, place in best.values())
    nothing = np.empty(0, np.int64)
    assert best_of_equals(nothing, nothing, nothing).tolist() == []
