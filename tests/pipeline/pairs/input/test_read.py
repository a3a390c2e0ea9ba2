"""The same pairs come back from every format, compression and way of cutting the input into blocks."""

import gzip
import io
import json
import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dnaio
import numpy as np
import pyarrow as pa
import pytest
from bgzip import bgzf
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files import decompress, sniff
from tidalign.pipeline.pairs.input import index, records, stream
from tidalign.pipeline.pairs.input.read import PairBlock, PairSource, blocks, inspect, plan, read_block, stream_blocks
from tidalign.pipeline.schema import PAIRS

Pair = tuple[str, str, bytes, bytes]

NAME = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=6)
LETTERS = st.text("ACGTNacgtnRYKMSWBDHV", max_size=30).map(str.encode)
PAIRS_LISTS = st.lists(st.tuples(NAME, NAME, LETTERS, LETTERS), min_size=1, max_size=12)


def fasta(names: list[str], letters: list[bytes], width: int, end: bytes) -> bytes:
    out = b""
    for name, sequence in zip(names, letters, strict=True):
        out += b">" + name.encode() + b" a description" + end
        out += b"".join(sequence[i : i + width] + end for i in range(0, len(sequence), width))
    return out


def fastq(names: list[str], letters: list[bytes], width: int, end: bytes) -> bytes:
    # Qualities that begin as headers do.
    qualities = [(b"@>+<I" * (1 + len(sequence) // 5))[: len(sequence)] for sequence in letters]
    return b"".join(b"@" + name.encode() + end + s + end + b"+" + end + q + end for name, s, q in zip(names, letters, qualities, strict=True))


def seq(queries: list[bytes], targets: list[bytes]) -> bytes:
    return b"".join(b">" + query + b"\n<" + target + b"\n" for query, target in zip(queries, targets, strict=True))


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "members": lambda data: b"".join(gzip.compress(data[i : i + 40]) for i in range(0, len(data), 40)),
    "bgzf": bgzf,
    "small bgzf": lambda data: bgzf(data, 17),
}


def rows(table: Any) -> list[Pair]:
    assert table.schema == PAIRS
    table.validate(full=True)
    return [tuple(row.values())[1:] for row in table.to_pylist()]  # type: ignore[misc]


def check(source: PairSource, expected: list[Pair], bases: int) -> None:
    """Check that blocks partition the input in order, and hold what was written, whoever reads them in whatever order."""
    streamed = list(stream_blocks(source, block_bases=bases))
    assert list(chain.from_iterable(rows(table) for _, table in streamed)) == expected
    ordinals = np.concatenate([table["ordinal"].to_numpy() for _, table in streamed])
    assert ordinals.tolist() == list(range(len(expected)))
    for number, (block, table) in enumerate(streamed):
        assert (block.id, block.first, block.pairs) == (number, table["ordinal"][0].as_py(), len(table))
    blocks = plan(source, block_bases=bases)
    if blocks is None:
        assert not source.has_ranges
        return
    source = PairSource.from_json(json.loads(json.dumps(source.to_json())))
    tables = {}
    for block in reversed(blocks):
        assert PairBlock.from_json(json.loads(json.dumps(block.to_json()))) == pickle.loads(pickle.dumps(block)) == block
        tables[block.id] = read_block(source, block)
    assert list(chain.from_iterable(rows(tables[i]) for i in range(len(blocks)))) == expected


@settings(max_examples=120)
@given(
    PAIRS_LISTS,
    st.sampled_from([fasta, fastq]),
    st.sampled_from([fasta, fastq, None]),
    st.tuples(st.sampled_from(sorted(COMPRESSIONS)), st.sampled_from(sorted(COMPRESSIONS))),
    st.integers(1, 40),
    st.sampled_from([b"\n", b"\r\n"]),
    st.integers(-1, 5),
    st.integers(1, 100),
    st.sampled_from([1, 60, 10_000]),
)
def test_texts(
    tmp_path_factory: pytest.TempPathFactory,
    pairs: list[Pair],
    query_format: Any,
    target_format: Any,
    compressions: tuple[str, str],
    width: int,
    end: bytes,
    blank: int,
    cell: int,
    bases: int,
) -> None:
    folder = tmp_path_factory.mktemp("texts")
    query_names, target_names, queries, targets = (list(column) for column in zip(*pairs, strict=True))
    if target_format:
        texts = [query_format(query_names, queries, width, end), target_format(target_names, targets, width, end)]
    else:
        names, letters = (list(chain.from_iterable(zip(*sides, strict=True))) for sides in ((query_names, target_names), (queries, targets)))
        texts = [query_format(names, letters, width, end)]
    paths = []
    for number, (text, compression) in enumerate(zip(texts, compressions, strict=False)):
        if blank >= 0:  # lines at the end of the file
            text += blank * end
        elif text.endswith(end) and not text.endswith(end * 2):
            text = text[: -len(end)]
        paths.append(folder / f"{number}")
        paths[-1].write_bytes(COMPRESSIONS[compression](text))
    with ExitStack() as patches:
        for module, name, value in (
            (index, "CELL_BYTES", cell),
            (index, "TASK_CELLS", 3),
            (index, "BLOCK_PAIRS", 5),
            (stream, "BLOCK_PAIRS", 5),
            (records, "STREAM_BYTES", cell),
            (sniff, "READ_BYTES", 64),
            (decompress, "READ_BYTES", 64),
        ):
            patches.enter_context(patch.object(module, name, value))
        source = inspect(*map(str, paths), interleaved=target_format is None)
        check(source, pairs, bases)


@settings(max_examples=40)
@given(st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=9), st.sampled_from(sorted(COMPRESSIONS)), st.integers(1, 50), st.integers(0, 5))
def test_seq(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[bytes, bytes]], compression: str, cell: int, blank: int) -> None:
    path = tmp_path_factory.mktemp("seq") / "pairs"
    path.write_bytes(COMPRESSIONS[compression](seq(*map(list, zip(*pairs, strict=True))) + b"\n" * blank))  # type: ignore[arg-type]
    with patch.object(index, "CELL_BYTES", cell), patch.object(records, "STREAM_BYTES", cell):
        check(inspect(str(path)), [(str(i), str(i), *pair) for i, pair in enumerate(pairs)], 40)


