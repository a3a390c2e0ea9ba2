"""Compile what commands run, by running them on small made-up sequences: for an image, or before many jobs begin at once."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from tidalign.cluster.task import cores
from tidalign.pipeline.device import CPU, Device

LENGTHS = (*(150,) * 64, 20_000, 33_000)
"""Letters of the pairs: kernels of two widths, and of pairs too long for both."""

GENOME, ALONE = 20_000, 12_000
"""Letters of a genome, and of a pair by scores that is long enough to be given all lanes alone."""

DNA, RESIDUES = b"ACGT", b"ARNDCQEGHILKMFPSTWYV"


def commands(folder: Path, devices: list[Device]) -> list[list[str]]:
    """Write the inputs of commands into a folder; gives the words of each command, the longest first. Writes their inputs into a folder."""
    _write(folder)
    pairs = [["pairs", "reads.fq", "windows.fa", "--penalties", model] for model in ("affine2p:4,6,2,24,1", "affine:4,6,2", "linear:4,2", "edit")]
    words = [[*each, *more, "--device", device.name] for device in devices for each in pairs for more in ([], ["--penalty-only"])]
    words += [[*pairs[1], "--heuristic", "adaptive", "--device", device.name] for device in devices]
    genome = ["genome", "target.fa", "query.fa"]
    ways: tuple[list[str], ...] = ([], ["--mode", "independent"], ["--nogfextend", "--step=200"], ["--chain"], ["--nogapped"])
    words += [[*genome, *more, "--device", device.name] for device in devices for more in ways]
    scored = [["pairs", "short.fa", "short.fa", "--scoring", "match:2,mismatch:-4,gap:4,2"], ["pairs", "a.faa", "b.faa", "--matrix", "blosum62"]]
    words += [[*each, *more, "--device", CPU.name] for each in scored for more in ([], ["--report", "score"], ["--report", "ends"], ["--span", "extension"])]
    alone = [["pairs", "long.fa", "long.fa", *scored[0][3:]], ["pairs", "long.faa", "long.faa", *scored[1][3:]]]
    words += [[*each, *more, "--device", CPU.name] for each in alone for more in ([], ["--span", "query"])]
    return words


def compiled(devices: list[Device]) -> Iterator[tuple[int, int, str]]:
    """Run every command, as many at once as there are cores. Yields as they end: how many have, of how many, and what went wrong, if anything did."""
    with tempfile.TemporaryDirectory(prefix="tidalign-") as place, ThreadPoolExecutor(cores()) as pool:
        words = commands(Path(place), devices)
        runs = [pool.submit(_run, place, number, each) for number, each in enumerate(words)]
        for done, run in enumerate(as_completed(runs), 1):
            yield done, len(runs), run.result()


def _run(folder: str, number: int, words: list[str]) -> str:
    tables, lines = {"score", "ends", "--penalty-only", "--nogapped"}, "maf" if words[0] == "genome" else "sam"
    output = f"{number}.{'tsv' if tables & {*words} else 'paf' if '--chain' in words else lines}"  # PAF parses CIGARs, MAF does not
    line = [sys.executable, "-m", "tidalign.workflows", *words, "-o", output, "--quiet"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True)
    return f"{' '.join(words)}: {done.stderr.strip() or f'status {done.returncode}'}" if done.returncode else ""


def _write(folder: Path) -> None:
    random = np.random.default_rng(1)
    pairs = [_pair(random, DNA, length) for length in LENGTHS]
    reads = [b"@%d\n%s\n+\n%s\n" % (number, query, b"I" * len(query)) for number, (query, _) in enumerate(pairs)]
    (folder / "reads.fq").write_bytes(b"".join(reads))
    (folder / "windows.fa").write_bytes(_fasta([target for _, target in pairs]))
    (folder / "short.fa").write_bytes(_fasta([target for _, target in pairs[:64]]))
    proteins = [_pair(random, RESIDUES, 300) for _ in range(64)]
    for side, name in enumerate(("a.faa", "b.faa")):
        (folder / name).write_bytes(_fasta([pair[side] for pair in proteins]))
    for name, alphabet in (("long.fa", DNA), ("long.faa", RESIDUES)):
        (folder / name).write_bytes(_fasta([_pair(random, alphabet, ALONE)[0]]))
    for name, letters in zip(("target.fa", "query.fa"), _pair(random, DNA, GENOME), strict=True):
        (folder / name).write_bytes(_fasta([letters]))


def _pair(random: np.random.Generator, alphabet: bytes, length: int) -> tuple[bytes, bytes]:
    """Draw a sequence, and what is left of it when one letter in fifty is another and one in five hundred is missing."""
    letters = random.choice(np.frombuffer(alphabet, np.uint8), length)
    others = np.where(random.random(length) < 0.02, random.choice(np.frombuffer(alphabet, np.uint8), length), letters)
    return letters.tobytes(), others[random.random(length) > 0.002].tobytes()


def _fasta(sequences: list[bytes]) -> bytes:
    return b"".join(b">%d\n%s\n" % (number, letters) for number, letters in enumerate(sequences))
