"""The bidirectional algorithm on the device: the host's rows, byte for byte, and on pairs cut to pieces the oracles' penalties.

Its kernels run on the host as well as on a GPU.
"""

import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import conformance
import cuda_on_host
import cupy_on_host
import numpy as np
import oracle
import pytest
import simulate

from tidalign.kernels.bidirectional import device as bidirectional_device
from tidalign.kernels.bidirectional import host as bidirectional_host
from tidalign.kernels.bidirectional import launches as bidirectional_launches
from tidalign.kernels.bidirectional.rows import Memory
from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.runtime.errors import DeviceLimit
from tidalign.kernels.runtime.lanes import Lane
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_text

PRESETS = list(Penalties.presets().values())
FREE = [None, (10, 200, 0, 50)]

gpu = pytest.mark.gpu
either_way = pytest.mark.parametrize("few", [True, False], ids=["later levels swept", "a block a part"])


@pytest.fixture
def cut_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send every pair to the bidirectional algorithm, with parts as small as it allows."""
    monkeypatch.setattr(wavefront, "BIDIRECTIONAL_ABOVE", -1)
    monkeypatch.setattr(bidirectional_host, "LEAF", 1)
    monkeypatch.setattr(bidirectional_host.align_long, "__defaults__", (1,))


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run the kernels on the host, with fewer threads: each takes a stack there."""
    cuda_on_host.installed(monkeypatch, tmp_path)
    monkeypatch.setattr(bidirectional_launches, "SHAPES", 5 * ((16, 128),))
    monkeypatch.setattr(bidirectional_launches, "NARROW", (16, 64))
    for name, size in {"MEET_BLOCKS": 2, "MEET_THREADS": 64, "WORD_BLOCKS": 1, "LIGHT_BLOCKS": 200}.items():
        monkeypatch.setattr(bidirectional_launches, name, size)


def sides(pairs: list[simulate.Pair]) -> tuple[Sequences, Sequences]:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


def aligned(queries: Any, targets: Any, penalties: Penalties, *, ends_free: Any = None, cigar: bool = True, ambiguous: str = "mismatch") -> Alignments:
    """Align all pairs by the bidirectional kernels, none by the host."""
    from tidalign.kernels.wavefront.device import CallSettings
    from tidalign.kernels.wavefront.model import Model

    settings = CallSettings(Model.of(penalties), ends_free or (0, 0, 0, 0), cigar, {"mismatch": 1, "match": 2}[ambiguous])
    found, left = bidirectional_device.align(queries, targets, list(range(len(queries))), settings)
    assert not left
    rows = [found[row] for row in range(len(queries))]
    columns = [np.concatenate([getattr(row, name) for row in rows]) for name in ("penalty", "query_start", "query_end", "target_start", "target_end")]
    if not cigar:
        return Alignments(*columns)
    cigars = [row.cigar for row in rows if row.cigar is not None]
    return Alignments(*columns, np.concatenate(cigars), np.cumsum([0, *(len(each) for each in cigars)]))


def every_kind(seed: int, shapes: tuple[tuple[int, float], ...]) -> list[simulate.Pair]:
    return [pair for kind in simulate.KINDS for length, rate in shapes for pair in simulate.pairs(seed, 1, length, rate, kind)]


@gpu
@pytest.mark.usefixtures("device", "cut_up")
@pytest.mark.parametrize("ends_free", FREE, ids=["global", "free"])
@pytest.mark.parametrize("text", conformance.PENALTIES)
def test_small_pairs_cut_to_pieces(text: str, ends_free: oracle.EndsFree | None) -> None:
    penalties = Penalties.parse(text)
    pairs = every_kind(3, ((0, 0), (1, 0.5), (60, 0.2), (130, 0.3), (260, 0.15)))
    found = aligned(*sides(pairs), penalties, ends_free=ends_free)
    cigars, offsets = cigar_text(found)
    for i, (query, target) in enumerate(pairs):
        inner = query[found.query_start[i] : found.query_end[i]], target[found.target_start[i] : found.target_end[i]]
        cigar = cigars[offsets[i] : offsets[i + 1]].tobytes().decode()
        assert oracle.rescore(cigar, *inner, penalties) == found.penalty[i] == oracle.gotoh(query, target, penalties, ends_free), (query, target, cigar)
    conformance.same(wavefront.align(*sides(pairs), penalties, ends_free=ends_free), found, text)


