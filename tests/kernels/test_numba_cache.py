"""Where compiled kernels are kept: by the sources' digest, wherever something can be written, and nowhere if nothing can."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHOW = "from tidalign.kernels.runtime.numba_cache import folder; print(folder('rows_host'))"
PACK = "from tidalign.kernels.letters.sequences import Sequences, pack; print(pack(Sequences.from_strings(['ACTG'])).codes); "


def run(program: str, **environment: str) -> str:
    """The program's output with these variables only (and those that let Python start)."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "VIRTUAL_ENV") if name in os.environ}
    return subprocess.run([sys.executable, "-c", program], env={**kept, **environment}, capture_output=True, text=True, check=True).stdout.strip()


def test_first_writable_place(tmp_path: Path) -> None:
    home, cache, own, file = (tmp_path / name for name in ("home", "cache", "own", "file"))
    home.mkdir()
    file.touch()
    name = Path(run(SHOW, HOME=str(home))).name
    assert name.startswith("rows_host-")
    assert run(SHOW, HOME=str(home)) == str(home / ".cache" / "tidalign" / name)
    assert run(SHOW, HOME=str(home), XDG_CACHE_HOME=str(cache)) == str(cache / "tidalign" / name)
    assert run(SHOW, HOME=str(home), XDG_CACHE_HOME=str(cache), NUMBA_CACHE_DIR=str(own)) == str(own / "tidalign" / name)
    # Below a file nothing can be made, whoever asks.
    assert run(SHOW, HOME=str(home), XDG_CACHE_HOME=str(file)) == str(home / ".cache" / "tidalign" / name)


def test_a_temporary_folder_is_gone_with_the_process(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    place = Path(run(PACK + SHOW, HOME=str(file), TMPDIR=str(tmp_path)).splitlines()[-1])
    assert place.parent == tmp_path
    assert not place.exists()


def test_the_folder_follows_the_sources(tmp_path: Path) -> None:
    """Editing a module or one that it imports gives another folder, editing another one does not; another vector width does."""
    import shutil

    import tidalign.kernels

    copy = tmp_path / "kernels"
    shutil.copytree(Path(tidalign.kernels.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    load = f"import runpy; print(runpy.run_path({str(copy / 'numba_cache.py')!r})['folder']('rows_host'))"
    before = run(load, HOME=str(tmp_path))
    assert run(load, HOME=str(tmp_path)) == before
    assert run(load, HOME=str(tmp_path), TIDALIGN_LANES="8") != before
    for edited, same in (("breakpoint_host.py", True), ("vectors_host.py", False)):
        with (copy / edited).open("a") as source:
            source.write("# edited\n")
        assert (run(load, HOME=str(tmp_path)) == before) is same


def test_kernels_come_from_the_cache(tmp_path: Path) -> None:
    """A second process compiles nothing, and the setting numba reads its folder from is as it was."""
    count = PACK + (
        "from tidalign.kernels import packing_host as h; s = h.pack_codes.stats; print(sum(s.cache_hits.values()), sum(s.cache_misses.values()));"
        "import numba; print(repr(numba.config.CACHE_DIR))"
    )
    home = str(tmp_path)
    assert run(count, HOME=home).splitlines() == ["[27]", "0 1", "''"]
    assert run(count, HOME=home).splitlines() == ["[27]", "1 0", "''"]


@pytest.mark.parametrize("temporary", [True, False])
def test_nothing_writable(tmp_path: Path, temporary: bool) -> None:
    file = tmp_path / "file"
    file.touch()
    program = PACK if temporary else "import tempfile; tempfile.mkdtemp = lambda **_: open('/dev/null/x'); " + PACK
    assert run(program, HOME=str(file), TMPDIR=str(tmp_path)) == "[27]"


def test_a_kept_kernel_loads_nothing_that_compiles(tmp_path: Path) -> None:
    """What numba compiles with, SciPy too, is not loaded for kernels that are kept, though they allocate, raise and return arrays; compiling one after that
    loads it."""
    program = (
        "import sys; import numpy as np; from tidalign.kernels.seed.index import SeedPattern, build_index, hits;"
        "codes = np.random.default_rng(1).integers(0, 4, 5000).astype(np.uint8); index = build_index(codes, SeedPattern.parse('12of19'));"
        "found = [(t.sum(), q.sum()) for t, q in hits(index, codes)]; loaded = 'numba.np.linalg' in sys.modules;"
        "from tidalign.kernels.letters.sequences import Sequences, pack; print(pack(Sequences.from_strings(['ACTG'])).codes, found, loaded)"
    )
    first = run(program, HOME=str(tmp_path))
    assert first.endswith(" True")
    assert run(program, HOME=str(tmp_path)) == first.removesuffix("True") + "False"
    for folder in (tmp_path / ".cache" / "tidalign").glob("packing_host-*"):
        for file in folder.rglob("*.nbi"):
            file.unlink()
    assert run(program, HOME=str(tmp_path)) == first.removesuffix("True") + "False"  # compiled after the others were found
