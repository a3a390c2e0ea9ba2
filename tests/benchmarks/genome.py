"""`tidalign genome` against one LASTZ process, file to MAF, on the same pair: seconds, stages, memory, and whether the MAFs are equal.

python genome.py RESULT.json TARGET QUERY [--workers 1 2] [--cards 1 2] [--lastz LASTZ.json] [--repeats N] [--predicted RATIO ...] [--options OPTION,...]

TARGET and QUERY are FASTA (gzip too; LASTZ gets them unpacked) and may end in `[A..B]`, a subrange. `--options` go to both programs. Runs take turns;
of each the fastest counts. Kernels are compiled before. LASTZ is found as `lastz` (Debian's package 1.04.22) and run beside ours, or, with --lastz, what
that file says of an earlier run of it stands in for it, on whatever machine that was; where there is no such file, LASTZ is run and it is written.
For runs on cores the least time of their kernels is given, too (genome_bound.py; it takes as long as a run).
"""

import argparse
import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from genome_bound import bound
from whole_run import watch


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


def digest(path: Path) -> dict[str, Any]:
    """What is compared of a MAF."""
    lines = alignments(path)
    return {"md5 of the MAF below the comments": hashlib.md5("\n".join(lines).encode()).hexdigest(), "alignments": sum(line.startswith("a ") for line in lines)}


def stages(run: Path, began: float, wall: float) -> dict[str, Any]:
    """Seconds of the stages of a run that took `wall` from `began` (time.time()), by its journal, and what its report says of the work."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    at = {line["event"]: line["time"] for line in lines}
    tiles = {line["task"]: line["seconds"] for line in lines if line["event"] == "done"}
    busy = {line["card"]: line["busy"] for line in lines if line["event"] == "done" and "card" in line}
    return {
        "start of the process": round(at["start"] - began, 3),
        "reading, and meanwhile the start of the card": round(at["read"] - at["start"], 3),
        "tiles": round(at["end"] - at["read"], 3),
        "of each tile": tiles,
        "cards held": {f"card {i}": seconds for i, seconds in enumerate(busy.values())},
        "MAF and end of the process": round(began + wall - at["end"], 3),
        "work": json.loads((run / "report.json").read_text())["work"],
    }


def lastz(pair: list[str], options: list[str], folder: Path, repeats: int) -> dict[str, Any]:
    """One LASTZ process on the pair."""
    command = ["lastz", *pair, "--format=maf", f"--output={folder}/lastz.maf", *options]
    runs = [watch(command) for _ in range(repeats)]
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return {"peer": version, "run": best(runs), "machine": record.machine()["cpu"], **digest(folder / "lastz.maf")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--workers", type=int, nargs="*", default=[])
    parser.add_argument("--cards", type=int, nargs="*", default=[])
    parser.add_argument("--lastz", type=Path)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--predicted", type=float, nargs="+", default=[])
    parser.add_argument("--options", default="")
    arguments = parser.parse_args()
    options = [option for option in arguments.options.split(",") if option]
    kinds = {f"{count} workers": ["--device", "cpu", "--workers", str(count)] for count in arguments.workers}
    kinds |= {f"{count} cards": ["--device", "gpu", "--gpus", str(count)] for count in arguments.cards}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = [unpacked(side, folder) for side in (arguments.target, arguments.query)]
        program = [sys.executable, "-m", "tidalign.workflows.cli", "genome"]
        small = [f"{side.partition('[')[0]}[1..5000]" for side in pair]
        for kind in kinds.values():
            subprocess.run([*program, *small, "-o", f"{folder}/small.maf", "--quiet", *kind, *options], check=False)
        peer = json.loads(arguments.lastz.read_text()) if arguments.lastz and arguments.lastz.exists() else None
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in kinds}
        detail: dict[str, dict[str, Any]] = {}
        for _ in range(arguments.repeats):
            for name, kind in kinds.items():
                out, began = folder / f"{name.replace(' ', '_')}.maf", time.time()
                command = [*program, *pair, "-o", str(out), "--keep-run", "--quiet", "--new", *kind, *options]
                runs[name].append(watch(command, accepted=(0, 3), interval=0.02))  # 3: LASTZ cuts an alignment there, and so do we
                if runs[name][-1] == min(runs[name]):
                    detail[name] = {"stages": stages(Path(f"{out}.run"), began, runs[name][-1][0]), **digest(out)}
        if peer is None:
            peer = lastz(pair, options, folder, arguments.repeats)
            if arguments.lastz:
                arguments.lastz.write_text(json.dumps(peer, indent=1) + "\n")
        for name, each in detail.items():
            if any(each[key] != peer[key] for key in each if key != "stages"):
                raise SystemExit(f"{name}: not LASTZ's alignments")
    measured = {name: best(times) | {"stages": detail[name]["stages"]} for name, times in runs.items()}
    ratios = {name: round(peer["run"]["seconds"] / run["seconds"], 2) for name, run in measured.items()}
    result = {
        "what": "tidalign genome beside one LASTZ process, file to MAF; the MAFs are equal below the comments",
        "lastz": peer | {"run beside ours": not arguments.lastz},
        "target": Path(arguments.target).name,
        "query": Path(arguments.query).name,
        "options": options,
        "runs": measured,
        "ratio to LASTZ": ratios,
        "predicted ratio": dict(zip(ratios, arguments.predicted, strict=False)),
    }
    if arguments.cards:
        result["cards"] = cards()
    if arguments.workers:
        result["bound of the kernels on one core"] = bound(arguments.target, arguments.query, options)
    record.write(arguments.result, result)
    print(result["target"], result["query"], options, ratios, {name: run["seconds"] for name, run in measured.items()})


def cards() -> list[str]:
    """Names of this machine's."""
    from tidalign.cluster.gpus import usable

    return sorted(usable().values())


if __name__ == "__main__":
    main()
