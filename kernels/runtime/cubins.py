"""Machine code of CUDA sources, kept between runs: the compiler is neither run nor loaded for what it has compiled before."""

import hashlib
from collections.abc import Callable

from tidalign.kernels.runtime import entries
from tidalign.kernels.runtime.numba_cache import compiling


def kept(description: str, make: Callable[[], bytes]) -> bytes:
    """Give what `make` compiles, from the entry that an earlier call with the same description has left, where there is one.

    description: everything that the code depends on: source, options, GPU, compiler.
    """
    name = f"cubins/{hashlib.sha256(description.encode()).hexdigest()}.cubin"
    if (code := entries.load(name)) is None:
        with compiling():
            code = make()
        entries.save(name, code)
    return code
