"""Compare numba's insides with what is taken for granted of them: it is so, or numba keeps kernels itself."""

from pathlib import Path

import pytest
from programs import PACK, run

from tidalign.kernels.runtime import numba_internals

ANOTHER_NUMBA = {
    "caching.Cache.load_overload": """
first = caching.Cache.load_overload
caching.Cache.load_overload = lambda self, sig, target_context: first(self, sig, target_context)
""",
    "compiler.CompileResult._reduce": """
first_reduce, first_rebuild = compiler.CompileResult._reduce, compiler.CompileResult._rebuild
compiler.CompileResult._reduce = lambda self: ("then", first_reduce(self))
compiler.CompileResult._rebuild = classmethod(lambda cls, target_context, then, parts: first_rebuild(target_context, *parts))
""",
    "environment._rebuild_env": """
environment.made = environment._rebuild_env
environment.made.__name__ = environment.made.__qualname__ = "made"
del environment._rebuild_env
environment.Environment.__reduce__ = lambda self: (environment.made, (self.globals.get("__name__"), self.consts, self.env_name))
""",
    "caching.CompileResultCacheImpl.reduce": """
first = caching.CompileResultCacheImpl.reduce
caching.CompileResultCacheImpl.reduce = lambda self, result: first(self, result)
def new(self, py_func, py_file):
    self._py_file, self._lineno, self._cache_path = py_file, 1, os.environ["HOME"] + "/elsewhere"
caching.UserProvidedCacheLocator.__init__ = new
""",
}


@pytest.mark.parametrize("name", ANOTHER_NUMBA)
def test_a_numba_that_is_not_as_known_keeps_kernels_itself(tmp_path: Path, name: str) -> None:
    """Kernels come from numba's own cache in the folder of their sources; they are not kept where numba would put them elsewhere."""
    program = "import os; from numba.core import caching, compiler, environment\n" + ANOTHER_NUMBA[name] + PACK
    program += "from tidalign.kernels.letters import packing as h; s = h.pack_codes.stats; print(sum(s.cache_hits.values()), sum(s.cache_misses.values()));"
    program += "from tidalign.kernels.runtime.numba_internals import difference; print(difference())"
    kept = name != "caching.CompileResultCacheImpl.reduce"  # there it puts them elsewhere
    assert run(program, HOME=str(tmp_path)).splitlines() == ["[27]", "0 1", f"numba.core.{name}"]
    assert run(program, HOME=str(tmp_path)).splitlines() == ["[27]", "1 0" if kept else "0 1", f"numba.core.{name}"]
    assert bool(list((tmp_path / ".cache" / "tidalign").glob("kernels.letters.packing-*/*/*.nbc"))) is kept
    assert not list(tmp_path.glob("elsewhere/*"))


def test_numba_is_as_known(tmp_path: Path) -> None:
    """Find no difference to the numba that is installed: where a new one has some, look at what it changed, then bring numba_internals up to date."""
    assert run("from tidalign.kernels.runtime.numba_internals import difference; print(difference())", HOME=str(tmp_path)) == "None"


def test_names_do_not_depend_on_the_version_of_python() -> None:
    """Gather what a comprehension uses, which is the function's own from 3.12 on and that of a function within it before, as a generator's is in all."""

    def function(values: list[Path]) -> set[str]:
        return {each.stem for each in values if any(part.isdigit() for part in each.parts)}

    assert numba_internals._names(function.__code__) == {"stem", "any", "isdigit", "parts"}
