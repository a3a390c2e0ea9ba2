"""Inputs that are wrong, or only look so: one line that names the file, the record and the way out, and the right type of error."""

import gzip
import io
import logging
import sys
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bgzip import bgzf

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files.decompress import READ_BYTES
from tidalign.pipeline.pairs.input.read import inspect, plan, read_block, stream_blocks

BAD = Path(__file__).parents[3] / "data" / "bad"

LEGAL = {
    "blank.fa": [("a", b"ACGTGGGG")],
    "crlf.fa": [("a", b"ACGTACGTACGT")],
    "crlf.fq": [("a", b"ACGT")],
    "dup.fa": [("a", b"ACGT"), ("a", b"GGGG")],
    "fakegz.fq.gz": [("a", b"ACGT")],
    "iupac.fa": [("a", b"ACGTRYKMSWBDHVN")],
    "lower.fa": [("a", b"acgtnnnnACGT")],
    "multi.fq.gz": [("a", b"AC"), ("b", b"GG")],
    "noterm.fq": [("a", b"ACGT")],
    "ok.fa": [("a", b"ACGTACGTACGTAAGGTTCCACGTACGATCGATCGATTACGATCGATCGATCGATCGTTAGC")],
    "ok.fa.bgz": [("a", b"ACGTACGTACGTAAGGTTCCACGTACGATCGATCGATTACGATCGATCGATCGATCGTTAGC")],
    "r1.fq": [("r0/1", b"ACGT"), ("r1/1", b"ACGT"), ("r2/1", b"ACGT")],
    "r2.fq": [("r0/2", b"ACGT"), ("r1/2", b"ACGT")],
    "r2x.fq": [("q0/2", b"ACGT"), ("q1/2", b"ACGT"), ("q2/2", b"ACGT")],
    "utf8.fa": [("é", b"ACGT")],
    "zero.fa": [("a", b""), ("b", b"ACGT")],
    "zero.fq": [("a", b""), ("b", b"ACGT")],
}

WRONG = {
    "bom.fa": (None, None, "byte order mark"),
    "cr.fa": (None, 1, "CR alone"),
    "flip.fq.gz": (None, None, "damaged"),
    "garbage.fq.gz": (None, None, "after the gzip data"),
    "noeof.fa.bgz": (None, None, "truncated"),
    "noheader.fa": (None, 1, "'A'"),
    "noname.fa": (1, None, "a name, found none"),
    "nondna.fa": (1, None, "'L' at position 4 of 'a'"),
    "nul.fa": (1, None, "'\\x00' at position 4 of 'a'"),
    "nul.fq": (1, 2, "'\\x00' at position 4 of 'a'"),
    "space.fa": (1, None, "' ' at position 3 of 'a'"),
    "trunc.fq": (1, 4, "4 qualities for as many letters, found 2"),
    "trunc2.fq": (2, 6, "four lines, found 2"),
    "trunc.fq.gz": (13212, None, "truncated"),
}

EMPTY = {"empty.fa", "empty.fq"}


def rows(*files: Any, **options: Any) -> list[tuple[str, str, bytes, bytes]]:
    """Read every pair, in sequence."""
    tables = [table for _, table in stream_blocks(inspect(*map(str, files), **options))]
    return [tuple(row.values())[1:] for table in tables for row in table.to_pylist()]  # type: ignore[misc]


def refused(*files: Any, error: type[Exception] = InputError, **options: Any) -> Any:
    with pytest.raises(error) as caught:
        rows(*files, **options)
    message = str(caught.value)
    assert str(files[0]) in message
    assert "\n" not in message
    return caught.value


def test_every_file_has_its_place() -> None:
    assert {path.name for path in BAD.iterdir()} - {"README.md"} == {*LEGAL, *WRONG, *EMPTY}


@pytest.mark.parametrize("name", sorted(LEGAL))
def test_legal(name: str) -> None:
    expected = [(record, record, letters, letters) for record, letters in LEGAL[name]]
    assert rows(BAD / name, BAD / name) == expected


