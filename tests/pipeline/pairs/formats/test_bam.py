"""BAM is the SAM of the same rows, read back by a reader written from the specification; BGZF holds what is written without it."""

import gzip
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import bam_reader
import numpy as np
import pytest

from tidalign.pipeline import text
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.formats import bgzf
from tidalign.pipeline.pairs.formats import bam
from tidalign.pipeline.pairs.scored import ScoreParameters


@pytest.fixture
def results(make_run, row, rejected):
    rng = np.random.default_rng(5)
    rows = []
    for number in range(200):
        before, after, left, right = (int(n) for n in rng.integers(0, 4, 4))
        same, other, inserted, deleted = (int(n) for n in rng.integers(1, 40, 4))
        query, target = same + other + inserted, same + other + deleted
        left += int(rng.choice([0, 16_000, 131_000])) if number % 3 == 0 else 0
        spans = {"query_span": (before, before + query, before + query + after), "target_span": (left, left + target, left + target + right)}
        name = f"t{target + left + right}"
        each = row(f"q{number}", name, cigar=f"{same}={inserted}I{deleted}D{other}X", **spans, penalty=number)
        if number % 4:
            letters = bytes(rng.choice(list(b"ACGTNRYKMSWBDHV"), before + query + after).tolist())
            each |= {"query": letters, "query_quality": bytes(rng.integers(33, 127, len(letters)).tolist())}
        if number % 9 == 1:
            each |= {"status": "capped", "reason": "a\tbudget" if number % 2 else None}
        rows.append(rejected(f"q{number}", name) | {"target_length": target + left + right} if number % 50 == 7 else each)
    rows.append(row("none", "t", query_span=(0, 0, 0), target_span=(0, 3, 3), cigar="3D"))
    rows.append(row("unplaced", "t", query_span=(0, 2, 2), target_span=(3, 3, 3), cigar="2I"))
    rows.append(row("nothing", "empty", query_span=(0, 2, 2), target_span=(0, 0, 0), cigar="2I"))
    return make_run(rows, block=64)


@pytest.mark.parametrize("options", [{}, {"cigar": "M", "cs": True, "rg": r"ID:x\tSM:y"}])
def test_bam_is_the_sam(results, tmp_path, options) -> None:
    for suffix in ("sam", "bam"):
        results.export(tmp_path / f"out.{suffix}", **options)
    written = (tmp_path / "out.sam").read_text()
    assert bam_reader.text((tmp_path / "out.bam").read_bytes()).splitlines() == written.splitlines()


@pytest.mark.skipif(not shutil.which("samtools"), reason="samtools is not installed")
def test_samtools_reads_it(results, tmp_path) -> None:
    for suffix in ("sam", "bam"):
        results.export(tmp_path / f"out.{suffix}")
    read = subprocess.run(["samtools", "view", "-h", "--no-PG", tmp_path / "out.bam"], check=True, capture_output=True, text=True).stdout
    assert read == (tmp_path / "out.sam").read_text()
    subprocess.run(["samtools", "quickcheck", tmp_path / "out.bam"], check=True)


