"""Machine code of CUDA sources, kept between runs: the compiler is neither run nor loaded for what it has compiled before."""

import hashlib
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tidalign.kernels.runtime.numba_cache import bases, compiling

_DIGEST = hashlib.sha256().digest_size


def kept(description: str, make: Callable[[], bytes]) -> bytes:
    """What `make` compiles, from the file that an earlier call with the same description has left, where there is one.

    description: everything that the code depends on: source, options, card, compiler. A file that is not whole is as good as none. Where nothing can be
    written, nothing is kept.
    """
    name = f"{hashlib.sha256(description.encode()).hexdigest()}.cubin"
    places = [base / "cubins" for base in bases()]
    for place in places:
        with suppress(OSError):
            written = (place / name).read_bytes()
            if hashlib.sha256(written[_DIGEST:]).digest() == written[:_DIGEST]:
                return written[_DIGEST:]
    with compiling():
        made = make()
    for place in places:
        if _write(place / name, hashlib.sha256(made).digest() + made):
            break
    return made


def _write(path: Path, content: bytes) -> bool:
    """Whole or not at all, whoever else is at it."""
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_bytes(content)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()
        return False
    return True
