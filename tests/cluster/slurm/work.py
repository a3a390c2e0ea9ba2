"""Something to align, and jobs that do it."""

import os
import random
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from slurm_site import Site

PAIRS = ("pairs", "queries.fa", "targets.fa", "--device=cpu")


def write_pairs(folder: Path, count: int = 300, length: int = 300) -> None:
    """Write two FASTA files; each query is its target with some letters changed."""
    chance = random.Random(count)
    queries, targets = [], []
    for number in range(count):
        target = chance.choices("ACGT", k=length)
        query = [chance.choice("ACGT") if chance.random() < 0.05 else letter for letter in target]
        targets.append(f">t{number}\n{''.join(target)}\n")
        queries.append(f">q{number}\n{''.join(query)}\n")
    (folder / "queries.fa").write_text("".join(queries))
    (folder / "targets.fa").write_text("".join(targets))


def write_lengths(folder: Path) -> None:
    """Write pairs of many lengths, and so many tasks."""
    chance = random.Random(2)
    letters = ["".join(chance.choices("ACGT", k=20 * 2**place)) for place in range(9) for _ in range(3)]
    (folder / "targets.fa").write_text("".join(f">t{number}\n{text}\n" for number, text in enumerate(letters)))
    (folder / "queries.fa").write_text("".join(f">q{number}\n{text[1:]}A\n" for number, text in enumerate(letters)))


def alone(folder: Path, write: Callable[[Path], None]) -> bytes:
    """Run outside of any job, on what is written to a folder, and give what that writes."""
    write(folder)
    program(folder, *PAIRS, "-o", "out.sam")
    return (folder / "out.sam").read_bytes()


def outside() -> dict[str, str]:
    """Give this process's environment without what Slurm puts there."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}


def command(*words: str) -> list[str]:
    """Give the program with these words, as the one that is tested."""
    return [sys.executable, "-P", "-m", "tidalign.workflows", *words]


def script(*words: str) -> str:
    """The line of a job's script that becomes the program."""
    return f"exec {shlex.join(command(*words))}"


def program(folder: Path, *words: str, status: int = 0, environment: "dict[str, str] | None" = None) -> "subprocess.CompletedProcess[str]":
    """Run the program in a folder."""
    done = subprocess.run(command(*words), cwd=folder, capture_output=True, text=True, env=outside() | (environment or {}))
    assert done.returncode == status, (done.returncode, done.stderr)
    return done


def submit(site: Site, folder: Path, text: str, *options: str) -> str:
    """Submit a script that runs in a folder and writes `log`; the job's number."""
    path = folder / "job.sh"
    path.write_text(f"#!/bin/bash\n{text}\n")
    return site.ask("sbatch", "--parsable", f"--output={folder}/log", "--open-mode=append", f"--chdir={folder}", *options, str(path)).strip()
