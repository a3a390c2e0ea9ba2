"""`tidalign search` of sequences against themselves on one GPU and on several of one host: the same bytes, how much sooner, and each GPU's busy share.

python search_gpus.py RESULT.json [--proteins FASTA] [--genes FASTA] [--gpus 1 2]

Whole commands, from FASTA to a table of the best ten of each with CIGARs: proteins with BLOSUM62 11,1; genes on both strands. Kernels are compiled before.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from genome import gpus
from searches import TOP, read, written
from whole_run import watch

SCORED = {"proteins": ["--matrix", "blosum62", "--gap", "11,1"], "genes": ["--scoring", "match:2,mismatch:-3,gap:5,2", "--strand", "both"]}


def searched(sequences: str, folder: Path, count: int, options: list[str]) -> dict[str, Any]:
    """Search them in themselves on so many GPUs."""
    out = folder / "hits.tsv"
    words = ["search", sequences, sequences, "-o", str(out), "--top", str(TOP), "--device", "gpu", "--gpus", str(count), "--new", "--keep-run", "--quiet"]
    wall, cpu, memory = watch([sys.executable, "-m", "tidalign.workflows", *words, *options], interval=0.05)
    report = json.loads((folder / "hits.tsv.run" / "report.json").read_text())
    shares = {gpu: each["share"] for gpu, each in report["gpus"].items()}
    found = {"gpus": count, "seconds": round(wall, 3), "cpu seconds": round(cpu, 2), "largest process MB": round(memory / 1e6), "stages": report["stages"]}
    return found | {"busy share of each GPU": sorted(shares.values()), "sha256": hashlib.sha256(out.read_bytes()).hexdigest()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    for kind in SCORED:
        parser.add_argument(f"--{kind}")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2])
    arguments = parser.parse_args()
    result: dict[str, Any] = {"what": "tidalign search of sequences against themselves on some GPUs of one host", "card": gpus()}
    for kind, options in SCORED.items():
        if path := getattr(arguments, kind):
            with tempfile.TemporaryDirectory() as name:
                folder, sequences = Path(name), read(path)
                all_of_them = written(folder / "all.fa", sequences)
                searched(all_of_them, folder, max(arguments.gpus), options)  # compiles
                runs = [searched(all_of_them, folder, count, options) for count in arguments.gpus]
            for each in runs:
                each["times faster, in all"] = round(runs[0]["seconds"] / each["seconds"], 2)
                each["times faster, working"] = round(runs[0]["stages"]["work"] / each["stages"]["work"], 2)
            letters = sum(len(each) for _, each in sequences)
            cells = letters**2 * (2 if "both" in options else 1)
            same = len({each["sha256"] for each in runs}) == 1
            result[kind] = {"sequences": len(sequences), "cells": cells, "options": options, "same bytes": same, "runs": runs}
            print(json.dumps(result[kind]))
    record.write(arguments.result, result)


if __name__ == "__main__":
    main()
