"""The host wavefront kernels against WFA2-lib's C library on the same pairs: CPU seconds on one core, interleaved.

python wavefront.py JOB.json PEER RESULT.json

JOB: {"cells": [[length, error, pairs], ..], "models": [..], "repeats": N}. PEER: wfa2_peer.c built against WFA2-lib.
Pairs are encoded beforehand and the call's overhead is left out, on both sides; of the repetitions, which take turns, the fastest counts.
Penalties must be equal for all pairs, and with CIGARs their lengths in columns (tests/kernels compares the CIGARs themselves).
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent))
import record
import simulate

from tidalign.kernels.letters import host as letters_host
from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.pairwise.wavefront import MAX_NARROW_LETTERS, gap_model
from tidalign.kernels.runtime import workspace as workspace_host
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront import batch as batch_host

SEED = 20250101


class Ours:
    """Pairs encoded once in this thread's memory."""

    def __init__(self, pairs: list[simulate.Pair]) -> None:
        queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
        self.n, self.m = queries.lengths, targets.lengths
        assert (self.n + self.m).max() <= MAX_NARROW_LETTERS
        self.memory = workspace_host.memory()
        workspace_host.reserve(self.memory.work, workspace_host.LETTERS, int((self.n + self.m).sum()) + 2 * letters_host.BEHIND * len(pairs))
        self.places = np.empty((len(pairs), 2), np.int64)
        at = 0
        for i in range(len(pairs)):
            for side, batch in enumerate((queries, targets)):
                start, length = int(batch.offsets[i]), int(batch.lengths[i])
                self.places[i, side] = at
                address = int(self.memory.work[workspace_host.LETTERS]) + at
                letters_host.encode_ascii(batch.letters, start, length, letters_host.ASCII[0, side], address)
                at += length + letters_host.BEHIND
        self.rows = np.arange(len(pairs))
        self.out = np.zeros((5, len(pairs)), np.int64)
        self.ends = np.zeros((len(pairs), 2), np.int64)

    def run(self, model: str, cigar: bool) -> tuple[float, int, int]:
        """Run our kernels: CPU seconds, sum of penalties, columns of all CIGARs."""
        penalties = Penalties.parse(model)
        work, spare = self.memory.work, self.memory.spare
        work[workspace_host.CIGAR_COUNT] = 0
        places = (self.rows, 0, len(self.rows), self.places, self.n, self.m)
        rest = (gap_model(penalties), (0, 0, 0, 0), penalties.unit(), cigar, np.int16(-0x8000), self.out, self.ends)
        start = time.process_time()
        batch_host.align_encoded(work, spare, *places, *rest)
        seconds = time.process_time() - start
        cigars = workspace_host.copied(work, workspace_host.CIGAR, int(work[workspace_host.CIGAR_COUNT]))
        return seconds, int(self.out[0].sum()), int((cigars >> 4).sum())


class Peer:
    """WFA2-lib in a process of its own."""

    def __init__(self, program: str, pairs: list[simulate.Pair], folder: str) -> None:
        path = Path(folder) / "pairs.seq"
        path.write_bytes(b"".join(b">%s\n<%s\n" % pair for pair in pairs))
        self.process = subprocess.Popen([program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, model: str, mode: str, cigar: bool) -> tuple[float, int, int]:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(f"{model} {mode} {'full' if cigar else 'score'}\n")
        self.process.stdin.flush()
        seconds, penalties, columns = self.process.stdout.readline().split()
        return float(seconds), int(penalties), int(columns)

    def close(self) -> None:
        self.process.communicate()


def measure(ours: Ours, peer: Peer, model: str, cigar: bool, repeats: int, biwfa: bool) -> dict[str, Any]:
    best = {"ours": 1e9, "high": 1e9, "biwfa": 1e9}
    for _ in range(repeats + 1):  # one to warm up
        for who in best if biwfa else ("ours", "high"):
            seconds, penalties, columns = ours.run(model, cigar) if who == "ours" else peer.run(model, who, cigar)
            if who == "ours":
                expected = (penalties, columns)
            else:
                assert penalties == expected[0], f"{model} {who}: penalties add up to {penalties}, not {expected[0]}"
                assert not cigar or who == "biwfa" or columns == expected[1], f"{model}: CIGARs have {columns} columns, not {expected[1]}"
            best[who] = min(best[who], seconds)
    result = {"model": model, "cigar": cigar, "penalties": expected[0]}
    for who, seconds in best.items():
        if seconds < 1e9:
            result[f"{who}_seconds"] = round(seconds, 7)
            if who != "ours":
                result[f"ratio_{who}"] = round(seconds / best["ours"], 3)
    return result


def main(job_path: str, program: str, result_path: str) -> None:
    job = json.loads(Path(job_path).read_text())
    results = []
    for length, error, count in job["cells"]:
        pairs = simulate.pairs(SEED, count, length, error)
        with tempfile.TemporaryDirectory() as folder:
            ours, peer = Ours(pairs), Peer(program, pairs, folder)
            for model in job["models"]:
                for cigar in job.get("cigar", [False, True]):
                    cell = {"length": length, "error": error, "pairs": count, "bases": int((ours.n + ours.m).sum())}
                    cell |= measure(ours, peer, model, cigar, job["repeats"], job.get("biwfa", True))
                    results.append(cell)
                    print(
                        f"{length:>6} {error:4} {model:20} {'CIGAR  ' if cigar else 'penalty'} {1e6 * cell['ours_seconds'] / count:9.3f} us a pair, "
                        f"x{cell['ratio_high']:.2f} of high, x{cell.get('ratio_biwfa', 0):.2f} of BiWFA",
                        flush=True,
                    )
            peer.close()
    worst = min(results, key=lambda cell: cell["ratio_high"])
    print(f"lowest: x{worst['ratio_high']} ({worst['length']} {worst['error']} {worst['model']} cigar={worst['cigar']})")
    record.write(result_path, {"job": job, "note": job.get("note", ""), "results": results})


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
