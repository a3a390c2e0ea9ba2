"""Shards of a run, each in a directory of its own, make the same bytes as one run when they are put together."""

import random
from pathlib import Path
from typing import Any

import pytest

from tidalign.workflows import cli
from tidalign.workflows.run.shard import Shard
from tidalign.workflows.status import Exit


def letters(chance: random.Random, length: int) -> str:
    return "".join(chance.choices("ACGT", k=length))


def changed(chance: random.Random, text: str) -> str:
    return "".join(chance.choice("ACGT") if chance.random() < 0.05 else letter for letter in text)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Path, Path]:
    """Write two FASTA files of sequences of several lengths, of which each is like its fellow."""
    chance = random.Random(4)
    targets = [letters(chance, length) for length in (50, 150, 400, 1200) for _ in range(20)]
    files = tmp_path / "queries.fa", tmp_path / "targets.fa"
    for file, texts in zip(files, ([changed(chance, text) for text in targets], targets), strict=True):
        file.write_text("".join(f">s{number}\n{text}\n" for number, text in enumerate(texts)))
    return files


def test_shares_are_all_of_it_and_of_like_work() -> None:
    chunks = {name: (rows, work) for name, rows, work in (("a", 10, 50.0), ("b", 1, 1.0), ("c", 1000, 50.0), ("d", 3, 0.0))}
    for count in (1, 2, 3, 7):
        shares = [Shard(number + 1, count).ranges(chunks) for number in range(count)]
        for name, (rows, _) in chunks.items():
            found = [share[name] for share in shares if share[name][0] < share[name][1]]
            assert sorted(row for start, stop in found for row in range(start, stop)) == list(range(rows))
        items = [(number, float(number % 5)) for number in range(40)]
        members = [Shard(number + 1, count).members(items) for number in range(count)]
        assert sorted(item for share in members for item in share) == list(range(40))
        work = [sum(items[item][1] for item in share) for share in members]
        assert max(work) - min(work) <= 4


