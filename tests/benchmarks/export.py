"""Results of a run to PAF, SAM, TSV and Parquet: rows/s and the largest memory, a process for each format.

python export.py RESULT.json --folder DIR [--rows N]

The run directory under DIR is made up (150 bp, 7 CIGAR operations a row, a target name of its own for each row, parts out of order) and kept for the next call.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from tidalign.pipeline.pairs.aligner import PairParameters, write_rows
from tidalign.pipeline.pairs.manifest import write_manifest
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store import rundir

sys.path.insert(0, str(Path(__file__).parent))
import record

BLOCK = 250_000
CHUNK = 62_500
KINDS = (("paf", "=X"), ("paf", "M"), ("sam", "=X"), ("tsv", "=X"), ("parquet", "=X"))


def make(directory: str, rows: int) -> None:
    """A finished run with so many rows."""
    if rundir.finished(directory):
        return
    parameters, source = PairParameters().to_json(), {"queries": "reads.fq", "targets": "windows.fa"}
    rundir.create(directory, parameters, source, None)
    run = rundir.run_id(parameters, source)
    records = []
    for block in range(rows // BLOCK):
        random = np.random.default_rng(block)
        first = block * BLOCK
        ordinals = pa.array(np.arange(first, first + BLOCK))
        lengths = random.integers(5, 40, (BLOCK, 5))
        table = pa.table(
            {
                "ordinal": ordinals,
                "query_name": [f"SRR3927310.{number}" for number in range(first, first + BLOCK)],
                "query_length": np.full(BLOCK, 150),
                "query_start": np.zeros(BLOCK, np.int64),
                "query_end": np.full(BLOCK, 150),
                "target_name": [f"NC_000913.3:{number * 10}-{number * 10 + 150}" for number in range(first, first + BLOCK)],
                "target_length": np.full(BLOCK, 151),
                "target_start": np.zeros(BLOCK, np.int64),
                "target_end": np.full(BLOCK, 151),
                "strand": ["+"] * BLOCK,
                "penalty": random.integers(0, 60, BLOCK),
                "score": pa.nulls(BLOCK, pa.int64()),
                "cigar": ["{}=1X{}=1I{}=2D{}=1X{}=".format(*row) for row in lengths.tolist()],
                "matches": lengths.sum(axis=1),
                "mismatches": np.full(BLOCK, 2),
                "gap_openings": np.full(BLOCK, 2),
                "gap_letters": np.full(BLOCK, 3),
                "identity": lengths.sum(axis=1) / (lengths.sum(axis=1) + 5),
                "status": ["exact"] * BLOCK,
                "reason": pa.nulls(BLOCK, pa.string()),
            },
            schema=ALIGNMENTS,
        ).take(pa.array(random.permutation(BLOCK)))
        chunks = [{"id": f"b{block:05d}-08-{piece:03d}", "rows": CHUNK} for piece in range(BLOCK // CHUNK)]
        for piece, chunk in enumerate(chunks):
            write_rows(directory, run, chunk["id"], 0, CHUNK, table.slice(piece * CHUNK, CHUNK))
        records.append({"id": block, "first": first, "pairs": BLOCK, "chunks": chunks})
    write_manifest(directory, records)
    rundir.finish(directory, {"pairs": len(records) * BLOCK, "run": run}, partial=False)


def measure(directory: str, kind: str, cigar: str) -> dict[str, object]:
    """One export, in this process."""
    output = Path(f"{directory}.{kind}")
    began, cpu = time.perf_counter(), time.process_time()
    rows = Results(directory).export(output, cigar=cigar)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    result = {
        "format": kind,
        "cigar": cigar,
        "rows": rows,
        "bytes": output.stat().st_size,
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "rows_per_second": round(rows / seconds),
        "rows_per_cpu_second": round(rows / cpu),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    output.unlink()
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--folder", required=True)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    directory = str(Path(args.folder) / f"export-{args.rows}")
    if args.one:
        print(json.dumps(measure(directory, *args.one)))
        return
    make(directory, args.rows)
    exports = []
    for kind in KINDS:
        command = [sys.executable, __file__, args.result, "--folder", args.folder, "--rows", str(args.rows), "--one", *kind]
        exports.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
        print(exports[-1])
    record.write(args.result, {"exports": exports})


if __name__ == "__main__":
    main()
