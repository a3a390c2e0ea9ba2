"""Count the source files that one read passes from FASTQ to SAM and one genome from FASTA to MAF: those with a function that runs meanwhile.

The command runs here, on cores, without workers. What runs while modules are imported or numba compiles does not count; a kernel counts where Python calls it.

python tests/reading_path.py {pairs,genome}: the files, one a line
"""

import gzip
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import tidalign
from tidalign.workflows.cli import main

PACKAGE = Path(tidalign.__file__).parent
GENOMES = Path(__file__).parent / "data" / "genomes"


class Called:
    """Files of the package whose functions are called, in any thread."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self._inside = threading.local()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event not in ("call", "return"):
            return
        file = frame.f_code.co_filename
        depth = getattr(self._inside, "depth", 0)
        if frame.f_code.co_name == "<module>" or "/numba/" in file:
            self._inside.depth = max(0, depth + (1 if event == "call" else -1))
        elif not depth and file.startswith(f"{PACKAGE}/"):
            self.files.add(file.removeprefix(f"{PACKAGE}/"))


@contextmanager
def watched() -> Iterator[set[str]]:
    """Note the files called inside."""
    called = Called()
    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield called.files
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def inputs(kind: str, folder: Path) -> list[str]:
    """Write a read and its window, or two mitochondrial genomes, without compression; gives them and where the answer goes."""
    letters = "GATTACACCTGAGTCATTGCCA" * 4
    texts = {"reads.fq": f"@r\n{letters}\n+\n{'I' * len(letters)}\n", "windows.fa": f">w\n{letters}\n"}
    if kind == "genome":
        texts = {f"{name}.fa": gzip.decompress((GENOMES / f"mt_{name}.fa.gz").read_bytes()).decode() for name in ("human", "chimp")}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [*(str(folder / name) for name in texts), "-o", str(folder / ("out.sam" if kind == "pairs" else "out.maf"))]


def files(kind: str) -> list[str]:
    """Name the files that `tidalign pairs` or `tidalign genome` calls."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        # Once before, so that what has to be compiled, which takes long enough for more to be done about it, is there.
        commands = [[kind, *inputs(kind, Path(folder)), "--device", "cpu", "--quiet"] for folder in (first, second)]
        assert main(commands[0]) == 0
        with watched() as found:
            status = main(commands[1])
        assert status == 0
    return sorted(found)


if __name__ == "__main__":
    print(*files(sys.argv[1]), sep="\n")
