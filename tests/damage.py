"""Damage files of run directories, finished and not, of pairs and genomes, by a bit or a cut, and see that no wrong row ever comes with status 0.

python tests/damage.py TRIALS [SEED]: counts what became of them
"""

import io
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from tidalign.pipeline.genome import manifest as genome_manifest
from tidalign.pipeline.genome import plan
from tidalign.pipeline.genome.stages import anchoring, seeded
from tidalign.pipeline.genome.walk import walk
from tidalign.pipeline.pairs import partition
from tidalign.workflows.cli import main
from tidalign.workflows.run.genome import tasks
from tidalign.workflows.run.genome.run import Genomes
from tidalign.workflows.status import Exit

NOT_READ = ("journal.jsonl", "run.lock", "report.html", "tidalign_mqc.json")


class Run(NamedTuple):
    """A run directory, the words that made it, and what it is exported to."""

    place: Path
    words: list[str]
    format: str
    answer: bytes


def mutated(letters: str, random: random.Random) -> str:
    """Change letters: one in twenty is another or none."""
    return "".join(random.choice(["", "A", "C", "G", "T"]) if random.random() < 0.05 else letter for letter in letters)


def call(*words: object) -> tuple[int, str]:
    """Run a command in this process: its status, and what it said."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(said):
        status = main([*map(str, words)])
    return status, said.getvalue()


def exported(run: Path, format: str) -> tuple[int, str, bytes]:
    """Export a run: status, what was said, and the bytes."""
    out = run.with_suffix(f".{format}")
    out.unlink(missing_ok=True)
    status, said = call("export", run, "-o", out, "--quiet")
    return status, said, out.read_bytes() if out.exists() else b""


@contextmanager
def small() -> Iterator[None]:
    """Hold small chunks, and stages and checkpoints of every unit."""
    with ExitStack() as stack:
        for where, name, value in (
            (partition, "CHUNK_ROWS", 6),
            (plan, "TILE_SECONDS", 0.0),
            (walk, "CHECKPOINT_SECONDS", 0.0),
            (walk, "WALK_ANCHORS", 4),
            (seeded, "SECONDS", 0.0),
            (seeded, "WRITING_SHARE", float("inf")),
        ):
            stack.enter_context(mock.patch.object(where, name, value))
        yield


def make(folder: Path, random: random.Random) -> list[Run]:
    """Make runs to damage: of each kind one that is finished, and one that was stopped with files of all stages."""
    reads = ["".join(random.choices("ACGT", k=random.randint(20, 200))) for _ in range(60)]
    (folder / "q.fa").write_text("".join(f">q{i}\n{read}\n" for i, read in enumerate(reads)))
    (folder / "t.fa").write_text("".join(f">t{i}\n{mutated(read, random)}\n" for i, read in enumerate(reads)))
    genome = "".join(random.choices("ACGT", k=4000))
    (folder / "target.fa").write_text(f">a\n{genome[:2500]}\n>b\n{genome[2500:]}\n")
    (folder / "query.fa").write_text(f">x\n{mutated(genome[500:3500], random)}\n>y\n{mutated(genome[2600:], random)}\n")
    kinds = [("pairs", ["pairs", folder / "q.fa", folder / "t.fa"], "sam")]
    kinds += [(mode, ["genome", folder / "target.fa", folder / "query.fa", f"--mode={mode}", "--keep=hsps"], "maf") for mode in ("exact", "independent")]
    runs = []
    for name, inputs, format in kinds:
        words = [*map(str, inputs), "--quiet", "--device=cpu"]
        finished, stopped = folder / name, folder / f"{name}-stopped"
        assert call(*words, "-o", finished) == (Exit.COMPLETE, "")
        answer = exported(finished, format)[2]
        with ExitStack() as kept:
            for where, method in ((tasks.stages, "forget"), (Genomes, "leftovers"), (seeded.Seeded, "forget")):
                kept.enter_context(mock.patch.object(where, method, lambda *_: ()))
            assert call(*words, "-o", stopped) == (Exit.COMPLETE, "")
        for part in sorted((stopped / "parts").iterdir())[::2]:
            part.unlink()
        for path in (stopped / "stages").glob("*.u2.anchors.*") if name != "pairs" else ():
            path.unlink()  # it was being seeded
        if name == "exact":
            manifest = genome_manifest.read_manifest(str(stopped))
            for unit in range(manifest.jobs[0].units):
                if anchors := anchoring.count_anchors(str(stopped), 0, unit, manifest.run):
                    tasks.extend_range_ahead(str(stopped), manifest.run, 0, unit, 0, anchors)
        for marker in ("SUCCESS", "report.json"):
            (stopped / marker).unlink()
        runs += [Run(finished, words, format, answer), Run(stopped, words, format, answer)]
    return runs


def damage(run: Path, random: random.Random) -> Path:
    """Flip a bit of a file, or cut it short; returns which."""
    path = random.choice([path for path in sorted(run.rglob("*")) if path.is_file() and path.name not in NOT_READ and path.stat().st_size])
    data = bytearray(path.read_bytes())
    if random.random() < 0.25:
        del data[random.randrange(len(data)) :]
    else:
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    return path


def trial(run: Run, place: Path, random: random.Random) -> str:
    """Damage a copy of a run; what the check of it, the export and the same command make of that. Returns in a word what became of it."""
    shutil.copytree(run.place, place)
    file = damage(place, random)
    status, said = call("check", place)
    unread = file.suffix == ".arrow" and status == 0  # between its values: these alone are summed, and what tells where they lie shows in them
    assert unread or (status, str(file) in said) == (Exit.MANIFEST_MISMATCH, True), (file, status, said)
    if not run.place.name.endswith("-stopped"):
        status, said, found = exported(place, run.format)
        assert found == run.answer if status == 0 else (status, str(file) in said) == (Exit.MANIFEST_MISMATCH, True), (file, status, said)
    status, said = call(*run.words, "-o", place)
    if status:
        assert status in (Exit.BAD_INPUT, Exit.MANIFEST_MISMATCH) and str(file) in said, (file, status, said)
        return f"{file.name} refused"
    status, said, found = exported(place, run.format)
    assert (status, found == run.answer) == (0, True), (file, status, said)
    return "the same rows"


def trials(count: int, seed: int, folder: Path) -> Counter[str]:
    """Damage so many files; how often what became of them."""
    numbers = random.Random(seed)
    with small():
        runs = make(folder, numbers)
        return Counter(trial(runs[number % len(runs)], folder / f"trial{number}", numbers) for number in range(count))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(trials(int(sys.argv[1]), int([*sys.argv, 0][2]), Path(made)))
