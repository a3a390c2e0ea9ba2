"""`tidalign genome` against one LASTZ process, file to MAF, on the same pair: seconds, stages, memory, and whether the MAFs are equal.

python genome.py RESULT.json TARGET QUERY [--workers 1 2] [--gpus 1 2] [--lastz LASTZ.json] [--repeats N] [--predicted RATIO ...] [--options OPTION,...]

TARGET and QUERY are FASTA (gzip too; LASTZ gets them unpacked) and may end in `[A..B]`, a subrange. `--options` go to both programs. Runs take turns;
of each the fastest counts. Kernels are compiled before. LASTZ is found as `lastz` (Debian's package 1.04.22) and run beside ours, or, with --lastz, what
that file says of an earlier run of it stands in for it, on whatever machine that was; where there is no such file, LASTZ is run and it is written.
With --together LASTZ runs once, at the same time as ours, on a core that ours do not use.
Of each way of ours there is also what a call of `align_genomes` and of `export` takes in a process that has done so before, and with GPUs what the start of
a process is made of.
For runs on cores the least time of their kernels is given, too (genome_bound.py; it takes as long as a run).
"""

import argparse
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import record
from genome_bound import bound
from whole_run import watch


def unpacked(specifier: str, folder: Path) -> str:
    """Unpack the file of a specifier, and give the specifier with the plain file in its place."""
    path, bracket, actions = specifier.partition("[")
    plain = folder / Path(path).name.removesuffix(".gz")
    with gzip.open(path) if path.endswith(".gz") else Path(path).open("rb") as packed, plain.open("wb") as out:
        shutil.copyfileobj(packed, out)
    return f"{plain}{bracket}{actions}"


def alignments(path: Path) -> list[str]:
    """Read the lines below the comments."""
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
    """Digest what is compared of a MAF."""
    lines = alignments(path)
    return {"md5 of the MAF below the comments": hashlib.md5("\n".join(lines).encode()).hexdigest(), "alignments": sum(line.startswith("a ") for line in lines)}


def held(lines: list[dict[str, Any]]) -> dict[str, float]:
    """Sum up the seconds that each GPU was held by its processes, each of which says in a run's journal how long it held it until then."""
    last: dict[str, float] = {}
    for line in lines:
        if "gpu_held" in line:
            last[line["gpu_held"]] = max(line["busy"], last.get(line["gpu_held"], 0.0))
    sums: Counter[str] = Counter()
    for process, seconds in last.items():
        sums[process.partition(" in process ")[0]] += seconds
    return dict(sums)


def stages(run: Path, began: float, wall: float) -> dict[str, Any]:
    """Read the seconds of the stages of a run that took `wall` from `began` (time.time()), by its journal, and what its report says of the work."""
    lines = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    at = {line["event"]: line["time"] for line in lines}
    tiles = {line["task"]: line["seconds"] for line in lines if line["event"] == "done"}
    return {
        "start of the process": round(at["start"] - began, 3),
        "reading, and meanwhile the start of the GPU": round(at["read"] - at["start"], 3),
        "tiles": round(at["end"] - at["read"], 3),
        "of each tile": tiles,
        "GPUs held": {f"GPU {i}": seconds for i, seconds in enumerate(held(lines).values())},
        "MAF and end of the process": round(began + wall - at["end"], 3),
        "work": json.loads((run / "report.json").read_text())["work"],
    }


AGAIN = """
import json, sys, time
import tidalign

def main():
    target, query, out, call, options = json.loads(sys.argv[1])
    seconds = []
    for i in range(4):
        began = time.perf_counter()
        tidalign.align_genomes(target, query, out=out, new=True, **call, **options).export(f"{out}.maf")
        seconds.append(round(time.perf_counter() - began, 3))
    print(json.dumps(seconds))

if __name__ == "__main__":
    main()
"""

START = """
import time
seconds, before = {}, time.perf_counter()
def took(what):
    global before
    now = time.perf_counter()
    seconds[what], before = round(now - before, 3), now
import tidalign.workflows.commands.genome
took("modules of tidalign and what they load")
import cupy
took("CuPy")
cupy.cuda.runtime.free(0)
took("CUDA context")
from tidalign.pipeline.device import GPU
from tidalign.pipeline.genome.units import warm_up
from tidalign.pipeline.genome.parameters import GenomeParameters
took("modules of a first run")
warm_up(GenomeParameters(), GPU)
took("first run of 3,000 letters, kernels from where they are kept")
warm_up(GenomeParameters(), GPU)
took("second run of 3,000 letters")
import json
print(json.dumps(seconds))
"""


def again(pair: list[str], kind: list[str], options: list[str], folder: Path) -> dict[str, Any]:
    """Time calls of the Python functions in one process, the first one's, which loads the kernels, apart."""
    named = dict(zip(kind[::2], kind[1::2], strict=True))
    call = {"device": named["--device"]} | {name: int(named[f"--{name}"]) for name in ("workers", "gpus") if f"--{name}" in named}
    given = {name: value or True for name, _, value in (option.removeprefix("--").partition("=") for option in options)}
    (folder / "again.py").write_text(AGAIN)
    seconds = said(folder / "again.py", json.dumps([*pair, str(folder / "again"), call, given]))
    return {"first": seconds[0], "then": seconds[1:]}


