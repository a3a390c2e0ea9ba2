"""Plain bases against 2 bits and a mask in a chunk file: size, write, read, and the way to the device.

python chunk_format.py RESULT.json [--pairs N] [--length L] [--folder DIR]

Reads are of a file in the page cache, one thread, into flat arrays the kernels take. With a CUDA device: from those arrays through pinned memory
to the device, and packed there if they were plain; one stream, nothing overlapped, so that each stage stands by itself.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
import record

from tidalign.pipeline.pairs.pack import flat, pack_pairs
from tidalign.pipeline.schema import PAIRS

PACK = r"""
extern "C" __global__ void pack(const uint4* letters, unsigned* codes, long long words) {
  // 16 letters in, 2 bits each out, the first in the top bits of each byte.
  long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= words) return;
  uint4 w = letters[i];
  unsigned out = 0, in[4] = {w.x, w.y, w.z, w.w};
  for (int j = 0; j < 4; j++) {
    unsigned c = (in[j] >> 1) & 0x03030303u;
    c = (c << 6 | c >> 4 | c >> 14 | c >> 24) & 0xffu;
    out |= c << (8 * j);
  }
  codes[i] = out;
}
"""


def seconds(work: Callable[[], Any], times: int = 5) -> float:
    """Time the quickest of several runs."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def make(pairs: int, length: int) -> pa.Table:
    rng = np.random.default_rng(11)
    offsets = np.arange(pairs + 1, dtype=np.int64) * length
    sides = {}
    for side in ("query", "target"):
        letters = np.frombuffer(b"ACGT", np.uint8)[rng.integers(0, 4, pairs * length)]
        sides[side] = pa.Array.from_buffers(pa.large_binary(), pairs, [None, pa.py_buffer(offsets), pa.py_buffer(letters)])
    names = pa.array([f"SRR000001.{i}" for i in range(pairs)])
    return pa.table({"ordinal": np.arange(pairs), "query_name": names, "target_name": names, **sides}, schema=PAIRS)


def read(path: str, columns: list[str]) -> list[np.ndarray]:
    table = pq.read_table(path, columns=columns, memory_map=True, use_threads=False)
    return [array for name in columns for array in flat(table[name])]


def device_stages(arrays: list[np.ndarray], plain: bool) -> dict[str, float]:
    import cupy

    stage: dict[str, float] = {}
    data = [array for array in arrays if array.dtype == np.uint8]
    total = sum(len(array) for array in data)
    pinned = np.frombuffer(cupy.cuda.alloc_pinned_memory(total + 64), np.uint8, total)
    device = cupy.empty((total + 63) // 16 * 16, cupy.uint8)
    codes = cupy.empty(len(device) // 16, cupy.uint32)
    kernel = cupy.RawKernel(PACK, "pack")

    def fill() -> None:
        place = 0
        for array in data:
            pinned[place : place + len(array)] = array
            place += len(array)

    def copy() -> None:
        device[:total].set(pinned)
        cupy.cuda.runtime.deviceSynchronize()

    def pack() -> None:
        kernel(((len(codes) + 255) // 256,), (256,), (device, codes, np.int64(len(codes))))
        cupy.cuda.runtime.deviceSynchronize()

    stage["to pinned memory"] = seconds(fill)
    stage["host to device"] = seconds(copy)
    if plain:
        stage["pack on the device"] = seconds(pack)
    return stage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--pairs", type=int, default=262_144)
    parser.add_argument("--length", type=int, default=150)
    parser.add_argument("--folder", default=tempfile.gettempdir())
    arguments = parser.parse_args()
    try:
        import cupy

        gpu = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    except Exception:
        gpu = None
    pairs = make(arguments.pairs, arguments.length)
    bases = 2 * arguments.pairs * arguments.length
    packing = seconds(lambda: pack_pairs(pairs))
    tables = {"plain": pairs, "2 bits and mask": pack_pairs(pairs)}
    rows = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for format_, table in tables.items():
            columns = [name for name in ("query", "query_ambiguous", "target", "target_ambiguous") if name in table.column_names]
            for compression in ("none", "lz4", "zstd"):
                path = str(Path(folder) / "chunk.parquet")
                codec = {name: "zstd" if "name" in name else compression for name in table.column_names}
                write = seconds(lambda t=table, p=path, c=codec: pq.write_table(t, p, compression=c, use_dictionary=False), 3)
                reading = seconds(lambda p=path, c=columns: read(p, c))
                row = {
                    "format": format_,
                    "compression": compression,
                    "bits a base": round(8 * Path(path).stat().st_size / bases, 3),
                    "write Gbase/s": round(bases / write / 1e9, 3),
                    "read Gbase/s": round(bases / reading / 1e9, 3),
                }
                if gpu:
                    stages = device_stages(read(path, columns), format_ == "plain")
                    row["device stages Gbase/s"] = {name: round(bases / spent / 1e9, 2) for name, spent in stages.items()}
                    row["file to packed on the device Gbase/s"] = round(bases / (reading + sum(stages.values())) / 1e9, 2)
                rows.append(row)
                print(row)
    record.write(
        arguments.result,
        {
            "what": "chunk file formats",
            "card": gpu,
            "pairs": arguments.pairs,
            "bases": bases,
            "packing on the host Gbase/s": round(bases / packing / 1e9, 3),
            "rows": rows,
        },
    )


if __name__ == "__main__":
    main()
