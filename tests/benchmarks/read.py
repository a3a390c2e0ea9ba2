"""Pairs a second that one core reads, of every format, names and letters into Arrow with all checks.

python read.py RESULT.json [--pairs N] [--length L] [--folder DIR]

Files lie in the page cache. Each format is read in a process of its own, twice; the better is kept. Seconds are of the CPU, planning and reading;
`peak` is that process's largest resident size, of which `floor` are its imports. dnaio (records to Arrow; no check of letters, no cut of names) is
measured beside it on the plain FASTQ.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
import record

from tidalign.pipeline.pairs.input.read import inspect, plan, read_block, stream_blocks


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
        letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, (pairs, length))]
        qualities = np.frombuffer(b"FFFFFF:,", np.uint8)[rng.integers(0, 8, (pairs, length))]
        names = [b"SRR0000001.%d %d/%d" % (i, i, len(columns) + 1) for i in range(pairs)]
        columns[side] = pa.array([row.tobytes() for row in letters], pa.large_binary())
        fasta = b"".join(b">%s\n%s\n" % (name, row.tobytes()) for name, row in zip(names, letters, strict=True))
        fastq = b"".join(b"@%s\n%s\n+\n%s\n" % (name, row.tobytes(), q.tobytes()) for name, row, q in zip(names, letters, qualities, strict=True))
        for kind, data in (("fasta", fasta), ("fastq", fastq), ("fastq.gz", gzip.compress(fastq, 6)), ("fastq.bgz", bgzf(fastq))):
            path = folder / f"{side}.{kind}"
            path.write_bytes(data)
            files.setdefault(kind, []).append(str(path))
    pq.write_table(pa.table(columns), folder / "pairs.parquet", row_group_size=262_144)
    return {**files, "parquet": [str(folder / "pairs.parquet")], "dnaio fastq": files["fastq"]}


def peak() -> int:
    """Read the largest memory of this program alone: getrusage counts what its parent was before it began."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


def measure(kind: str, paths: list[str]) -> dict[str, Any]:
    """Measure in this process what reading costs."""
    floor, planned, wall, began = peak(), 0.0, time.perf_counter(), time.process_time()
    if kind.startswith("dnaio"):
        pairs, blocks = through_dnaio(paths), None
    else:
        source = inspect(*paths)
        plans = plan(source)
        planned = time.process_time() - began
        tables = (read_block(source, block) for block in plans) if plans else (table for _, table in stream_blocks(source))
        sizes = [len(table) for table in tables]
        pairs, blocks = sum(sizes), len(sizes)
    seconds = time.process_time() - began
    return {
        "pairs": pairs,
        "blocks": blocks,
        "bytes": sum(Path(path).stat().st_size for path in paths),
        "seconds": round(seconds, 3),
        "of them planning": round(planned, 3),
        "wall seconds": round(time.perf_counter() - wall, 3),
        "pairs per second": round(pairs / seconds),
        "peak MB": peak(),
        "floor MB": floor,
    }


def through_dnaio(paths: list[str]) -> int:
    import dnaio

    pairs = 0
    with dnaio.open(*paths) as reader:
        queries, targets = [], []
        for number, (query, target) in enumerate(reader, 1):
            queries.append(query)
            targets.append(target)
            if number % 160_000 == 0:
                pairs += len(arrow(queries, targets))
                queries, targets = [], []
    return pairs + len(arrow(queries, targets))


def arrow(queries: list[Any], targets: list[Any]) -> pa.Table:
    columns = {}
    for side, reads in (("query", queries), ("target", targets)):
        columns[f"{side}_name"] = pa.array([read.name for read in reads], pa.string())
        columns[side] = pa.array([read.sequence for read in reads], pa.large_string()).cast(pa.large_binary())
    return pa.table(columns)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("result")
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--folder", help="where to put the files (default: a temporary folder)")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for kind, paths in make(Path(folder), options.pairs, options.length).items():
            runs = []
            for _ in range(2):
                command = [sys.executable, __file__, "--measure", kind, *paths]
                runs.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
                assert runs[-1]["pairs"] == options.pairs
            results[kind] = min(runs, key=lambda run: run["seconds"])
            print(kind, results[kind])
    record.write(options.result, {"pairs": options.pairs, "length": options.length, "formats": results})


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], sys.argv[3:])))
    else:
        main()
