"""One numbering of where cells come from, and of operations, for host and device."""

import re
from pathlib import Path

from tidalign.kernels.runtime import vectors
from tidalign.kernels.wavefront import trace

HEADER = Path(__file__).parents[3] / "kernels" / "scoring" / "sources.cuh"


def test_the_header_has_the_hosts_numbers() -> None:
    found = {name: int(value) for name, value in re.findall(r"\b((?:FROM|OP)_\w+) = (\d+)", HEADER.read_text())}
    sources = {name: getattr(vectors, name) for name in found if name.startswith("FROM_")}
    assert sorted(sources.values()) == [0, 1, 2, 3, 4] == sorted(vectors.TIES)
    operations = {"OP_I": trace.INSERTION, "OP_D": trace.DELETION, "OP_EQUAL": trace.EQUAL, "OP_X": trace.DIFFERENT, "OP_GOES_ON": trace.CONTINUES}
    assert found == sources | operations
    for name, source in sources.items():
        if source:
            assert getattr(vectors, name.replace("FROM", "OPENED")) == 1 << 2 + source, name


def test_a_number_is_given_once() -> None:
    """No other source of the device's says what these names mean."""
    kernels = HEADER.parents[1]
    others = [file for ending in ("cu", "cuh") for file in kernels.rglob(f"*.{ending}") if file != HEADER]
    assert [file.name for file in others if re.search(r"\b(?:FROM_[XID]|OP_)\w* = ", file.read_text())] == []