@pytest.mark.parametrize("operations", [65_535, 65_536, 200_001])
def test_many_operations(make_run, row, tmp_path, operations: int) -> None:
    cigar = "1=1X" * (operations // 2) + "1=" * (operations % 2)
    long = row("long", "t", query_span=(0, operations, operations), target_span=(0, operations, operations), cigar=cigar)
    results = make_run([row("q", "u"), long, row("p", "u")])
    for suffix in ("sam", "bam"):
        results.export(tmp_path / f"out.{suffix}")
    assert bam_reader.text((tmp_path / "out.bam").read_bytes()) == (tmp_path / "out.sam").read_text()


def test_bins() -> None:
    rng = np.random.default_rng(1)
    starts = np.concatenate([rng.integers(0, 1 << bits, 200) for bits in range(5, 30)])
    stops = starts + np.concatenate([rng.integers(1, 1 << bits, 200) for bits in range(5, 30)])
    assert bam._bins(starts, stops).tolist() == [bam_reader._bin(start, stop) for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]


def test_proteins_have_no_bam(make_run, row, tmp_path) -> None:
    results = make_run([row(penalty=None, score=9)], ScoreParameters("blosum62,gap:11,1"))
    with pytest.raises(InputError, match=r"expected DNA.*found proteins.*\.sam"):
        results.export(tmp_path / "out.bam")


# ---- BGZF


@pytest.mark.parametrize("format", ["sam", "paf", "tsv"])
def test_compressed_lines_are_the_lines(results, tmp_path, format: str) -> None:
    results.export(tmp_path / f"out.{format}")
    results.export(tmp_path / f"out.{format}.gz")
    results.export(tmp_path / "other", format=f"{format}.gz")
    data = (tmp_path / f"out.{format}.gz").read_bytes()
    assert b"".join(bam_reader.blocks(data)) == (tmp_path / f"out.{format}").read_bytes()
    assert (tmp_path / "other").read_bytes() == data


@pytest.mark.parametrize("size", [0, 1, 65_279, 65_280, 65_281, 300_000])
@pytest.mark.parametrize("letters", [1, 4, 256])
def test_blocks(size: int, letters: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a text was cut, and whoever compresses it, it is in the same blocks, each full but the last."""
    data = np.random.default_rng(size).integers(0, letters, size, np.uint8).tobytes()
    for places in ((), (5,), (5, 5, 70_000), range(0, size, 50_000), (65_280, 130_560)):
        edges = [0, *places, size]
        whole, rest = bgzf.cut(data[start:stop] for start, stop in zip(edges, edges[1:], strict=False))
        assert all(len(block) == bgzf.BLOCK_BYTES for block in whole) and len(rest) < bgzf.BLOCK_BYTES
        monkeypatch.setattr(bgzf, "AT_ONCE", 2)
        made = bgzf.blocks(whole, 1)
        assert bgzf.blocks(whole, 3) == made and len(made) == len(whole)
        written = b"".join([*made, *bgzf.ended(rest)])
        assert b"".join(bam_reader.blocks(written)) == data == gzip.decompress(written)


def test_places_in_memory_change_no_block() -> None:
    """ISA-L's levels 1 and 2 file what stands third in a block under an address of the thread's stack: whether it is found when it comes again hangs on that.

    Of short blocks one in a hundred is another then; each of these repeats what stands there.
    """
    random = np.random.default_rng(1)
    data = [(letters := random.permutation(256).astype(np.uint8).tobytes())[:20] + letters[2:7] + letters[20:40] for _ in range(3000)]
    threads = 4
    together = Barrier(threads)

    def blocks(_: int) -> list[bytes]:
        together.wait(600)  # threads that are there at once have a stack each
        return list(map(bgzf.block, data))

    with ThreadPoolExecutor(threads) as pool:
        first, *others = pool.map(blocks, range(threads))
    assert others == [first] * (threads - 1)


def test_batches_change_no_block(results, tmp_path, monkeypatch) -> None:
    written = {}
    monkeypatch.setattr(bgzf, "BLOCK_BYTES", 1000)
    for most in (1 << 26, 2000, 100):
        monkeypatch.setattr(text, "BATCH_BYTES", most)
        for format in ("bam", "sam.gz", "tsv.gz"):
            results.export(tmp_path / f"out.{format}")
            data = (tmp_path / f"out.{format}").read_bytes()
            assert written.setdefault(format, data) == data
            sizes = [len(block) for block in bam_reader.blocks(data)]
            assert set(sizes[:-2]) == {1000} and len(sizes) > 10


def test_threads_change_nothing(results, tmp_path, monkeypatch) -> None:
    for format in ("bam", "sam", "parquet"):
        written = set()
        for threads in (1, 2, 7):
            monkeypatch.setattr(type(results), "threads", threads)
            results.export(tmp_path / f"out.{format}")
            written.add((tmp_path / f"out.{format}").read_bytes())
        assert len(written) == 1
