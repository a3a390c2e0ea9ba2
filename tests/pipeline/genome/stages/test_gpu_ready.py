"""What a genome run on a GPU compiles before its first unit asks: every source of its stages, as they ask for it."""

from dataclasses import replace
from typing import Any

import pytest

from tidalign.kernels.extension import launches
from tidalign.kernels.inspection import device as inspection
from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.compiler import FOLDER
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import gpu
from tidalign.pipeline.genome.stages.unit import costs_of


@pytest.mark.parametrize(("gapped", "folders"), [(True, {"seed", "ungapped", "inspection", "extension"}), (False, {"seed", "ungapped"})])
def test_all_sources_are_made_ready(monkeypatch: pytest.MonkeyPatch, gapped: bool, folders: set[str]) -> None:
    asked: list[tuple[str, Any]] = []
    monkeypatch.setattr(compiler, "ready", asked.extend)
    parameters = replace(GenomeParameters(), gapped=gapped)
    costs = costs_of(parameters)
    gpu.ready(parameters, costs)
    sources = {file.relative_to(FOLDER).as_posix() for folder in folders for file in (FOLDER / folder).glob("*.cu")}
    assert {name for name, _ in asked} == sources and len(asked) == len(sources)
    for name, macros in asked:
        known = {"extension": launches.macros(costs, False), "inspection": inspection.MACROS}
        assert macros == known.get(name.partition("/")[0], {})