@settings(max_examples=60)
@given(st.lists(st.tuples(NAME, LETTERS), min_size=1, max_size=8), st.sampled_from([fasta, fastq]), st.integers(1, 40), st.sampled_from([b"\n", b"\r\n"]))
def test_as_dnaio_reads(tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, bytes]], form: Any, width: int, end: bytes) -> None:
    names = [name for name, _ in made if name.isascii()]  # dnaio refuses others in FASTQ
    letters = [sequence for name, sequence in made if name.isascii()]
    text = form(names, letters, width, end)
    path = tmp_path_factory.mktemp("dnaio") / "reads"
    path.write_bytes(text)
    with dnaio.open(io.BytesIO(text), fileformat=form.__name__) as reader:
        expected = [(record.id, record.id, record.sequence.encode(), record.sequence.encode()) for record in reader]
    source = inspect(str(path), str(path), allow_empty=True)
    assert list(chain.from_iterable(rows(table) for _, table in stream_blocks(source))) == expected


def reads(count: int, length: int = 150) -> tuple[bytes, list[bytes]]:
    """Draw FASTQ of random reads, and their letters."""
    random = np.random.default_rng(5)
    letters = [bytes(b"ACGT"[i] for i in row) for row in random.integers(0, 4, (count, length))]
    return fastq([f"read{i}" for i in range(count)], letters, 0, b"\n"), letters


def test_a_compressed_block_may_end_between_cr_and_lf(tmp_path: Path) -> None:
    path = tmp_path / "1.fq.gz"
    path.write_bytes(bgzf(b"@" + b"a" * 15 + b"\r\nACGT\r\n+\r\nIIII\r\n", 17))
    assert inspect(str(path), str(path)).inputs[0].format == "fastq"


