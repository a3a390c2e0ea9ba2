"""Every CUDA source compiles for every generation of GPUs that is supported, with every macro it knows; no GPU needed."""

import ctypes
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tidalign.kernels.bidirectional.launches import EACH
from tidalign.kernels.inspection import device as inspection_device
from tidalign.kernels.letters import words
from tidalign.kernels.local.device import extensions, forms, launches
from tidalign.kernels.runtime.compiler import FOLDER, OPTIONS, defines, source
from tidalign.kernels.runtime.signature import Parameter, Signature, signatures
from tidalign.kernels.wavefront import device_edit

GPUS = (pytest.param("sm_80", marks=pytest.mark.slow), "sm_90", pytest.param("sm_120", marks=pytest.mark.slow))

WAVEFRONT = {"THREADS": 32, "PAIRS": 4, "PIECES": 1, "X": 4, "E1": 2, "OE1": 8, "E2": 1, "OE2": 25}
WAVEFRONT |= {"CIGAR": 1, "FREE": 0, "NARROW": 0, "AMBIGUOUS": 0, "LIMITED": 0}
WAVEFRONT |= {"SHARED": 1, "DEEP": 0, "TRIM": 8, "MISSING": 4, "INSERTED": 32, "DELETED": 64}
EXTENSION = {"OPENED": 430, "EXTENDED": 30, "YDROP": 9400, "BIAS": 101, "TRIM": 1, "GENERAL": 0}


def wavefront_variants() -> Iterator[dict[str, object]]:
    """List each number of gap pieces with and without each flag, a warp and a block a pair; and with each heuristic."""
    word: dict[str, object] = {"WORD_LETTERS": words.LETTERS}
    for pieces in (0, 1, 2):
        for changed in (
            {},
            {"CIGAR": 0},
            {"FREE": 1},
            {"NARROW": 1, "AMBIGUOUS": 1},
            {"NARROW": 1, "AMBIGUOUS": 2, "FREE": 1},
            {"NARROW": 1, "CIGAR": 0, "LIMITED": 1},
            {"CIGAR": 0, "LIMITED": 1, "FREE": 1},
            {"THREADS": 128, "PAIRS": 1, "FREE": 1},
            {"THREADS": 128, "PAIRS": 1, "SHARED": 0},
            {"THREADS": 128, "PAIRS": 1, "DEEP": int(pieces == 2)},
        ):
            yield {f"WAVEFRONT_{name}": value for name, value in (WAVEFRONT | {"PIECES": pieces} | changed).items()} | word
        for kind, changed in enumerate(({}, {"CIGAR": 0}, {"FREE": 1, "AMBIGUOUS": 1}, {"AMBIGUOUS": 2}, {"FREE": 1, "CIGAR": 0}), 1):
            heuristic = {"HEURISTIC": kind, "FIRST": -10, "SECOND": 50, "STEPS": 2, "EDIT": int(pieces == 0), "UNIT": 2}
            yield {f"WAVEFRONT_{name}": value for name, value in (WAVEFRONT | {"PIECES": pieces} | changed | heuristic).items()} | word


def bidirectional_variants() -> Iterator[dict[str, object]]:
    """List each number of gap pieces, few rows and many, between fixed ends and to free ones, with and without ambiguous letters."""
    for pieces in (0, 1, 2):
        for changed in ({"OE1": 5, "OE2": 6}, {"AMBIGUOUS": 1}, {"AMBIGUOUS": 2, "FREE": 1}):
            model = {name: WAVEFRONT[name] for name in ("X", "E1", "OE1", "E2", "OE2", "AMBIGUOUS")} | {"PIECES": pieces} | changed
            free = model.pop("FREE", 0)
            shape = {"BIDIRECTIONAL_STEPS": 64, "BIDIRECTIONAL_COLUMNS": 1024, "BIDIRECTIONAL_EACH": EACH, "BIDIRECTIONAL_FREE": free}
            yield {f"WAVEFRONT_{name}": value for name, value in model.items()} | shape


