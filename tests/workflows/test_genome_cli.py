"""`tidalign genome`, `genomes`, `export` and `plot` as LASTZ users would type them."""

import gzip
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tidalign.pipeline.genome.export import FORMATS
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.pipeline.genome.source import GenomeSource, Pair
from tidalign.workflows import cli
from tidalign.workflows.genome import align, align_genomes
from tidalign.workflows.genome_formats import NAMES, SUFFIXES

PROGRAM = str(Path(sys.executable).with_name("tidalign"))
DATA = Path(__file__).parent.parent / "data" / "genomes"
HUMAN, CHIMP, ORANGUTAN = (str(DATA / f"mt_{name}.fa.gz") for name in ("human", "chimp", "orangutan"))


def program(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=250)


def below(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def golden(name: str) -> list[str]:
    return below(gzip.decompress((DATA / name).read_bytes()).decode())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mt") / "run"
    align_genomes(HUMAN, CHIMP, out=folder)
    return folder


GENOME = ["genome", "t.fa", "q.fa"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (GENOME, "--format"),
        ([*GENOME, "--format=lav"], "no format 'lav'"),
        ([*GENOME, "-o", "x.lav"], ".maf"),
        ([*GENOME, "-o", "x.maf.gz"], "compress"),
        ([*GENOME, "-o", "x.bam"], "samtools"),
        ([*GENOME, "-o", "x", "--inner=2000"], "--inner"),
        ([*GENOME, "-o", "x", "--self"], "--self"),
        ([*GENOME, "-o", "x", "--nosuch"], "--nosuch"),
        ([*GENOME, "-o", "x", "--cells=0"], "above 0"),
        ([*GENOME, "-o", "x", "--seconds=-1"], "above 0"),
        ([*GENOME, "-o", "x", "--workers=2", "--scheduler=tcp://x:1"], "one of them"),
        ([*GENOME, "--format=maf", "--scheduler=tcp://x:1"], "run directory"),
        ([*GENOME, "--format=maf", "--keep=hits"], "--keep needs"),
        ([*GENOME, "-o", "x", "--keep=seeds"], "'seeds'"),
        ([*GENOME, "-o", "x", "--keep-run"], "always kept"),
        ([*GENOME, "-o", "x", "--mode=fast"], "independent"),
        (["genomes", "a.fa", "b.fa", "-o", "x"], "--all-vs-all"),
        (["genomes", "a.fa", "--all-vs-all", "-o", "x"], "two files"),
        (["genomes", "jobs.tsv", "-o", "-"], "tidalign export"),
        (["plot", "run", "-o", "x.gif"], ".png"),
    ],
)
def test_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    written = capsys.readouterr()
    assert stopped.value.code == 2 and written.out == ""
    assert message in written.err.splitlines()[-1]


def test_formats_are_those_that_can_be_written() -> None:
    assert set(NAMES) <= set(FORMATS) and set(SUFFIXES.values()) <= set(FORMATS)


@pytest.mark.parametrize("suffix", ["maf", "axt"])
def test_to_a_file(tmp_path: Path, suffix: str) -> None:
    answer = program("genome", HUMAN, CHIMP, "-o", tmp_path / f"out.{suffix}")
    assert (answer.returncode, answer.stdout) == (0, "") and "1 alignments: 1 exact" in answer.stderr
    assert below((tmp_path / f"out.{suffix}").read_text()) == golden(f"mt_chimp.{suffix}.gz")
    assert [path.name for path in tmp_path.iterdir()] == [f"out.{suffix}"]


def test_to_standard_output_as_lastz_does() -> None:
    answer = program("genome", HUMAN, CHIMP, "--format=general", "--quiet", "--markend")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert below(answer.stdout) == golden("mt_chimp.general.gz") and answer.stdout.endswith("# lastz end-of-file\n")


def test_what_lastz_cuts_is_told(tmp_path: Path) -> None:
    answer = program("genome", HUMAN, CHIMP, f"--output={tmp_path}/out.maf", "m=200k")
    assert answer.returncode == 3 and "capped" in answer.stderr
    statuses = GenomeResults(tmp_path / "out.maf.run").statuses()
    assert statuses["capped"] > 0
    assert program("export", tmp_path / "out.maf.run", "-o", tmp_path / "again.maf").returncode == 3
    assert (tmp_path / "again.maf").read_bytes() == (tmp_path / "out.maf").read_bytes()


def test_resuming_with_other_options_is_refused(run: Path) -> None:
    again = program("genome", HUMAN, CHIMP, "-o", run)
    assert again.returncode == 0 and "finished already" in again.stderr
    other = program("genome", HUMAN, CHIMP, "-o", run, "--step=20")
    assert other.returncode == 78 and "step 1, now 20" in other.stderr