@pytest.mark.parametrize("name", sorted(WRONG))
def test_wrong(name: str) -> None:
    record, line, words = WRONG[name]
    error = refused(BAD / name, BAD / name)
    assert words in str(error)
    assert "; " in str(error)  # a way out follows
    if record:
        assert (error.record, f"record {record}" in str(error)) == (record, True)
    assert error.line == line


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_empty(name: str) -> None:
    assert "--allow-empty" in str(refused(BAD / name, BAD / name, error=MissingInput))
    assert rows(BAD / name, BAD / name, allow_empty=True) == []
    assert (
        str(refused(BAD / name, BAD / "r1.fq", error=MissingInput)) == f"{BAD / name}: empty, but {BAD / 'r1.fq'} is not; each of its records needs one there"
    )
    error = refused(BAD / name, BAD / "r1.fq", allow_empty=True)
    assert "(3), found 0" in str(error)


FASTQ = b"".join(b"@r%d\nACGT\n+\nIIII\n" % number for number in range(1, 10_001))


@pytest.mark.parametrize("compress", [bytes, gzip.compress, bgzf])
@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (b"r7001\nACGT\n+\nIIII\n", b"r7001\nAC\nGT\n+\nII\nII\n", 28_003, "a line that begins with '+', found 'GT'"),
        (b"@r7001\n", b"\n@r7001\n", 28_001, "a line that begins with '@', found an empty line"),
        (b"@r7001\n", b"\n\n\n\n@r7001\n", 28_001, "a line that begins with '@', found an empty line"),
        (b"@r7001\nACGT\n", b"@r7001\nAC-T\n", 28_002, "'-' at position 3 of 'r7001'"),
        (b"IIII\n@r10000\nACGT\n+\n", b"IIII\n@r10000\nACGT\n+", 39_999, "four lines, found 3 at the end"),
    ],
)
def test_a_fault_amid_a_file_is_named_where_it_is(tmp_path: Path, compress: Any, old: bytes, new: bytes, line: int, words: str) -> None:
    """Numbers of records that do not fit come of it."""
    (tmp_path / "whole.fq").write_bytes(FASTQ)
    text = FASTQ.replace(old, new)
    (tmp_path / "bad.fq").write_bytes(compress(text.removesuffix(b"IIII\n") if line > 30_000 else text))
    error = refused(tmp_path / "bad.fq", tmp_path / "whole.fq")
    assert words in str(error) and (error.record, error.line) == ((line + 3) // 4, line)
    error = refused(tmp_path / "bad.fq", interleaved=True)
    assert words in str(error) and (error.record, error.line) == ((line + 3) // 4, line)


def test_fastq_within_fasta(tmp_path: Path) -> None:
    (tmp_path / "mix.fa").write_text(">x\nACGT\n@y\nACGT\n+\nIIII\n")
    (tmp_path / "two.fa").write_text(">x\nACGT\n>y\nACGT\n")
    assert "'@' at position 5 of 'x'" in str(refused(tmp_path / "mix.fa", tmp_path / "two.fa"))
    assert "as many records as in" in str(refused(tmp_path / "two.fa", BAD / "ok.fa"))


@pytest.mark.parametrize(("reads", "said"), [(2, "remove or add what has no mate"), (10, "this is no read mapper")])
def test_reads_and_a_genome(reads: int, said: str, tmp_path: Path) -> None:
    (tmp_path / "reads.fa").write_text("".join(f">r{number}\nACGT\n" for number in range(reads)))
    (tmp_path / "genome.fa").write_text(">chr1\nACGTACGTACGT\n")
    assert said in str(refused(tmp_path / "reads.fa", tmp_path / "genome.fa"))
    assert "this is no read mapper" not in str(refused(tmp_path / "genome.fa", tmp_path / "reads.fa"))


def test_an_empty_line_amid_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.seq").write_text(">ACGT\n<ACGA\n\n>ACGT\n<ACGA\n")
    error = refused(tmp_path / "a.seq")
    assert (error.record, error.line) == (2, 3) and "found an empty line" in str(error)


def test_truncated_gzip_names_the_record_that_is_not_whole() -> None:
    there = zlib.decompressobj(31).decompress((BAD / "trunc.fq.gz").read_bytes())
    assert WRONG["trunc.fq.gz"][0] == there.count(b"\n") // 4 + 1


def test_fake_gzip_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "tidalign"):
        inspect(str(BAD / "fakegz.fq.gz"), str(BAD / "r1.fq"))
    assert [record.name for record in caplog.records] == ["tidalign"]
    assert "fakegz.fq.gz: not compressed" in caplog.text


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_unequal_counts(tmp_path: Path, compress: Any) -> None:
    first, second = tmp_path / "r1", tmp_path / "r2"
    first.write_bytes(compress((BAD / "r1.fq").read_bytes()))
    second.write_bytes(compress((BAD / "r2.fq").read_bytes()))
    for files, counts in (((first, second), "(2), found 3"), ((second, first), "(3), found 2")):
        error = refused(*files)
        assert str(files[1]) in str(error)
        assert counts in str(error)
    assert compress is gzip.compress or pytest.raises(InputError, plan, inspect(str(first), str(second)))  # before anything is read


def test_same_names() -> None:
    assert len(rows(BAD / "r1.fq", BAD / "r1.fq", same_names=True)) == 3
    assert [row[:2] for row in rows(BAD / "r1.fq", BAD / "r2x.fq")] == [(f"r{i}/1", f"q{i}/2") for i in range(3)]
    error = refused(BAD / "r1.fq", BAD / "r2x.fq", same_names=True)
    assert "pair 1, found 'r0/1' and 'q0/2'" in str(error)


def test_mates_have_the_same_name(tmp_path: Path) -> None:
    mates = tmp_path / "r2.fq"
    mates.write_bytes((BAD / "r1.fq").read_bytes().replace(b"/1", b"/2 barcode"))
    assert [row[:2] for row in rows(BAD / "r1.fq", mates, same_names=True)] == [(f"r{i}/1", f"r{i}/2") for i in range(3)]


def test_interleaved_odd() -> None:
    assert "an even number of records" in str(refused(BAD / "r1.fq", interleaved=True))


def test_arguments_that_do_not_fit(tmp_path: Path) -> None:
    seq = tmp_path / "pairs.seq"
    seq.write_text(">ACGT\n<ACG\n")
    assert "--interleaved" in str(refused(BAD / "r1.fq"))
    assert "found two" in str(refused(BAD / "r1.fq", BAD / "r1.fq", interleaved=True))
    assert "one seq file" in str(refused(seq, BAD / "r1.fq"))
    assert rows(seq) == [("0", "0", b"ACGT", b"ACG")]
    for side in ("query", "target"):
        assert f"expected a table, for --{side}-column, found fastq data" in str(refused(BAD / "r1.fq", BAD / "r1.fq", **{f"{side}_column": "foo"}))


def test_nothing_there(tmp_path: Path) -> None:
    assert "No such file" in str(refused(tmp_path / "none.fa", BAD / "ok.fa", error=MissingInput))
    assert "directory" in str(refused(tmp_path, BAD / "ok.fa", error=MissingInput))
    assert "Not a directory" in str(refused(BAD / "ok.fa" / "x", BAD / "ok.fa", error=MissingInput))


TEXTS = {
    "rna": (b">a\nACGU\n", "convert U to T"),
    "gap": (b">a\nAC-GT\n", "remove the gaps"),
    "comment": (b">a\nACGT\n#ACGT\n", "'#' at position 5"),
    "tab": (b">a\nAC\tGT\n", "white space"),
    "cr within": (b">a\nACGT\rACGT\n>b\nAC\n", "CR alone"),
    "cr in a name": (b">a\rb\nACGT\n", "CR alone"),
    "nul in a name": (b">a\0b\nACGT\n", "'\\x00'"),
    "latin-1 name": (b">\xe9\nACGT\n", "UTF-8"),
    "blank name": (b"> a\nACGT\n", "name every record"),
    "bzip2": (b"BZh91AY&SY", "bzip2"),
    "utf-16": (">a\nAC\n".encode("utf-16"), "UTF-16"),
    "stray quality": (b"@a\nACGT\n+\nIIIII\n", "found 5"),
    "other name after +": (b"@a\nACGT\n+b\nIIII\n", "or nothing, after '+'"),
    "a part of the name after +": (b"@ab c\nACGT\n+a\nIIII\n", "or nothing, after '+'"),
    "two sequence lines": (b"@a\nAC\nGT\n+\nII\nII\n@b\nACGT\n", "begins with '+'"),
    "no @": (b"@a\nACGT\n+\nIIII\nb\nACGT\n+\nIIII\n", "record 2, line 5"),
    "blank line in FASTQ": (b"@a\nACGT\n\n+\nIIII\n", "begins with '+', found an empty line"),
    "no quality": (b"@a\nACGT\n", "found 2"),
    ".seq without a target": (b">ACGT\n<ACGT\n>ACGT\n", "even number"),
    ".seq out of turn": (b">ACGT\n<ACGT\n<ACGT\n>ACGT\n", "record 2, line 3"),
}


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
@pytest.mark.parametrize("name", sorted(TEXTS))
def test_wrong_texts(tmp_path: Path, name: str, compress: Any) -> None:
    text, words = TEXTS[name]
    path = tmp_path / "input"
    path.write_bytes(compress(text))
    files = (path,) if name.startswith(".seq") else (path, path)
    assert words in str(refused(*files))


def test_repeated_names_after_plus(tmp_path: Path) -> None:
    path = tmp_path / "old.fq"
    path.write_text("@a 1\nACGT\n+a 1\nIIII\n@b\nAC\n+\nII\n@c 2\nAC\n+c\nII\n")
    assert rows(path, path) == [("a", "a", b"ACGT", b"ACGT"), ("b", "b", b"AC", b"AC"), ("c", "c", b"AC", b"AC")]


def test_gzip_padded_with_zeros(tmp_path: Path) -> None:
    path = tmp_path / "padded.gz"
    path.write_bytes(gzip.compress(b">a\nACGT\n") + bytes(100_000))
    assert rows(path, path) == [("a", "a", b"ACGT", b"ACGT")]


def test_bgzf_from_a_pipe_needs_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, words in (("ok.fa.bgz", ""), ("noeof.fa.bgz", "truncated")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((BAD / name).read_bytes())))
        if words:
            assert words in str(refused("-", BAD / "ok.fa"))
        else:
            assert len(rows("-", BAD / "ok.fa")) == 1


