"""Chunks hold every pair once, from one length bin, sorted by length, with its letters."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidalign.kernels.letters.sequences import unpack
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.aligner import wavefront_cells
from tidalign.pipeline.pairs.pack import flat, pack_pairs, packed, sequences
from tidalign.pipeline.pairs.partition import by_length, length_bin
from tidalign.pipeline.schema import CHUNK, PAIRS
from tidalign.pipeline.text import cuts

LETTERS = st.binary(max_size=40).map(lambda raw: bytes(b"ACGTacgtNnRy"[byte % 12] for byte in raw))


def pairs_table(pairs: list[tuple[bytes, bytes]]) -> pa.Table:
    names = [f"p{i}" for i in range(len(pairs))]
    return pa.table(
        {
            "ordinal": pa.array(range(len(pairs)), pa.int64()),
            "query_name": names,
            "target_name": names,
            "query": pa.array([query for query, _ in pairs], pa.large_binary()),
            "target": pa.array([target for _, target in pairs], pa.large_binary()),
        },
        schema=PAIRS,
    )


def letters(side: str, chunk: pa.Table) -> list[bytes]:
    plain = unpack(packed(chunk, side))
    return [bytes(plain.letters[a:b]) for a, b in zip(plain.offsets[:-1], plain.offsets[1:], strict=True)]


def as_packed(sequence: bytes) -> bytes:
    """Give what 2 bits and a mask keep of a sequence."""
    return bytes(letter if letter in b"ACGT" else ord("N") for letter in sequence.upper())


@settings(max_examples=60)
@given(st.lists(st.tuples(LETTERS, LETTERS), max_size=12), st.integers(0, 3))
def test_packing_keeps_every_letter(pairs: list[tuple[bytes, bytes]], cut: int) -> None:
    table = pairs_table(pairs)
    chunk = pack_pairs(table)
    assert chunk.schema == CHUNK
    chunk = chunk.slice(min(cut, len(pairs)))  # a slice keeps its parent's buffers
    for side, place in (("query", 0), ("target", 1)):
        wanted = [as_packed(pair[place]) for pair in pairs][min(cut, len(pairs)) :]
        assert letters(side, chunk) == wanted
        assert chunk[f"{side}_length"].to_pylist() == [len(sequence) for sequence in wanted]
        has_mask = [mask is not None for mask in chunk[f"{side}_ambiguous"].to_pylist()]
        assert has_mask == [b"N" in sequence for sequence in wanted]


def test_flat_arrays_are_not_copied() -> None:
    column = pa.array([b"ACGT", b"", b"GG"], pa.large_binary())
    data, offsets = flat(column)
    assert data.__array_interface__["data"][0] == column.buffers()[2].address
    assert offsets.tolist() == [0, 4, 4, 6]
    plain = sequences(column.slice(1))
    assert bytes(plain.letters) == b"GG"
    assert plain.offsets.tolist() == [0, 0, 2]


def test_ambiguous_letters_can_be_refused() -> None:
    table = pairs_table([(b"ACGT", b"ACGT"), (b"acgt", b"ACRT")])
    pack_pairs(table, ambiguous="mismatch")
    with pytest.raises(InputError, match=r"reads.fq: record 2: expected only A, C, G and T, found 'R' at position 3 of target 'p1'"):
        pack_pairs(table, ambiguous="error", file="reads.fq")


def test_bins_are_bit_lengths() -> None:
    lengths = np.array([0, 1, 2, 3, 4, 255, 256, 2**31, 2**40 - 1], np.int64)
    assert length_bin(lengths, np.zeros_like(lengths)).tolist() == [int(length).bit_length() for length in lengths]
    assert wavefront_cells(lengths, lengths)[0] == 0
    assert np.all(np.diff(wavefront_cells(lengths, lengths)) > 0)


@pytest.mark.parametrize("most", [9, 65_535, 65_536, 1 << 40])
def test_pairs_are_in_order_of_their_longer_side(most: int) -> None:
    """Then of the shorter one, then as they came, whichever way numbers of their size are sorted."""
    queries, targets = np.random.default_rng(most).choice([0, 1, most // 2, most - 1, most], (2, 500))
    expected = sorted(range(500), key=lambda i: (max(queries[i], targets[i]), min(queries[i], targets[i]), i))
    assert by_length(queries, targets).tolist() == expected


@given(st.lists(st.floats(0, 10), max_size=50), st.floats(0.5, 20), st.integers(1, 9))
def test_cuts_cover_every_row_and_keep_the_limits(weights: list[float], limit: float, most: int) -> None:
    ranges = cuts(np.array(weights), limit, most)
    assert [row for a, b in ranges for row in range(a, b)] == list(range(len(weights)))
    for a, b in ranges:
        assert b - a <= most
        assert b - a == 1 or sum(weights[a:b]) <= limit + 1e-6


def write_fasta(path: Path, sequences: list[bytes]) -> str:
    path.write_bytes(b"".join(b">r%d\n%s\n" % (i, sequence) for i, sequence in enumerate(sequences)))
    return str(path)


@pytest.fixture
def real_like(tmp_path: Path) -> tuple[str, str, list[tuple[bytes, bytes]]]:
    rng = np.random.default_rng(7)
    lengths = rng.choice([0, 1, 30, 150, 151, 900, 5000], size=400)
    pairs = [
        (bytes(rng.choice(np.frombuffer(b"ACGTN", np.uint8), n)), bytes(rng.choice(np.frombuffer(b"ACGT", np.uint8), max(0, n + rng.integers(-3, 4)))))
        for n in lengths
    ]
    return write_fasta(tmp_path / "q.fa", [q for q, _ in pairs]), write_fasta(tmp_path / "t.fa", [t for _, t in pairs]), pairs


def test_chunks_hold_every_pair_once(real_like: tuple[str, str, list[tuple[bytes, bytes]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.pipeline.pairs import partition
    from tidalign.pipeline.pairs.aligner import PairParameters
    from tidalign.pipeline.pairs.input.read import inspect, plan
    from tidalign.pipeline.store import rundir

    queries, targets, pairs = real_like
    source = inspect(queries, targets)
    blocks = plan(source, block_bases=100_000)
    assert blocks is not None
    assert len(blocks) > 1
    run = str(tmp_path / "run")
    rundir.create(run, PairParameters().to_json(), source.to_json())
    monkeypatch.setattr(partition, "CHUNK_WORK", 1e6)
    seen: dict[int, tuple[bytes, bytes]] = {}
    for block in reversed(blocks):
        record = partition.partition_block(run, source, block)
        assert sum(chunk["rows"] for chunk in record["chunks"]) == block.pairs
        for chunk in record["chunks"]:
            table = partition.read_chunk(run, chunk["id"], 0, chunk["rows"])
            longer = np.maximum(table["query_length"].to_numpy(), table["target_length"].to_numpy())
            assert np.all(np.diff(longer) >= 0)
            assert {int(n).bit_length() for n in longer} == {chunk["bin"]}
            assert chunk["rows"] == 1 or chunk["work"] <= 1e6
            assert chunk["longest"] == longer.max()
            seen |= dict(zip(table["ordinal"].to_pylist(), zip(letters("query", table), letters("target", table), strict=True), strict=True))
            part = partition.read_chunk(run, chunk["id"], chunk["rows"] // 2, chunk["rows"])
            assert part.equals(table.slice(chunk["rows"] // 2))
    assert [seen[i] for i in range(len(pairs))] == [(as_packed(q), as_packed(t)) for q, t in pairs]
