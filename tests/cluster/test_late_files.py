"""A run directory on a file system that shows late what other hosts did: the same bytes, and nothing is done twice for want of having been seen."""

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from external import External

sys.path.insert(0, str(Path(__file__).parent / "slurm"))
sys.path.insert(0, str(Path(__file__).parents[1] / "workflows"))
from genome_gpu_cases import flies
from work import program, write_pairs

pytest.importorskip("fuse", reason="needs fusepy and libfuse2", exc_type=(ImportError, OSError))

SMALL = str(Path(__file__).parents[1] / "workflows" / "kill_series.py")

LATE = 3.0
"""Seconds; NFS has up to 60."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/fuse").exists() or not shutil.which("unshare"), reason="mounts are root's to make"),
]


@pytest.mark.parametrize("kind", ["pairs", "genome"])
def test_what_others_made_is_seen_late(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from late_files import on_a_host

    real, shared = tmp_path / "real", tmp_path / "shared"
    for folder in (real, shared, tmp_path / "cluster"):
        folder.mkdir()
    write_pairs(real, 150)
    sides = ["queries.fa", "targets.fa"] if kind == "pairs" else [Path(path).name for path in flies(real)]
    out = "out.sam" if kind == "pairs" else "out.maf"
    program(real, kind, *sides, "--device=cpu", "-o", f"{tmp_path}/{out}")
    monkeypatch.setenv("TIDALIGN_TEST_SLOW", "0.2")
    external = External(tmp_path / "cluster")
    try:
        for _ in range(2):
            external.worker(command=on_a_host(real, shared, LATE))
        external.wait_for_workers(2)
        words = (
            "--drive",
            kind,
            *(f"{shared}/{side}" for side in sides),
            "--device=cpu",
            "-o",
            f"{shared}/{out}",
            "--keep-run",
            "--scheduler",
            external.address,
        )
        command = [*on_a_host(real, shared, LATE), sys.executable, SMALL, *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        external.close()
    assert done.returncode == 0, done.stderr
    assert (real / out).read_bytes() == (tmp_path / out).read_bytes()
    events = [json.loads(line) for line in (real / f"{out}.run" / "journal.jsonl").read_text().splitlines()]
    done_at = Counter(event["task"] for event in events if event["event"] == "done")
    # Whether a unit is seeded is looked at by the name of a file that was not there before, so it may be seeded again until that is seen.
    assert {task: times for task, times in done_at.items() if times > 1 and ".seed." not in task} == {}