def test_a_search(inputs: tuple[Path, Path], tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several slices of the database and shares that end within one."""
    monkeypatch.setattr("tidalign.pipeline.search.database.SLICE_BYTES", 12_000)
    words = ("search", *inputs, "--top", 3)
    assert command(*words, "-o", tmp_path / "out.m8").returncode == 0
    runs = [tmp_path / f"shard.{number}" for number in (1, 2, 3)]
    for number, run in enumerate(runs, 1):
        answer = command(*words, "-o", run, "--shard", f"{number}/3")
        assert (answer.returncode, not (run / "SUCCESS").exists()) == (0, True) and f"shard {number}/3: done" in answer.stderr, answer.stderr
        assert list((run / "parts").iterdir())
    assert command("merge", *runs[1:], "-o", tmp_path / "merged.m8").returncode == Exit.NO_INPUT
    assert command("merge", *runs, "-o", tmp_path / "merged.m8").returncode == 0
    assert (tmp_path / "merged.m8").read_bytes() == (tmp_path / "out.m8").read_bytes() != b""


@pytest.mark.parametrize("name", ["out.sam", "out.parquet", "out.paf.gz"])
def test_pairs(name: str, inputs: tuple[Path, Path], tmp_path: Path, command: Any) -> None:
    words = ("pairs", *inputs, "--device", "cpu")
    assert command(*words, "-o", tmp_path / name).returncode == 0
    runs = [tmp_path / f"shard.{number}" for number in (1, 2, 3)]
    for number, run in enumerate(runs, 1):
        answer = command(*words, "-o", run, "--shard", f"{number}/3")
        assert (answer.returncode, not (run / "SUCCESS").exists()) == (0, True) and f"shard {number}/3: done" in answer.stderr, answer.stderr
    merged = tmp_path / f"merged.{name}"
    lacking = command("merge", *runs[:2], "-o", merged)
    assert lacking.returncode == Exit.NO_INPUT and "of 80 rows or units are in none of 2 shards" in lacking.stderr and not merged.exists()
    assert command("merge", *runs, "-o", merged).returncode == 0
    assert merged.read_bytes() == (tmp_path / name).read_bytes()
    assert not list(tmp_path.glob("merged*.run"))
    assert command("merge", *reversed(runs), "-o", tmp_path / "merged").returncode == 0
    assert command("export", tmp_path / "merged", "-o", tmp_path / f"again.{name}").returncode == 0
    assert (tmp_path / f"again.{name}").read_bytes() == merged.read_bytes()


@pytest.mark.parametrize("more", [("genome", "{0}[multiple]", "{1}", "-o", "{2}"), ("genomes", "--all-vs-all", "{0}", "{1}", "-o", "{2}", "--merge")])
def test_genomes(more: tuple[str, ...], inputs: tuple[Path, Path], tmp_path: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tidalign.pipeline.genome.plan.TILE_SECONDS", 0.01)  # more tiles than one
    many = more[0] == "genomes"
    queries, targets = inputs

    def words(out: object) -> list[str]:
        return [word.format(targets, queries, out) for word in more] + ["--device", "cpu"]

    assert command(*words(tmp_path / ("one" if many else "one.maf"))).returncode == 0
    runs = []
    for number in (1, 2):
        runs.append(tmp_path / f"shard.{number}" / ("run" if many else ""))
        answer = command(*words(tmp_path / f"shard.{number}"), "--shard", f"{number}/2")
        assert answer.returncode == 0 and f"shard {number}/2: done" in answer.stderr, answer.stderr
    assert command("merge", *runs, "-o", tmp_path / "merged.maf").returncode == 0
    assert (tmp_path / "merged.maf").read_bytes() == (tmp_path / ("one/all.maf" if many else "one.maf")).read_bytes()


def test_shards_of_other_runs_are_refused(inputs: tuple[Path, Path], tmp_path: Path, command: Any) -> None:
    for number, penalties in (("1", "edit"), ("2", "affine:4,6,2")):
        words = ("-o", tmp_path / f"shard.{number}", "--shard", f"{number}/2", "--penalties", penalties)
        assert command("pairs", *inputs, "--device", "cpu", *words).returncode == 0
    runs = [tmp_path / "shard.1", tmp_path / "shard.2"]
    for out in ("out.sam", "new/folder/out.sam", "new/run"):
        answer = command("merge", *runs, "-o", tmp_path / out)
        assert answer.returncode == Exit.MANIFEST_MISMATCH and "expected a shard of the run of" in answer.stderr
        assert not (tmp_path / "out.sam.run").exists() and not (tmp_path / "new").exists()  # nothing that would be in the way
    assert command("pairs", *inputs, "--device", "cpu", "-o", tmp_path / "whole").returncode == 0
    before = {path: path.read_bytes() for path in (tmp_path / "whole").rglob("*") if path.is_file()}
    assert command("merge", runs[0], "-o", tmp_path / "whole").returncode == Exit.MANIFEST_MISMATCH
    assert {path: path.read_bytes() for path in (tmp_path / "whole").rglob("*") if path.is_file()} == before  # another run is left alone
    assert command("merge", tmp_path / "none", "-o", tmp_path / "out.sam").returncode == Exit.NO_INPUT


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-o", "x.maf"), "x.maf: cannot write .maf: `tidalign genome` writes it"),
        (("-o", "x", "--format", "maf"), "no format 'maf': use one of paf, sam, bam, tsv, parquet"),
        (("-o", "x.tsv", "--sort"), "--sort: it is for sam, bam, not for tsv"),
        (("-o", "x", "--cs"), "--cs goes with a file for -o"),
        (("-o", "-"), "standard output needs a --format"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_shards_cannot_be_written_as(
    words: tuple[str, ...], message: str, inputs: tuple[Path, Path], tmp_path: Path, command: Any, monkeypatch: Any
) -> None:
    """Said as other commands say it, before anything is written."""
    monkeypatch.chdir(tmp_path)
    assert command("pairs", *inputs, "--device", "cpu", "-o", "shard", "--shard", "1/1").returncode == 0
    answer = command("merge", "shard", *words)
    assert (answer.returncode, message in answer.stderr, list(tmp_path.glob("x*"))) == (Exit.BAD_INPUT, True, []), answer.stderr


def test_a_shard_goes_on_and_may_become_the_whole(inputs: tuple[Path, Path], tmp_path: Path, command: Any) -> None:
    words = ("pairs", *inputs, "--device", "cpu", "-o", tmp_path / "run")
    assert command(*words, "--shard", "1/2").returncode == 0
    parts = {path.name for path in (tmp_path / "run" / "parts").iterdir()}
    assert command(*words, "--shard", "1/2").returncode == 0
    assert {path.name for path in (tmp_path / "run" / "parts").iterdir()} == parts
    assert command(*words).returncode == 0
    assert (tmp_path / "run" / "SUCCESS").exists() and parts < {path.name for path in (tmp_path / "run" / "parts").iterdir()}


@pytest.mark.parametrize("words", [(), ("--new",)], ids=" ".join)
def test_a_shard_is_not_merged_into_itself(words: tuple[str, ...], inputs: tuple[Path, Path], tmp_path: Path, command: Any) -> None:
    for number in "12":
        assert command("pairs", *inputs, "--device", "cpu", "-o", tmp_path / f"shard.{number}", "--shard", f"{number}/2").returncode == 0
    parts = sorted((tmp_path / "shard.1" / "parts").iterdir())
    answer = command("merge", tmp_path / "shard.1", tmp_path / "shard.2", "-o", tmp_path / "shard.1", *words)
    assert answer.returncode == Exit.CANNOT_WRITE and "expected another name than those of the shards" in answer.stderr
    assert sorted((tmp_path / "shard.1" / "parts").iterdir()) == parts


@pytest.mark.parametrize("text", ["0/2", "3/2", "2", "1/", "/2", "a/b", "1/2/3", "-1/2"])
def test_what_is_no_share(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["pairs", "a.fa", "b.fa", "-o", "run", f"--shard={text}"])
    assert ended.value.code == 2 and "expected a share I/N" in capsys.readouterr().err


def test_a_shard_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.main(["pairs", "a.fa", "b.fa", "-o", "out.sam", "--shard", "1/2"])
    assert "a shard is a run directory" in capsys.readouterr().err
