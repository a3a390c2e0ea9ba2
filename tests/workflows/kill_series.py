"""Kill workers, clients, schedulers and nannies of `tidalign pairs` and `genome` at random times, take each run up again, compare bytes and statuses.

python tests/workflows/kill_series.py FOLDER TARGET QUERY [--kills 20] [--slow 0.3] [--seed 1] [--result JSON]: a table, and whether all is as it should be.
By hand.
"""

import argparse
import os
import random
import subprocess
import sys
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from unittest import mock

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record
from chaos import BLOCK_PAIRS, simulate
from ending import wait_until
from external import External
from genome_chaos import TILE_ANCHORS
from kills import forked

from tidalign.pipeline.device import CPU
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.walk import walk
from tidalign.pipeline.pairs.input import index
from tidalign.workflows import cli
from tidalign.workflows.run import devices

VICTIMS = {"worker": (0,), "client": (0, -9), "scheduler": (0, 69, 75), "nanny": (0, 75)}
"""Who is killed, and the statuses that the command may end with meanwhile (69: before it has connected); the last time it is 0."""


def small(words: list[str]) -> int:
    """Run the command line with blocks, tiles and walks so small that little input makes many tasks."""
    with ExitStack() as stack:
        stack.enter_context(mock.patch.object(index, "BLOCK_PAIRS", BLOCK_PAIRS))
        stack.enter_context(mock.patch.object(plan, "TILE_SECONDS", 0.0))
        stack.enter_context(mock.patch.object(walk, "CHECKPOINT_SECONDS", 0.5))
        stack.enter_context(mock.patch.object(devices, "CPU", replace(CPU, tile_anchors=TILE_ANCHORS)))
        return cli.main(words)


class Series:
    """One command, again and again, while one kind of process is killed."""

    def __init__(self, folder: Path, words: list[str], format: str, slow: float) -> None:
        self.folder, self.words, self.format = folder, words, format
        self.environment = os.environ | {"TIDALIGN_TEST_SLOW": str(slow)}
        self.problems: list[str] = []

    def call(self, run: Path, *more: str, slow: bool = True) -> psutil.Popen:
        command = [sys.executable, __file__, "--drive", *self.words, "-o", str(run), "--quiet", *more]
        log = (self.folder / "log").open("ab")
        with log:
            return psutil.Popen(command, env=self.environment if slow else None, stdout=log, stderr=log)

    def answer(self, run: Path) -> bytes:
        out = run.with_suffix(f".{self.format}")
        subprocess.run([sys.executable, "-m", "tidalign.workflows", "export", run, "-o", out, "--quiet"], check=True)
        return out.read_bytes()

    def kills(self, victim: str, count: int, seed: int, peace: bytes) -> dict[str, object]:
        """Kill so often, over as many runs as that takes."""
        rng, done, runs, statuses = random.Random(seed), 0, 0, Counter[int]()
        with ExitStack() as stack:
            cluster = _Cluster(self.folder) if victim in ("scheduler", "nanny") else None
            if cluster:
                stack.callback(cluster.external.close)
            more = ("--scheduler", cluster.external.address, "--insecure") if cluster else ("--workers", "2")
            while done < count:
                run = self.folder / f"{victim}{runs}"
                runs += 1
                status = -1
                while status != 0:
                    client = self.call(run, *more)
                    if done < count and self._strike(victim, client, cluster, rng):
                        done += 1
                    status = client.wait()
                    statuses[status] += 1
                    if status not in VICTIMS[victim]:
                        self.problems.append(f"{victim}: status {status}")
                        break
                    if cluster:
                        cluster.mend()
                if status == 0 and self.answer(run) != peace:
                    self.problems.append(f"{victim}: other bytes in {run}")
        return {"kills": done, "runs": runs, "statuses": dict(statuses)}

    def _strike(self, victim: str, client: psutil.Popen, cluster: "_Cluster | None", rng: random.Random) -> bool:
        """Kill one after a random time; whether the command was still at it."""
        try:
            client.wait(rng.uniform(1, 8))
            return False
        except psutil.TimeoutExpired:
            pass
        try:
            found = (
                [client]
                if victim == "client"
                else cluster.processes(victim)
                if cluster
                else [child for child in client.children(recursive=True) if forked(child)]
            )
            if found:
                rng.choice(found).kill()
        except psutil.NoSuchProcess:
            return False
        return bool(found)


class _Cluster:
    """Somebody's scheduler with two workers, each with its nanny."""

    def __init__(self, folder: Path) -> None:
        self.external = External(folder)
        self._hire(2)

    def _hire(self, count: int) -> None:
        self.nannies = [self.external.worker("--nworkers", "1", "--nthreads", "1") for _ in range(count)]
        self.external.wait_for_workers(count)

    def processes(self, victim: str) -> list[psutil.Process]:
        return [psutil.Process(process.pid) for process in ([self.external.scheduler] if victim == "scheduler" else self.nannies)]

    def mend(self) -> None:
        """Start what is gone again. Workers whose scheduler died are ended."""
        lost = self.external.scheduler.poll() is not None
        if not lost and all(nanny.poll() is None for nanny in self.nannies):
            return
        for nanny in self.nannies:
            nanny.terminate()
            nanny.wait()
        if lost:
            self.external.restart()
        self._hire(2)


def main() -> int:
    """Kill processes at random times, take each run up again, and compare its bytes with those of one that was left in peace."""
    if sys.argv[1:2] == ["--drive"]:
        return small(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--slow", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--result")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True)
    simulate(arguments.folder, 120, arguments.seed)
    sides = [str(arguments.folder / name) for name in ("q.fa", "t.fa")]
    wrong, rows = 0, list[dict[str, object]]()
    for format, words in (("paf", ["pairs", *sides]), ("maf", ["genome", arguments.target, arguments.query])):
        folder = arguments.folder / words[0]
        folder.mkdir()
        series = Series(folder, words, format, arguments.slow)
        calm = series.call(folder / "peace", slow=False)
        wait_until(lambda process=calm: process.poll() is not None, calm)
        peace = series.answer(folder / "peace")
        for victim in VICTIMS:
            rows.append({"command": words[0], "killed": victim, **series.kills(victim, arguments.kills, arguments.seed, peace)})
            print(rows[-1], flush=True)
        print(*series.problems or ["same bytes, right statuses"], sep="\n", flush=True)
        wrong += len(series.problems)
    if arguments.result:
        record.write(arguments.result, {"what": main.__doc__, "same bytes and right statuses": not wrong, "rows": rows})
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