def test_bad_input_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "bad.fa").write_text(">x\nAC!T\n")
    answer = program("genome", HUMAN, tmp_path / "bad.fa", "-o", tmp_path / "out.maf")
    assert answer.returncode == 65 and "bad.fa" in answer.stderr and len(answer.stderr.splitlines()) == 1
    assert program("genome", HUMAN, tmp_path / "none.fa", "-o", tmp_path / "out.maf").returncode == 66
    assert program("genome", HUMAN, CHIMP, "-o", tmp_path / "out.maf", "--device", "gpu").returncode == 69
    assert [path.name for path in tmp_path.iterdir()] == ["bad.fa"]


def test_genomes_from_a_table(tmp_path: Path) -> None:
    (tmp_path / "jobs.tsv").write_text(f"target\tquery\tname\n{HUMAN}\t{CHIMP}\tchimp\n{HUMAN}\t{ORANGUTAN}[1..9000]\torangutan\n")
    answer = program("genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "out", "--format", "axt")
    assert answer.returncode == 0 and "2 pairs" in answer.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["chimp.axt", "orangutan.axt", "run"]
    assert below((tmp_path / "out" / "chimp.axt").read_text()) == golden("mt_chimp.axt.gz")
    merged = program("genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "out", "--format", "axt", "--merge")
    assert "finished already" in merged.stderr
    paf = [program("export", tmp_path / "out" / "run", "-o", "-", "--format=paf", "--quiet", *pair).stdout for pair in ([], ["--pair=chimp"])]
    assert len(paf[0].splitlines()) > len(paf[1].splitlines()) > 0 and paf[0].startswith(paf[1])
    unknown = program("export", tmp_path / "out" / "run", "-o", "-", "--format=paf", "--pair=gorilla")
    assert unknown.returncode == 65 and "chimp, orangutan" in unknown.stderr


def test_python_takes_the_same_options(tmp_path: Path) -> None:
    results = align_genomes(HUMAN, ORANGUTAN, out=tmp_path / "run", nogfextend=True, filter=["identity:80", "nmatch:100"], seed="14of22", step=5)
    assert results.parameters.step == 5 and not results.parameters.gfextend and len(results.parameters.filters) == 2
    source = GenomeSource((Pair("pair", HUMAN, ORANGUTAN),))
    assert align(source, results.parameters, tmp_path / "other").to_table() == results.to_table()
    for wrong in ({"inner": 2000}, {"nosuch": 1}, {"step": 0}, {"keep": ["seeds"]}):
        with pytest.raises(ValueError, match=next(iter(wrong)) if "keep" not in wrong else "seeds"):
            align_genomes(HUMAN, CHIMP, out=tmp_path / "none", **wrong)
    assert not (tmp_path / "none").exists()
    assert GenomeParameters().step == 1


def test_pictures(tmp_path: Path, run: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("bokeh")
    from matplotlib.image import imread

    align_genomes(DATA / "fly_slice.fa.gz", DATA / "fly_contigs.fa.gz", out=tmp_path / "flies")
    assert program("plot", tmp_path / "flies", "-o", tmp_path / "dots.png").returncode == 0
    pixels = (imread(tmp_path / "dots.png")[:, :, :3] * 255).round().astype(int)
    counts = {name: int((np.abs(pixels - color).sum(axis=2) < 12).sum()) for name, color in (("+", (0, 114, 178)), ("-", (213, 94, 0)))}
    assert counts["-"] > 5 * counts["+"] > 0  # eight alignments, all on -; + is only in the legend
    assert program("plot", run, "-o", tmp_path / "dots.html", "--quiet").stderr == ""
    page = (tmp_path / "dots.html").read_text()
    assert "NC_012920.1" in page and "<script" in page


def test_a_plot_of_several_pairs_needs_a_name(tmp_path: Path) -> None:
    source = GenomeSource((Pair("one", HUMAN, CHIMP), Pair("two", HUMAN, ORANGUTAN)))
    align(source, GenomeParameters(), tmp_path / "run")
    answer = program("plot", tmp_path / "run", "-o", tmp_path / "dots.svg")
    assert answer.returncode == 65 and "--pair" in answer.stderr
    assert program("plot", tmp_path / "run", "-o", tmp_path / "dots.svg", "--pair", "two").returncode == 0


def test_pairs_and_genomes_are_told_apart(tmp_path: Path, run: Path) -> None:
    assert program("export", run, "-o", tmp_path / "x.sam", "--cigar", "M").returncode == 65
    assert program("plot", tmp_path, "-o", tmp_path / "x.png").returncode == 66
    assert program("export", run, "-o", tmp_path / "x.tsv").returncode == 0
    assert below((tmp_path / "x.tsv").read_text()) == golden("mt_chimp.general.gz")
