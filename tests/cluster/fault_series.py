"""Have faults befall `tidalign pairs` on two hosts (hosts.py), a run for each, and compare its bytes and statuses.

Workers, hosts, schedulers and clients are killed, the network is cut and comes back, the time of the job is over.

python tests/cluster/fault_series.py FOLDER [--each 5] [--seed 1] [--result JSON]; root's, by hand, a quarter of an hour.
"""

import argparse
import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "slurm"))
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
import record
from ending import wait_until
from hosts import Hosts, objection
from work import program, write_pairs

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

SMALL = str(Path(__file__).resolve().parents[1] / "workflows" / "kill_series.py")
PAIRS, SLOW, LOST, CUT = 150, "0.7", "12s", 16.0

STATUSES = {"worker": [0], "host": [0], "scheduler": [0, 75], "client": [-9], "network": [0], "time": [0, 143]}
"""By what befalls it, how the call may end; the next one ends with 0."""


class Series:
    """Runs on two hosts with a worker each."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.chance = folder, random.Random(seed)
        write_pairs(folder, PAIRS)
        program(folder, "pairs", "queries.fa", "targets.fa", "--device=cpu", "-o", "peace.sam")
        self.peace = (folder / "peace.sam").read_bytes()
        self.hosts = Hosts(folder)
        self.hosts.environment["DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP"] = LOST
        self.scheduler = self.hosts.scheduler()
        self.workers = {name: self._start(name) for name in self.hosts.names}

    def _start(self, name: str) -> "subprocess.Popen[bytes]":
        return self.hosts.worker(name, TIDALIGN_TEST_SLOW=SLOW)

    def call(self, name: str) -> "subprocess.Popen[bytes]":
        words = ("--drive", "pairs", "queries.fa", "targets.fa", "--device=cpu", "-o", f"{name}.sam", "--keep-run", "--scheduler", self.hosts.scheduler_address)
        return self.hosts.run("host0", sys.executable, SMALL, *words, log="command.log")

    def one(self, what: str, name: str) -> dict[str, Any]:
        """Have something befall a run, some time after its first alignment; what came of it."""
        began, process = time.monotonic(), self.call(name)
        wait_until(lambda: any(self.folder.glob(f"{name}.sam.run/parts/*.parquet")), process)
        time.sleep(self.chance.uniform(0, 3))
        met = process.poll() is None
        befall: Callable[[Any], None] = getattr(self, f"_{what}")
        befall(process)
        statuses = [process.wait()]
        self._mend()
        while statuses[-1] != 0 and len(statuses) < 4:
            statuses.append(self.call(name).wait())
        right = statuses[0] in STATUSES[what] and statuses[-1] == 0 and len(statuses) <= 2
        out = self.folder / f"{name}.sam"
        return {
            "fault": what,
            "statuses": statuses,
            "met the run": met,
            "right statuses": right,
            "same bytes": out.exists() and out.read_bytes() == self.peace,
            "seconds": round(time.monotonic() - began, 1),
        }

    def _worker(self, process: Any) -> None:
        nanny = psutil.Process(self.workers[self.chance.choice(self.hosts.names)].pid)
        self.chance.choice([child for child in nanny.children(recursive=True) if "resource_tracker" not in " ".join(child.cmdline())]).kill()

    def _host(self, process: Any) -> None:
        self.hosts.lose("host1")

    def _scheduler(self, process: Any) -> None:
        self.scheduler.kill()
        self.scheduler.wait()
        if self.chance.random() < 0.6:
            self._mend()  # else the run ends before there is another

    def _client(self, process: Any) -> None:
        process.kill()

    def _network(self, process: Any) -> None:
        self.hosts.cut("host1")
        time.sleep(self.chance.uniform(1, CUT))
        self.hosts.join("host1")

    def _time(self, process: Any) -> None:
        process.send_signal(signal.SIGUSR1)

    def _mend(self) -> None:
        """Start what is gone again; workers end with their scheduler, and where they were cut off for long."""
        self.hosts.join("host1")
        if self.scheduler.poll() is not None:
            for worker in self.workers.values():
                worker.terminate()
                worker.wait()
            self.scheduler = self.hosts.scheduler()
        for name, worker in self.workers.items():
            if worker.poll() is not None:
                self.workers[name] = self._start(name)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--result")
    arguments = parser.parse_args()
    if why := objection():
        sys.exit(why)
    arguments.folder.mkdir(parents=True)
    series = Series(arguments.folder, arguments.seed)
    try:
        faults = []
        for number in range(arguments.each):
            for what in STATUSES:
                faults.append(series.one(what, f"{what}{number}"))
                print(faults[-1], flush=True)
    finally:
        series.hosts.close()
    good = [fault for fault in faults if fault["same bytes"] and fault["right statuses"]]
    print(f"{len(faults)} faults, {len(good)} with the same bytes and right statuses")
    if arguments.result:
        what = f"{PAIRS} pairs on two hosts (network namespaces, TLS) with a worker each; Dask takes a connection for lost after {LOST}"
        record.write(arguments.result, {"what": what, "faults": len(faults), "equal, with right statuses": len(good), "runs": faults})
    return int(len(good) < len(faults))


if __name__ == "__main__":
    sys.exit(main())
