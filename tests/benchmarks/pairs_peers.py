"""`tidalign pairs`, file to file, in turns with the process of another program over the same pairs: seconds of both. Writes JSON.

python pairs_peers.py RESULT.json --folder DIR --peer "NAME" "COMMAND" [--penalties MODEL] [--formats paf,parquet] [--gpus N | --gpus 0] CASE ..

CASE: LENGTH/ERROR/PAIRS/MOST/BATCH, as 150/0.05/5000000/32/1000000. The pairs are those of file_to_file.py in one file, a query after > and a target after <
on lines of their own; COMMAND has {seq} for it, {most} for the largest penalty that the peer is to look for and {batch} for the pairs that it takes at a time.
A run directory is written, and, of cases with one more word (150/0.05/5000000/32/1000000/all), a file of each of --formats. --gpus 0: on cores. Each is run
three times after one run of a few pairs; all seconds are recorded, and times are of the least.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from file_to_file import one_file, simulate

TURNS, FEW = 3, 1000


def seconds(command: list[str]) -> float:
    """Time a process."""
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return round(time.perf_counter() - began, 2)


def made(folder: Path, pairs: int, length: int, error: float, cores: int) -> Path:
    """Simulate pairs into one file."""
    sides = simulate(folder, pairs, length, error, "fasta", cores)
    try:
        return one_file(*sides, "fasta", folder / f"{pairs}x{length}.seq")
    finally:
        for side in sides:
            remove(side)


def remove(path: Path) -> None:
    """Remove a file or folder, if it is there."""
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--peer", nargs=2, required=True, metavar=("NAME", "COMMAND"))
    parser.add_argument("--penalties", default="affine:2,3,1")
    parser.add_argument("--formats", default="paf,parquet")
    parser.add_argument("--gpus", default="1")
    parser.add_argument("cases", nargs="+", metavar="CASE")
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    arguments.folder.mkdir(parents=True, exist_ok=True)
    device = ["--device", "cpu"] if arguments.gpus == "0" else ["--device", "gpu", "--gpus", arguments.gpus]
    rows = list[dict[str, Any]]()
    for case in arguments.cases:
        length, error, pairs, most, batch, *whole = case.split("/")
        few, seq = (made(arguments.folder, count, int(length), float(error), cores) for count in (FEW, int(pairs)))
        outputs = {"run directory": arguments.folder / "run"} | {name: arguments.folder / f"x.{name}" for name in arguments.formats.split(",") if whole}
        taken: dict[str, list[float]] = {}
        for turn in range(TURNS + 1):
            for name, output in outputs.items():
                remove(output)
                words = ["pairs", str(seq if turn else few), "-o", str(output), "--penalties", arguments.penalties, *device, "--quiet"]
                took = seconds([sys.executable, "-m", "tidalign", *words])
                if turn:
                    taken.setdefault(name, []).append(took)
            if 0 < turn < TURNS:
                command = shlex.split(arguments.peer[1].format(seq=seq, most=most, batch=batch))
                taken.setdefault(arguments.peer[0], []).append(seconds(command))
        best = {name: min(each) for name, each in taken.items()}
        times = {name: round(best[arguments.peer[0]] / least, 2) for name, least in best.items() if name in outputs}
        rows.append({"length": int(length), "error": float(error), "pairs": int(pairs), "seconds": taken, "times as fast as the peer": times})
        print(rows[-1], flush=True)
        for path in (few, seq, *outputs.values()):
            remove(path)
        where = {"cores": cores} if arguments.gpus == "0" else {"card": record.gpu_record.gpu()}
        program, *more = shlex.split(arguments.peer[1])
        peer = {arguments.peer[0]: " ".join([Path(program).name, *more])}
        what = {"what": f"tidalign pairs by {arguments.penalties} with CIGARs and a peer, whole processes", "peer": peer}
        record.write(arguments.result, where | what | {"runs": rows})


if __name__ == "__main__":
    main()
