"""Sequences of one side, read by any number of threads: the same tables, and of errors the first."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.text.lines import is_protein
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.input import records as texts
from tidalign.pipeline.pairs.pack import PROTEIN
from tidalign.pipeline.search.records import inspect, records

THREADS = (1, 2, 5)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "STREAM_BYTES", 300)
    monkeypatch.setattr("tidalign.pipeline.files.sniff.PIECE_BYTES", 170)


def written(folder: Path, lines: list[str], ending: str) -> str:
    path, data = folder / f"d.{ending}", "".join(lines).encode()
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    return str(path)


def read(path: str, threads: int) -> Any:
    return pa.concat_tables(records(inspect(path, "database"), "protein", threads)).combine_chunks()


@pytest.mark.parametrize("ending", ["fa", "fq", "fa.gz"])
def test_any_number_of_threads(ending: str, tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    letters = ["".join(random.choice(list(PROTEIN.decode()), random.integers(1, 200))) for _ in range(300)]
    lines = [f"@{i}\n{each}\n+\n{'I' * len(each)}\n" if ending == "fq" else f">{i} x\n{each[:90]}\n{each[90:]}\n" for i, each in enumerate(letters)]
    path = written(tmp_path, lines, ending)
    found = [read(path, threads) for threads in THREADS]
    assert all(each.equals(found[0]) for each in found)
    assert [each.decode() for each in found[0]["letters"].to_pylist()] == letters and found[0]["ordinal"].to_pylist() == list(range(300))


@pytest.mark.parametrize("ending", ["fa", "fa.gz"])
@pytest.mark.parametrize("wrong", [(70, 71, 299), (299,), (0, 1)])
def test_the_first_error_is_told(ending: str, wrong: tuple[int, ...], tmp_path: Path) -> None:
    """Letters that are none, and behind them a name that is too long, which who cuts the text meets."""
    lines = [f">{i}\n{'AR?N' if i in wrong else 'ARND' * 20}\n" for i in range(300)] + [f">{'n' * 100_000}\nARND\n"]
    for threads in THREADS:
        with pytest.raises(InputError, match=rf"record {wrong[0] + 1}: expected protein letters .* found '\?' at position 3 of '{wrong[0]}'"):
            read(written(tmp_path, lines, ending), threads)


@pytest.mark.parametrize("letters", ["GAGAGS" * 80, "GGGGS" * 90, "AAT" * 100 + "L", "ACGT" * 12, "N" * 90 + "A" * 90 + "K" * 20])
def test_proteins_of_few_letters(letters: str, tmp_path: Path) -> None:
    """Silk, a linker, an antifreeze protein, what is too short to tell, and repeats: none is DNA."""
    assert read(written(tmp_path, [f">1\n{letters}\n"], "fa"), 1)["letters"].to_pylist() == [letters.encode()]


@given(st.binary(max_size=200), st.binary(max_size=3))
def test_letters_of_proteins(text: bytes, more: bytes) -> None:
    plain = bytes(PROTEIN[byte % len(PROTEIN)] for byte in text)
    for letters in (text, plain, plain + more + plain):
        assert is_protein(np.frombuffer(letters, np.uint8)) is (not letters.translate(None, PROTEIN))
