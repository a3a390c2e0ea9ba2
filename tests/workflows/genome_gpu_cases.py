"""Genome runs on GPUs as tests ask for them, whether the host's kernels stand in for a GPU's or not."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from genome_golden import PLACE, RUNS, below, text

from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows.cli import main
from tidalign.workflows.commands.demo import DATA
from tidalign.workflows.status import Exit

HERE = Path(__file__).parent

OPTIONS: list[dict[str, Any]] = [
    {"gapped": False},
    {"gapped": False, "gfextend": False, "step": 100},
    {"query_hsp_best": 5},
    {"query_hsp_limit": 20, "query_hsp_keep": True},
    {"query_hsp_limit": 3},
    {"chain": (0, 0), "strand": "minus"},
    {"gfextend": False, "step": 40},
    {"mode": "independent", "gfextend": False, "step": 40, "filters": (("identity", 70.0, 100.0),)},
    {"mode": "independent", "notrivial": True},
    {"max_word_count": "90%", "transitions": 0, "seed": "14of22"},
]
"""Of runs over the two flies that are compared with the host's."""


def flies(folder: Path) -> tuple[str, str]:
    """Unpack two fly sequences; the query has two contigs."""
    paths = []
    for name in ("fly_melanogaster", "fly_pseudoobscura"):
        (folder / f"{name}.fa").write_bytes(gzip.decompress((DATA / f"{name}.fa.gz").read_bytes()))
        paths.append(str(folder / f"{name}.fa"))
    return paths[0], paths[1]


def answer(run: Path) -> tuple[bytes, Any]:
    """Read the rows as MAF and as a table."""
    results = GenomeResults(run)
    results.export(f"{run}.maf")
    return Path(f"{run}.maf").read_bytes(), results.to_table()


def journal(run: Path, event: str) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, (run / "journal.jsonl").read_text().splitlines()) if line["event"] == event]


def as_lastz(folder: Path, name: str) -> dict[str, Any]:
    """Run one of the golden runs by the command, on one GPU; gives its report, after a look at what LASTZ printed."""
    run, out = RUNS[name], folder / "out"
    format, golden = next(iter(run["formats"].items()))
    sides = [str(PLACE / run[side]) for side in ("target", "query")]
    words = ["genome", *sides, "-o", str(out), f"--format={format}", f"--mode={run['mode']}", "--keep-run", "--quiet", "--device=gpu", "--gpus=1"]
    assert main([*words, *run["options"]]) in (Exit.COMPLETE, Exit.PARTIAL)
    order = list if run["mode"] == "exact" else sorted  # LASTZ prints alignments of independent anchors in the order in which it finds them
    assert order(below(out.read_text())) == order(below(text(golden)))
    done = journal(folder / "out.run", "done")
    joined = run["query"].endswith("[multiple]")  # queries as one array: those of the host alone
    assert all("in process" in each["gpu_held"] for each in done) and (done[-1]["busy"] > 0) != joined
    assert journal(folder / "out.run", "hired") == []
    report: dict[str, Any] = json.loads((folder / "out.run" / "report.json").read_text())
    if run["mode"] == "exact" and "--nogapped" not in run["options"] and not joined:
        assert report["work"]["stood"] > 0
    return report


def drive_apart(run: Path, sides: tuple[str, str], mode: str, options: dict[str, Any], **environment: str) -> tuple[int, str]:
    """Run `genome_chaos.drive` on GPUs in a process of its own, which may lose its GPU: its exit status and what it said."""
    words = [sys.executable, str(HERE / "genome_chaos.py"), "--drive", str(run), *sides, mode, "--options", json.dumps({"device": "gpu", **options})]
    done = subprocess.run(words, env=os.environ | environment, capture_output=True, text=True)
    return done.returncode, done.stderr


def check_replaced(run: Path, tile: str) -> None:
    """Check what the journal says of a tile whose kernels always fail: first in the process of the run itself, then in workers; the host does it in the end."""
    assert "illegal" in journal(run, "failed")[0]["error"]
    assert [event["killed"] for event in journal(run, "died")].count(True) >= 1
    isolated = journal(run, "isolated")
    assert [event["task"].rpartition(".")[0] for event in isolated] == [f"isolate-{tile}"]  # no other tile is blamed
    assert isolated[0]["rejected"] == 0
