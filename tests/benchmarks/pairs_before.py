"""`tidalign pairs`, files to a finished run, in turns with another version of it: seconds of both, and whether their exports are the same bytes. Writes JSON.

python pairs_before.py RESULT.json --folder DIR --before SRC [--gpus 1,2 | --gpus 0] CASE ..

SRC: the folder that holds the other version's package `tidalign`. CASE: MODEL/LENGTH/ERROR/PAIRS, as affine:2,3,1/10000/0.1/50000. --gpus 0: on cores. Pairs
are those of file_to_file.py, in files of FASTA. A small run of each version goes before, so that nothing is compiled in what is timed; then each three times.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from file_to_file import simulate

import tidalign

TURNS = 3


def run(source: str, *words: object) -> float:
    began = time.perf_counter()
    command = [sys.executable, "-m", "tidalign", *map(str, words), "--quiet"]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": source})
    return time.perf_counter() - began


def digest(source: str, folder: Path) -> str:
    """Export a run to PAF and give the digest of its bytes."""
    exported = folder.with_suffix(".paf")
    run(source, "export", folder, "-o", exported)
    with exported.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--before", required=True)
    parser.add_argument("--gpus", default="1")
    parser.add_argument("cases", nargs="+", metavar="CASE")
    arguments = parser.parse_args()
    versions = {"before": arguments.before, "now": str(Path(tidalign.__file__).parents[1])}
    cores, folder, rows = len(os.sched_getaffinity(0)), arguments.folder / "run", []
    for case in arguments.cases:
        model, length, error, pairs = case.split("/")
        few, many = (simulate(arguments.folder, count, int(length), float(error), "fasta", cores) for count in (min(int(pairs), 4000), int(pairs)))
        seconds: dict[str, dict[str, list[float]]] = {}
        digests = set()
        for turn in range(TURNS + 1):
            for version, source in versions.items():
                for gpus in arguments.gpus.split(","):
                    shutil.rmtree(folder, ignore_errors=True)
                    device = ["cpu"] if gpus == "0" else ["gpu", "--gpus", gpus]
                    taken = run(source, "pairs", *(many if turn else few), "-o", folder, "--penalties", model, "--device", *device)
                    if turn:
                        seconds.setdefault(gpus, {}).setdefault(version, []).append(round(taken, 2))
                    if turn == TURNS:
                        digests.add(digest(source, folder))
        row: dict[str, Any] = {"penalties": model, "length": int(length), "error": float(error), "pairs": int(pairs), "seconds by GPUs": seconds}
        rows.append(row | {"the same bytes": len(digests) == 1})
        print(rows[-1], flush=True)
        for file in many:
            file.unlink(missing_ok=True)
        where = {"cores": cores} if arguments.gpus == "0" else {"card": record.gpu_record.gpu()}
        record.write(arguments.result, where | {"what": "tidalign pairs, FASTA to a run directory with CIGARs", "runs": rows})


if __name__ == "__main__":
    main()
