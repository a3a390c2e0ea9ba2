"""GB and bases a second that one core reads, of every format, into the columns of chunks with all checks, as `tidalign partition` does.

python read.py RESULT.json [--pairs N] [--length L] [--folder DIR] [--before CHECKOUT]

Files lie in the page cache, kernels are loaded. Each format is read in a process of its own, three times, by two processes in turn with the others; the best is
kept. Seconds are of the CPU, counting and reading; bytes are of the files as they lie there; `peak` is that process's largest resident size, of which `floor`
are its imports; tables are mapped, anew in each of the three rounds, and what is mapped counts. Beside them are measured: Arrow alone, which gives the columns
of letters of the same Parquet file, without a look at them; dnaio (records to Arrow; no check of letters, no cut of names, nothing packed) on the plain FASTQ;
with --before the sources of another checkout on the same Parquet.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
import record

from tidalign.pipeline.pairs.input.packed import packed_block
from tidalign.pipeline.pairs.input.read import PairSource, inspect, plan, read_block, stream_blocks
from tidalign.pipeline.pairs.pack import pack_pairs

ROUNDS = 3

ALONE, BEFORE = "arrow alone: ", "before: "


def bgzf(data: bytes) -> bytes:
    """Write blocks as bgzip writes them."""
    out = []
    for begin in [*range(0, len(data), 65_280), len(data)]:
        piece = data[begin : begin + 65_280]
        deflater = zlib.compressobj(6, zlib.DEFLATED, -15)
        body = deflater.compress(piece) + deflater.flush()
        out.append(bytes.fromhex("1f8b08040000000000ff060042430200") + (len(body) + 25).to_bytes(2, "little") + body)
        out.append(zlib.crc32(piece).to_bytes(4, "little") + len(piece).to_bytes(4, "little"))
    return b"".join(out)


def make(folder: Path, pairs: int, length: int) -> dict[str, list[str]]:
    """Random reads and qualities, in every format."""
    rng = np.random.default_rng(11)
    files: dict[str, list[str]] = {}
    columns = {}
    for side in ("query", "target"):
        letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (pairs, length), np.uint8)]
        qualities = np.frombuffer(b"FFFFFF:,", np.uint8)[rng.integers(0, 8, (pairs, length), np.uint8)]
        names = [b"SRR0000001.%d %d/%d" % (i, i, len(columns) + 1) for i in range(pairs)]
        columns[side] = pa.array([row.tobytes() for row in letters], pa.binary()).cast(pa.string())
        fasta = b"".join(b">%s\n%s\n" % (name, row.tobytes()) for name, row in zip(names, letters, strict=True))
        fastq = b"".join(b"@%s\n%s\n+\n%s\n" % (name, row.tobytes(), q.tobytes()) for name, row, q in zip(names, letters, qualities, strict=True))
        for kind, data in (("fasta", fasta), ("fastq", fastq), ("fastq.gz", gzip.compress(fastq, 6)), ("fastq.bgz", bgzf(fastq))):
            path = folder / f"{side}.{kind}"
            path.write_bytes(data)
            files.setdefault(kind, []).append(str(path))
    table = pa.table(columns)
    seq = folder / "pairs.seq"
    seq.write_bytes(b"".join(b">%s\n<%s\n" % pair for pair in zip(*(columns[side].cast(pa.binary()).to_pylist() for side in columns), strict=True)))
    files["seq"] = [str(seq)]
    few = 65_536 * 150 // length
    for rows, compression, dictionary in [*product((pairs, few), ("snappy", "zstd", "none"), (True,)), (pairs, "snappy", False)]:
        path = folder / f"{rows}.{compression}.{dictionary}.parquet"
        pq.write_table(table, path, row_group_size=rows, compression=compression, use_dictionary=dictionary)
        kind = f"parquet, {'one row group' if rows == pairs else f'{rows:,} rows'}, {compression}{'' if dictionary else ', no dictionary'}"
        files[kind] = files[f"{ALONE}{kind}"] = [str(path)]
    return {**files, "dnaio fastq": files["fastq"]}


def peak() -> int:
    """Read the largest memory of this program alone: getrusage counts what its parent was before it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def measure(kind: str, paths: list[str]) -> dict[str, Any]:
    """Measure in this process what reading costs."""
    floor, runs = peak(), []
    reading = through_dnaio if kind.startswith("dnaio") else through_arrow if kind.startswith(ALONE) else ours
    for _ in range(ROUNDS):
        wall, began = time.perf_counter(), time.process_time()
        pairs, bases, blocks, counted = reading(paths)
        seconds = time.process_time() - began
        runs.append((seconds, counted - began if counted else 0.0, time.perf_counter() - wall))
    seconds, counting, wall = min(runs)
    size = sum(Path(path).stat().st_size for path in paths)
    return {
        "pairs": pairs,
        "blocks": blocks,
        "bytes": size,
        "seconds": round(seconds, 3),
        "of them counting": round(counting, 3),
        "wall seconds": round(wall, 3),
        "GB per second": round(size / seconds / 1e9, 2),
        "Gbase per second": round(bases / seconds / 1e9, 2),
        "pairs per second": round(pairs / seconds),
        "peak MB": peak(),
        "floor MB": floor,
    }


