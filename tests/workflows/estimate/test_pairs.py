"""What an estimate counts of pairs, against counts of all of them, and the begin of an input against what is in it."""

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import simulate

from tidalign.kernels.letters.sequences import reverse_complement
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.device import CPU
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.pairs.aligner import WAVEFRONT, PairParameters, work
from tidalign.pipeline.pairs.input.read import PairSource, inspect
from tidalign.pipeline.pairs.pack import packed
from tidalign.pipeline.pairs.scored import ScoreParameters
from tidalign.workflows.cli import main
from tidalign.workflows.commands.estimate import forecast_of
from tidalign.workflows.estimate import of_pairs, pairs
from tidalign.workflows.estimate.head import head
from tidalign.workflows.estimate.rates import of_core
from tidalign.workflows.options.arguments import parse, parser

Pairs = list[tuple[bytes, bytes]]


def made(count: int, length: int, error: float) -> Pairs:
    random = np.random.default_rng(count + length)
    queries = [simulate.sequence(random, int(random.integers(length // 2, length * 2))) for _ in range(count)]
    return [(query, simulate.mutate(random, query, error)) for query in queries]


def written(folder: Path, made: Pairs, form: str) -> PairSource:
    """Write pairs as FASTQ and FASTA, .seq, interleaved FASTA or Parquet, .gz of each text."""
    name, gz = form.removesuffix(".gz"), form.endswith(".gz")
    seq, fasta = b"".join(b">%b\n<%b\n" % pair for pair in made), b"".join(b">q\n%b\n>t\n%b\n" % pair for pair in made)
    fastq, targets = b"".join(b"@q\n%b\n+\n%b\n" % (q, b"I" * len(q)) for q, _ in made), b"".join(b">target\n%b\n" % t for _, t in made)
    texts = {"seq": [seq], "interleaved": [fasta], "fastq": [fastq, targets]}
    if name == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"query": [q for q, _ in made], "target": [t for _, t in made]}), folder / "pairs.parquet")
        return inspect(str(folder / "pairs.parquet"))
    paths = [folder / f"{number}.{name}" for number in range(len(texts[name]))]
    for path, text in zip(paths, texts[name], strict=True):
        path.write_bytes(gzip.compress(text) if gz else text)
    return inspect(*map(str, paths), interleaved=name == "interleaved")


@pytest.mark.parametrize("form", ["fastq", "seq", "interleaved", "parquet", "fastq.gz", "seq.gz"])
def test_the_begin_tells_how_much_there_is(tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    several = made(3000, 120, 0.05)
    source = written(tmp_path, several, form)
    whole = head(source, "mismatch", plain=False)
    letters = sum(len(side) for pair in several for side in pair)
    assert (whole.pairs, len(whole.chunk), whole.letters, whole.whole) == (3000, 3000, letters, True)
    if form == "parquet":
        return
    monkeypatch.setattr("tidalign.workflows.estimate.head.HEAD_BYTES", 1 << 14)
    monkeypatch.setattr("tidalign.workflows.estimate.head.HEAD_BASES", 20_000)
    begin = head(source, "mismatch", plain=False)
    assert len(begin.chunk) < 300 and not begin.whole
    assert begin.pairs == pytest.approx(3000, rel=0.15) and begin.letters * begin.scale == pytest.approx(letters, rel=0.15)
    text = sum(len(gzip.decompress(raw) if form.endswith("gz") else raw) for raw in (Path(each.path).read_bytes() for each in source.inputs))
    assert begin.text == pytest.approx(text, rel=0.15)


def test_a_pipe_is_refused() -> None:
    with pytest.raises(InputError, match="write it to a file"):
        of_pairs.forecast(PairSource((replace(inspect_nothing(), stream=True),)), PairParameters())


def inspect_nothing() -> Any:
    from tidalign.pipeline.files.sniff import Input

    return Input("-", -1, -1, "seq", "none", "")


@pytest.mark.parametrize("count", [1, 5, 5000])
def test_places_stand_for_all_work(count: int) -> None:
    weights = np.random.default_rng(count).lognormal(3, 2, count)
    at, each = pairs.places(weights, budget=200 * weights.mean())
    assert (each * weights[at]).sum() == pytest.approx(weights.sum())
    assert len(at) == count if count < pairs.MIN_SAMPLE else pairs.MIN_SAMPLE <= len(at) <= pairs.MAX_SAMPLE
    assert [len(found) for found in pairs.places(np.zeros(0), 1.0)] == [0, 0]


def counted(parameters: Any, chunk: Any, strands: tuple[bool, ...] = (False,)) -> tuple[float, float]:
    """Count steps and cells of all pairs, of their penalties."""
    query, target = packed(chunk, "query"), packed(chunk, "target")
    unit = Penalties.parse(parameters.penalties).unit()
    steps = np.concatenate([WAVEFRONT.on(CPU).align(reverse_complement(query) if turn else query, target, parameters).penalty / unit for turn in strands])
    return float(steps.sum()), float((steps * steps).sum())


@pytest.mark.parametrize("model", ["edit", "affine:4,6,2"])
def test_a_sample_of_mixed_pairs_counts_as_all_do(tmp_path: Path, model: str) -> None:
    mixed = [*made(2000, 100, 0.02), *made(300, 1000, 0.1)]
    chunk = head(written(tmp_path, mixed, "seq"), "mismatch", plain=False).chunk
    parameters = PairParameters(penalties=model)
    at, each = pairs.places(work(WAVEFRONT, chunk), budget=3e6)
    found, _ = pairs.sampled(parameters, chunk.take(at), each, of_core())
    steps, cells = counted(parameters, chunk)
    unit = Penalties.parse(model).unit() / min(extend for _, extend in Penalties.parse(model).pieces)
    assert len(at) < 600 and found.total("pair") == pytest.approx(2300, rel=0.25)
    assert found.total("step") == pytest.approx(steps, rel=0.15) and found.total("cell") == pytest.approx(cells * unit, rel=0.2)


@pytest.mark.parametrize("times", [0.01, 100.0])
def test_a_core_that_is_not_as_its_rates_say(tmp_path: Path, times: float) -> None:
    """Rates of another core, or of errors that lie otherwise, are set right by the time that the sample takes."""
    chunk = head(written(tmp_path, made(1000, 500, 0.1), "seq"), "mismatch", plain=False).chunk
    core = of_core()
    other = replace(core, seconds={kind: {term: rate * times for term, rate in terms.items()} for kind, terms in core.seconds.items()})
    work, pace = pairs.sampled(PairParameters(), chunk, np.ones(len(chunk)), other)
    assert (pace > 2) if times < 1 else (pace < 0.5)
    assert pairs.sampled(PairParameters(), chunk, np.ones(len(chunk)), replace(core, seconds={}))[1] == 1.0, "of what was not measured nothing is known"
    assert work.total("pair") == len(chunk)


def test_both_strands_are_two_alignments_without_cigar_and_one_with(tmp_path: Path) -> None:
    chunk = head(written(tmp_path, made(20, 200, 0.05), "seq"), "mismatch", plain=False).chunk
    parameters = PairParameters(strand="both")
    kinds = pairs.sampled(parameters, chunk, np.ones(20), of_core())[0].kinds
    plus, both = counted(parameters, chunk), counted(parameters, chunk, (False, True))
    assert kinds["wavefront affine cigar"]["step"] == plus[0] and kinds["wavefront affine penalty"]["step"] == both[0]
    assert kinds["wavefront affine penalty"]["pair"] == 40


def test_errors_of_the_begin_stand_for_a_long_pair(tmp_path: Path) -> None:
    chunk = head(written(tmp_path, made(2, 30_000, 0.03), "seq"), "mismatch", plain=False).chunk
    (found, pace), (steps, _) = pairs.sampled(PairParameters(), chunk, np.ones(2), of_core()), counted(PairParameters(), chunk)
    assert pace == 1.0, "the begin alone, with free ends, is other work"
    assert found.total("step") == pytest.approx(steps, rel=0.15)


def test_scores_take_whole_matrices(tmp_path: Path) -> None:
    several = made(30, 100, 0.1)
    chunk = head(written(tmp_path, several, "seq"), "mismatch", plain=False).chunk
    found, _ = pairs.sampled(ScoreParameters("match:2,mismatch:-4,gap:4,2,24,1", report="ends"), chunk, np.full(30, 10.0), of_core())
    assert found.kinds.keys() == {"scores dna 2 ends"} and found.total("cell") == 10 * sum(len(q) * len(t) for q, t in several)


def test_the_command_says_what_a_run_would_take_and_writes_nothing(tmp_path: Path, command: Any) -> None:
    source = written(tmp_path, made(400, 300, 0.05), "fastq")
    files = [each.path for each in source.inputs]
    before = sorted(tmp_path.iterdir())
    done = command("estimate", "--json", "pairs", *files, "-o", tmp_path / "out.sam")
    said = json.loads(done.stdout)
    assert (done.returncode, done.stderr, said["pairs"]) == (0, "", 400) and said["bytes"]["in"] == sum(Path(file).stat().st_size for file in files)
    assert said["core_seconds"]["work"] > 0 and said["seconds"]["workers"].keys() >= {"0", "1"} and sorted(tmp_path.iterdir()) == before
    shown = command("--dry-run", "pairs", *files, "-o", tmp_path / "out.sam").stdout
    assert "core seconds" in shown and shown.splitlines()[0].split() == ["pairs", "400"]
    assert command("estimate", "pairs", tmp_path / "none.fq", files[1], "-o", tmp_path / "x").returncode == 66
    disk = command("pairs", *files, "-o", tmp_path / "run").returncode, sum(path.stat().st_size for path in (tmp_path / "run").rglob("*.parquet"))
    assert disk[0] == 0 and said["bytes"]["disk"] > disk[1] / 3


CHOICES = [(), ("--strand", "both"), ("--scoring", "match:2,mismatch:-4,gap:4,2"), ("--heuristic", "adaptive")]


@pytest.mark.parametrize(("form", "length"), [("fastq", 300), ("fastq.gz", 12_000), ("parquet", 300)])
@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_bytes_of_all_formats(tmp_path: Path, form: str, length: int, options: tuple[str, ...]) -> None:
    """A sample is written as the run writes: letters of CIGARs, names, compression."""
    several = made(6 if length > 1000 else 1500, length, 0.06)
    source = written(tmp_path, several, form)
    if form != "parquet":
        text = b"".join(b">target%d\n%b\n" % (place, t) for place, (_, t) in enumerate(several))
        Path(source.inputs[1].path).write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    files, words = [each.path for each in source.inputs], [*options, "--device", "cpu", "--workers", "0", "--quiet"]
    assert main(["pairs", *files, "-o", str(tmp_path / "run"), *words]) == 0
    for suffix in ("paf", "paf.gz", "sam", "sam.gz", "bam", "tsv", "tsv.gz", "parquet"):
        if length > 1000 and suffix == "parquet":
            continue  # most of so few rows is what a file has beside them
        output = str(tmp_path / f"out.{suffix}")
        said = forecast_of(parse(["pairs", *files, "-o", output, *words], parser("pairs"))).bytes
        assert main(["export", str(tmp_path / "run"), "-o", output, "--quiet"]) == 0
        size = Path(output).stat().st_size
        assert 0.75 * size < said["out"] < 1.25 * size, suffix
        assert said["disk"] > said["out"]


MEASURED = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "tidalign", *sys.argv[1:]], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""Puts a small process between, as a new one counts as its own what the one that it comes from has in memory."""


@pytest.mark.slow
@pytest.mark.parametrize("words", [("out.paf",), ("out.sam",), ("out.bam",), ("out.bam", "--sort", "--lift")], ids=" ".join)
def test_memory_of_who_writes(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Take no more than what was said, and a third."""
    several = made(2000, 150, 0.03) * 200
    (tmp_path / "q.fq").write_bytes(b"".join(b"@q%d\n%b\n+\n%b\n" % (place, q, b"I" * len(q)) for place, (q, _) in enumerate(several)))
    (tmp_path / "t.fa").write_bytes(b"".join(b">c:%d-%d\n%b\n" % (place + 1, place + len(t), t) for place, (_, t) in enumerate(several)))
    line = ["pairs", str(tmp_path / "q.fq"), str(tmp_path / "t.fa"), "-o", str(tmp_path / words[0]), *words[1:], "--device", "cpu", "--workers", "0"]
    said = forecast_of(parse(line, parser("pairs"))).bytes["memory of a process"]
    done = subprocess.run([sys.executable, "-c", MEASURED, *line, "--quiet"], capture_output=True, text=True, check=True)
    assert int(done.stdout) * 1024 < 4 / 3 * said
