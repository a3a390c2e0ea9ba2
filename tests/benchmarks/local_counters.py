"""Count by ncu what kernels of alignment by scores do on the current GPU: occupancy, issue slots, pipes, memory, why warps wait. Writes JSON.

    python tests/benchmarks/local_counters.py RESULT.json [--only WORD] [--pages FOLDER]

Each work is done once under ncu, in a process of its own, and one launch of each kernel is looked at; of extensions the second, as the first is of a sample.
Pairs are those of `wavefront_device.py`, as many as a launch of `local_device.py` has. --pages: a folder for all that ncu says, a CSV file a work.
"""

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))
import gpu_record
import record

EXTENSION = {"zdrop": 400, "kernels": "local_paired_extensions", "launches": ["-s", "1", "-c", "1"]}

WORKS: dict[str, dict[str, Any]] = {
    "scores, 4,096": {"length": 4096, "error": 0.05, "pairs": 12_672, "report": "score", "kernels": "local_scores", "launches": ["-c", "1"]},
    "CIGARs, 10,000": {"length": 10_000, "error": 0.05, "pairs": 1_200, "report": "cigar", "kernels": "local_scores|local_traces", "launches": ["-c", "2"]},
    "z-drop, 2,048, 5 %": {"length": 2048, "error": 0.05, "pairs": 25_344, **EXTENSION},
    "z-drop, 10,000, 5 %": {"length": 10_000, "error": 0.05, "pairs": 6_336, **EXTENSION},
    "z-drop, 4,096, 15 %, band 751": {"length": 4096, "error": 0.15, "pairs": 25_344, "band": 751, **EXTENSION},
}
SECTIONS = ("SpeedOfLight", "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis", "SchedulerStats", "WarpStateStats", "Occupancy", "LaunchStats")
KEPT = {
    "gpu__time_duration.sum": "ns",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "achieved occupancy, %",
    "sm__maximum_warps_per_active_cycle_pct": "theoretical occupancy, %",
    "smsp__issue_active.avg.pct_of_peak_sustained_active": "issue slots, %",
    "sm__inst_executed_pipe_": "pipe, % of its instructions a cycle",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "multiprocessors, %",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "DRAM, %",
    "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed": "memory, %",
    "lts__throughput.avg.pct_of_peak_sustained_elapsed": "L2, %",
    "l1tex__throughput.avg.pct_of_peak_sustained_active": "L1, %",
    "smsp__inst_executed.sum": "instructions",
    "smsp__thread_inst_executed_per_inst_executed.ratio": "lanes at work",
    "smsp__average_warps_issue_stalled_": "warps that wait, a cycle of issue",
    "launch__registers_per_thread": "registers",
    "launch__occupancy_limit_": "blocks a multiprocessor",
}
"""Beginnings of the names of counters that go into the result, and what they say; of those of pipes the means over cycles in which there was work."""

LEFT_OUT = (".max.", ".min.", ".sum.pct", "_pipe_[a-z0-9_]*.avg.pct_of_peak_sustained_elapsed")


def counters(page: str) -> list[dict[str, Any]]:
    """Read a raw page of ncu in CSV: of each launch its kernel and the counters that are kept."""
    lines = page.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), len(lines))
    names, _, *rows = list(csv.reader(line for line in lines[first:] if line.startswith('"'))) or [[], []]
    found = []
    for row in rows:
        values = dict(zip(names, row, strict=True))
        wanted = (name for name in values if name.startswith(tuple(KEPT)) and not re.search("|".join(LEFT_OUT), name))
        kept = {name: number(values[name]) for name in wanted if number(values[name])}
        found.append({"kernel": values["Kernel Name"], "blocks": values["Grid Size"], "threads": values["Block Size"], "counters": dict(sorted(kept.items()))})
    return found


def number(text: str) -> float | None:
    try:
        return round(float(text.replace(",", "")), 3)
    except ValueError:
        return None


def once(work: dict[str, Any]) -> None:
    """Do a work, without anything around it."""
    from local_device import DNA, MINIMAP2
    from wavefront_device import pairs

    from tidalign.kernels.local import pairs_device
    from tidalign.kernels.local.coding import Coding
    from tidalign.kernels.local.uploaded import uploaded
    from tidalign.kernels.scoring.substitution import Substitution

    coding = Coding(Substitution.parse(MINIMAP2 if "zdrop" in work else DNA))
    sides = [uploaded(side, coding) for side in pairs(work["pairs"], work["length"], work["error"])]
    if "zdrop" in work:
        pairs_device.align_uploaded(*sides, coding, span="extension", zdrop=work["zdrop"], band=work.get("band"), report="ends")
    else:
        pairs_device.align_uploaded(*sides, coding, report=work["report"])


def looked_at(name: str, work: dict[str, Any], pages: Path | None) -> dict[str, Any]:
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base", "-k", f"regex:^({work['kernels']})$", *work["launches"]]
    command += [word for section in SECTIONS for word in ("--section", section)]
    done = subprocess.run([*command, sys.executable, __file__, "-", "--once", name], capture_output=True, text=True, timeout=120)
    if pages:
        pages.mkdir(exist_ok=True)
        (pages / f"{''.join(letter if letter.isalnum() else '_' for letter in name)}.csv").write_text(done.stdout + done.stderr)
    launches = counters(done.stdout)
    return {"work": name, **{key: work[key] for key in ("length", "error", "pairs")}, "launches": launches or (done.stdout + done.stderr)[-500:]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result")
    parser.add_argument("--only", default="")
    parser.add_argument("--pages", type=Path)
    parser.add_argument("--once", choices=WORKS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.once:
        once(WORKS[args.once])
    elif not shutil.which("ncu"):
        print("ncu is not there")
    else:
        rows = []
        for name, work in WORKS.items():
            if args.only in name:
                try:
                    rows.append(looked_at(name, work, args.pages))
                except subprocess.TimeoutExpired:
                    rows.append({"work": name, "launches": "ncu took too long"})
                print(json.dumps(rows[-1]), flush=True)
        record.write(args.result, {"card": gpu_record.gpu(), "sections": SECTIONS, "what counters say": KEPT, "rows": rows})


if __name__ == "__main__":
    main()
