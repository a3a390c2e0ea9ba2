"""Long names: every reader refuses one over 64 KiB in a line that does not hold it, and none holds more of a line without end than it must."""

import gzip
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from tidalign import align
from tidalign.pipeline.errors import MOST_HEADER, MOST_NAME, MOST_RECORD, InputError
from tidalign.pipeline.files import decompress, sniff
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.pairs.input import records
from tidalign.pipeline.pairs.input.read import inspect, stream_blocks

TEXTS = {"fa": b">first\nACGT\n>%s\nACGT\n>third\nAC\n", "fq": b"@first\nACGT\n+\nIIII\n@%s\nACGT\n+\nIIII\n@third\nAC\n+\nII\n"}


def bgzip(text: bytes, size: int = 60_000) -> bytes:
    """Text in blocks of BGZF, and the empty one."""
    blocks = []
    for start in range(0, len(text), size):
        block = bytearray(gzip.compress(text[start : start + size], mtime=0))
        block[3] = 4
        block[10:10] = b"\x06\x00BC\x02\x00" + (len(block) + 8 - 1).to_bytes(2, "little")
        blocks.append(bytes(block))
    return b"".join(blocks) + decompress.BGZF_END


PACKED: dict[str, Callable[[bytes], bytes]] = {"plain": bytes, "gzip": gzip.compress, "bgzf": bgzip}


def names(file: Path) -> list[str]:
    tables = [table for _, table in stream_blocks(inspect(str(file), str(file)))]
    return [name for table in tables for name in table["query_name"].to_pylist()]