def start(folder: Path) -> dict[str, Any]:
    """Time what a process with a GPU begins with, one after the other (the command does some of it at once)."""
    (folder / "start.py").write_text(START)
    return min((said(folder / "start.py") for _ in range(3)), key=lambda each: sum(each.values()))


def said(script: Path, *arguments: str) -> Any:
    """Read the last line that a Python script prints, as JSON."""
    answer = subprocess.run([sys.executable, str(script), *arguments], capture_output=True, text=True, check=True)
    return json.loads(answer.stdout.splitlines()[-1])


def apart() -> list[str]:
    """Set a core apart for a command: gives what begins it; this process and all it starts leave that core from now on."""
    *others, last = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, others)
    return ["taskset", "-c", str(last)]


def lastz(pair: list[str], options: list[str], folder: Path, repeats: int, before: list[str]) -> dict[str, Any]:
    """Run one LASTZ process on the pair. before: what begins its command."""
    command = [*before, "lastz", *pair, "--format=maf", f"--output={folder}/lastz.maf", *options]
    runs = [watch(command) for _ in range(repeats)]
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    return {"peer": version, "run": best(runs), "machine": record.machine()["cpu"], **digest(folder / "lastz.maf")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--workers", type=int, nargs="*", default=[])
    parser.add_argument("--gpus", type=int, nargs="*", default=[])
    parser.add_argument("--lastz", type=Path)
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--predicted", type=float, nargs="+", default=[])
    parser.add_argument("--options", default="")
    arguments = parser.parse_args()
    options = [option for option in arguments.options.split(",") if option]
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    kinds = {f"{count} workers": ["--device", "cpu", "--workers", str(count)] for count in arguments.workers}
    kinds |= {f"{count} GPUs": ["--device", "gpu", "--gpus", str(count)] for count in arguments.gpus}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pair = [unpacked(side, folder) for side in (arguments.target, arguments.query)]
        program = [sys.executable, "-m", "tidalign.workflows", "genome"]
        small = [f"{side.partition('[')[0]}[1..5000]" for side in pair]
        peer = json.loads(arguments.lastz.read_text()) if arguments.lastz and arguments.lastz.exists() else None
        beside: Future[dict[str, Any]] | None = None
        if peer is None and arguments.together:
            beside = ThreadPoolExecutor(1).submit(lastz, pair, options, folder, 1, apart())
        for kind in kinds.values():
            subprocess.run([*program, *small, "-o", f"{folder}/small.maf", "--quiet", *kind, *options], check=False)
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in kinds}
        detail: dict[str, dict[str, Any]] = {}
        for _ in range(arguments.repeats):
            for name, kind in kinds.items():
                out, began = folder / f"{name.replace(' ', '_')}.maf", time.time()
                command = [*program, *pair, "-o", str(out), "--keep-run", "--quiet", "--new", *kind, *options]
                runs[name].append(watch(command, accepted=(0, 3), interval=0.02))  # 3: LASTZ cuts an alignment there, and so do we
                if runs[name][-1] == min(runs[name]):
                    detail[name] = {"stages": stages(Path(f"{out}.run"), began, runs[name][-1][0]), **digest(out)}
        calls = {name: again(pair, kind, options, folder) for name, kind in kinds.items()}
        split = start(folder) if arguments.gpus else None
        if peer is None:
            peer = beside.result() if beside else lastz(pair, options, folder, arguments.repeats, [])
            if arguments.lastz:
                arguments.lastz.write_text(json.dumps(peer, indent=1) + "\n")
        for name, each in detail.items():
            if any(each[key] != peer[key] for key in each if key != "stages"):
                raise SystemExit(f"{name}: not LASTZ's alignments")
    measured = {name: best(times) | {"stages": detail[name]["stages"]} for name, times in runs.items()}
    ratios = {name: round(peer["run"]["seconds"] / run["seconds"], 2) for name, run in measured.items()}
    result = {
        "what": "tidalign genome beside one LASTZ process, file to MAF; the MAFs are equal below the comments",
        "lastz": peer | {"run beside ours": "at the same time, on a core of its own" if arguments.together else not arguments.lastz},
        "target": Path(arguments.target).name,
        "query": Path(arguments.query).name,
        "options": options,
        "runs": measured,
        "calls of align_genomes and export in one process, seconds": calls,
        "ratio to LASTZ": ratios,
        "predicted ratio": dict(zip(ratios, arguments.predicted, strict=False)),
    }
    if arguments.gpus:
        result["start of a process with a GPU, seconds"] = split
        result["cards"] = gpus()
    if arguments.workers:
        result["bound of the kernels on one core"] = bound(arguments.target, arguments.query, options)
    record.write(arguments.result, result)
    print(result["target"], result["query"], options, ratios, {name: run["seconds"] for name, run in measured.items()})


def gpus() -> list[str]:
    """Name the GPUs of this machine."""
    from tidalign.cluster.gpus import usable

    return sorted(usable().values())


if __name__ == "__main__":
    main()
