"""2bit files of both byte orders and versions, against a writer made from the format's description."""

import gzip
import io
import random
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from twobit_file import write

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.input import twobit
from tidalign.pipeline.genome.input.read import read_genome

Records = list[tuple[str, str]]


def _letters(choose: random.Random, length: int) -> str:
    """Draw bases in runs of upper and lower case and N, as masks lie in genomes."""
    out = ""
    while len(out) < length:
        run = "".join(choose.choices("ACGT", k=choose.randrange(1, 40)))
        out += choose.choice((run, run.lower(), "N" * len(run), "n" * (len(run) // 4)))
    return out[:length]


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("version", [0, 1])
def test_all_letters_come_back(order: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twobit, "_AT_ONCE", 13)  # blocks go on over the borders of what is unpacked at once
    choose = random.Random(version)
    records = [(f"chr{length}", _letters(choose, length)) for length in (1, 2, 3, 4, 5, 51, 52, 53, 500, 1041)]
    path = tmp_path / "g.2bit"
    write(path, records, order=order, version=version)
    genome = read_genome(str(path), role="target")
    assert genome.names == [name for name, _ in records]
    assert genome.letters.tobytes().decode() == "\0" + "\0".join(letters for _, letters in records)
    unmasked = read_genome(f"{path}[unmask]", role="target")
    assert unmasked.letters.tobytes() == genome.letters.tobytes().upper()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("packed", [bytes, gzip.compress])
def test_pipes_and_compressed_files_are_refused(order: str, packed: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """LASTZ wants to seek in the file as well."""
    write(tmp_path / "g.2bit", [("a", "ACGTAC")], order=order)
    (tmp_path / "given").write_bytes(data := packed((tmp_path / "g.2bit").read_bytes()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    for path in ("-", str(tmp_path / "given"))[: 1 if packed is bytes else 2]:
        with pytest.raises(InputError, match="found 2bit data; .*twoBitToFa.* a file that is not compressed, and not from a pipe"):
            read_genome(path, role="query")


def test_empty_records_are_left_out(tmp_path: Path) -> None:
    write(tmp_path / "g.2bit", [("a", "ACGT"), ("none", ""), ("b", "TT")])
    genome = read_genome(str(tmp_path / "g.2bit"), role="target")
    assert (genome.names, genome.empty) == (["a", "b"], [(1, "none")])


def test_one_sequence(tmp_path: Path) -> None:
    write(tmp_path / "g.2bit", [("a", "ACGTAC"), ("b", "TTNNA")])
    genome = read_genome(f"{tmp_path}/g.2bit/b[2..4]", role="target")
    assert (genome.letters.tobytes(), genome.offsets.tolist(), genome.full_lengths.tolist()) == (b"TNN", [1], [5])
    with pytest.raises(MissingInput, match="'c'"):
        read_genome(f"{tmp_path}/g.2bit/c", role="target")
    (tmp_path / "g.fa").write_text(">a\nAC\n")
    with pytest.raises(InputError, match="subset"):
        read_genome(f"{tmp_path}/g.fa/a", role="target")


def test_damaged_files(tmp_path: Path) -> None:
    """A file that ends anywhere is refused."""
    path = tmp_path / "g.2bit"
    write(path, [("a", "ACGTNNacgtac" * 3), ("b", "TTNNA")])
    whole = path.read_bytes()
    for size in range(4, len(whole)):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match="truncated"):
            read_genome(str(path), role="target")
    first = whole.index(b"a", 17) + 1 + 4 + 6 + 4 + 4  # the first block of N, after its index, the length and the count
    for wrong in (b"\xff", bytes([30])):
        path.write_bytes(whole[:first] + wrong + whole[first + 1 :])
        with pytest.raises(InputError, match="blocks in order"):
            read_genome(str(path), role="target")
    path.write_bytes(whole[:4] + b"\x02" + whole[5:])
    with pytest.raises(InputError, match="version 2"):
        read_genome(str(path), role="target")


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(("magic", "message"), [(0x6BE93D3A, "found nib; make FASTA of it with UCSC's nibFrag"), (0xD2527095, "found hsx, an index")])
def test_other_formats_of_lastz_are_named(magic: int, message: str, order: Literal["little", "big"], tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(magic.to_bytes(4, order) + bytes(9))
    with pytest.raises(InputError, match=f"expected FASTA, FASTQ or 2bit, {message}"):
        read_genome(str(tmp_path / "x"), role="query")
