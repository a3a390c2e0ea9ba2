"""`tidalign genomes --all-vs-all` of many sequences on one GPU and on several of one host: the same bytes, how much sooner, and each GPU's busy share.

python genome_gpus.py RESULT.json TARGETS QUERIES [--gpus 1 2] [--letters N] [--hosts N] [--options OPTION,OPTION ...]

--hosts: besides, the last number of GPUs shared out among so many hosts, as in a job of Slurm, with TLS: network namespaces of this machine (root's).
TARGETS and QUERIES are FASTA, gzip too; --letters cuts their sequences into pieces of so many. A GPU is busy while a task holds it, in any of
the processes that share it; its share is of the time from the first task's beginning to the last one's end.
"""

import argparse
import gzip
import hashlib
import json
import os
import shlex
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "cluster"))
import record
from genome import gpus, held
from whole_run import watch


def pieces(path: str, letters: int, out: Path) -> int:
    """Write the sequences of a file in pieces; returns how many."""
    data = gzip.decompress(Path(path).read_bytes()) if path.endswith(".gz") else Path(path).read_bytes()
    count = 0
    with out.open("wb") as file:
        for one in data.split(b">")[1:]:
            header, _, rest = one.partition(b"\n")
            sequence = rest.replace(b"\n", b"")
            for start in range(0, len(sequence), letters):
                file.write(b">%s_%d\n%s\n" % (header.split()[0], start, sequence[start : start + letters]))
                count += 1
    return count


def shares(run: Path) -> dict[str, Any]:
    """Read what a run's journal says of its tasks, and of its GPUs where it has some."""
    done = [line for line in map(json.loads, (run / "journal.jsonl").read_text().splitlines()) if line["event"] == "done"]
    span = max(line["time"] for line in done) - min(line["time"] - line["seconds"] for line in done)
    processes = len({line["gpu_held"] for line in done if "gpu_held" in line})
    shares = sorted(round(min(1.0, seconds / span), 3) for seconds in held(done).values())
    return {"aligning": round(span, 3), "tasks": len(done), "processes": processes, "busy share of each GPU": shares}


SRUN = """#!/bin/sh
# starts a program on each host, as srun does
while [ "$1" != {program} ]; do shift; done
exec 3<&0
{starts}
wait
"""


def on_hosts(command: list[str], folder: Path, count: int, gpus: int) -> float:
    """Run a command in what looks like a job of Slurm with so many hosts, each with its share of the GPUs; gives its seconds."""
    from hosts import Hosts

    made, each = Hosts(folder, count), gpus // count
    try:
        programs = folder / "bin"
        programs.mkdir()
        shares = [",".join(str(gpu) for gpu in range(number * each, (number + 1) * each)) for number in range(count)]
        starts = (
            f'CUDA_VISIBLE_DEVICES={share} SLURM_NODEID={number} SLURMD_NODENAME={name} {shlex.join(made.on(name))} "$@" <&3 &'
            for number, (name, share) in enumerate(zip(made.names, shares, strict=True))
        )
        srun = SRUN.format(program=shlex.quote(sys.executable), starts="\n".join(starts))
        said = {"srun": srun, "scontrol": f"#!/bin/sh\necho NodeAddr={made.addresses['host0']}\n"}
        for name, text in said.items():
            (programs / name).write_text(text)
            (programs / name).chmod(stat.S_IRWXU)
        job = {"SLURM_JOB_ID": "1", "SLURM_JOB_NUM_NODES": str(count), "SLURM_JOB_CPUS_PER_NODE": f"{(os.cpu_count() or count) // count}(x{count})"}
        began = time.perf_counter()
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        process = made.run("host0", *command, log="command.log", PATH=path, SLURMD_NODENAME="host0", CUDA_VISIBLE_DEVICES=shares[0], **job)
        if process.wait() not in (0, 3):
            raise SystemExit((folder / "command.log").read_text())
        return time.perf_counter() - began
    finally:
        made.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("result")
    parser.add_argument("targets")
    parser.add_argument("queries")
    parser.add_argument("--gpus", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--letters", type=int, default=1 << 40)
    parser.add_argument("--hosts", type=int)
    parser.add_argument("--options", default="")
    arguments = parser.parse_args()
    options = [option for option in arguments.options.split(",") if option]
    runs = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sides = [folder / "targets.fa", folder / "queries.fa"]
        counts = [pieces(path, arguments.letters, out) for path, out in zip((arguments.targets, arguments.queries), sides, strict=True)]
        program = [sys.executable, "-m", "tidalign.workflows"]
        first = [f"{side}[1..5000]" for side in sides]
        subprocess.run(
            [*program, "genome", *first, "-o", f"{folder}/small.maf", "--quiet", "--device", "gpu", "--gpus", "1", *options], check=False
        )  # compiles
        for count, hosts in [*((count, 1) for count in arguments.gpus), *[(arguments.gpus[-1], arguments.hosts)] * bool(arguments.hosts)]:
            out = folder / f"of{count}on{hosts}"
            command = [*program, "genomes", "--all-vs-all", *map(str, sides), "-o", str(out), "--merge", "--quiet", "--device", "gpu", *options]
            run: dict[str, Any] = {"cards": count, "hosts": hosts}
            if hosts == 1:
                wall, cpu, memory = watch([*command, "--gpus", str(count)], accepted=(0, 3), interval=0.02)
                run |= {"seconds": round(wall, 3), "cpu seconds": round(cpu, 2), "largest process MB": round(memory / 1e6)}
            else:
                network = folder / "network"
                network.mkdir()
                run["seconds"] = round(on_hosts(command, network, hosts, count), 3)
            report = json.loads((out / "run" / "report.json").read_text())
            run |= {"stages": report["stages"], "workers": report["workers"], "hosts of the report": report.get("hosts"), **shares(out / "run")}
            runs.append(run | {"sha256 of the MAF": hashlib.sha256((out / "all.maf").read_bytes()).hexdigest()})
            print(runs[-1], flush=True)
    for each in runs:
        each["times faster, in all"] = round(runs[0]["seconds"] / each["seconds"], 2)
        each["times faster, aligning"] = round(runs[0]["aligning"] / each["aligning"], 2)
    result = {
        "what": "tidalign genomes --all-vs-all on some GPUs of one host, file to MAF",
        "cards": gpus(),
        "targets": Path(arguments.targets).name,
        "queries": Path(arguments.queries).name,
        "sequences": counts,
        "options": options,
        "same bytes": len({each["sha256 of the MAF"] for each in runs}) == 1,
        "runs": runs,
    }
    record.write(arguments.result, result)


if __name__ == "__main__":
    main()
