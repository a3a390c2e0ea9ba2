"""Where the letters of a genome, and their qualities, go as they are read: into memory, or the files of a folder of sides, of which memory holds little."""

import os
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, Protocol, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import encode
from tidalign.pipeline.files.decompress import crc32
from tidalign.pipeline.genome.input.sequences import CODES, LETTERS

Bytes = npt.NDArray[np.uint8]

_BLOCK = 1 << 20
"""Bytes that are written at once, while a core's cache holds them."""

_WAITING = 4  # blocks that are to be written


class Array(Protocol):
    """An array that grows."""

    def __len__(self) -> int:
        """Count the bytes so far."""

    def add(self, piece: bytes | memoryview) -> None:
        """Put bytes behind those that are there."""

    def whole(self) -> Bytes:
        """Give all that was added, when no more comes."""


class InMemory:
    """An array in memory."""

    def __init__(self) -> None:
        self._held = bytearray()

    def __len__(self) -> int:
        return len(self._held)

    def add(self, piece: bytes | memoryview) -> None:
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
                self._files[each] = self._opened.enter_context(Path(self._path, each).open("wb"))  # noqa: SIM115  # closed as the context ends
        return InFile(self, name)

    def write_all(self, arrays: Mapping[str, Bytes]) -> None:
        """Write arrays that are in memory, by their files' names."""
        for name, array in arrays.items():
            written = self.begin(name)
            for start in range(0, len(array), _BLOCK):
                written.add(array[start : start + _BLOCK].data)
            written.finish()

    def append(self, name: str, block: Bytes) -> None:
        """Write a block of letters or qualities; of letters, their codes too."""
        for each, made in _with_codes(name).items():
            self._append(each, made, block)

    def append_soon(self, name: str, block: Bytes) -> list[Future[None]]:
        """Write it as `append` does by a thread for each file."""
        for each in _with_codes(name):
            if each not in self._threads:
                self._threads[each] = self._opened.enter_context(ThreadPoolExecutor(1, each))
        return [self._threads[each].submit(self._append, each, made, block) for each, made in _with_codes(name).items()]

    def _append(self, name: str, made: Callable[[Bytes], Bytes], block: Bytes) -> None:
        data = made(block).data
        self._files[name].write(data)
        self.sums[name] = crc32(data, self.sums.get(name, 0))

    def mapped(self, name: str, start: int, size: int) -> Bytes:
        """Map an array that was written."""
        self._files[name].flush()
        return np.asarray(np.memmap(Path(self._path, name), np.uint8, "r"))[start : start + size] if size else np.empty(0, np.uint8)


def _with_codes(name: str) -> dict[str, Callable[[Bytes], Bytes]]:
    """Name the files that an array is written to, each with what makes its bytes of those of the array."""
    return {name: np.asarray, **({CODES: encode} if name == LETTERS else {})}


class InFile:
    """An array in its file, and codes of letters in theirs."""

    def __init__(self, files: Files, name: str) -> None:
        self._files, self._name, self._start = files, name, files.at(name)
        self._pieces: list[bytes | memoryview] = []
        self._waiting: deque[list[Future[None]]] = deque()
        self._size = self._held = 0

    def __len__(self) -> int:
        return self._size

    def add(self, piece: bytes | memoryview) -> None:
        self._pieces.append(piece)
        self._size += len(piece)
        self._held += len(piece)
        if self._held >= _BLOCK:
            if len(self._waiting) == _WAITING:
                self._wait()
            self._waiting.append(self._files.append_soon(self._name, self._block()))

    def _block(self) -> Bytes:
        block = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
        self._pieces, self._held = [], 0
        return np.frombuffer(block, np.uint8)

    def _wait(self) -> None:
        for each in self._waiting.popleft():
            each.result()

    def finish(self) -> None:
        """Have all written that was added."""
        while self._waiting:
            self._wait()
        self._files.append(self._name, self._block())

    def whole(self) -> Bytes:
        self.finish()
        return self._files.mapped(self._name, self._start, self._size)
