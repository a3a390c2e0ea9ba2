"""Read what kernels take from their CUDA sources, and hold the arguments of launches against it: a wrong dtype would give wrong numbers, and no error.

A pointer to numbers, or to structs whose fields are all one kind of number (CUDA's `uint4` among them), takes arrays of just that dtype, its sign too; one to
other structs takes any array, and what is in it is for the launcher to know. A value takes a NumPy scalar of just its dtype, and `int` a Python int.
"""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from tidalign.kernels.runtime.errors import KernelError

Kind = np.dtype[Any]

_INT, _NULL = np.dtype(np.int32), np.uint64(0)
_NUMBERS = {
    **{"bool": "?", "float": "f4", "double": "f8", "char": "i1", "signed char": "i1", "short": "i2", "int": "i4", "long long": "i8"},
    **{"unsigned char": "u1", "unsigned short": "u2", "unsigned": "u4", "unsigned int": "u4", "unsigned long long": "u8"},
    **{f"{prefix}int{8 * size}_t": f"{kind}{size}" for prefix, kind in (("", "i"), ("u", "u")) for size in (1, 2, 4, 8)},
}
_VECTORS = {
    **{f"{name}{count}": kind for name, kind in (("float", "f4"), ("double", "f8")) for count in range(1, 5)},
    **{
        f"{prefix}{name}{count}": f"{kind}{size}"
        for prefix, kind in (("", "i"), ("u", "u"))
        for name, size in (("char", 1), ("short", 2), ("int", 4), ("longlong", 8))
        for count in range(1, 5)
    },
}

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIER = re.compile(r"\b(?:const|volatile|__restrict__)\b")
_NAMED = re.compile(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;|\busing\s+(\w+)\s*=\s*([\w\s]+?)\s*;|\bstruct\s+(\w+)\s*(?:\{([^{}]*)\}\s*;)?")
_ENTRY = re.compile(r'\bextern\s+"C"\s+__global__\s+void\s+(?:__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\s*\(([^()]*)\)')
_PARAMETER = re.compile(r"\s*([\w\s]+?)\s*(\*?)\s*\b(\w+)\s*")


@dataclass(frozen=True, slots=True)
class Parameter:
    """A kernel's parameter. declared: as the source has it; dtype: of the value, or of what it points to (None: structs of several kinds)."""

    name: str
    declared: str
    pointer: bool
    dtype: Kind | None


Signature = tuple[Parameter, ...]


def signatures(text: str) -> dict[str, Signature]:
    """Read the parameters of every entry point of a source whose headers are inlined, by the entry point's name.

    Raises KernelError for a kernel that is not `extern "C" __global__ void name(parameters)`, and for a parameter that no launch could be held against: a
    struct by value, a pointer to pointers, a reference, an array, a type that the source does not define or defines in two ways, a macro.
    """
    text = _COMMENT.sub(" ", text)
    numbers, groups = _types(text)
    found = _ENTRY.findall(text)
    if len(found) != text.count("__global__"):
        raise KernelError(f'{text.count("__global__")} kernels, {len(found)} of them as extern "C" __global__ void name(parameters): write all so')
    return {entry: tuple(_parameter(entry, each, numbers, groups) for each in parameters.split(",") if parameters.strip()) for entry, parameters in found}


def _parameter(entry: str, declared: str, numbers: dict[str, Kind], groups: dict[str, Kind | None]) -> Parameter:
    declared = " ".join(declared.split())
    match = _PARAMETER.fullmatch(_QUALIFIER.sub(" ", declared))
    kind, pointer = " ".join(match[1].split()) if match else "", bool(match and match[2])
    if match is None or kind not in (numbers | groups if pointer else numbers):
        raise KernelError(f"{entry}: parameter {declared!r} is neither a number nor a pointer to numbers or structs that the source defines")
    return Parameter(match[3], declared, pointer, numbers[kind] if kind in numbers else groups[kind])


def _types(text: str) -> tuple[dict[str, Kind], dict[str, Kind | None]]:
    """Find the types of a source by name: numbers, and what consists of several, by their dtype."""
    numbers: dict[str, Kind] = {name: np.dtype(kind) for name, kind in _NUMBERS.items()}
    groups: dict[str, Kind | None] = {name: np.dtype(kind) for name, kind in _VECTORS.items()}
    for kind, typedef, using, same_as, struct, fields in _NAMED.findall(text):
        if struct:
            groups[struct] = _of_fields(fields, numbers | groups) if fields else groups.get(struct)
            continue
        name, words = typedef or using, " ".join((kind or same_as).split())
        if words in groups:
            groups[name] = groups[words]
        elif words in numbers and numbers.setdefault(name, numbers[words]) != numbers[words]:
            raise KernelError(f"{name} is defined as {numbers[name]} and as {words}: name them apart")
    return numbers, groups


def _of_fields(fields: str, types: dict[str, Kind] | dict[str, Kind | None]) -> Kind | None:
    """Find the dtype of all fields of a struct, or None where they are several, or pointers."""
    found: set[Kind | None] = set()
    for field in filter(str.strip, fields.split(";")):
        kind = re.split(r"[,\[]", field)[0].split()[:-1]
        found.add(None if "*" in field else types.get(" ".join(kind)))
    return found.pop() if len(found) == 1 else None


def checked(entry: str, signature: Signature, arguments: tuple[Any, ...], array: type[Any], device: int) -> tuple[Any, ...]:
    """Give the arguments as CuPy takes them: Python ints as int32, None as a null pointer, NumPy scalars and arrays (of type `array`) as they are.

    Raises KernelError, which names the parameter, for other arguments than the signature's, and for arrays that are not contiguous or not on `device`.
    """
    if len(arguments) != len(signature):
        raise KernelError(f"{entry} takes {len(signature)} arguments ({', '.join(each.name for each in signature)}), not {len(arguments)}")
    values = []
    for parameter, argument in zip(signature, arguments, strict=True):
        kind = parameter.dtype
        if parameter.pointer:
            if argument is None:
                argument = _NULL
            elif not isinstance(argument, array) or (argument.dtype != kind and kind is not None):
                raise _refused(entry, parameter, argument)
            elif argument.data.device_id != device or not argument.flags.c_contiguous:
                raise KernelError(f"{entry}: {parameter.name} is not a contiguous array on device {device}")
        elif isinstance(argument, int) and kind == _INT and -(1 << 31) <= argument < 1 << 31:
            argument = np.int32(argument)
        elif not isinstance(argument, np.generic) or argument.dtype != kind:
            raise _refused(entry, parameter, argument)
        values.append(argument)
    return tuple(values)


def _refused(entry: str, parameter: Parameter, argument: Any) -> KernelError:
    wanted = f"an array of {parameter.dtype or 'structs'} on the device or None" if parameter.pointer else f"NumPy's {parameter.dtype}"
    if not parameter.pointer and parameter.dtype == _INT:
        wanted += " or a Python int of 32 bits"
    shape = getattr(argument, "shape", ())
    given = f"{type(argument).__name__} of {argument.dtype}{list(shape)}" if shape else f"{type(argument).__name__} {argument!r:.40}"
    return KernelError(f"{entry}: parameter `{parameter.declared}` takes {wanted}; given: {given}")