def local_variants() -> Iterator[dict[str, object]]:
    """Local and with free ends, each width of scores and number of gap pieces, with and without tables and the way back."""
    local, overlap = (True, True, False, False, False), (True, True, True, True, False)
    one = {"pieces": 1, "dearest": 0, "lifted": True, "keep": True}
    two = {"pieces": 2, "dearest": 1, "lifted": True, "keep": True}
    yield forms.macros(forms.Form(8, 20, False, False, False, False), 128, ends=local, **one)
    yield forms.macros(forms.Form(16, 32, False, False, False, True), 128, ends=local, **one | {"keep": False})
    yield forms.macros(forms.Form(16, 32, False, True, True, True), 256, ends=local, **two | {"keep": False})
    yield forms.macros(forms.Form(16, 28, False, True, True, True), 128, ends=local, **one | {"keep": False})
    yield forms.macros(forms.Form(*forms.LOW, False, False, True, True, bounded=True), 128, ends=local, **one | {"keep": False})
    yield forms.macros(forms.Form(*forms.LOW, True, True, False, True, bounded=True), 128, ends=local, **two | {"keep": False})
    yield forms.macros(forms.Form(4, 16, True, True, False, False), 64, ends=overlap, **two | {"lifted": False})
    yield forms.macros(forms.Form(16, 32, True, False, False, True), 128, ends=overlap, **two)
    yield forms.macros(forms.Form(16, 32, True, False, False, True, 4), 64, ends=local, **two)
    yield forms.macros(forms.Form(16, 16, False, True, False, True, 8), 128, ends=local, **one)
    yield forms.macros(forms.Form(16, 16, True, False, False, True, 8), 128, ends=local, **two)
    yield forms.macros(forms.Form(16, 16, False, True, False, True, 8), 128, ends=local, **one | {"keep": False})
    yield forms.macros(forms.Form(16, 24, True, False, False, False), 128, ends=(False,) * 4 + (True,), **one)


def extension_variants() -> Iterator[dict[str, object]]:
    """List each team, number of gap pieces, with and without tables, the bonus and a band that all have."""
    for shape, table, bonus, pieces, masked in (
        ((8, 16), False, 0, 1, 0),
        ((16, 16), True, 1, 2, 0),
        ((32, 16), False, 1, 2, 0),
        ((32, 16), True, 0, 1, 0),
        ((32, 16), False, 0, 2, 1),
        ((16, 16), True, 1, 1, 1),
    ):
        form = forms.Form(*shape, True, table, False, True)
        macros = forms.macros(form, extensions.THREADS, ends=(False,) * 5, pieces=pieces, dearest=0, lifted=False, keep=False)
        yield macros | {"LOCAL_BONUS": bonus, "LOCAL_BLOCKS": extensions.BLOCKS, "LOCAL_MASKED": masked}


def paired_variants() -> Iterator[dict[str, object]]:
    """List each team and number of gap pieces, with and without a band that all have."""
    for shape in extensions.PAIRED_SHAPES:
        for pieces, masked in ((1, 0), (1, 1), (2, 0), (2, 1)):
            form = forms.Form(*shape, False, False, False, True)
            macros = forms.macros(form, extensions.THREADS, ends=(False,) * 5, pieces=pieces, dearest=pieces - 1, lifted=True, keep=False)
            yield macros | {"LOCAL_MASKED": masked, "LOCAL_BLOCKS": extensions.PAIRED_BLOCKS}


VARIANTS = {
    "search/best.cu": [{}],
    "search/product.cu": [{}],
    "search/words.cu": [{"WORD_LETTERS": words.LETTERS}],
    "local/device/codes.cu": [{}],
    "local/device/extensions.cu": list(extension_variants()),
    "local/device/forms.cu": [{}],
    "local/device/paired.cu": list(paired_variants()),
    "local/device/pairs.cu": [{}],
    "local/device/plan.cu": [{}],
    "local/device/scores.cu": list(local_variants()),
    "local/device/traces.cu": [macros | {"LOCAL_THREADS": launches.THREADS} for macros in local_variants()],
    "wavefront/edit.cu": [{"EDIT_THREADS": device_edit.THREADS, "EDIT_CIGAR": cigar} for cigar in (1, 0)],
    "wavefront/wavefront.cu": list(wavefront_variants()),
    "bidirectional/bidirectional.cu": list(bidirectional_variants()),
    "letters/sequences.cu": [{}],
    "seed/seed.cu": [{}],
    "seed/sort.cu": [{}],
    "ungapped/ungapped.cu": [{}],
    **{
        f"extension/{name}.cu": [
            {f"EXTENSION_{name}": value for name, value in (EXTENSION | changed).items()} for changed in ({}, {"GENERAL": 1, "TRIM": 0, "PLAIN": 1, "ROWS": 32})
        ]
        for name in ("extension", "sweep_warp", "sweep_block", "trace")
    },
    "inspection/inspection.cu": [inspection_device.MACROS, inspection_device.MACROS | {"INSPECTION_PLAIN": 1}],
}


def nvrtc() -> ctypes.CDLL:
    """Load the compiler that CuPy loads, from its wheel."""
    folders = find_spec("nvidia")
    found = [file for folder in (folders.submodule_search_locations or ()) for file in Path(folder).rglob("libnvrtc.so*")] if folders else []
    if not found:
        pytest.skip("no nvidia-cuda-nvrtc here: pip install tidalign[test] on Linux")
    return ctypes.CDLL(str(found[0]))


NUMBERS = {
    **{"b1": "bool", "f4": "float", "f8": "double"},
    **{"i1": "signed char", "i2": "short", "i4": "int", "i8": "long long"},
    **{"u1": "unsigned char", "u2": "unsigned short", "u4": "unsigned", "u8": "unsigned long long"},
}
"""C++ of a dtype."""

