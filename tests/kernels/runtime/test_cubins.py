"""Machine code that is kept between runs: made once for each description, and again where its file is not whole."""

import sys
import threading
import types
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tidalign.kernels.runtime import bases, compiler, entries, numba_cache
from tidalign.kernels.runtime.cubins import kept

CODE = b"\x7fELF" + bytes(range(256)) * 40


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tidalign" / "cubins"


class Compiler:
    def __init__(self, code: bytes = CODE) -> None:
        self.code, self.calls = code, 0

    def __call__(self) -> bytes:
        self.calls += 1
        return self.code


def test_made_once(folder: Path) -> None:
    compiler = Compiler()
    assert [kept("a source for sm_90", compiler) for _ in range(3)] == [CODE] * 3
    assert compiler.calls == 1
    assert len(list(folder.iterdir())) == 1  # nothing half written beside it


def test_making_is_heard_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[bool] = []
    monkeypatch.setattr(numba_cache, "LISTENERS", [said.append])
    for _ in range(2):
        kept("a source for sm_90", Compiler())
    assert said == [True, False]


@pytest.mark.parametrize("other", ["a source for sm_80", "another source for sm_90", "a source for sm_90, compiler 13.1"])
def test_another_source_gpu_or_compiler_is_another_code(folder: Path, other: str) -> None:
    assert kept("a source for sm_90", Compiler()) == CODE
    assert kept(other, Compiler(b"other")) == b"other"
    assert kept("a source for sm_90", Compiler(b"never")) == CODE


@pytest.mark.parametrize("broken", ["cut", "empty", "changed", "foreign"])
def test_what_is_not_whole_is_made_again(folder: Path, broken: str) -> None:
    kept("a", Compiler())
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    path.write_bytes({"cut": whole[:-1], "empty": b"", "changed": whole[:100] + b"!" + whole[101:], "foreign": CODE}[broken])
    again = Compiler()
    assert kept("a", again) == CODE
    assert again.calls == 1
    assert path.read_bytes() == whole


def test_what_cannot_be_written_is_made_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    monkeypatch.setattr(bases, "_temporary", lambda: None)
    compiler = Compiler()
    assert [kept("a", compiler), kept("a", compiler)] == [CODE] * 2
    assert compiler.calls == 2


def test_an_error_of_the_compiler_keeps_nothing(folder: Path) -> None:
    def failing() -> bytes:
        raise ValueError("line 1")

    with pytest.raises(ValueError, match="line 1"):
        kept("a", failing)
    assert not folder.exists()


class FakeCupy:
    """Just enough of CuPy to compile and load a module. loaded: the machine code that went to the device."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loaded: list[bytes] = []
        self.compiled = 0
        cuda = types.SimpleNamespace(
            compiler=types.SimpleNamespace(compile_using_nvrtc=self._compile),
            Module=lambda: types.SimpleNamespace(load=self.loaded.append),
            Device=lambda device: types.SimpleNamespace(compute_capability="90"),
        )
        cupy = types.SimpleNamespace(cuda=cuda, __version__="14.0")
        nvrtc = types.SimpleNamespace(getVersion=lambda: (13, 0))
        libs = types.SimpleNamespace(nvrtc=nvrtc)
        for name, module in {"cupy": cupy, "cupy_backends.cuda.libs": libs, "cupy_backends.cuda.libs.nvrtc": nvrtc}.items():
            monkeypatch.setitem(sys.modules, name, module)

    def _compile(self, text: str, options: tuple[str, ...], filename: str) -> tuple[bytes, None]:
        self.compiled += 1
        return CODE, None


@pytest.mark.parametrize("broken", ["cut", "empty", "changed", "garbage", "mode", "link", "folder"])
def test_no_other_code_comes_to_the_device(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """What is damaged, or could be another user's, is compiled anew, and only once where it can be kept."""
    cupy = FakeCupy(monkeypatch)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def load() -> None:
        compiler._made.cache_clear()
        compiler._module.__wrapped__(0, "seed/seed.cu", ())

    load()
    load()
    assert (cupy.loaded, cupy.compiled) == ([CODE] * 2, 1)
    (path,) = folder.iterdir()
    whole = path.read_bytes()
    changes = {"cut": whole[:-1], "empty": b"", "changed": whole[:100] + b"!" + whole[101:], "garbage": b"\x7fELF" * 99}
    path.write_bytes(changes.get(broken, whole))
    if broken == "mode":
        path.chmod(0o666)
    elif broken == "link":
        path.rename(tmp_path / "elsewhere")
        path.symlink_to(tmp_path / "elsewhere")
    elif broken == "folder":
        evil = CODE[::-1]  # with the digest that it would have
        path.write_bytes(entries._digest(f"cubins/{path.name}", evil) + evil)
        folder.parents[1].chmod(0o777)
        bases._chosen.cache_clear()
    load()
    load()
    assert (cupy.loaded, cupy.compiled) == ([CODE] * 4, 2)
    assert broken == "folder" or (path.read_bytes() == whole and not path.is_symlink())


def test_what_is_wanted_is_compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three sources, one of them named twice, that wait for each other; what does not compile is not said here."""

    class Broken(Exception):
        pass

    device = SimpleNamespace(runtime=SimpleNamespace(getDevice=lambda: 7), compiler=SimpleNamespace(CompileException=Broken))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=device))
    made: list[tuple[int, str, tuple[str, ...]]] = []
    together = threading.Barrier(3, timeout=30)

    def code(*wanted: Any) -> bytes:
        made.append(wanted)
        together.wait()
        if wanted[1] == "b.cu":
            raise Broken
        return b""

    monkeypatch.setattr(compiler, "_code", code)
    compiler.ready([("a.cu", {"X": 1}), ("a.cu", {"X": 2}), ("b.cu", {}), ("a.cu", {"X": 1})])
    assert sorted(made) == [(7, "a.cu", ("-DX=1",)), (7, "a.cu", ("-DX=2",)), (7, "b.cu", ())]
    compiler.ready([("a.cu", {"X": 1})])
    assert len(made) == 3, "one alone is compiled where it is asked for"
