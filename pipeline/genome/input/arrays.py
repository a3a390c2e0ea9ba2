"""Where the letters of a genome, and their qualities, go as they are read: into memory, or the files of a folder of sides, of which memory holds little."""

import os
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import encode
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.genome.input.sequences import CODES, LETTERS

Text = bytes | bytearray
Bytes = npt.NDArray[np.uint8]

_BLOCK = 1 << 20
"""Bytes that are written at once, while a core's cache holds them."""

_WAITING = 4
"""Blocks that wait to be written."""


class Array(Protocol):
    """An array that grows."""

    def __len__(self) -> int:
        """Count the bytes so far."""

    def add(self, piece: Text | memoryview) -> None:
        """Put a copy of bytes behind those that are there."""

    def whole(self) -> Bytes:
        """Give all that was added, when no more comes."""


class InMemory:
    """An array in memory."""

    def __init__(self) -> None:
        self._held = bytearray()

    def __len__(self) -> int:
        return len(self._held)

    def add(self, piece: Text | memoryview) -> None:
        self._held += piece

    def whole(self) -> Bytes:
        return np.frombuffer(self._held, np.uint8)


class Files:
    """Files of a folder, whose arrays grow in each one after the other; as a context, it leaves them written, forced to disk where they are to last.

    sums: CRC-32 of each by its name. Letters have their codes in a file beside. OSError where a file cannot be written.
    """

    def __init__(self, path: str, *, forced: bool) -> None:
        self._path, self._forced = path, forced
        self._files: dict[str, BinaryIO] = {}
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._opened = ExitStack()
        self._spare: list[Bytes] = []
        self._codes = np.empty(_BLOCK, np.uint8)  # of the block that is written
        self.sums: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *error: Any) -> None:
        with self._opened:
            for file in () if kind else self._files.values():
                file.flush()
                if self._forced:
                    os.fsync(file.fileno())

    def at(self, name: str) -> int:
        """Give the place in a file where the next array begins."""
        return self._files[name].tell() if name in self._files else 0

    def begin(self, name: str) -> "InFile":
        """Begin an array in a file."""
        for each in _with_codes(name):
            if each not in self._files:
                self.sums[each] = 0  # in this order, whichever thread is first
                self._files[each] = self._opened.enter_context(Path(self._path, each).open("wb"))  # noqa: SIM115  # closed as the context ends
        return InFile(self, name)

    def block(self) -> Bytes:
        """Give memory for a block, uint8[_BLOCK], used again where some was given back: new memory costs more than what is done with it."""
        return self._spare.pop() if self._spare else np.empty(_BLOCK, np.uint8)

    def give_back(self, block: Bytes) -> None:
        """Take back memory of a block that is written."""
        self._spare.append(block)

    def write_all(self, arrays: Mapping[str, Bytes]) -> None:
        """Write arrays that are in memory, by their files' names."""
        for name, array in arrays.items():
            written = self.begin(name)
            for start in range(0, len(array), _BLOCK):
                written.add(array[start : start + _BLOCK].data)
            written.finish()

    def append(self, name: str, block: Bytes) -> None:
        """Write a block of letters or qualities; of letters, their codes too."""
        for each in _with_codes(name):
            self._append(each, block)

    def append_soon(self, name: str, block: Bytes) -> list[Future[None]]:
        """Write it as `append` does by a thread for each file."""
        for each in _with_codes(name):
            if each not in self._threads:
                self._threads[each] = self._opened.enter_context(ThreadPoolExecutor(1, each))
        return [self._threads[each].submit(self._append, each, block) for each in _with_codes(name)]

    def _append(self, name: str, block: Bytes) -> None:
        data = (encode(block, self._codes) if name == CODES else block).data
        self._files[name].write(data)
        self.sums[name] = crc32(data, self.sums[name])

    def mapped(self, name: str, start: int, size: int) -> Bytes:
        """Map an array that was written."""
        self._files[name].flush()
        return np.asarray(np.memmap(Path(self._path, name), np.uint8, "r"))[start : start + size] if size else np.empty(0, np.uint8)


def _with_codes(name: str) -> tuple[str, ...]:
    """Name the files that an array is written to."""
    return (name, CODES) if name == LETTERS else (name,)


class InFile:
    """An array in its file, and codes of letters in theirs."""

    def __init__(self, files: Files, name: str) -> None:
        self._files, self._name, self._start = files, name, files.at(name)
        self._waiting: deque[tuple[Bytes, list[Future[None]]]] = deque()
        self._done = 0
        self._next()

    def _next(self) -> None:
        self._block, self._used = self._files.block(), 0
        self._view = self._block.data

    def __len__(self) -> int:
        return self._done + self._used

    def add(self, piece: Text | memoryview) -> None:
        stop = self._used + len(piece)
        if stop < _BLOCK:
            self._view[self._used : stop] = piece
            self._used = stop
            return
        left = np.frombuffer(piece, np.uint8)
        while len(left) >= _BLOCK - self._used:
            taken = _BLOCK - self._used
            self._block[self._used :] = left[:taken]  # unlike above, without the interpreter lock
            self._waiting.append((self._block, self._files.append_soon(self._name, self._block)))
            self._done += _BLOCK
            if len(self._waiting) == _WAITING:
                self._wait()
            left = left[taken:]
            self._next()
        self._block[: len(left)] = left
        self._used = len(left)

    def _wait(self) -> None:
        block, written = self._waiting.popleft()
        for each in written:
            each.result()
        self._files.give_back(block)

    def finish(self) -> None:
        """Have all written that was added."""
        while self._waiting:
            self._wait()
        self._files.append(self._name, self._block[: self._used])
        self._files.give_back(self._block)

    def whole(self) -> Bytes:
        self.finish()
        return self._files.mapped(self._name, self._start, len(self))
