"""Measure `tidalign genome` on one GPU where a pair is too large for LASTZ to run beside it: whole commands, and the kernels of the search for HSPs.

python genome_large.py RESULT.json TARGET QUERY [--repeats N]    (synthetic_genomes.py makes pairs of any size)

The first run of the machine compiles and is left out. Kernels are timed by the GPU's own clock in a run in this process; hits are those that were written.
"""

import argparse
import collections
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
import gpu_record
import record
from whole_run import watch

from tidalign.kernels.runtime import compiler
from tidalign.kernels.ungapped import device as ungapped_device
from tidalign.workflows.cli import main as tidalign

SEARCH = ("seed_", "sort_", "hit_runs", "extend_left", "extend_right")
"""Beginnings of the names of kernels that find, sort and extend hits. (The rows of a tile are fetched while the next one is searched.)"""


def kernels(arguments: list[str]) -> dict[str, Any]:
    """Run in this process, and give seconds of the GPU by kernel, and seed hits."""
    import cupy

    events: list[tuple[str, list[Any]]] = []
    hits, launch, begin = [0], compiler.launch, ungapped_device._Hits.__init__

    def timed(kernel: Any, *rest: Any, **options: Any) -> None:
        both = [cupy.cuda.Event() for _ in range(2)]
        both[0].record()
        launch(kernel, *rest, **options)
        both[1].record()
        events.append((kernel.name, both))

    def counted(self: Any, search: Any, chunk: Any, first: int, stop: int) -> None:
        hits[0] += stop - first
        begin(self, search, chunk, first, stop)

    compiler.launch, ungapped_device._Hits.__init__ = timed, counted
    tidalign(arguments)
    cupy.cuda.Device().synchronize()
    compiler.launch, ungapped_device._Hits.__init__ = launch, begin
    seconds: collections.Counter[str] = collections.Counter()
    for name, (start, end) in events:
        seconds[name] += cupy.cuda.get_elapsed_time(start, end) / 1000
    search = sum(taken for name, taken in seconds.items() if name.startswith(SEARCH))
    by_kernel = {name: round(taken, 4) for name, taken in seconds.most_common() if taken > 0.001}
    said = {"seed hits": hits[0], "seconds of the search": round(search, 3), "hits/s of the search": round(hits[0] / search)}
    return said | {"seconds by kernel": by_kernel}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder, "run")
        arguments = ["genome", args.target, args.query, "-o", str(run), "--new", "--device", "gpu", "--gpus", "1", "--quiet"]
        command = [sys.executable, "-m", "tidalign.workflows", *arguments]
        watch(command)
        taken = [watch(command) for _ in range(args.repeats)]
        report = json.loads((run / "report.json").read_text())
        inside = kernels(arguments)
    wall, cpu, memory = min(taken)
    result = {"gpu": gpu_record.gpu(), "letters": [report["target_bases"], report["query_bases"]], "alignments": report["rows"]}
    result |= {
        "seconds": round(wall, 2),
        "cpu seconds": round(cpu, 2),
        "largest process MB": round(memory / 1e6),
        "all seconds": [round(each[0], 2) for each in taken],
    }
    result |= {"stages": report["stages"], "gpus": report["gpus"], "kernels": inside}
    print({name: value for name, value in result.items() if name != "gpu"})
    record.write(args.result, result)


if __name__ == "__main__":
    main()
