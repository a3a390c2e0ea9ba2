"""The kernel of short pairs' edit distances without a GPU, threads taking turns on the host: the rows of the host twin, which takes what the kernel leaves."""

from collections.abc import Callable, Iterator
from typing import Any

import conformance
import cuda_on_host
import cupy_on_host
import numpy as np
import pytest
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront import device_edit
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.kernels.wavefront.device import Batch, CallSettings
from tidalign.kernels.wavefront.model import Model

pytestmark = pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")

EDIT = Penalties.parse("edit")

RATES = (0, 0.02, 0.05, 0.1, 0.2, 0.3)


@pytest.fixture(scope="module", autouse=True)
def on_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        cuda_on_host.installed(patch, tmp_path_factory.mktemp("kernels"))
        yield


@pytest.fixture
def launches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of kernels launched; those of every other pass find no room, so that cores take what this one leaves."""
    names: list[str] = []
    launch: Callable[..., None] = compiler.launch

    def launched(function: Any, *arguments: Any, **options: Any) -> None:
        names.append(function.name)
        if function.name == "ends_of_runs":
            runs = arguments[2]
            assert not (runs == cupy_on_host.unset(1, runs.dtype)).any(), "the runs of a pair that no launch has come to are gathered"
        launch(function, *arguments, **options)

    def none(*_: Any) -> None:
        raise DeviceLimit("no room")

    monkeypatch.setattr(compiler, "launch", launched)
    monkeypatch.setattr(Batch, "_launch", none)
    return names


def sides(pairs: list[simulate.Pair]) -> tuple[Sequences, Sequences]:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


def every_kind(seed: int, count: int, longest: int = 300) -> list[simulate.Pair]:
    """Draw pairs of every kind and rate, of 0 to `longest` letters; equal ones, empty sides and very unequal ones."""
    random = np.random.default_rng(seed)
    lengths = iter(random.integers(0, longest + 1, count * len(RATES) * len(simulate.KINDS)))
    pairs = [simulate.pair(random, int(next(lengths)), rate, kind) for _ in range(count) for rate in RATES for kind in simulate.KINDS]
    one, other = pairs[0]
    return [*pairs, (one, one), (b"", b""), (one, b""), (b"", other), (b"", b"A"), (b"C", b""), (one[:20], one), (one[5:], one[:-3]), (b"A", b"C")]


def check(pairs: list[simulate.Pair], what: str, *, packed: bool = False, cigar: bool = True) -> Alignments:
    both = sides(pairs)
    expected = wavefront.align(*both, EDIT, cigar=cigar)
    found = wavefront_device.align(*((pack(side) for side in both) if packed else both), EDIT, cigar=cigar)
    conformance.same(expected, found, what, with_cigar=cigar)
    return found


def farther(found: Alignments, pairs: list[simulate.Pair], penalty: int) -> int:
    """Count pairs dearer than a penalty or with letters other than ACGT."""
    others = [bool(set((query + target).upper()) - set(b"ACGT")) for query, target in pairs]
    return int((np.array(others) | (found.penalty > penalty)).sum())


@pytest.mark.parametrize("cigar", [True, False], ids=["cigar", "penalty"])
def test_host_rows(launches: list[str], cigar: bool) -> None:
    """Find the host twin's rows, and leave to others nothing that costs a fourth of the limit or less."""
    pairs = every_kind(1, 30)
    found = check(pairs, "edit", cigar=cigar)
    limit = device_edit.Shape.of(max(len(side) for pair in pairs for side in pair), cigar=cigar).limit
    assert launches[0] == "edit_align" and set(launches) <= {"edit_align", "ends_of_runs", "gather_short_runs"}
    assert 0 < found.by_host <= farther(found, pairs, limit // 4)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_host_rows_of_thousands(launches: list[str], seed: int) -> None:
    """Batches of one length, as reads are, whose limits are lower than those of a mixture; long ones."""
    for longest, count in ((40, 40), (150, 40), (300, 40), (1000, 8)):
        check(every_kind(seed + 10, count, longest), f"up to {longest}", packed=seed % 2 == 0, cigar=seed != 3)


@pytest.mark.parametrize(("limit", "threads"), [(1, 32), (2, 128), (7, 32), (40, 128)])
def test_any_limit_and_block(monkeypatch: pytest.MonkeyPatch, launches: list[str], limit: int, threads: int) -> None:
    monkeypatch.setattr(device_edit, "LIMITS", (limit, limit))
    monkeypatch.setattr(device_edit, "THREADS", threads)
    pairs = every_kind(2, 4)
    found = check(pairs, f"limit {limit}, {threads} threads", packed=True)
    assert farther(found, pairs, limit) <= found.by_host <= farther(found, pairs, limit // 4)


@pytest.mark.parametrize("goal", [0, 2, -3])
def test_paths_along_the_edges_of_the_diamond(monkeypatch: pytest.MonkeyPatch, launches: list[str], goal: int) -> None:
    """Pairs with one goal, gaps there and back that cost the limit or almost, in letters that tie often: nothing is left out that a pair or a tie needs."""
    limit = 10 + goal % 2  # there and back: no letter to spare
    monkeypatch.setattr(device_edit, "LIMITS", (limit, limit))
    random = np.random.default_rng(goal + 9)
    pairs: list[simulate.Pair] = []
    for i in range(640):
        letters = simulate.repeat(random, 90) if i % 4 == 0 else simulate.sequence(random, 90)
        there = int(random.integers(0, (limit - abs(goal)) // 2 + 1))
        first, second = sorted(random.integers(30, 60, 2))
        other = letters[:first] + letters[first + there :]
        other = other[:second] + simulate.sequence(random, there + abs(goal)) + other[second:]
        query, target = (letters, other) if goal >= 0 else (other, letters)
        pairs += [(query, target), (query[::-1], target[::-1])]
    found = check(pairs, f"goal {goal}")
    assert found.penalty.max() == limit and found.by_host == 0


def test_pairs_without_room_come_again(monkeypatch: pytest.MonkeyPatch, launches: list[str]) -> None:
    class Small(device_edit.EditBatch):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            self._pool = cupy_on_host.Array(40, np.uint32)

    monkeypatch.setattr(wavefront_device, "EditBatch", Small)
    check(every_kind(3, 6, 150), "a small pool")
    assert launches.count("edit_align") > 3


def test_close_pairs_have_one_launch(launches: list[str]) -> None:
    found = check([pair for rate in (0, 0.01, 0.03) for pair in simulate.pairs(4, 100, 150, rate)], "close")
    assert found.by_host == 0 and launches == ["edit_align", "ends_of_runs", "gather_short_runs"]


def test_a_warp_gives_up_early(monkeypatch: pytest.MonkeyPatch, launches: list[str]) -> None:
    """Pairs far over the limit are left after a fourth of it, and pairs within it among them; close ones are not, whatever one of them is."""
    monkeypatch.setattr(device_edit, "LIMITS", (16, 16))
    far, near = simulate.pairs(6, 31, 200, 0.3), simulate.pairs(7, 31, 200, 0.04)
    assert check([*far, *simulate.pairs(8, 1, 200, 0.04)], "far").by_host == 32
    assert check([*near, *simulate.pairs(8, 1, 200, 0.3)], "near").by_host == 1


@pytest.mark.slow
def test_what_is_left_goes_to_other_passes() -> None:
    assert check(every_kind(5, 1), "every pass").by_host == 0


def test_only_edit_distances_of_whole_short_pairs() -> None:
    def takes(model: str, longest: int = 150, ends: tuple[int, int, int, int] = (0, 0, 0, 0), heuristic: Heuristic | None = None) -> bool:
        return device_edit.EditBatch.takes(CallSettings(Model.of(Penalties.parse(model)), ends, True, 1, heuristic), longest)

    assert takes("edit") and takes("edit", device_edit.LONGEST)
    assert not any((takes("linear:1,2"), takes("edit", 1025), takes("edit", ends=(0, 1, 0, 0)), takes("edit", heuristic=Heuristic.parse("adaptive"))))


@pytest.mark.parametrize("limit", [1, 2, 8, 18, 31, 62])
def test_shapes_hold_what_they_must(limit: int) -> None:
    """Runs lie where directions were, and no diagonal that is reached is outside a row."""
    shape = device_edit.Shape.with_limit(150, limit, cigar=True)
    assert 2 * shape.direction_words >= 2 * limit + 1 and shape.reach <= limit <= 2 * shape.reach
