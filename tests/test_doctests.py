"""The examples in docstrings give what they say."""

import doctest
from importlib import import_module

import pytest

MODULES = {
    "tidalign.pipeline.cigar": 6,
    "tidalign.pipeline.pairs.models": 4,
    "tidalign.workflows.commands.genome": 1,
    "tidalign.workflows.search": 1,
    "tidalign.workflows.stages": 4,
    "tidalign.workflows.table": 1,
}
"""With how many functions at least have one."""


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    module = import_module(name)
    assert sum(bool(each.examples) for each in doctest.DocTestFinder().find(module)) >= MODULES[name]
    assert doctest.testmod(module).failed == 0