@pytest.mark.parametrize("order", ["forwards", "backwards", "shuffled"])
def test_blocks_do_not_depend_on_who_counts_or_when(order: str, tmp_path: Path) -> None:
    """A block is known once what lies before its end was counted, and never another than of all that was counted at once."""
    path = tmp_path / "reads.fq"
    path.write_bytes(reads(20_000)[0])
    source = inspect(str(path), str(path))
    with patch.object(index, "TASK_CELLS", 1):
        cutting = blocks(source, block_bases=1_000_000)
    assert cutting and len(cutting.tasks) > 20
    places = list(range(len(cutting.tasks)))
    if order != "forwards":
        places = places[::-1] if order == "backwards" else np.random.default_rng(1).permutation(places).tolist()
    heard = []
    for place in places:
        count, task = cutting.tasks[place]
        heard.append(cutting.hear(place, count(pickle.loads(pickle.dumps(task)))))
    alone = [block for known in heard for block in known]
    assert alone == plan(source, block_bases=1_000_000)
    assert len(alone) > 4 and cutting.pairs == 20_000
    assert sum(map(cutting.share, alone)) == pytest.approx(1, abs=0.05 * len(alone))  # a cell of each file is read for two blocks
    assert (len([known for known in heard if known]) > 3) == (order == "forwards")


def test_blocks_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "reads.fq"
    text, letters = reads(20_000)
    path.write_bytes(text)
    source = inspect(str(path), str(path))
    blocks = plan(source, block_bases=1_000_000)
    assert blocks
    sizes = [300 * block.pairs for block in blocks]
    assert max(sizes) < 1_300_000 and min(sizes[:-1]) > 600_000  # to the precision of two cells
    with patch.object(index, "BLOCK_PAIRS", 1000):
        assert {block.pairs for block in plan(source) or ()} == {1000}
    for block in blocks:  # what a reader reads is little more than what it gives
        for span in block.spans:
            assert span.stop - span.start < 2 * index.CELL_BYTES + len(text) * block.pairs // len(letters)


def test_a_long_record_is_a_block_of_its_own(tmp_path: Path) -> None:
    lengths = [100] * 3000 + [3_000_000] + [100] * 3000
    letters = [b"A" * length for length in lengths]
    names = [str(i) for i in range(len(lengths))]
    path = tmp_path / "reads.fa"
    path.write_bytes(fasta(names, letters, 80, b"\n"))
    for source in (inspect(str(path), str(path)), inspect(str(_gzipped(path)), str(path))):
        blocks = [block for block, _ in stream_blocks(source, block_bases=1_000_000)]
        alone = next(block for block in blocks if block.first <= 3000 < block.first + block.pairs)
        # Reads in the same cells may share it.
        assert 2 <= len(blocks) <= 6 and alone.pairs * 100 < 2 * index.CELL_BYTES


def test_long_names_count(tmp_path: Path) -> None:
    for length, sizes in ((60_000, {16, 4}), (100, {100})):
        path = tmp_path / f"{length}.fa"
        path.write_bytes(fasta([f"{number:0{length}}" for number in range(100)], [b"ACGT"] * 100, 80, b"\n"))
        source = inspect(str(_gzipped(path)), str(path))
        assert {block.pairs for block, _ in stream_blocks(source, block_bases=2_000_000)} == sizes


def _gzipped(path: Path) -> Path:
    zipped = path.with_suffix(".gz")
    zipped.write_bytes(gzip.compress(path.read_bytes(), 1))
    return zipped


