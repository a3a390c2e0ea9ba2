"""`tidalign genome` against one LASTZ process, file to MAF, on the same pair in the same run: seconds, memory, and whether the MAFs are equal.

python genome.py RESULT.json TARGET QUERY [--workers 1 2] [--repeats N] [--predicted RATIO ...] [--options OPTION,OPTION ...]

TARGET and QUERY are FASTA (gzip too; LASTZ gets them unpacked) and may end in `[A..B]`, a subrange. `--options` go to both programs. Runs take turns;
of each the fastest counts. Kernels are compiled before. LASTZ is found as `lastz` (Debian's package 1.04.22).
"""

import argparse
import gzip
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from whole_run import watch

TIDALIGN = str(Path(sys.executable).parent / "tidalign")


def unpacked(specifier: str, folder: Path) -> str:
    """The specifier with a plain file in place of a gzipped one."""
    path, bracket, actions = specifier.partition("[")
    plain = folder / Path(path).name.removesuffix(".gz")
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as packed, plain.open("wb") as out:
        shutil.copyfileobj(packed, out)
    return f"{plain}{bracket}{actions}"


def alignments(path: Path) -> list[str]:
    """Lines below the comments."""
    return [line for line in path.read_text().splitlines() if not line.startswith("#")]


def best(runs: list[tuple[float, float, int]]) -> dict[str, Any]:
    wall, cpu, memory = min(runs)
    return {
        "seconds": round(wall, 2),
        "cpu seconds": round(cpu, 2),
        "largest process MB": round(memory / 1e6),
        "all seconds": [round(run[0], 2) for run in runs],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--workers", type=int, nargs="+", default=[1])
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--predicted", type=float, nargs="+", default=[])
    parser.add_argument("--options", default="")
    arguments = parser.parse_args()
    options = [option for option in arguments.options.split(",") if option]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = [unpacked(side, folder) for side in (arguments.target, arguments.query)]
        commands = {"lastz": ["lastz", *pair, "--format=maf", f"--output={folder}/lastz.maf", *options]}
        for count in arguments.workers:
            commands[f"{count} workers"] = [TIDALIGN, "genome", *pair, "-o", f"{folder}/{count}.maf", "--quiet", "--new", "--workers", str(count), *options]
        small = [f"{side.partition('[')[0]}[1..5000]" for side in pair]
        subprocess.run([TIDALIGN, "genome", *small, "-o", f"{folder}/small.maf", "--quiet", *options], check=False)
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in commands}
        for _ in range(arguments.repeats):
            for name, command in commands.items():
                runs[name].append(watch(command, accepted=(0, 3)))  # 3: LASTZ cuts an alignment there, and so do we
        expected = alignments(folder / "lastz.maf")
        for count in arguments.workers:
            if alignments(folder / f"{count}.maf") != expected:
                raise SystemExit(f"{count} workers: not LASTZ's alignments")
        measured = {name: best(times) for name, times in runs.items()}
        version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
        ratios = {name: round(measured["lastz"]["seconds"] / measured[name]["seconds"], 2) for name in measured if name != "lastz"}
        result = {
            "what": "tidalign genome beside one LASTZ process, file to MAF; the MAFs are equal below the comments",
            "peer": version,
            "target": Path(arguments.target).name,
            "query": Path(arguments.query).name,
            "options": options,
            "alignments": sum(line.startswith("a ") for line in expected),
            "runs": measured,
            "ratio to LASTZ": ratios,
            "predicted ratio": dict(zip(ratios, arguments.predicted, strict=False)),
        }
    record.write(arguments.result, result)
    print(result["target"], result["query"], options, ratios, {name: run["seconds"] for name, run in measured.items()})


if __name__ == "__main__":
    main()
