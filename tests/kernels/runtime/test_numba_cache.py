"""Where compiled kernels are kept: by the sources' digest, wherever something can be written, and nowhere if nothing can."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from programs import PACK, run

import tidalign.kernels
from tidalign.kernels.runtime import entries

SHOW = (
    "from tidalign.kernels.runtime.bases import bases; from tidalign.kernels.runtime.numba_cache import below;"
    "print(bases().kept / below('tidalign.kernels.wavefront.rows'))"
)


def test_first_writable_place(tmp_path: Path) -> None:
    home, cache, own, file = (tmp_path / name for name in ("home", "cache", "own", "file"))
    home.mkdir()
    file.touch()
    name = Path(run(SHOW, HOME=str(home))).name
    assert name.startswith("kernels.wavefront.rows-")
    assert run(SHOW, HOME=str(home)) == str(home / ".cache" / "tidalign" / name)
    assert run(SHOW, HOME=str(home), XDG_CACHE_HOME=str(cache)) == str(cache / "tidalign" / name)
    assert run(SHOW, HOME=str(home), XDG_CACHE_HOME=str(cache), NUMBA_CACHE_DIR=str(own)) == str(own / "tidalign" / name)
    # Below a file nothing can be made, whoever asks.
    assert run(SHOW, HOME=str(home), XDG_CACHE_HOME=str(file)) == str(home / ".cache" / "tidalign" / name)


def test_a_temporary_folder_is_gone_with_the_process(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    place = Path(run(PACK + SHOW, HOME=str(file), TMPDIR=str(tmp_path)).splitlines()[-1])
    assert place.parents[1] == tmp_path
    assert not place.parent.exists()


def test_the_folder_follows_the_sources(tmp_path: Path) -> None:
    """Editing a module or one that it imports gives another folder, editing another one does not; another vector width does."""
    package = Path(tidalign.__file__).parent
    copy = tmp_path / "tidalign"
    shutil.copytree(package / "kernels", copy / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(package / "__init__.py", copy)
    place = {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    before = run(SHOW, **place)
    assert run(SHOW, **place) == before
    assert run(SHOW, **place, TIDALIGN_LANES="8") != before
    for edited, same in (("bidirectional/breakpoint.py", True), ("runtime/vectors.py", False)):
        with (copy / "kernels" / edited).open("a") as source:
            source.write("# edited\n")
        assert (run(SHOW, **place) == before) is same


def package(place: Path, asking: str) -> Path:
    """Write a package tidalign with numba_cache and small modules, and kernels/asking.py with this text; gives its folder."""
    top = place / "tidalign"
    texts = {
        "__init__.py": "",
        "kernels/__init__.py": "",
        "kernels/asking.py": asking,
        "kernels/plain.py": "f = 1",
        "kernels/other.py": "f = 2",
        "kernels/through.py": "from . import plain as p",
        "kernels/deep/__init__.py": "from .host import f as f\n",
        "kernels/deep/host.py": "f = 3",
        "kernels/deep/under.py": "f = 4",
        "kernels/lazy/__init__.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tidalign.kernels.lazy.host import f as f\n",
        "kernels/lazy/host.py": "f = 5",
        "letters/__init__.py": "",
        "letters/codes.py": "f = 6",
    }
    for name, text in texts.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    for name in ("__init__.py", "bases.py", "claims.py", "closed.py", "entries.py", "numba_cache.py", "numba_internals.py", "sources.py"):
        (top / "kernels" / "runtime").mkdir(exist_ok=True)
        shutil.copy(Path(tidalign.kernels.__file__).parent / "runtime" / name, top / "kernels" / "runtime")
    return top


def moves(top: Path, edited: str, module: str = "tidalign.kernels.asking") -> bool:
    """Tell whether an edit of a file of the package gives a module another folder."""
    program = (
        f"import sys; from tidalign.kernels.runtime import numba_cache; before = numba_cache.below({module!r});"
        f"open({str(top / edited)!r}, 'a').write('# edited\\n');"
        "[sys.modules.pop(name) for name in list(sys.modules) if name.startswith('tidalign')];"
        f"from tidalign.kernels.runtime import numba_cache; print(numba_cache.below({module!r}) != before)"
    )
    return run(program, HOME=str(top.parent), PYTHONPATH=str(top.parent)) == "True"


@pytest.mark.parametrize(
    ("asking", "edited"),
    [
        ("from tidalign.kernels.plain import f", "kernels/plain.py"),
        ("from tidalign.kernels.plain import *", "kernels/plain.py"),
        ("from tidalign.kernels.other import f; from tidalign.kernels.plain import f as g", "kernels/plain.py"),
        ("from tidalign.kernels import plain", "kernels/plain.py"),
        ("from tidalign.kernels import other, plain as p", "kernels/plain.py"),
        ("from tidalign.kernels import (\n    other,  # (one)\n    plain as p,\n)", "kernels/plain.py"),
        ("from tidalign.kernels \\\n    import plain", "kernels/plain.py"),
        ("import tidalign.kernels.plain", "kernels/plain.py"),
        ("import os, tidalign.kernels.plain as p", "kernels/plain.py"),
        ("from tidalign import kernels\nf = kernels.plain.f", "kernels/plain.py"),
        ("from .plain import f", "kernels/plain.py"),
        ("from . import plain", "kernels/plain.py"),
        ("from ..letters import codes", "letters/codes.py"),
        ("from ..letters.codes import f", "letters/codes.py"),
        ("def g():\n    from tidalign.kernels.plain import f", "kernels/plain.py"),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING: from tidalign.kernels.plain import f", "kernels/plain.py"),
        ("try:\n    from tidalign.letters.codes import f\nexcept ImportError:\n    pass", "letters/codes.py"),
        ("from tidalign.kernels.through import p", "kernels/plain.py"),
        ("from tidalign.kernels.deep.host import f", "kernels/deep/host.py"),
        ("from tidalign.kernels.deep.under import f", "kernels/deep/__init__.py"),
        ("from tidalign.kernels.deep import under", "kernels/deep/under.py"),
        ("from tidalign.kernels.deep import f", "kernels/deep/host.py"),
        ("from tidalign.kernels.lazy import f", "kernels/lazy/host.py"),
        ("import tidalign.kernels.lazy as l\nf = l.f", "kernels/lazy/host.py"),
        ("from tidalign.kernels import deep as d\nf = d.under.f", "kernels/deep/under.py"),
        ("import tidalign.kernels.deep.host\nf = tidalign.kernels.deep.under.f", "kernels/deep/under.py"),
        ("s = '''\nimport a'''; t = '''\n'''; import tidalign.kernels.plain", "kernels/plain.py"),
    ],
)
def test_every_form_of_import_is_seen(tmp_path: Path, asking: str, edited: str) -> None:
    assert moves(package(tmp_path, asking), edited)


def test_a_module_in_a_package_is_one_of_its_own(tmp_path: Path) -> None:
    """Modules of one name in two packages have two folders; each follows its own sources and its packages', not what its packages hand on."""
    top = package(tmp_path, "")
    (top / "kernels" / "deep" / "host.py").write_text("from . import under")
    show = "from tidalign.kernels.runtime.numba_cache import below; print(*(below(f'tidalign.kernels.{name}.host') for name in ('deep', 'lazy')))"
    deep, lazy = run(show, HOME=str(tmp_path), PYTHONPATH=str(tmp_path)).split()
    assert deep.startswith("kernels.deep.host-") and lazy.startswith("kernels.lazy.host-")
    assert moves(top, "kernels/deep/under.py", "tidalign.kernels.deep.host")
    assert moves(top, "kernels/lazy/__init__.py", "tidalign.kernels.lazy.host")
    assert not moves(top, "kernels/deep/host.py", "tidalign.kernels.lazy.host")
    assert not moves(top, "kernels/deep/host.py", "tidalign.kernels.deep.under")