def refused(read: Callable[[], Any], *words: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read()
    message = str(caught.value)
    assert len(message) < 300 + len(caught.value.file) and "\n" not in message, message[:1000]
    assert "; " in message and all(word in message for word in words), message
    return caught.value


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("kind", TEXTS)
def test_pairs(kind: str, packed: str, tmp_path: Path) -> None:
    """The longest name there may be is read, also one with as much again behind it; a byte more is refused by its record."""
    file = tmp_path / f"a.{kind}"
    for name, after in ((b"n" * MOST_NAME, b""), ("é" * (MOST_NAME // 2), b" and more" * 9_000), (b"n", b"\t" + b"x" * (MOST_HEADER - 100))):
        name = name.encode() if isinstance(name, str) else name
        file.write_bytes(PACKED[packed](TEXTS[kind] % (name + after)))
        assert names(file) == ["first", name.decode(), "third"]
    file.write_bytes(PACKED[packed](TEXTS[kind] % (b"n" * (MOST_NAME + 1))))
    error = refused(lambda: names(file), "a name of at most 65,536 bytes", "a longer one", "shorten", str(file))
    assert error.record == 2


@pytest.mark.parametrize("kind", ["fa", "fq"])
def test_headers_without_end(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found while a text is still read, plain or compressed, from a file or a pipe: of a name, of what follows one."""
    monkeypatch.setattr(records, "STREAM_BYTES", 100_000)
    file = tmp_path / "a"
    for header, words in ((b"n" * 3_000_000, "a name of at most"), (b"n " + b"x" * 3_000_000, "a header line of at most")):
        text = TEXTS[kind] % header
        file.write_bytes(gzip.compress(text))
        assert refused(lambda: names(file), "at most", "longer").record == 2
        file.write_bytes(text)
        monkeypatch.setattr(decompress, "PLAIN_BYTES", 200_000)
        monkeypatch.setattr(records, "PLAIN_BYTES", 200_000)
        for packed in ("plain", "bgzf"):
            file.write_bytes(PACKED[packed](text))
            assert refused(lambda: names(file), "a header line of at most", "longer").record == 2
        monkeypatch.undo()
        monkeypatch.setattr(records, "STREAM_BYTES", 100_000)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
        target = tmp_path / "t.fa"
        target.write_bytes(b">t\nA\n")
        refused(lambda target=target: list(stream_blocks(inspect("-", str(target)))), words)


def test_long_records_beside_short_ones_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that is looked through for headers as it comes gives what it gives without, wherever pieces end."""
    long = b"".join(b">r%d %s\n%s\n" % (i, b"x" * (i * 700 % 9_000), b"ACGT\n" * (i * 3_001 % 40_000) + b"A" * (i * 70_001 % 900_000)) for i in range(12))
    fastq = b"".join(b"@r%d %s\n%s\n+\n%s\n" % (i, b"x" * (i * 700 % 9_000), b"A" * size, b"@" * size) for i in range(12) for size in [i * 70_001 % 900_000])
    for name, text in (("a.fa", long), ("a.fq", fastq)):
        for packed in ("plain", "bgzf"):
            file = tmp_path / name
            file.write_bytes(PACKED[packed](text))
            expected = [table for _, table in stream_blocks(inspect(str(file), str(file)), block_bases=200_000)]
            with monkeypatch.context() as small:
                small.setattr(decompress, "PLAIN_BYTES", 10_007)
                small.setattr(records, "PLAIN_BYTES", 10_007)
                small.setattr(records, "MOST_HEADER", 9_100)
                assert [table for _, table in stream_blocks(inspect(str(file), str(file)), block_bases=200_000)] == expected


def test_seq_has_no_names(tmp_path: Path) -> None:
    """A line of letters may be long; one that is no line of letters is none of .seq."""
    letters = b"ACGT" * 500_000
    file = tmp_path / "a.seq"
    for packed in ("plain", "gzip"):
        file.write_bytes(PACKED[packed](b">%s\n<%s\n" % (letters, letters[1:])))
        (row,) = [row for _, table in stream_blocks(inspect(str(file))) for row in table.to_pylist()]
        assert (row["query"], row["target"]) == (letters, letters[1:])


def test_records_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "STREAM_BYTES", 100_000)
    monkeypatch.setattr(records, "MOST_RECORD", 2_000_000)
    monkeypatch.setattr(sniff, "MOST_RECORD", 3_000_000)
    file, other = tmp_path / "a.gz", tmp_path / "b.fa"
    other.write_bytes(b">t\nA\n")
    for text in (b">a\n" + b"ACGT" * 1_000_000, b"@a\n" + b"ACGT" * 1_000_000):
        file.write_bytes(gzip.compress(text))
        assert refused(lambda: list(stream_blocks(inspect(str(file), str(other)))), "a record of at most").record == 1
    file.write_bytes(gzip.compress(b">" + b"ACGT" * 2_000_000))
    refused(lambda: inspect(str(file)), "a line of at most")
    assert MOST_RECORD > 2 * 2**28


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_tables(kind: str, tmp_path: Path) -> None:
    write = pyarrow.parquet.write_table if kind == "parquet" else pyarrow.feather.write_feather
    file = str(tmp_path / "a")
    for length in (MOST_NAME, MOST_NAME + 1):
        table = pa.table({"query": ["A", "C"], "target": ["A", "C"], "target_name": ["t", "n" * length]})
        write(table, file)
        if length == MOST_NAME:
            assert sum(len(table) for _, table in stream_blocks(inspect(file))) == 2
            assert align(table)["target_name"].to_pylist()[1] == "n" * length
        else:
            assert refused(lambda: list(stream_blocks(inspect(file))), "a name of at most").record == 2
            assert refused(lambda table=table: align(table), "a name of at most").record == 2


@pytest.mark.parametrize("packed", PACKED)
def test_genomes(packed: str, tmp_path: Path) -> None:
    file = tmp_path / "a.fa"
    for name, ends in ((b"n" * MOST_NAME, ""), (b"n " + b"x" * (MOST_HEADER - 100), ""), (b"n " + b"x" * (MOST_NAME - 3), "[nameparse=full]")):
        file.write_bytes(PACKED[packed](TEXTS["fa"] % name))
        found = read_genome(f"{file}{ends}", role="query").names
        assert found == ([f">{text}" for text in ("first", name.decode(), "third")] if ends else ["first", name.split()[0].decode(), "third"])
    for name, ends, words in (
        (b"n" * (MOST_NAME + 1), "", "a name of at most"),
        (b"n " + b"x" * MOST_NAME, "[nameparse=full]", "a name of at most"),
        (b"n" * 3_000_000, "", "at most"),
        (b"n " + b"x" * 3_000_000, "", "a header line of at most"),
    ):
        file.write_bytes(PACKED[packed](TEXTS["fa"] % name))
        assert refused(lambda ends=ends: read_genome(f"{file}{ends}", role="query"), words).record == 2


def test_a_chromosome_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "a.fa"
    for pack in PACKED.values():
        file.write_bytes(pack(b">a\n" + b"ACGT" * 2_000_000 + b"\n>b\n" + b"G" * 5_000_000))
        assert read_genome(str(file), role="target").lengths.tolist() == [8_000_000, 5_000_000]


BOMB = """
import gzip, sys
from tidalign.workflows.cli import main
with gzip.open("bomb.gz", "wb", 9) as file:
    file.write(sys.argv[1].encode())
    for _ in range(600):
        file.write(b"n" * 1_000_000)
    file.write(b"\\nACGT\\n")
open("b.fa", "w").write(">b\\nACGT\\n")
words = ["pairs", "bomb.gz", "b.fa"] if sys.argv[2] == "pairs" else ["genome", "b.fa", "bomb.gz"]
status = main([*words, "-o", "out.paf", "--device", "cpu", "--quiet"])
(most,) = (line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))  # of this program alone, not of what it was started from
print(status, int(most) // 1024)
"""


@pytest.mark.parametrize(("mark", "command"), [(">", "pairs"), ("@", "pairs"), (">x ", "pairs"), (">", "genome"), (">x ", "genome")])
def test_a_small_file_of_one_long_name(mark: str, command: str, tmp_path: Path) -> None:
    """600 MB of a name in 600 KB of gzip: status 65, in a line, and less than 300 MB of memory."""
    done = subprocess.run([sys.executable, "-c", BOMB, mark, command], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    status, megabytes = map(int, done.stdout.split())
    assert status == 65 and len(done.stderr.splitlines()) == 1 and len(done.stderr) < 300 and "bomb.gz" in done.stderr, done.stderr[:500]
    assert "record 1" in done.stderr and "at most" in done.stderr
    assert megabytes < 300
