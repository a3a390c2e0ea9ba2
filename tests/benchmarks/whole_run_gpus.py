"""A whole run of `tidalign pairs` on one GPU and on several of one host: the same bytes, and how much sooner.

python whole_run_gpus.py RESULT.json --folder DIR [--gpus 1,2] [--pairs N] [--length L] [--error E] [-- MORE OPTIONS OF tidalign pairs]
"""

import argparse
import hashlib
import json
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from file_to_file import simulate


def run(words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "tidalign.workflows", *words, "--quiet"], check=True)
    return time.perf_counter() - began


def stages(folder: Path) -> dict[str, Any]:
    """Read the seconds of a run's stages from its journal."""
    lines = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    at = {line["event"]: line["time"] for line in lines if line["event"] != "done"}
    begins = [line["time"] - line["seconds"] for line in lines if line["event"] == "done"]
    return {
        "until the first task": round(min(begins) - at["start"], 3),
        "from the first task to the last": round(max(line["time"] for line in lines if line["event"] == "done") - min(begins), 3),
        "workers": next((line["workers"] for line in lines if line["event"] == "hired"), 0),
        "tasks": len(begins),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--gpus", default="1,2")
    parser.add_argument("--pairs", type=int, default=200_000)
    parser.add_argument("--length", type=int, default=10_000)
    parser.add_argument("--error", type=float, default=0.05)
    own, _, more = shlex.join(sys.argv[1:]).partition(" -- ")
    arguments, options = parser.parse_args(shlex.split(own)), shlex.split(more)
    from tidalign.cluster.gpus import usable
    from tidalign.cluster.task import cores

    queries, targets = simulate(arguments.folder, arguments.pairs, arguments.length, arguments.error, "fasta", cores())
    folder, exported = arguments.folder / "run", arguments.folder / "run.paf"
    runs = []
    counts = [int(count) for count in arguments.gpus.split(",")]
    few = simulate(arguments.folder, 2_000, arguments.length, arguments.error, "fasta", cores())
    run(["pairs", *map(str, few), "-o", str(arguments.folder / "few"), "--device", "gpu", "--gpus", "1", *options])  # compiles
    for count in counts:
        shutil.rmtree(folder, ignore_errors=True)
        seconds = run(["pairs", str(queries), str(targets), "-o", str(folder), "--device", "gpu", "--gpus", str(count), *options])
        run(["export", str(folder), "-o", str(exported)])
        with exported.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        runs.append({"cards": count, "seconds": round(seconds, 3), **stages(folder), "sha256 of the export": digest})
        print(runs[-1])
    first = runs[0]
    for each in runs:
        each["times faster, in all"] = round(first["seconds"] / each["seconds"], 2)
        each["times faster, aligning"] = round(first["from the first task to the last"] / each["from the first task to the last"], 2)
    result = {
        "what": "tidalign pairs on some GPUs of one host, file to run directory",
        "cards": sorted(usable().values()),
        "pairs": arguments.pairs,
        "length": arguments.length,
        "error": arguments.error,
        "options": options,
        "same bytes": len({each["sha256 of the export"] for each in runs}) == 1,
        "runs": runs,
    }
    record.write(arguments.result, result)


if __name__ == "__main__":
    main()