PROBE = """
template <typename A, typename B> constexpr bool same = false;
template <typename A> constexpr bool same<A, A> = true;
template <typename T> struct Bare { typedef T type; };
template <typename T> struct Bare<const T> { typedef T type; };
template <typename T> struct To { typedef void type; };
template <typename T> struct To<T*> { typedef typename Bare<T>::type type; };
template <int I, typename T, typename... Others> struct Nth : Nth<I - 1, Others...> {};
template <typename T, typename... Others> struct Nth<0, T, Others...> { typedef T type; };
template <typename F> struct Kernel;
template <typename... T> struct Kernel<void(T...)> {
  static constexpr int count = sizeof...(T);
  template <int I> using Type = typename Nth<I, T...>::type;
};
template <typename T> constexpr bool structs = __is_class(T);
template <typename T, typename Number> constexpr bool holds = same<T, Number> || (structs<T> && sizeof(T) % sizeof(Number) == 0);
"""


def assertions(entry: str, signature: Signature) -> Iterator[str]:
    """Write C++ that does not compile unless the kernel's parameters are what its signature says."""

    def of(place: int, parameter: Parameter) -> str:
        kind = f"Kernel<decltype({entry})>::Type<{place}>"
        number = NUMBERS[parameter.dtype.str[1:]] if parameter.dtype else None
        if not parameter.pointer:
            return f"same<{kind}, {number}>"
        return f"holds<To<{kind}>::type, {number}>" if number else f"structs<To<{kind}>::type>"

    yield f"static_assert(Kernel<decltype({entry})>::count == {len(signature)});"
    for place, parameter in enumerate(signature):
        yield f'static_assert({of(place, parameter)}, "{entry}: {parameter.name} is not {parameter.dtype}");'


def compiled(name: str, macros: dict[str, object], gpu: str, after: str = "") -> tuple[int, str]:
    """Compile a source: (size of the machine code, the compiler's log)."""
    library, program = nvrtc(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), (source(name) + after).encode(), name.encode(), 0, None, None)
    options = [option.encode() for option in (*OPTIONS, f"-arch={gpu}", *defines(macros))]
    failed = library.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    size = ctypes.c_size_t()
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    size.value = 0
    if not failed:
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return size.value, log.value.decode()


def test_no_source_is_forgotten() -> None:
    assert {file.relative_to(FOLDER).as_posix() for file in FOLDER.rglob("*.cu")} == set(VARIANTS)


def test_macros_are_the_ones_the_source_knows() -> None:
    assert set(re.findall(r"WAVEFRONT_[A-Z0-9]+", source("wavefront/wavefront.cu"))) >= {f"WAVEFRONT_{name}" for name in WAVEFRONT}


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("name", list(VARIANTS))
def test_compiles(name: str, gpu: str) -> None:
    """And the compiler agrees with every parameter's dtype."""
    after = PROBE + "\n".join(line for entry, signature in signatures(source(name)).items() for line in assertions(entry, signature))
    for macros in VARIANTS[name] if gpu == "sm_90" else VARIANTS[name][:3] + VARIANTS[name][3:][-3:]:
        size, log = compiled(name, macros, gpu, after)
        assert size > 0 and "warning" not in log, f"{name} for {gpu} with {macros}:\n{log}"


def test_an_error_says_its_own_file_and_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outer.cu").write_text('// one\n#include "inner.cuh"\nextern "C" __global__ void f() { g(); }\n')
    (tmp_path / "inner.cuh").write_text("#pragma once\n\n__device__ void g() { nothing_called_so(); }\n")
    monkeypatch.setattr("tidalign.kernels.runtime.compiler.FOLDER", tmp_path)
    size, log = compiled("outer.cu", {}, "sm_90")
    assert size == 0 and "inner.cuh(3)" in log


def test_a_signature_that_is_not_the_compilers_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'struct Pair { int a, b; };\nextern "C" __global__ void f(const Pair* pairs, const unsigned* words, short* rows, long long bytes, bool yes) {}\n'
    (tmp_path / "kernel.cu").write_text(text)
    monkeypatch.setattr("tidalign.kernels.runtime.compiler.FOLDER", tmp_path)
    right = signatures(text)["f"]

    def agrees(signature: Signature) -> bool:
        return compiled("kernel.cu", {}, "sm_90", PROBE + "\n".join(assertions("f", signature)))[0] > 0

    assert agrees(right) and not agrees(right[:-1])
    for place, kind in ((1, np.int32), (1, None), (2, np.int32), (3, np.int32), (4, np.uint8)):
        wrong = replace(right[place], dtype=kind and np.dtype(kind))
        assert not agrees((*right[:place], wrong, *right[place + 1 :])), wrong
    assert not agrees((replace(right[0], pointer=False, dtype=np.dtype(np.uint64)), *right[1:]))
    assert not agrees((*right[:3], replace(right[3], pointer=True), right[4]))
