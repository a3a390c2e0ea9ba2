"""Blocks of text that are packed as they are read hold what reading and packing one after the other give; what is unusual is left to these."""

import random
from inspect import signature
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from bgzip import bgzf

from tidalign.kernels.runtime.precompile import types
from tidalign.kernels.text.precompiled import kernels
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.input import index, packed
from tidalign.pipeline.pairs.input.packed import packed_block
from tidalign.pipeline.pairs.input.read import inspect, plan, read_block
from tidalign.pipeline.pairs.pack import pack_pairs


def text(form: str, records: list[tuple[str, str]], end: str, width: int, chance: random.Random) -> str:
    out = ""
    for place, (name, letters) in enumerate(records):
        if form == "fasta":
            lines = [letters[i : i + width] for i in range(0, len(letters), width)]
            out += end.join([f">{name}", *lines, *[""] * chance.choice([0, 0, 0, 1, 2])]) + end
        elif form == "fastq":
            out += end.join([f"@{name}", letters, "+", "".join(chance.choices("@>+<I", k=len(letters))), ""])
        else:
            out += "><"[place % 2] + letters + end
    return out


def drawn(chance: random.Random, count: int) -> list[tuple[str, str]]:
    names = ["r", "read/1", "a" * 70, "SRR1.7 first word", "x\ttab", "'q'~!"]
    return [(f"{chance.choice(names)}", "".join(chance.choices("ACGTacgtNn", [9] * 8 + [chance.choice([0, 1])] * 2, k=length(chance)))) for _ in range(count)]


def length(chance: random.Random) -> int:
    return chance.choice([0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33, 63, 64, 65, 150, chance.randint(0, 400)])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("form", ["fasta", "fastq", "seq"])
def test_columns_are_those_of_reading_and_packing(tmp_path: Path, form: str, end: str, seed: int) -> None:
    chance = random.Random(f"{form}{end}{seed}")
    count, width = chance.choice([1, 3, 40]), chance.choice([1, 7, 60, 1000])
    interleaved, last = form == "seq" or seed % 2 == 1, chance.choice(["", end])
    paths = [tmp_path / f"{number}.{form}" for number in range(2 - interleaved)]
    for path in paths:
        written = text(form, drawn(chance, count * (1 + interleaved)), end, width, chance).removesuffix(end) + last
        path.write_bytes((written if written.strip() else written + end).encode())
    with patch.object(index, "CELL_BYTES", chance.choice([64, 500, 100_000])):
        source = inspect(*map(str, paths), interleaved=interleaved and form != "seq")
        blocks = plan(source, block_bases=chance.choice([100, 2000, 10**9]))
    assert blocks and sum(block.pairs for block in blocks) == count
    done = 0
    for block in blocks:
        found, expected = packed_block(source, block, ambiguous="mismatch"), pack_pairs(read_block(source, block))
        assert found is None or found.equals(expected)
        done += found is not None
    assert done == len(blocks) or (form == "fastq" and not last), "a last record of no letters, whose line may lack"


def test_bgzf(tmp_path: Path) -> None:
    """Blocks of 500 bytes; records lie across them."""
    chance = random.Random(5)
    path = tmp_path / "x.fq.gz"
    path.write_bytes(bgzf(text("fastq", drawn(chance, 60), "\n", 0, chance).encode(), 500))
    with patch.object(index, "CELL_BYTES", 900):
        source = inspect(str(path), str(path))
        blocks = plan(source, block_bases=3000)
    assert blocks and len(blocks) > 3
    for block in blocks:
        assert (found := packed_block(source, block, ambiguous="mismatch")) is not None and found.equals(pack_pairs(read_block(source, block)))


def test_kernels_are_given_one_type_of_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a file is plain or not: each type is compiled for, and `kernels.text.precompiled` has this one."""
    given, fill = set[object](), packed.records.fill
    listed = next(examples for kernel, examples in kernels(False, "fastq") if kernel is fill)

    def seen(*arguments: Any) -> Any:
        given.add(types(fill, dict(zip(signature(fill.py_func).parameters, arguments, strict=True))))
        return fill(*arguments)

    monkeypatch.setattr(packed.records, "fill", seen)
    written = text("fastq", drawn(random.Random(6), 9), "\n", 0, random.Random(7)).encode()
    for name, content in (("x.fq", written), ("x.fq.gz", bgzf(written, 500))):
        (path := tmp_path / name).write_bytes(content)
        source = inspect(str(path), str(path))
        for block in plan(source, block_bases=3000) or ():
            assert packed_block(source, block, ambiguous="mismatch") is not None
    assert given == {types(fill, listed)}


UNUSUAL = {
    "IUPAC": ("fasta", ">a\nACRT\n"),
    "protein": ("fasta", ">a\nACGTL\n"),
    "a blank among letters": ("fasta", ">a\nAC GT\n"),
    "an old Mac's line ends": ("fasta", ">a\rAC\r"),
    "a name in UTF-8": ("fasta", ">é\nACGT\n"),
    "no name": ("fasta", ">\nACGT\n"),
    "a name behind a blank": ("fasta", "> a\nACGT\n"),
    "a control character": ("fasta", ">a\x01b\nACGT\n"),
    "a long name": ("fasta", ">" + "a" * 70_000 + "\nACGT\n"),
    "a name repeated": ("fastq", "@a\nACGT\n+a\nIIII\n"),
    "too few qualities": ("fastq", "@a\nACGT\n+\nIII\n"),
    "no @": ("fastq", "@a\nACGT\n+\nIIII\na\nACGT\n+\nIIII\n"),
    "another mark": ("seq", ">ACGT\n<ACGT\n>ACGT\n>ACGT\n"),
}


SEEN_BEFORE = {"an old Mac's line ends"}
"""What is refused before a block is read."""


@pytest.mark.parametrize("what", UNUSUAL)
def test_what_is_unusual_is_looked_at_closely(tmp_path: Path, what: str) -> None:
    form, written = UNUSUAL[what]
    path = tmp_path / f"x.{form}"
    path.write_bytes(written.encode())
    files = [str(path)] * (1 if form == "seq" else 2)
    if what in SEEN_BEFORE:
        with pytest.raises(InputError):
            plan(inspect(*files))
        return
    source = inspect(*files)
    blocks = plan(source)
    assert blocks and all(packed_block(source, block, ambiguous="mismatch") is None for block in blocks)


def test_letters_that_are_refused_are_looked_at_closely(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_text(">a\nACGT\n>b\nACNT\n")
    source = inspect(str(path), str(path))
    (block,) = plan(source) or []
    assert packed_block(source, block, ambiguous="error") is None
    with pytest.raises(InputError, match="'N' at position 3"):
        pack_pairs(read_block(source, block), ambiguous="error")


def test_a_file_that_is_gone_is_looked_at_closely(tmp_path: Path) -> None:
    path = tmp_path / "x.fa"
    path.write_bytes(b">a\nACGT\n")
    source = inspect(str(path), str(path))
    (block,) = plan(source) or []
    path.unlink()
    assert packed_block(source, block, ambiguous="mismatch") is None