def ours(paths: list[str]) -> tuple[int, int, int, float]:
    """Read as the product does: pairs, letters, blocks, and the CPU time when blocks were known."""
    for path in paths:
        os.utime(path)  # of a file that is the same as in the round before something may be known
    source = inspect(*paths)
    plans = plan(source)
    counted = time.process_time()
    sizes = [counts(table) for table in chunks(source, plans)]
    return sum(pairs for pairs, _ in sizes), sum(bases for _, bases in sizes), len(sizes), counted


def chunks(source: PairSource, plans: list[Any] | None) -> Iterator[Any]:
    """Read every block into the columns of a chunk."""
    if plans is None:
        yield from (pack_pairs(pairs) for _, pairs in stream_blocks(source))
    for block in plans or ():
        yield packed_block(source, block, ambiguous="mismatch") or pack_pairs(read_block(source, block))


def counts(table: Any) -> tuple[int, int]:
    return len(table), sum(int(table[f"{side}_length"].to_numpy().sum()) for side in ("query", "target"))


def through_arrow(paths: list[str]) -> tuple[int, int, None, float]:
    pairs, bases = 0, 0
    file = pq.ParquetFile(paths[0], memory_map=True, pre_buffer=False)
    letters = sum(file.metadata.row_group(group).total_byte_size for group in range(file.num_row_groups))
    rows = max(1, 2_000_000 * file.metadata.num_rows // letters)  # which a core's cache holds: twice as many take longer, and a quarter, too
    for batch in file.iter_batches(batch_size=rows, columns=["query", "target"], use_threads=False):
        pairs += len(batch)
        for column in batch.columns:
            first, last = np.frombuffer(column.buffers()[1], np.int32)[[column.offset, column.offset + len(column)]]
            bases += int(last - first)
    return pairs, bases, None, 0.0


def through_dnaio(paths: list[str]) -> tuple[int, int, None, float]:
    import dnaio

    pairs = bases = 0
    with dnaio.open(*paths) as reader:
        queries, targets = [], []
        for number, (query, target) in enumerate(reader, 1):
            bases += len(query) + len(target)
            queries.append(query)
            targets.append(target)
            if number % 160_000 == 0:
                pairs += len(arrow(queries, targets))
                queries, targets = [], []
    return pairs + len(arrow(queries, targets)), bases, None, 0.0


def arrow(queries: list[Any], targets: list[Any]) -> pa.Table:
    columns = {}
    for side, reads in (("query", queries), ("target", targets)):
        columns[f"{side}_name"] = pa.array([read.name for read in reads], pa.string())
        columns[side] = pa.array([read.sequence for read in reads], pa.large_string()).cast(pa.large_binary())
    return pa.table(columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--before", help="another checkout")
    parser.add_argument("--folder", help="where to put the files (default: a temporary folder)")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        files, began = make(Path(folder), options.pairs, options.length), os.getloadavg()
        if options.before:
            files |= {f"{BEFORE}{kind}": paths for kind, paths in files.items() if kind.startswith("parquet")}
        for _ in range(2):
            for kind, paths in files.items():
                command = [sys.executable, __file__, "--measure", kind, *paths]
                sources = {"PYTHONPATH": f"{options.before}/.src"} if kind.startswith(BEFORE) else {}
                run = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | sources).stdout)
                assert run["pairs"] == options.pairs
                results[kind] = min(run, results.get(kind, run), key=lambda each: each["seconds"])
                print(kind, results[kind], flush=True)
    load = [round(each[0], 1) for each in (began, os.getloadavg())]
    record.write(
        options.result,
        {
            "before": record.commit(options.before) if options.before else "",
            "pairs": options.pairs,
            "length": options.length,
            "load before and after": load,
            "formats": results,
        },
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3:])))
    else:
        main()
