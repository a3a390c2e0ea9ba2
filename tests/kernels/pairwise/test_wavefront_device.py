"""The CUDA kernels against the oracles and, for what those are too slow for, against the host twin."""

import subprocess
import sys
from collections import defaultdict
from typing import Any

import conformance
import numpy as np
import pytest
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]

PRESETS = list(Penalties.presets().values())


def align(*arguments: Any, **options: Any) -> Alignments:
    from tidalign.kernels.pairwise import wavefront_device

    return wavefront_device.align(*arguments, **options)


def sides(pairs: list[simulate.Pair]) -> tuple[Sequences, Sequences]:
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


def every_kind(seed: int, lengths: list[int], rates: tuple[float, ...]) -> list[simulate.Pair]:
    return [pair for length in lengths for rate in rates for kind in simulate.KINDS for pair in simulate.pairs(seed, 2, length, rate, kind)]


@pytest.mark.parametrize("case", conformance.cases(), ids=str)
def test_conformance(case: conformance.Case) -> None:
    conformance.check_aligner(align, case)


@pytest.mark.parametrize("cigar", [True, False], ids=["cigar", "penalty"])
@pytest.mark.parametrize("ends_free", [None, (10, 0, 300, 40)], ids=["global", "free"])
@pytest.mark.parametrize("penalties", [*PRESETS, Penalties.parse("affine:9,1,2"), Penalties.parse("affine2p:6,20,1,3,4")], ids=str)
def test_host_rows(penalties: Penalties, ends_free: tuple[int, int, int, int] | None, cigar: bool) -> None:
    """Lengths and rates on both sides of what a narrow pass proves, of each width after it and of what fits a block's own memory."""
    pairs = every_kind(7, [100, 150, 300, 620, 1300, 2900], (0.01, 0.06, 0.15, 0.4))
    pairs += [pair for rate in (0.02, 0.1) for pair in simulate.pairs(3, 2, 9000, rate)]
    options: dict[str, Any] = {"ends_free": ends_free, "cigar": cigar}
    expected, found = (each(*sides(pairs), penalties, **options) for each in (wavefront.align, align))
    conformance.same(expected, found, str(penalties), with_cigar=cigar)


@pytest.mark.parametrize("penalties", PRESETS, ids=str)
def test_very_unequal_sides(penalties: Penalties) -> None:
    """The goal lies at the edge of a narrow pass, outside it, and outside every row of it."""
    long = simulate.pairs(5, 40, 3000, 0.05)
    pairs = [(query[:short], target[:length]) for (query, target), length in zip(long, range(60, 260, 5), strict=True) for short in (0, 1, 20, 60)]
    pairs += [(query, target[: 7 * i]) for i, (query, target) in enumerate(long)]
    pairs += [(target, query) for query, target in pairs]
    conformance.same(wavefront.align(*sides(pairs), penalties), align(*sides(pairs), penalties), str(penalties))


def test_batches_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.kernels.pairwise import wavefront_device

    queries, targets = sides(every_kind(11, [0, 40, 150, 700], (0.05, 0.3)))
    penalties = Penalties.parse("affine:4,6,2")
    whole = align(queries, targets, penalties)
    monkeypatch.setattr(wavefront_device, "MAX_BATCH_LETTERS", 3000)
    monkeypatch.setattr(wavefront_device, "MIN_BATCH_LETTERS", 1000)
    assert len(wavefront_device.bounds(queries, targets)) > 20
    conformance.same(whole, align(queries, targets, penalties), "small batches")
    conformance.same(whole, align(pack(queries), pack(targets), penalties), "small packed batches")


def test_more_runs_than_expected() -> None:
    """The pool of CIGARs is sized for close pairs: these have a run every second letter."""
    random = np.random.default_rng(12)
    pairs = [(text, simulate.mutate(random, text, 0.5, "substitution")) for text in (simulate.sequence(random, 300) for _ in range(3000))]
    conformance.same(wavefront.align(*sides(pairs), PRESETS[0]), align(*sides(pairs), PRESETS[0]), "many runs")


def test_host_takes_what_is_too_long() -> None:
    """32,768 letters: too many for 16-bit offsets, too few for the bidirectional algorithm, whose pairs stay on the device."""
    from tidalign.kernels.pairwise import wavefront_device

    (pair,) = simulate.pairs(4, 1, 33_000, 0.001)
    pairs = simulate.pairs(1, 30, 200, 0.05) + simulate.pairs(2, 1, 33_500, 0.01) + simulate.pairs(3, 30, 200, 0.05) + [(pair[0][:32_768], pair[1][:32_700])]
    queries, targets = sides(pairs)
    for penalties in PRESETS:
        found = wavefront_device.align(queries, targets, penalties)
        assert found.by_host == 1
        conformance.same(wavefront.align(queries, targets, penalties), found, str(penalties))
    found = wavefront_device.align(pack(queries), pack(targets), PRESETS[2], cigar=False)
    assert found.by_host == 1 and np.array_equal(found.penalty, wavefront.align(queries, targets, PRESETS[2]).penalty)


