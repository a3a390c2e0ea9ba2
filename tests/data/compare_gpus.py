"""Compare genome runs on a GPU with those of the host: the bytes of the MAF and the rows of the table, pair by pair, in both modes. By hand:

python tests/data/compare_gpus.py FOLDER [--jobs N] [--modes exact independent] [--nogfextend] [--only WORD] [--result FILE.json]

FOLDER holds the genomes that lastz_real.PAIRS names, and haplotypes of which every one is aligned with every one. Processes of the host (--jobs) work
beside the GPU. At the end: `n compared, n equal`.
"""

import argparse
import multiprocessing
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from lastz_real import PAIRS, records

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record

from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows.commands.genome import align
from tidalign.workflows.run.devices import Resources

HAPLOTYPES = "human_HLA_DRB1_haplotypes"


def source(folder: Path, target: str, query: str) -> GenomeSource:
    sides = [folder / f"{name}.fa.gz" for name in (target, query)]
    alone = target == query
    several = "[multiple]" if not alone and len(records(sides[0])) > 1 else ""
    return GenomeSource((Pair("pair", f"{sides[0]}{several}", str(sides[1])),), all_vs_all=alone)


def run(folder: Path, target: str, query: str, parameters: GenomeParameters, out: Path, device: str) -> tuple[list[tuple[bytes, Any]], float]:
    """Run on a device: (MAF and table of each pair of sequences, seconds)."""
    began = time.perf_counter()
    where: dict[str, Any] = {"workers": 1} if device == "cpu" else {"gpus": 1}
    results = align(source(folder, target, query), parameters, out, Resources(device=device, **where), new=True)
    seconds = time.perf_counter() - began
    return [_answer(results, job, out) for job in range(len(results.names))], seconds


def _answer(results: GenomeResults, job: int, out: Path) -> tuple[bytes, Any]:
    maf = Path(f"{out}.{job}.maf")
    results.export(maf, job=job)
    return maf.read_bytes(), results.to_table(job=job)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--modes", nargs="+", default=["exact", "independent"])
    parser.add_argument("--nogfextend", action="store_true")
    parser.add_argument("--result")
    parser.add_argument("--only", default="", help="pairs that have the word in a name")
    args = parser.parse_args()
    pairs = [pair for pair in (*PAIRS[::-1], (HAPLOTYPES, HAPLOTYPES)) if args.only in " ".join(pair)]
    runs = [(target, query, GenomeParameters(mode=mode, gfextend=not args.nogfextend)) for target, query in pairs for mode in args.modes]
    compared = equal = 0
    lines = []
    with tempfile.TemporaryDirectory() as name, ProcessPoolExecutor(args.jobs, multiprocessing.get_context("spawn")) as pool:
        places = [Path(name, str(number)) for number in range(len(runs))]
        waiting = [pool.submit(run, args.folder, *each, place.with_suffix(".cpu"), "cpu") for each, place in zip(runs, places, strict=True)]
        for each, place, host in zip(runs, places, waiting, strict=True):
            found, seconds = run(args.folder, *each, place.with_suffix(".gpu"), "gpu")
            expected, on_host = host.result()
            same = [one[0] == other[0] and one[1].equals(other[1]) for one, other in zip(expected, found, strict=True)]
            compared += len(same)
            equal += sum(same)
            rows = sum(len(table) for _, table in found)
            lines.append({"mode": each[2].mode, "target": each[0], "query": each[1], "pairs": len(same), "equal": sum(same), "rows": rows})
            lines[-1] |= {"seconds, card": round(seconds, 2), "seconds, host": round(on_host, 2)}
            print(
                f"{each[2].mode:11} {' x '.join(each[:2])}: {sum(same)} of {len(same)} equal, {rows:,} rows; GPU {seconds:.2f} s, host {on_host:.2f} s",
                flush=True,
            )
    print(f"{compared} compared, {equal} equal")
    if args.result:
        what = "MAF and rows of genome runs on one GPU and on one worker of the host"
        record.write(args.result, {"what": what, "card": record.gpu_record.gpu(), "compared": compared, "equal": equal, "runs": lines})
    return int(equal < compared)


if __name__ == "__main__":
    sys.exit(main())