@pytest.mark.parametrize(
    ("asking", "named"),
    [
        ("import tidalign.kernels.gone", "tidalign.kernels.gone"),
        ("from tidalign.kernels.gone import f", "tidalign.kernels.gone"),
        ("from tidalign.kernels import gone", "'gone' of tidalign.kernels"),
        ("from .gone import f", "tidalign.kernels.gone"),
        ("from tidalign.kernels.deep import g", "'g' of tidalign.kernels.deep"),
        ("from tidalign.kernels.deep import *", "'*' of tidalign.kernels.deep"),
        ("from tidalign.kernels import deep\nf = deep.gone", "'gone' of tidalign.kernels.deep"),
    ],
)
def test_an_import_of_no_file_is_an_error(tmp_path: Path, asking: str, named: str) -> None:
    top = package(tmp_path, asking)
    program = (
        "from tidalign.kernels.runtime.numba_cache import below\ntry:\n    below('tidalign.kernels.asking')\nexcept ImportError as error:\n    print(error)"
    )
    message = run(program, HOME=str(tmp_path), PYTHONPATH=str(tmp_path))
    assert message.startswith(f"{top / 'kernels' / 'asking.py'}: {named} is n")


def test_kernels_come_from_the_cache(tmp_path: Path) -> None:
    """A second process compiles nothing, and the setting numba reads its folder from is as it was."""
    count = PACK + (
        "from tidalign.kernels.letters import packing as h; s = h.pack_codes.stats; print(sum(s.cache_hits.values()), sum(s.cache_misses.values()));"
        "import numba; print(repr(numba.config.CACHE_DIR))"
    )
    home = str(tmp_path)
    assert run(count, HOME=home).splitlines() == ["[27]", "0 1", "''"]
    assert run(count, HOME=home).splitlines() == ["[27]", "1 0", "''"]