def test_device_memory_runs_out(device: Any) -> None:
    """Batches are halved until they fit, and pairs that alone do not fit go to the host."""
    from tidalign.kernels.pairwise import wavefront_device

    queries, targets = sides(simulate.pairs(6, 3000, 150, 0.05) + simulate.pairs(7, 1, 20_000, 0.2))
    penalties = Penalties.parse("affine:4,6,2")
    pool = device.get_default_memory_pool()
    pool.free_all_blocks()
    pool.set_limit(size=16 << 20)
    try:
        found = wavefront_device.align(queries, targets, penalties)
    finally:
        pool.set_limit(size=0)
    assert found.by_host == 1
    conformance.same(wavefront.align(queries, targets, penalties), found, "with 16 MiB")


def test_failed_device_is_a_kernel_error() -> None:
    """A write out of bounds breaks the context for good: in a process of its own."""
    code = """
import cupy
from tidalign.kernels.runtime import compiler
from tidalign.kernels.pairwise import wavefront_device
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.letters.sequences import Sequences
side = Sequences.from_strings(["ACGT"] * 1000)
launch = compiler.launch
def poisoned(function, *arguments, **options):
    cupy.RawKernel('extern "C" __global__ void poison(int* at) { *at = 1; }', "poison")((1,), (1,), (cupy.uint64(8),))
    launch(function, *arguments, **options)
compiler.launch = poisoned
for attempt in range(2):
    try:
        wavefront_device.align(side, side, Penalties.parse("edit"))
    except KernelError as error:
        print("KernelError", error)
"""
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.count("KernelError device 0 failed on 1000 pairs: ") == 2, done.stdout + done.stderr


def test_batches_that_do_not_fit_each_other() -> None:
    one, two = Sequences.from_strings(["A"]), Sequences.from_strings(["A", "C"])
    with pytest.raises(ValueError, match="as many queries as targets are needed, not 1 and 2"):
        align(one, two, PRESETS[0])
    with pytest.raises(ValueError, match="both be packed, or neither"):
        align(pack(one), one, PRESETS[0])
    with pytest.raises(ValueError, match="none below 0"):
        align(one, one, PRESETS[0], ends_free=(0, 0, -1, 0))


def test_memory_of_the_host_that_cannot_be_pinned(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies are slower then, and that is all."""
    from tidalign.kernels.runtime import lanes as device_lane

    def refuse(size: int) -> Any:
        raise device.cuda.runtime.CUDARuntimeError(2)

    queries, targets = sides(simulate.pairs(9, 2000, 150, 0.05))
    monkeypatch.setattr(device_lane, "_idle", defaultdict(list))
    monkeypatch.setattr(device.cuda, "alloc_pinned_memory", refuse)
    conformance.same(wavefront.align(queries, targets, PRESETS[0]), align(queries, targets, PRESETS[0]), "not pinned")


def test_shared_memory_of_a_kernel_counts(device: Any) -> None:
    from tidalign.kernels.bidirectional.launches import EACH
    from tidalign.kernels.runtime import compiler
    from tidalign.kernels.runtime.errors import DeviceLimit

    model = {"PIECES": 1, "X": 4, "E1": 2, "OE1": 8, "E2": 1, "OE2": 25, "AMBIGUOUS": 0}
    shape = {"STEPS": 32, "COLUMNS": 512, "EACH": EACH, "FREE": 0}
    macros = {f"WAVEFRONT_{name}": value for name, value in model.items()} | {f"BIDIRECTIONAL_{name}": value for name, value in shape.items()}
    own = compiler.kernel("bidirectional/bidirectional.cu", "bidirectional_leaf", macros).own_shared_bytes()
    most = compiler.most_shared_bytes()
    assert own > 0
    compiler.kernel("bidirectional/bidirectional.cu", "bidirectional_leaf", macros, shared_bytes=most - own)
    with pytest.raises(DeviceLimit, match=f"{most + 1} bytes of shared memory a block; device 0 grants {most}"):
        compiler.kernel("bidirectional/bidirectional.cu", "bidirectional_leaf", macros, shared_bytes=most - own + 1)


def test_nothing_to_align() -> None:
    none = Sequences.from_strings([])
    found = align(none, none, PRESETS[0])
    assert len(found) == 0 and found.cigar_offsets is not None and found.cigar_offsets.tolist() == [0]
