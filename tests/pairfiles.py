"""Pairs from the files that golden tests use: `.seq` (a line >QUERY, a line <TARGET) or two FASTA files of one record a pair, gzip'd."""

import gzip
from pathlib import Path

Pair = tuple[bytes, bytes]


def read_seq(path: Path) -> list[Pair]:
    with gzip.open(path) as file:
        lines = [line.rstrip() for line in file]
    assert all(line[:1] == b"><"[i % 2 : i % 2 + 1] for i, line in enumerate(lines)), path
    return [(query[1:], target[1:]) for query, target in zip(lines[::2], lines[1::2], strict=True)]


def write_seq(path: Path, pairs: list[Pair]) -> None:
    text = b"".join(b">%b\n<%b\n" % pair for pair in pairs)
    path.write_bytes(gzip.compress(text, 9, mtime=0))


def read_fasta(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return [b"".join(record.split(b"\n")[1:]) for record in file.read().split(b">")[1:]]


def read_folder(folder: Path) -> dict[str, list[Pair]]:
    """Read every set of pairs in a folder: NAME.seq.gz, or NAME_query.fasta.gz with NAME_target.fasta.gz."""
    sets = {path.name.removesuffix(".seq.gz"): read_seq(path) for path in sorted(folder.glob("*.seq.gz"))}
    for path in sorted(folder.glob("*_query.fasta.gz")):
        name = path.name.removesuffix("_query.fasta.gz")
        sets[name] = list(zip(read_fasta(path), read_fasta(path.with_name(f"{name}_target.fasta.gz")), strict=True))
    return sets