@pytest.mark.slow
@pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")
@pytest.mark.usefixtures("emulated", "cut_up")
@either_way
@pytest.mark.parametrize("text", ["edit", "linear:3,5", "affine:4,6,2", "affine:1,30,1", "affine2p:4,6,2,24,1"])
def test_host_rows_without_a_gpu(text: str, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that must grow among them."""
    monkeypatch.setattr(bidirectional_launches.Launches, "_few", lambda *_: few)
    penalties, both = Penalties.parse(text), sides(every_kind(3, ((0, 0), (1, 0.5), (60, 0.2), (130, 0.3), (260, 0.15))))
    for options in ({}, {"ends_free": (10, 200, 0, 50), "ambiguous": "match"}, {"cigar": False}):
        found = aligned(*both, penalties, **options)
        conformance.same(wavefront.align(*both, penalties, **options), found, f"{text} {options}", with_cigar="cigar" not in options)
        monkeypatch.setattr(bidirectional_launches, "FIRST_STEPS", 16)
        monkeypatch.setattr(bidirectional_launches, "POLL_STEPS", 48)


@gpu
@pytest.mark.usefixtures("device", "cut_up")
@either_way
@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_host_rows_cut_to_pieces(penalties: Penalties, few: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bidirectional_launches.Launches, "_few", lambda *_: few)
    pairs = every_kind(4, ((900, 0.1), (1500, 0.3), (3000, 0.03)))
    queries, targets = sides(pairs)
    for options in ({}, {"ends_free": (30, 0, 500, 70)}, {"ambiguous": "match"}, {"cigar": False}, {"cigar": False, "ends_free": (0, 9, 9, 0)}):
        expected = wavefront.align(queries, targets, penalties, **options)
        conformance.same(expected, aligned(queries, targets, penalties, **options), f"{penalties} {options}", with_cigar="cigar" not in options)
    conformance.same(wavefront.align(queries, targets, penalties), aligned(pack(queries), pack(targets), penalties), "packed")


@gpu
@pytest.mark.usefixtures("device", "cut_up")
def test_very_unequal_sides() -> None:
    long = simulate.pairs(5, 12, 2000, 0.05)
    pairs = [(query[:short], target) for (query, target), short in zip(long, (0, 1, 5, 20, 60, 200, 500, 900, 1300, 1700, 1900, 2000), strict=True)]
    pairs += [(target, query) for query, target in pairs]
    for penalties in PRESETS:
        conformance.same(wavefront.align(*sides(pairs), penalties), aligned(*sides(pairs), penalties), str(penalties))


@gpu
@pytest.mark.usefixtures("device", "cut_up")
def test_groups_and_shapes_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other groups, tiles, sweeps between two looks, and rows that must grow."""
    queries, targets = sides(every_kind(6, ((40, 0.3), (700, 0.1), (2000, 0.2))))
    penalties = Penalties.parse("affine2p:4,6,2,24,1")
    whole = aligned(queries, targets, penalties)
    monkeypatch.setattr(bidirectional_device, "GROUP_PAIRS", 3)
    monkeypatch.setattr(bidirectional_launches, "SHAPES", 5 * ((16, 128),))
    monkeypatch.setattr(bidirectional_launches, "NARROW", (16, 64))
    monkeypatch.setattr(bidirectional_launches, "FIRST_STEPS", 16)
    monkeypatch.setattr(bidirectional_launches, "POLL_STEPS", 48)
    conformance.same(whole, aligned(queries, targets, penalties), "small groups")
    conformance.same(
        wavefront.align(queries, targets, penalties, ends_free=(5, 5, 5, 5)), aligned(queries, targets, penalties, ends_free=(5, 5, 5, 5)), "free ends"
    )


@gpu
@pytest.mark.usefixtures("device")
def test_rows_that_do_not_fit_on_chip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mismatch so dear that a leaf keeps its rows in memory and a sweep takes the smaller shape."""
    monkeypatch.setattr(wavefront, "BIDIRECTIONAL_ABOVE", -1)
    penalties = Penalties.parse("affine:150,90,1")
    pairs = every_kind(7, ((300, 0.1), (1500, 0.1)))
    conformance.same(wavefront.align(*sides(pairs), penalties), aligned(*sides(pairs), penalties), str(penalties))


@gpu
@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("ends_free", [None, (100, 50, 3000, 2000)], ids=["global", "free"])
@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_long_pairs_in_a_batch(penalties: Penalties, ends_free: oracle.EndsFree | None) -> None:
    """Among short ones, with the product's own leaves: the device takes all of them."""
    from tidalign.kernels.pairwise import wavefront_device

    shapes = ((33_500, 0.05, "mixed"), (36_000, 0.1, "mixed"), (90_000, 0.01, "mixed"), (50_000, 0.02, "gaps"), (40_000, 0.04, "ambiguous"))
    pairs = [pair for length, rate, kind in shapes for pair in (*simulate.pairs(length, 1, length, rate, kind), *simulate.pairs(length, 9, 300, 0.1))]
    queries, targets = sides(pairs)
    found = wavefront_device.align(queries, targets, penalties, ends_free=ends_free)
    assert found.by_host == 0
    conformance.same(wavefront.align(queries, targets, penalties, ends_free=ends_free), found, str(penalties))


@gpu
def test_host_takes_what_is_too_much(device: Any) -> None:
    from tidalign.kernels.pairwise import wavefront_device

    queries, targets = sides(simulate.pairs(8, 2, 33_500, 0.02))
    far_apart = Penalties.parse("affine:601,1,1")  # more steps back than a meeting's key can say
    found = wavefront_device.align(queries, targets, far_apart)
    assert found.by_host == 2
    conformance.same(wavefront.align(queries, targets, far_apart), found, str(far_apart))
    pool = device.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=1 << 20)
    try:
        found = wavefront_device.align(queries, targets, PRESETS[0])
    finally:
        pool.set_limit(size=0)
    assert found.by_host == 2
    conformance.same(wavefront.align(queries, targets, PRESETS[0]), found, "with 1 MiB")