def test_what_is_compiled_is_heard_of(tmp_path: Path) -> None:
    """And what comes from the cache is not, nor what is compiled when nobody listens any more."""
    program = "from tidalign.kernels.runtime.numba_cache import LISTENERS; said = []; hear = said.append; LISTENERS.append(hear); " + PACK
    program += "LISTENERS.remove(hear); import numba; numba.njit(lambda x: x + 1)(1); print(said)"
    said = json.loads(run(program, HOME=str(tmp_path)).splitlines()[-1].lower())
    assert said and said == [True, False] * (len(said) // 2)  # a kernel, and those that it calls
    assert run(program, HOME=str(tmp_path)).splitlines()[-1] == "[]"


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
    for folder in (tmp_path / ".cache" / "tidalign").glob("kernels.letters.packing-*"):
        for file in folder.rglob("*.kernel"):
            file.unlink()
    assert run(program, HOME=str(tmp_path)) == first.removesuffix("True") + "False"  # compiled after the others were found


def test_a_kernel_is_compiled_with_one_that_was_found(tmp_path: Path) -> None:
    """It calls what is kept, whose bitcode is read then, and numba's runtime, which is kept too; both give what they gave."""
    text = "import numpy as np\nfrom tidalign.kernels.runtime.numba_cache import jit\n"
    text += "@jit\ndef inner(n):\n    return np.arange(n)\n@jit\ndef outer(n):\n    return inner(n).sum() + len(inner(n + 1))\n"
    package(tmp_path, text)
    program = "from numba.core.runtime import nrtdynmod as r; made = []; f = r.create_nrt_module; r.create_nrt_module = lambda c: made.append(c) or f(c);"
    program += "from tidalign.kernels.asking import inner, outer; print(outer(4), len(made), *(sum(each.stats.cache_hits.values()) for each in (inner, outer)))"
    place = {"HOME": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    assert run(program, **place) == "11 1 0 0"
    assert run(program, **place) == "11 0 0 1"
    for file in (tmp_path / ".cache" / "tidalign").rglob("outer-*.kernel"):
        file.unlink()
    assert run(program, **place) == "11 0 1 0"
    assert run(program, **place) == "11 0 0 1"
    for file in (tmp_path / ".cache" / "tidalign").rglob("runtime.*.kernel"):
        file.write_bytes(file.read_bytes()[:-1])
    assert run(program, **place) == "11 1 0 1"
    assert run(program, **place) == "11 0 0 1"


STATS = "from tidalign.kernels.letters import packing as h; s = h.pack_codes.stats; print(sum(s.cache_hits.values()), sum(s.cache_misses.values()));"
UNKNOWN = "from tidalign.kernels.runtime import numba_internals; numba_internals._KNOWN['caching.Cache.gone'] = 'self:';"
"""numba is not as known: it keeps kernels itself."""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder for caches in which kernels are kept."""
    folder = tmp_path_factory.mktemp("compiled") / "cache"
    assert run(PACK + STATS, XDG_CACHE_HOME=str(folder), HOME=str(folder.parent)).splitlines() == ["[27]", "0 1"]
    return folder


@pytest.fixture
def kept(tmp_path: Path, compiled: Path) -> Path:
    """Copy that folder."""
    return Path(shutil.copytree(compiled, tmp_path / "cache"))


def files(folder: Path) -> dict[Path, bytes]:
    """Read all files below a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


DAMAGES = {
    "bit": lambda content: content[: len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[len(content) // 2 + 1 :],
    "cut": lambda content: content[:-100],
    "empty": lambda content: b"",
    "garbage": lambda content: b"garbage" * 999,
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_kernel_is_compiled_anew_once(tmp_path: Path, kept: Path, damage: str) -> None:
    for path, content in files(kept).items():
        path.write_bytes(DAMAGES[damage](content))
    found = [run(PACK + STATS, XDG_CACHE_HOME=str(kept), HOME=str(tmp_path)).splitlines() for _ in range(2)]
    assert found == [["[27]", "0 1"], ["[27]", "1 0"]]


class Malicious:
    """Leaves a file where it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.marker,)


def plant(kept: Path, marker: Path) -> None:
    """Put a pickle in place of each kernel, with the digest that it would have."""
    for path in files(kept):
        content = pickle.dumps(Malicious(marker))
        path.write_bytes(entries._digest(str(path.relative_to(kept / "tidalign")), content) + content)


def open_to_others(kept: Path) -> None:
    kept.chmod(0o777)


def of_another(kept: Path) -> None:
    for path in (kept, *kept.rglob("*")):
        os.chown(path, 65534, -1)


def through_a_link(kept: Path) -> None:
    """Make it another user's link, in a folder such as /tmp."""
    kept.rename(kept.with_name("real"))
    open_to_others(kept.with_name("real"))
    kept.symlink_to("real")


@pytest.mark.parametrize("variable", ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
@pytest.mark.parametrize("unsafe", [open_to_others, of_another, through_a_link])
def test_what_others_can_write_is_not_loaded(tmp_path: Path, kept: Path, unsafe: Callable[[Path], None], variable: str) -> None:
    """Not even unpickled; nor is anything written there."""
    if unsafe is of_another and os.geteuid():
        pytest.skip("only root gives files away")
    marker = tmp_path / "marker"
    plant(kept, marker)
    unsafe(kept)
    before = files(tmp_path / "real" if unsafe is through_a_link else kept)
    assert run(PACK + STATS, HOME=str(tmp_path), **{variable: str(kept)}).splitlines() == ["[27]", "0 1"]
    assert not marker.exists() and files(tmp_path / "real" if unsafe is through_a_link else kept) == before
    assert run(PACK + STATS, HOME=str(tmp_path), **{variable: str(kept)}).splitlines() == ["[27]", "1 0"]  # kept at home


def test_a_numba_that_keeps_kernels_itself_does_not_in_an_unsafe_folder(tmp_path: Path) -> None:
    shared, home = (tmp_path / name for name in ("shared", "home"))
    shared.mkdir()
    open_to_others(shared)
    home.mkdir()
    for hits in ("0 1", "1 0"):
        assert run(UNKNOWN + PACK + STATS, HOME=str(home), XDG_CACHE_HOME=str(shared)).splitlines() == ["[27]", hits]
    assert not files(shared) and files(home)
    for folder in (home / ".cache" / "tidalign").glob("*/*"):
        folder.chmod(0o777)  # as it is where such a numba makes it with a mask of 0
    assert run(UNKNOWN + PACK + STATS, HOME=str(home), XDG_CACHE_HOME=str(shared)).splitlines() == ["[27]", "0 1"]


def test_two_processes_compile_the_same_at_once(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path)} | dict.fromkeys(("XDG_CACHE_HOME", "NUMBA_CACHE_DIR"), "")
    both = [subprocess.Popen([sys.executable, "-c", PACK], env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(each.communicate()[0], each.returncode) for each in both] == [("[27]\n", 0)] * 2
    assert run(PACK + STATS, HOME=str(tmp_path)).splitlines() == ["[27]", "1 0"]
    assert {path.suffix for path in files(tmp_path)} == {".kernel"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_kernels_of_root_are_loaded_by_others(tmp_path: Path, kept: Path) -> None:
    """As from an image with compiled kernels. What a user needs is loaded before this one becomes it: it may lie in folders that only root can enter."""
    for path in (kept, *kept.rglob("*")):
        path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, 65534, 65534)
    for above in (tmp_path, *tmp_path.parents[:3]):  # pytest's own: a worker of many has one more
        above.chmod(above.stat().st_mode | 0o111)
    program = PACK + (
        "from tidalign.kernels.letters import packing as h; from tidalign.kernels.runtime.bases import bases; import os;"
        "os.setgid(65534); os.setuid(65534); os.environ['HOME'] = os.environ['LATER'];"
        "kernel = h.pack_codes; (sig,) = kernel.signatures; found = kernel._cache.load_overload(sig, kernel.targetctx);"
        "print(found is not None, *bases().loaded)"
    )
    before = files(kept)
    found = run(program, XDG_CACHE_HOME=str(kept), HOME=str(tmp_path), LATER=str(home)).splitlines()[-1]
    assert found == f"True {kept / 'tidalign'} {home / '.cache' / 'tidalign'}" and files(kept) == before
