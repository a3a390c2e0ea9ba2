"""Two whole genomes by bare seeds (--nogfextend) on one GPU, in both modes, beside the default: seconds, seeds, and what was found beyond the default.

python genome_bare_seeds.py RESULT.json TARGET QUERY [--modes exact independent] [--device gpu] [--predicted SECONDS ...]

Kernels are compiled before. A GPU is busy while a task holds it; its share is of the time from the first task's beginning to the last one's end.
LASTZ would need 1 / 161 s for each seed (one core, chance seeds), which is what `LASTZ, expected` is.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import record
from genome import unpacked
from genome_gpus import shares
from whole_run import watch

import tidalign

SEEDS_A_SECOND = 161


def covered(results: tidalign.GenomeResults) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which letters of the target (one sequence) lie in an alignment."""
    steps = np.zeros(0, np.int64)
    for batch in results.to_batches():
        if len(steps) == 0 and len(batch):
            steps = np.zeros(batch["target_length"][0].as_py() + 1, np.int64)
        for name, step in (("target_start", 1), ("target_end", -1)):
            np.add.at(steps, batch[name].to_numpy(), step)
    return np.asarray(np.cumsum(steps)[:-1] > 0)


def run(words: list[str], folder: Path) -> tuple[dict[str, Any], np.ndarray[Any, np.dtype[np.bool_]]]:
    command = [sys.executable, "-m", "tidalign.workflows", "genome", *words, "-o", str(folder), "--quiet"]
    seconds, cpu, memory = watch(command, accepted=(0, 3), interval=0.02)  # 3: LASTZ cuts an alignment there, and so do we
    report = json.loads((folder / "report.json").read_text())
    results = tidalign.GenomeResults(folder)
    lies = covered(results)
    found = {"seconds": round(seconds, 2), "cpu seconds": round(cpu, 2), "largest process MB": round(memory / 1e6), **shares(folder)}
    found |= {"alignments": len(results), "target letters in alignments": int(lies.sum())}
    return found | {name: report[name] for name in ("device", "statuses", "work")}, lies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--modes", nargs="+", default=["exact", "independent"])
    parser.add_argument("--device", default="gpu")
    parser.add_argument("--predicted", type=float, nargs="*", default=[])
    arguments = parser.parse_args()
    predicted = dict(zip(arguments.modes, arguments.predicted, strict=False))
    runs: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = [unpacked(side, folder) for side in (arguments.target, arguments.query)]
        options = ["--device", arguments.device, *(["--gpus", "1"] if arguments.device == "gpu" else [])]
        for mode in arguments.modes:
            small = [f"{side}[1..5000]" for side in pair]
            run([*small, *options, "--nogfextend", "--mode", mode], folder / f"small-{mode}")
        runs["default"], usual = run([*pair, *options], folder / "default")
        for mode in arguments.modes:
            found, lies = run([*pair, *options, "--nogfextend", "--mode", mode], folder / mode)
            found["target letters beyond the default"] = int((lies & ~usual).sum())
            found["seeds a second"] = round(found["work"].get("anchors", 0) / found["seconds"])
            found["LASTZ, expected hours"] = round(found["work"].get("anchors", 0) / SEEDS_A_SECOND / 3600, 1)
            found["predicted seconds"] = predicted.get(mode)
            runs[f"--nogfextend --mode {mode}"] = found
            # Written each time: the next one may take long.
            record.write(
                arguments.result,
                {"what": "whole genomes by bare seeds", "target": Path(arguments.target).name, "query": Path(arguments.query).name, "runs": runs},
            )
            print(mode, found, flush=True)


if __name__ == "__main__":
    main()