def test_joined_operations_spell_those_of_the_leaves() -> None:
    """Letter by letter; and no two neighbours of a pair are the same operation."""
    random = np.random.default_rng(9)
    counts = random.integers(0, 4, 40)
    places = np.concatenate([[0], np.cumsum(counts)[:-1]])
    runs = (random.integers(1, 9, counts.sum()) << 4 | random.choice([1, 2, 7, 8], counts.sum())).astype(np.uint32)
    leaves = np.zeros(40, bidirectional_device.SUBPROBLEM)
    leaves["pair"], leaves["q0"] = random.integers(0, 5, 40), random.permutation(40)
    joined = bidirectional_device._joined(runs, places, counts, leaves, 6)

    def spelled(words: np.ndarray) -> list[int]:
        return list(np.repeat(words & 15, words >> 4))

    for pair in range(6):
        mine = sorted(np.flatnonzero(leaves["pair"] == pair), key=lambda leaf: int(leaves["q0"][leaf]))
        assert spelled(joined[pair]) == [code for leaf in mine for code in spelled(runs[places[leaf] : places[leaf] + counts[leaf]])]
        assert (joined[pair][1:] & 15 != joined[pair][:-1] & 15).all()


@pytest.mark.parametrize("calls", [1, 3])
def test_pairs_that_find_no_memory_are_tried_alone(monkeypatch: pytest.MonkeyPatch, calls: int) -> None:
    """Once all others are done, those of other calls too; who finds none then is the host's, and so is at once who is too much for the kernels."""
    from tidalign.kernels.wavefront.device import CallSettings
    from tidalign.kernels.wavefront.model import Model

    cupy_on_host.installed(monkeypatch)
    import cupy

    tried: list[tuple[int, int]] = []
    under_way: list[int] = []

    class Group:
        """Pairs of a length that none has room beside; of 200 letters for none at all; of 300 for no kernel."""

        def __init__(self, lane: Any, threads: Any, queries: Any, targets: Any, settings: Any) -> None:
            self._length = int(queries.lengths[0])

        def align(self) -> Any:
            under_way.append(self._length)
            try:
                yield from ([lambda: True] * self._length)
                tried.append((self._length, len(under_way)))
                if self._length == 300:
                    raise DeviceLimit("too long")
                if len(under_way) > 1 or self._length == 200:
                    raise cupy.cuda.memory.OutOfMemoryError(1, 1)
                return [self._length]
            finally:
                under_way.remove(self._length)

    monkeypatch.setattr(bidirectional_device, "_Group", Group)
    monkeypatch.setattr(bidirectional_device, "GROUP_PAIRS", 1)
    queries = Sequences.from_strings([b"A" * length for length in (100, 200, 300, 400)])
    settings = CallSettings(Model.of(PRESETS[0]), (0, 0, 0, 0), True, 1)
    with ThreadPoolExecutor(calls) as threads:
        for found, left in threads.map(lambda _: bidirectional_device.align(queries, queries, [0, 1, 2, 3], settings), range(calls)):
            assert found == {0: 100, 3: 400}
            assert sorted(left) == [1, 2]
    assert (100, 1) in tried and (200, 1) in tried and [length for length, _ in tried].count(300) == calls


