"""Share a sequence's codes on the current CUDA device: seeds, inspection and extension of a unit ask for the same target and query."""

import threading
from typing import Any
from weakref import WeakValueDictionary

from tidalign.kernels.letters.nucleotides import Codes


class Upload:
    """Holds codes on a device (`codes`, uint8[n]), and those on the host that they are a copy of: as long as it lives nothing else has their place."""

    def __init__(self, on_host: Codes) -> None:
        import cupy

        self._on_host = on_host
        self.codes: Any = cupy.asarray(on_host)
        cupy.cuda.get_current_stream().synchronize()  # they are there for others' streams too


_held: WeakValueDictionary[tuple[int, int, int], Upload] = WeakValueDictionary()
_lock = threading.Lock()


def uploaded(codes: Codes) -> Upload:
    """Send codes (uint8[n], contiguous, which nobody writes to any more) to the current device, unless somebody still holds what was sent of them.

    Raises OutOfMemoryError of cupy.
    """
    import cupy

    place = cupy.cuda.runtime.getDevice(), codes.ctypes.data, len(codes)
    with _lock:
        found = _held.get(place)
        if found is None:
            found = _held[place] = Upload(codes)
        return found
