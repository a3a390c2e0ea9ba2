"""Take turns at something that one holds at a time, or several who let each other."""

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """Are given in the order in which they were asked for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting = deque[object]()
        self._held: list[float] = []  # how many others each holder lets hold it meanwhile

    @contextmanager
    def hold(self, beside: float = 0) -> Iterator[None]:
        """Hold it. beside: so many others may hold it meanwhile, if they let as many."""
        me = object()
        with self._changed:
            self._waiting.append(me)
            try:
                self._changed.wait_for(lambda: self._waiting[0] is me and len(self._held) <= min([beside, *self._held]))
                self._held.append(beside)
            finally:
                self._waiting.remove(me)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._held.remove(beside)
                self._changed.notify_all()

    @property
    def held(self) -> bool:
        """Tell whether somebody holds it now."""
        return bool(self._held)