def test_few_letters_and_huge_pairs_have_shapes_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer launches for those, less memory for these."""
    from tidalign.kernels.wavefront.model import Model

    cupy_on_host.installed(monkeypatch)
    monkeypatch.setattr(bidirectional_launches, "FEW", 1000)
    monkeypatch.setattr(bidirectional_launches, "HUGE", 5000)
    for lengths, steps in (((400,), 128), ((400, 400), 64), ((2400,), 64), ((400, 2600), 16)):
        side = pack(Sequences.from_strings([b"A" * length for length in lengths]))
        assert bidirectional_launches.Launches(Lane(), Model.of(PRESETS[0]), side, side, 1)._steps == steps


@pytest.mark.parametrize(("gigabytes", "others"), [(16, 0), (24, 0), (40, 1), (80, 3), (141, 3)])
def test_calls_share_a_device_that_has_memory_for_them(monkeypatch: pytest.MonkeyPatch, gigabytes: int, others: int) -> None:
    cupy_on_host.installed(monkeypatch)
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (0, gigabytes * 10**9))
    assert bidirectional_device.beside() == others


def test_rows_are_kept_until_nobody_reads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the stream was waited for, and where an error comes before."""
    cupy_on_host.installed(monkeypatch)
    lane, kept = Lane(), list[bool]()
    with Memory(lane) as memory:
        smaller = weakref.ref(memory.take(8))
        larger = weakref.ref(memory.take(16))
        assert smaller() is not None
        memory.waited()
        assert smaller() is None and larger() is not None
    assert larger() is None
    with pytest.raises(ValueError, match="mine"), Memory(lane) as memory:
        last = weakref.ref(memory.take(8))
        monkeypatch.setattr(lane.stream, "synchronize", lambda: kept.append(last() is not None))
        raise ValueError("mine")
    assert kept == [True] and last() is None
