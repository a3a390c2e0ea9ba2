"""A kernel's parameters as its source declares them, and arguments that are not theirs; test_compile.py has the compiler agree with every kernel of ours."""

import types
from typing import Any

import cupy_on_host
import numpy as np
import pytest
from cupy_on_host import Array, Recorder

from tidalign.kernels.runtime import compiler
from tidalign.kernels.runtime.errors import KernelError
from tidalign.kernels.runtime.signature import checked, signatures

SOURCE = """
typedef unsigned long long Key;  // of a hit
using Place = Key;
struct Pair { int a, b[2]; int c; };
struct Pool { unsigned* words; Key slots; };
struct Layout { int exact; int below() const { return exact; } };
/* extern "C" __global__
   void none(int x) {} */
extern "C" __global__ void __launch_bounds__(32 * (1 + ROWS), 3)
    all(const Key* __restrict__ keys, Place *places, const Pair* pairs, const Pool* pool, Layout* layout, ushort4* boxes, unsigned char const* codes,
        int count, unsigned first, long long begin, uint64_t size, bool yes,  // the last but one
        const float rate) { if (count) return; }
extern "C" __global__ void nothing() {}
"""


def test_every_form_of_a_parameter() -> None:
    found = signatures(SOURCE)
    assert list(found) == ["all", "nothing"] and found["nothing"] == ()
    pointers = {"keys": "uint64", "places": "uint64", "pairs": "int32", "pool": None, "layout": None, "boxes": "uint16", "codes": "uint8"}
    values = {"count": "int32", "first": "uint32", "begin": "int64", "size": "uint64", "yes": "bool", "rate": "float32"}
    assert {each.name: each.dtype and each.dtype.name for each in found["all"] if each.pointer} == pointers
    assert {each.name: each.dtype and each.dtype.name for each in found["all"] if not each.pointer} == values
    assert [each.name for each in found["all"]] == [*pointers, *values]
    assert found["all"][6].declared == "unsigned char const* codes"


@pytest.mark.parametrize(
    "parameter",
    [
        "Pair pair",
        "int2 pair",
        "int** rows",
        "int& count",
        "int rows[4]",
        "Unknown* rows",
        "void* rows",
        "LETTERS",
        "FLAG(int) x",
        "int",
        "\n#if A\nint x\n#endif\n",
    ],
)
def test_parameters_that_no_launch_could_be_held_against(parameter: str) -> None:
    with pytest.raises(KernelError):
        signatures(f'struct Pair {{ int a, b; }};\nextern "C" __global__ void f({parameter}) {{}}')


@pytest.mark.parametrize(
    "kernel", ["__global__ void f(int x) {}", "template <int N> __global__ void f(int x) {}", 'extern "C" { __global__ void f(int x) {} }']
)
def test_kernels_that_are_not_read(kernel: str) -> None:
    with pytest.raises(KernelError, match="1 kernels, 0 of them"):
        signatures(kernel)


def test_a_type_in_two_ways() -> None:
    with pytest.raises(KernelError, match="Offset"):
        signatures("#if NARROW\ntypedef short Offset;\n#else\ntypedef int Offset;\n#endif\n")


KERNEL = (
    'struct Pool { int* words; int size; };\nextern "C" __global__ void f(const unsigned* words, Pool* pool, int count, unsigned long long size, bool yes) {}'
)


def given(**changed: Any) -> tuple[Any, ...]:
    arguments = {"words": Array(3, np.uint32), "pool": Array(3, np.int16), "count": 5, "size": np.uint64(6), "yes": np.bool_(True)}
    return tuple((arguments | changed).values())


def passed(*arguments: Any) -> tuple[Any, ...]:
    return checked("f", signatures(KERNEL)["f"], arguments, Array, cupy_on_host.DEVICE)


def test_arguments_that_are_passed() -> None:
    arguments = given()
    found = passed(*arguments)
    assert found[0] is arguments[0] and found[1] is arguments[1]
    assert [type(value) for value in found[2:]] == [np.int32, np.uint64, np.bool_] and found[2:] == (5, 6, True)
    assert passed(*given(words=None, pool=None))[:2] == (0, 0)
    assert passed(*given(count=np.int32(-1)))[2] == -1


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("words", np.zeros(3, np.uint32)),
        *(("words", Array(3, kind)) for kind in (np.int32, np.int64, np.uint8, np.float32)),
        *(("words", value) for value in (0, np.uint32(0), np.uint64(0))),
        *(("pool", value) for value in (0, np.zeros(3, np.uint32))),
        *(
            ("count", value)
            for value in (np.int64(5), np.uint32(5), 5.0, np.float64(5), 1 << 31, -(1 << 31) - 1, None, Array(1, np.int32), Array((), np.int32))
        ),
        *(("size", value) for value in (6, np.int64(6), np.uint32(6), None, Array((), np.uint64))),
        *(("yes", value) for value in (1, np.uint8(1), None)),
    ],
)
def test_arguments_that_are_not_declared_so(name: str, wrong: Any) -> None:
    declared = {"words": "const unsigned* words", "pool": "Pool* pool", "count": "int count", "size": "unsigned long long size", "yes": "bool yes"}
    kind = wrong.dtype.name if hasattr(wrong, "dtype") else type(wrong).__name__
    with pytest.raises(KernelError) as error:
        passed(*given(**{name: wrong}))
    message = str(error.value)
    assert message.startswith(f"f: parameter `{declared[name]}` takes ") and kind in message.partition("given: ")[2]


def test_arrays_that_kernels_cannot_read() -> None:
    class Elsewhere(Array):
        data = types.SimpleNamespace(device_id=1)

    for wrong in (Array(6, np.uint32)[::2], Elsewhere(3, np.uint32)):
        with pytest.raises(KernelError, match="f: words is not a contiguous array on device"):
            passed(*given(words=wrong))


def test_too_few_and_too_many_arguments() -> None:
    for arguments in (given()[:-1], (*given(), 1)):
        with pytest.raises(KernelError, match=r"f takes 5 arguments \(words, pool, count, size, yes\), not [46]"):
            passed(*arguments)


def test_a_launch_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder: Recorder = cupy_on_host.installed(monkeypatch)
    kernel = compiler.kernel("seed/seed.cu", "index_rare", {})
    compiler.launch(kernel, 1, 32, Array(4, np.uint32), np.uint64(4), np.uint32(1))
    with pytest.raises(KernelError, match="index_rare: parameter `unsigned limit` takes NumPy's uint32; given: int 1"):
        compiler.launch(kernel, 1, 32, Array(4, np.uint32), np.uint64(4), 1)
    assert [name for name, _ in recorder.launches] == ["index_rare"]


def test_launches_that_differ_in_numbers_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder: Recorder = cupy_on_host.installed(monkeypatch)
    kernel = compiler.kernel("letters/sequences.cu", "ends_of_runs", {})
    given = [np.int32(1) if parameter.dtype == np.int32 and not parameter.pointer else None for parameter in kernel.signature]
    (number,) = (parameter.name for parameter, value in zip(kernel.signature, given, strict=True) if value is not None)
    launch = compiler.launcher(kernel, 32, *given)
    launch(1)
    launch(2, **{number: 7})
    launch(3)
    assert [arguments[number] for _, arguments in recorder.launches] == [1, 7, 7]
    with pytest.raises(KernelError, match="ends_of_runs: .* is no int, which alone may change"):
        launch(4, **{kernel.signature[0].name: 1})
    with pytest.raises(OverflowError):
        launch(5, **{number: 1 << 31})
    assert len(recorder.launches) == 3