def test_damage_is_told_from_wrong_letters(tmp_path: Path) -> None:
    whole = b"".join(b">a%d\nACGTXACGT\n" % i for i in range(1000))
    data = bytearray(gzip.compress(whole))
    data[-8] ^= 1  # its checksum
    path = tmp_path / "damaged.gz"
    path.write_bytes(data)
    error = refused(path, path)
    assert "damaged" in str(error) and "'X'" not in str(error)


def test_a_damaged_block_is_found_however_far_it_lies(tmp_path: Path) -> None:
    letters = np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), (10_000, 60))
    data = bytearray(bgzf(b"".join(b">a%d\n%s\n" % (number, row.tobytes()) for number, row in enumerate(letters))))
    assert len(data) > 3 * READ_BYTES
    data[len(data) * 9 // 10] ^= 8
    path = tmp_path / "damaged.gz"
    path.write_bytes(data)
    assert "a damaged block at byte 1" in str(refused(path, path))


def test_changed_after_planning(tmp_path: Path) -> None:
    path = tmp_path / "reads.fa"
    text = ">a\nACGTACGTAC\n>b\nACGT\n"
    path.write_text(text)
    source = inspect(str(path), str(path))
    blocks = plan(source, block_bases=1)
    assert blocks
    path.write_text(text[:-3])
    with pytest.raises(InputError, match="that was planned"):
        read_block(source, blocks[-1])
    path.write_text(text.replace(">b", "AA"))
    with pytest.raises(InputError, match="that was planned"):
        read_block(source, blocks[-1])
    path.unlink()
    with pytest.raises(MissingInput, match="every worker must see"):
        read_block(source, blocks[0])
