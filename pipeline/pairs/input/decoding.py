"""Decode a row group of a table once for all blocks that lie in it: PyArrow decodes from a row group's beginning, however far behind it the rows lie."""

import threading
from collections.abc import Callable, Iterator
from typing import Any


class Decoding:
    """Decodes a row group from its beginning to its end for threads that read ranges of it, most of which follow each other.

    batches: begins to decode. Who asks for rows lets those go first who have asked for rows before them; rows that nobody has asked for are passed over. For
    rows that were passed over, or given out, it is decoded again.
    """

    def __init__(self, batches: Callable[[], Iterator[Any]]) -> None:
        self._make = batches
        self._moved, self._asked = threading.Condition(), list[int]()
        self._begin()

    def _begin(self) -> None:
        self._batches, self._batch, self._row = self._make(), None, 0  # the batch that holds row `_row`, or None, and the first row that was not given out

    def rows(self, first: int, count: int, made: Callable[[Any], Any] = lambda batch: batch) -> list[Any]:
        """Read rows [first, first + count), or as many as there are, as batches, or what is `made` of each as soon as it is decoded."""
        self._asked.append(first)  # before the turn is waited for: who has it looks at this
        with self._moved:
            try:
                self._moved.wait_for(lambda: not any(self._row <= other < first for other in tuple(self._asked)))
                if self._row > first:
                    self._begin()
                return self._taken(first, count, made)
            except BaseException:
                self._begin()
                raise
            finally:
                self._asked.remove(first)
                self._moved.notify_all()

    def _taken(self, first: int, count: int, made: Callable[[Any], Any]) -> list[Any]:
        found = []
        while count and (batch := self._batch if self._batch is not None else next(self._batches, None)) is not None:
            passed = min(len(batch), first - self._row)
            kept = batch.slice(passed, count)
            if len(kept):
                found.append(made(kept))
            gone = passed + len(kept)
            self._row, first, count = self._row + gone, first + len(kept), count - len(kept)
            self._batch = batch.slice(gone) if gone < len(batch) else None
        return found
