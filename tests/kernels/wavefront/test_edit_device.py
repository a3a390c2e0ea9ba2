"""The pass of short pairs' edit distances on a GPU: what is close is left to no other pass, by a compiler's doing either."""

from typing import Any

import conformance
import pytest
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise import wavefront, wavefront_device
from tidalign.kernels.runtime import compiler
from tidalign.kernels.scoring.penalties import Penalties

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("cigar", [True, False], ids=["cigar", "penalty"])
@pytest.mark.parametrize(("length", "rates"), [(150, (0, 0.01, 0.05)), (900, (0, 0.01, 0.03))])
def test_close_pairs_have_one_launch(monkeypatch: pytest.MonkeyPatch, length: int, rates: tuple[float, ...], cigar: bool) -> None:
    names: list[str] = []
    launch = compiler.launch

    def launched(function: Any, *arguments: Any, **options: Any) -> None:
        names.append(function.name)
        launch(function, *arguments, **options)

    monkeypatch.setattr(compiler, "launch", launched)
    pairs = [pair for rate in rates for pair in simulate.pairs(4, 100, length, rate)]
    queries, targets = (pack(Sequences.from_strings(side)) for side in zip(*pairs, strict=True))
    edit = Penalties.parse("edit")
    conformance.same(
        wavefront.align(queries, targets, edit, cigar=cigar), wavefront_device.align(queries, targets, edit, cigar=cigar), "close", with_cigar=cigar
    )
    assert names == (["edit_align", "ends_of_runs", "gather_short_runs"] if cigar else ["edit_align"])
