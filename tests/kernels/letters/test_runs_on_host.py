"""Compare where runs of pairs end in pair order with NumPy's sums, without a GPU: one round of the block and several, the largest counts there may be."""

from pathlib import Path

import cuda_on_host
import numpy as np
import pytest

from tidalign.kernels.runtime import compiler

pytestmark = pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")


@pytest.mark.parametrize("threads", [32, 128])
def test_ends_of_runs(threads: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cuda_on_host.installed(monkeypatch, tmp_path)
    import cupy

    random = np.random.default_rng(5)
    for counts in (np.zeros(0), np.ones(1), np.full(9, 65_535), random.integers(0, 65_536, 3001), np.zeros(300), np.full(2048, 65_535)):
        given, ends = counts.astype(np.uint16), cupy.zeros(len(counts), np.int64)
        compiler.launch(compiler.kernel("letters/sequences.cu", "ends_of_runs", {}), 1, threads, cupy.asarray(given), len(given), ends)
        assert ends.get().tolist() == np.cumsum(given, dtype=np.int64).tolist()
