"""The conformance test over every aligner."""

import conformance
import pytest

from tidalign.kernels.pairwise.wavefront import align


@pytest.mark.parametrize("case", conformance.cases(), ids=str)
def test_host(case: conformance.Case) -> None:
    conformance.check_aligner(align, case)