@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzf"])
@pytest.mark.parametrize(
    ("wrong", "line", "words"),
    [(b"read4321\nX", 4321 * 4 + 2, "'X' at position 1 of 'read4321'"), (b"read4321\nACGT", 4321 * 4 + 4, "154 qualities")],
)
def test_errors_name_record_and_line_far_into_a_file(tmp_path: Path, compression: str, wrong: bytes, line: int, words: str) -> None:
    text, _ = reads(6000)
    at = text.index(b"read4321\n")
    length = 10 if wrong.endswith(b"X") else 9
    path, other = tmp_path / "wrong.fq", tmp_path / "right.fq"
    path.write_bytes(COMPRESSIONS[compression](text[:at] + wrong + text[at + length :]))
    other.write_bytes(text)
    for files in ((path, other), (other, path)):
        with pytest.raises(InputError, match="wrong.fq: record 4322, line") as caught:
            list(stream_blocks(inspect(*map(str, files)), block_bases=100_000))
        assert (caught.value.record, caught.value.line) == (4322, line)
        assert words.replace("154 qualities", "154 qualities for as many letters, found 150") in str(caught.value)


def test_errors_in_interleaved_files_count_records(tmp_path: Path) -> None:
    path = tmp_path / "both.fa"
    path.write_text(">a\nAC\n>b\nAC\n>c\nAC\n>d\nA-\n")
    with pytest.raises(InputError, match="record 4: .*'-' at position 2 of 'd'"):
        list(stream_blocks(inspect(str(path), interleaved=True), block_bases=1))


@pytest.mark.parametrize("compression", ["plain", "gzip", "bgzf"])
@pytest.mark.parametrize("form", ["fastq", "seq"])
def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compression: str, form: str) -> None:
    text, letters = reads(2000)
    data = COMPRESSIONS[compression](text if form == "fastq" else seq(letters, letters))
    other = tmp_path / "reads.fq"
    other.write_bytes(text)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    source = inspect(*(["-", str(other)] if form == "fastq" else ["-"]))
    assert source.has_pipe and plan(source) is None
    assert source.files()[0] == {"path": "-", "size": -1, "mtime_ns": -1, "digest": ""}
    found = [row for _, table in stream_blocks(source, block_bases=100_000) for row in rows(table)]
    assert [row[2:] for row in found] == [(letter, letter) for letter in letters]
    with pytest.raises(MissingInput, match="already read"):
        list(stream_blocks(source))


def test_standard_input_once() -> None:
    with pytest.raises(InputError, match="one of the inputs"):
        inspect("-", "-")


def test_named_pipes(tmp_path: Path) -> None:
    text, letters = reads(3000)
    paths = [tmp_path / "1", tmp_path / "2"]
    for path in paths:
        os.mkfifo(path)
    writers = [threading.Thread(target=path.write_bytes, args=(text,)) for path in paths]
    for writer in writers:
        writer.start()
    found = [row for _, table in stream_blocks(inspect(*map(str, paths))) for row in rows(table)]
    for writer in writers:
        writer.join()
    assert [row[2:] for row in found] == [(letter, letter) for letter in letters]


def test_blocks_are_flat(tmp_path: Path) -> None:
    """A block's columns are one array each, as kernels take them."""
    path = tmp_path / "reads.fq"
    path.write_bytes(reads(3000)[0])
    with patch.object(records, "STREAM_BYTES", 10_000):
        for source in (inspect(str(path), str(path)), inspect(str(_gzipped(path)), str(path))):
            for _, table in stream_blocks(source):
                assert all(table[name].num_chunks == 1 for name in table.column_names)
                assert table["query"].type == pa.large_binary()


def test_a_block_is_a_share_of_the_input_within_bounds(tmp_path: Path) -> None:
    assert [index.block_bases(letters) for letters in (0, 1e6, 2e8, 1e12)] == [index.MIN_BASES, index.MIN_BASES, 12_500_000, index.BLOCK_BASES]
    path = tmp_path / "reads.fq"
    path.write_bytes(reads(20_000)[0])  # of 150 letters
    with patch.object(index, "MIN_BASES", 10_000):
        counts = [block.pairs for block in plan(inspect(str(path), str(path))) or ()]
    assert sum(counts) == 20_000 and 12 <= len(counts) <= 32  # to the precision of cells
