"""`tidalign genome`, `genomes`, `export` and `plot` as LASTZ users would type them."""

import gzip
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tidalign.pipeline.errors import Damaged, InputError
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows import cli
from tidalign.workflows.commands.genome import align, align_genomes

PROGRAM = str(Path(sys.executable).with_name("tidalign"))
DATA = Path(__file__).parents[2] / "data" / "genomes"
HUMAN, CHIMP, ORANGUTAN = (str(DATA / f"mt_{name}.fa.gz") for name in ("human", "chimp", "orangutan"))


def program(*arguments: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def below(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("#")]


def golden(name: str) -> list[str]:
    return below(gzip.decompress((DATA / name).read_bytes()).decode())


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mt") / "run"
    align_genomes(HUMAN, CHIMP, out=folder)
    return folder


def test_points_for_r_beside_another_output(tmp_path: Path) -> None:
    done = program("genome", HUMAN, CHIMP, "--rdotplot", tmp_path / "points", "-o", tmp_path / "x.axt", "--device=cpu", "--verbosity=1", "--progress")
    assert (done.returncode, below((tmp_path / "x.axt").read_text())) == (0, golden("mt_chimp.axt.gz"))
    assert (tmp_path / "points").read_text().splitlines() == golden("mt_chimp.rdotplot.gz") != []


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--queryhsplimit=3", "queries with more HSPs than --queryhsplimit, of which no alignment is given: 1"),
        ("--queryhsplimit=keep,nowarn:3", ""),
        ("--queryhsplimit=100000", ""),
        ("--querydepth=0.01", "strands of queries that pair more than --querydepth times their letters, of which no alignment is given: 1"),
        ("--querydepth=keep,nowarn:0.01", ""),
    ],
)
def test_what_is_left_out_is_told(option: str, said: str, tmp_path: Path) -> None:
    done = program("genome", HUMAN, CHIMP, option, "-o", tmp_path / "x.axt", "--device=cpu")
    assert done.returncode == 0 and (said in done.stderr if said else "no alignment is given" not in done.stderr)
    rows = [line for line in (tmp_path / "x.axt").read_text().splitlines() if line and not line.startswith("#")]
    assert (not rows) is bool(said)


def test_a_kept_table_that_is_gone_is_missed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert program("genome", HUMAN, CHIMP, "--keep=hsps,anchors", "-o", run, "--device=cpu").returncode == 0
    assert program("check", run).returncode == 0
    whole = GenomeResults(run).stage("hsps").num_rows
    first, *_ = sorted((run / "kept" / "hsps").iterdir())
    first.rename(tmp_path / "away")
    done = program("check", run)
    assert done.returncode == 78 and f"{first}: gone; start again with --new" in done.stderr
    with pytest.raises(Damaged, match="gone"):
        GenomeResults(run).stage("hsps")
    (tmp_path / "away").rename(first)
    assert GenomeResults(run).stage("hsps").num_rows == whole
    (run / "sides" / "s0000" / "genome.json").unlink()
    done = program("check", run)
    assert done.returncode == 78 and "genome.json" in done.stderr + done.stdout


@pytest.mark.parametrize("format", ["lav", "lav+text", "blastn", "maf"])
def test_files_whose_names_are_not_utf8(format: str, tmp_path: Path) -> None:
    """Those that the output names stand there as they are."""
    target = os.fsdecode(os.fsencode(tmp_path) + b"/l\xe9.fa")
    Path(target).write_bytes(gzip.decompress(Path(HUMAN).read_bytes()))
    done = subprocess.run([PROGRAM, "genome", target, CHIMP, "-o", "-", f"--format={format}", "--device=cpu"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (os.fsencode(target) in done.stdout) is (format != "maf")


def test_points_beside_another_output_are_all(tmp_path: Path) -> None:
    """LASTZ 1.04.22 limits those of --format=rdotplot alone: 3 of a query here."""
    words = ["genome", HUMAN, CHIMP, "--queryhsplimit=keep,nowarn:3", "--device=cpu"]
    assert program(*words, "--rdotplot", tmp_path / "points", "-o", tmp_path / "x.axt").returncode == 0
    assert len((tmp_path / "points").read_text().splitlines()) == 1 + 3 * 18
    assert len(program(*words, "--format=rdotplot").stdout.splitlines()) == 1 + 3 * 3


GENOME = ["genome", "t.fa", "q.fa"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (GENOME, "--format"),
        ([*GENOME, "--format=gfa"], "no format 'gfa'"),
        ([*GENOME, "-o", "x.bam"], "samtools"),
        ([*GENOME, "-o", "x.parquet", "--markend"], "--markend: it is for maf, "),
        ([*GENOME, "--format=sam+"], "no format 'sam+': use one of maf, "),
        ([*GENOME, "--format=general:name3"], "no general field 'name3'"),
        ([*GENOME, "-o", "x", "--twins=3..9"], "--twins"),
        ([*GENOME, "-o", "x.maf", "--outputmasking=m"], "--outputmasking lists what --masking masks: give both, or none"),
        ([*GENOME, "-o", "x", "--self"], "--self takes the place of a query"),
        ([*GENOME[:2], "-o", "x", "--nomirror", "--self", "--mode=independent"], "self is for exact mode"),
        ([*GENOME, "-o", "x", "--nosuch"], "--nosuch"),
        ([*GENOME, "-o", "x", "--cells=0"], "from 1 to"),
        ([*GENOME, "-o", "x", "--seconds=-1"], "above 0"),
        ([*GENOME, "-o", "x", "--workers=2", "--scheduler=tcp://x:1"], "one of them"),
        ([*GENOME, "--format=maf", "--scheduler=tcp://x:1"], "run directory"),
        ([*GENOME, "--format=maf", "--keep=hits"], "--keep needs"),
        ([*GENOME, "-o", "x", "--keep=seeds"], "'seeds'"),
        ([*GENOME, "-o", "x", "--keep-run"], "always kept"),
        ([*GENOME, "-o", "x", "--mode=fast"], "independent"),
        (["genomes", "a.fa", "b.fa", "-o", "x"], "--all-vs-all"),
        (["genomes", "a.fa", "b.fa", "c.fa", "--all-vs-all", "-o", "x"], "one file or two"),
        (["genomes", "jobs.tsv", "-o", "-"], "tidalign export"),
        (["plot", "run", "-o", "x.gif"], ".png"),
    ],
)
def test_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    written = capsys.readouterr()
    assert stopped.value.code == 2 and written.out == ""
    said, see = written.err.splitlines()
    assert said.startswith(f"tidalign {arguments[0]}: ") and message in said and see == f"see: tidalign {arguments[0]} --help"


def test_to_a_file(tmp_path: Path) -> None:
    answer = program("genome", HUMAN, CHIMP, "-o", tmp_path / "out.maf")
    assert (answer.returncode, answer.stdout) == (0, "") and "1 alignment: 1 exact" in answer.stderr
    assert below((tmp_path / "out.maf").read_text()) == golden("mt_chimp.maf.gz")
    assert [path.name for path in tmp_path.iterdir()] == ["out.maf"]


def test_to_standard_output_as_lastz_does() -> None:
    answer = program("genome", HUMAN, CHIMP, "--format=general", "--quiet", "--markend")
    assert (answer.returncode, answer.stderr) == (0, "")
    assert below(answer.stdout) == golden("mt_chimp.general.gz") and answer.stdout.endswith("# lastz end-of-file\n")


def test_what_lastz_cuts_is_told(tmp_path: Path, command: Any) -> None:
    answer = command("genome", HUMAN, CHIMP, f"--output={tmp_path}/out.maf", "m=200k")
    assert answer.returncode == 3 and "capped" in answer.stderr
    statuses = GenomeResults(tmp_path / "out.maf.run").statuses()
    assert statuses["capped"] > 0
    assert command("export", tmp_path / "out.maf.run", "-o", tmp_path / "again.maf").returncode == 3
    assert (tmp_path / "again.maf").read_bytes() == (tmp_path / "out.maf").read_bytes()


def test_resuming_with_other_options_is_refused(run: Path, command: Any) -> None:
    again = command("genome", HUMAN, CHIMP, "-o", run)
    assert again.returncode == 0 and "finished already" in again.stderr
    other = command("genome", HUMAN, CHIMP, "-o", run, "--step=20")
    assert other.returncode == 78 and "step 1, now 20" in other.stderr


def test_bad_input_leaves_nothing(tmp_path: Path, command: Any) -> None:
    (tmp_path / "bad.fa").write_text(">x\nAC!T\n")
    answer = command("genome", HUMAN, tmp_path / "bad.fa", "-o", tmp_path / "out.maf")
    assert answer.returncode == 65 and "bad.fa" in answer.stderr and len(answer.stderr.splitlines()) == 1
    assert command("genome", HUMAN, tmp_path / "none.fa", "-o", tmp_path / "out.maf").returncode == 66
    assert command("genome", HUMAN, CHIMP, "-o", tmp_path / "out.maf", "--device", "gpu").returncode == 69
    assert [path.name for path in tmp_path.iterdir()] == ["bad.fa"]


def test_an_empty_file_is_no_genome(tmp_path: Path, command: Any) -> None:
    (tmp_path / "empty.fa").write_text("")
    (tmp_path / "jobs.tsv").write_text(f"target\tquery\n{HUMAN}\t{CHIMP}\n{HUMAN}\tempty.fa\n")
    for arguments in (("genome", HUMAN, tmp_path / "empty.fa", "-o", tmp_path / "out.maf"), ("genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "out")):
        answer = command(*arguments)
        assert answer.returncode == 66 and "empty.fa: expected sequences" in answer.stderr
        assert "--allow-empty" not in answer.stderr  # of `tidalign pairs` alone


def sequences(path: Path, *names: str) -> Path:
    """Write records of the same 300 letters, which align everywhere."""
    letters = "".join(np.random.default_rng(3).choice(list("ACGT"), 300))
    path.write_text("".join(f">{name}\n{letters}\n" for name in names))
    return path


@pytest.mark.parametrize(
    ("names", "said"),
    [(["q", "q"], "found 't__q.maf' twice"), (["a/1", "a_1"], "found 't__a_1.maf' twice"), (["q" * 250], "at most 240 bytes, found 't__qqq")],
)
def test_pairs_without_files_of_their_own_are_refused_before_they_are_aligned(tmp_path: Path, names: list[str], said: str, command: Any) -> None:
    target, query = sequences(tmp_path / "t.fa", "t"), sequences(tmp_path / "q.fa", *names)
    answer = command("genomes", "--all-vs-all", target, query, "-o", tmp_path / "out")
    assert answer.returncode == 65 and said in answer.stderr and "--merge" in answer.stderr and "q" * 50 not in answer.stderr
    assert not (tmp_path / "out" / "run").exists()
    merged = command("genomes", "--all-vs-all", target, query, "-o", tmp_path / "out", "--merge")
    assert merged.returncode == 0 and (tmp_path / "out" / "all.maf").read_text().count("a score=") == len(names)
    again = command("genomes", "--all-vs-all", target, query, "-o", tmp_path / "out")
    assert again.returncode == 65 and GenomeResults(tmp_path / "out" / "run").complete  # what is aligned is kept


@pytest.mark.parametrize(
    ("target", "query", "format", "other", "said"),
    [
        ("t x", "q", "maf", "paf", "t.fa[nameparse=full]: expected target names without blanks for format maf"),
        ("t", "q x", "chain", "general", "q.fa[nameparse=full]: expected query names without blanks for format chain"),
        ("t", "q@", "sam-", "maf", "q.fa: expected query names of at most 254 printable ASCII letters other than @"),
    ],
)
def test_names_that_a_format_cannot_hold_are_refused_before_they_are_aligned(
    tmp_path: Path, target: str, query: str, format: str, other: str, said: str, command: Any
) -> None:
    sides = [f"{sequences(tmp_path / f'{side}.fa', name)}{'[nameparse=full]' * (' ' in name)}" for side, name in (("t", target), ("q", query))]
    answer = command("genome", *sides, f"--format={format}")
    assert (answer.returncode, answer.stdout) == (65, "") and said in answer.stderr
    assert command("genome", *sides, "-o", tmp_path / "out", f"--format={format}").returncode == 65 and not (tmp_path / "out.run").exists()
    assert query in command("genome", *sides, f"--format={other}", "--quiet").stdout


def test_a_run_with_gaps_is_refused_for_segments_before_it_is_aligned(tmp_path: Path, command: Any) -> None:
    sides = sequences(tmp_path / "t.fa", "t"), sequences(tmp_path / "q.fa", "q")
    for arguments in (("genome", *sides, "-o", tmp_path / "x.segments"), ("genomes", "--all-vs-all", *sides, "-o", tmp_path / "out", "--format=segments")):
        answer = command(*arguments)
        assert answer.returncode == 65 and "use --nogapped" in answer.stderr and not [*tmp_path.glob("*/run"), *tmp_path.glob("*.run")]
        assert command(*arguments, "--nogapped").returncode == 0
    with pytest.raises(InputError, match="use --nogapped"):
        align_genomes(*sides, out=tmp_path / "y.segments")


def test_targets_of_one_name_are_refused_for_one_header_before_they_are_aligned(tmp_path: Path, command: Any) -> None:
    first, second, query = (sequences(tmp_path / f"{name}.fa", name[0]) for name in ("t1", "t2", "q"))
    (tmp_path / "jobs.tsv").write_text(f"target\tquery\tname\n{first}\t{query}\tone\n{second}\t{query}\ttwo\n{first}\t{second}\tthree\n")
    given = "genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "out"
    answer = command(*given, "--format=sam", "--merge")
    assert answer.returncode == 65 and "'t' 2 times" in answer.stderr and not (tmp_path / "out" / "run").exists()
    assert command(*given, "--format=sam").returncode == command(*given, "--format=sam-", "--merge").returncode == 0
    everything = tmp_path / "out" / "run", "-o", tmp_path / "all.sam"
    assert command("export", *everything).returncode == 65 and not (tmp_path / "all.sam").exists()
    assert command("export", *everything, "--format=sam-").returncode == 0 and command("export", *everything, "--pair=two").returncode == 0


@pytest.mark.parametrize(
    ("format", "suffix"), [("paf:wfmash.gz", "paf.gz"), ("general:name1,name2.gz", "general.gz"), ("maf-.gz", "maf.gz"), ("paf:tagged", "paf")]
)
def test_files_of_pairs_are_named_as_they_are_compressed(tmp_path: Path, format: str, suffix: str, command: Any) -> None:
    sides = sequences(tmp_path / "t.fa", "t"), sequences(tmp_path / "q.fa", "q")
    assert command("genomes", "--all-vs-all", *sides, "-o", tmp_path / "out", f"--format={format}").returncode == 0
    (file,) = (path for path in (tmp_path / "out").iterdir() if path.name != "run")
    assert file.name == f"t__q.{suffix}" and (file.read_bytes()[:2] == b"\x1f\x8b") == suffix.endswith(".gz")


def test_a_query_without_a_name_is_refused(tmp_path: Path, command: Any) -> None:
    for sides in (("", HUMAN), (HUMAN, "")):
        answer = command("genome", *sides, "-o", tmp_path / "x.paf")
        assert answer.returncode == 66 and "'': no file is named" in answer.stderr


def test_segments_of_a_pipe_are_read_by_one_process_alone(tmp_path: Path, command: Any) -> None:
    sides = sequences(tmp_path / "t.fa", "t"), sequences(tmp_path / "q.fa", "q")
    os.mkfifo(tmp_path / "pipe")
    given = "genome", *sides, f"--segments={tmp_path}/pipe", "--format=general:name1,zstart1", "--quiet", "-o", tmp_path / "x"
    answer = command(*given, "--workers=2")
    assert answer.returncode == 65 and "pipe: expected a file of segments, found a pipe" in answer.stderr
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("t 101 200 q 101 200 + 9000\n",))
    writer.start()
    assert command(*given, "--workers=0").returncode == 0
    writer.join()
    assert (tmp_path / "x").read_text().splitlines()[1].startswith("t\t")


def test_softsam_of_a_subrange_is_refused_before_it_is_aligned(tmp_path: Path, command: Any) -> None:
    target, query = sequences(tmp_path / "t.fa", "t"), f"{sequences(tmp_path / 'q.fa', 'q')}[1..200]"
    answer = command("genome", target, query, "--format=softsam")
    assert (answer.returncode, answer.stdout) == (65, "") and "--format=sam" in answer.stderr
    assert "100H" in command("genome", target, query, "--format=sam", "--quiet").stdout


def test_genomes_from_a_table(tmp_path: Path, command: Any) -> None:
    (tmp_path / "jobs.tsv").write_text(f"target\tquery\tname\n{HUMAN}\t{CHIMP}\tchimp\n{HUMAN}\t{ORANGUTAN}[1..9000]\torangutan\n")
    answer = command("genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "out", "--format", "axt")
    assert answer.returncode == 0 and "2 pairs" in answer.stderr
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["chimp.axt", "orangutan.axt", "run"]
    assert below((tmp_path / "out" / "chimp.axt").read_text()) == golden("mt_chimp.axt.gz")
    merged = command("genomes", tmp_path / "jobs.tsv", "-o", tmp_path / "out", "--format", "axt", "--merge")
    assert "finished already" in merged.stderr
    paf = [command("export", tmp_path / "out" / "run", "-o", "-", "--format=paf", "--quiet", *pair).stdout for pair in ([], ["--pair=chimp"])]
    assert len(paf[0].splitlines()) > len(paf[1].splitlines()) > 0 and paf[0].startswith(paf[1])
    unknown = command("export", tmp_path / "out" / "run", "-o", "-", "--format=paf", "--pair=gorilla")
    assert unknown.returncode == 65 and "chimp, orangutan" in unknown.stderr


def test_python_takes_the_same_options(tmp_path: Path) -> None:
    results = align_genomes(HUMAN, ORANGUTAN, out=tmp_path / "run", nogfextend=True, filter=["identity:80", "nmatch:100"], seed="14of22", step=5)
    assert results.parameters.step == 5 and not results.parameters.gfextend and len(results.parameters.filters) == 2
    source = GenomeSource((Pair("pair", HUMAN, ORANGUTAN),))
    assert align(source, results.parameters, tmp_path / "other").to_table() == results.to_table()
    for wrong in ({"twins": 2}, {"nosuch": 1}, {"step": 0}, {"keep": ["seeds"]}):
        with pytest.raises(ValueError, match=next(iter(wrong)) if "keep" not in wrong else "seeds"):
            align_genomes(HUMAN, CHIMP, out=tmp_path / "none", **wrong)
    assert not (tmp_path / "none").exists()
    assert GenomeParameters().step == 1


def test_relative_paths_are_those_of_who_gives_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers of a scheduler are elsewhere."""
    for name, file in (("t.fa.gz", HUMAN), ("q.fa.gz", CHIMP)):
        (tmp_path / name).symlink_to(file)
    (tmp_path / "names").write_text("HS#NC_012920.1\n")
    monkeypatch.chdir(tmp_path)
    align_genomes("t.fa.gz[subset=names]", "q.fa.gz", out="run", nogapped=True, hspthresh=10000)
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())["source"]
    assert plan["genomes"] == [{"name": "t__q", "target": f"{tmp_path}/t.fa.gz[subset={tmp_path}/names]", "query": f"{tmp_path}/q.fa.gz"}]
    assert [Path(file["path"]).parent for file in plan["files"]] == [tmp_path] * 3


def test_pictures(tmp_path: Path, run: Path, command: Any) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("bokeh")
    from matplotlib.image import imread

    align_genomes(DATA / "fly_slice.fa.gz", DATA / "fly_contigs.fa.gz", out=tmp_path / "flies")
    assert command("plot", tmp_path / "flies", "-o", tmp_path / "dots.png", "--color", "strand").returncode == 0
    pixels = (imread(tmp_path / "dots.png")[:, :, :3] * 255).round().astype(int)
    counts = {name: int((np.abs(pixels - color).sum(axis=2) < 12).sum()) for name, color in (("+", (0, 114, 178)), ("-", (213, 94, 0)))}
    assert counts["-"] > 5 * counts["+"] > 0  # eight alignments, all on -; + is only in the legend
    assert command("plot", run, "-o", tmp_path / "dots.html", "--quiet").stderr == ""
    page = (tmp_path / "dots.html").read_text()
    assert "NC_012920.1" in page and "<script" in page


def test_every_name_of_a_picture_is_there(tmp_path: Path, command: Any) -> None:
    """Sequences too small for their name say it when they are pointed at; a run and its PAF give one picture."""
    flies = tmp_path / "flies"
    align_genomes(DATA / "fly_slice.fa.gz", DATA / "fly_contigs.fa.gz", out=flies)
    assert command("export", flies, "-o", tmp_path / "x.paf").returncode == 0
    assert command("plot", flies, "-o", tmp_path / "run.svg", "--sort").returncode == 0
    drawn = command("plot", tmp_path / "x.paf", "-o", tmp_path / "file.svg", "--sort")
    assert drawn.stderr == f"tidalign: 8 alignments, 62.1% of the target; {tmp_path}/file.svg\n"
    root = ElementTree.parse(tmp_path / "run.svg").getroot()
    titles = [each.text or "" for each in root.iter("{http://www.w3.org/2000/svg}title")]
    rows = GenomeResults(flies).to_table().to_pylist()
    for row in rows:
        span = f"{row['target_start'] + 1:,}-{row['target_end']:,}"
        assert any(f":{span} and " in title and f"score {row['score']:,}" in title for title in titles)
    lengths = {f"{row['query_name']} (reversed), {row['query_length']:,} letters" for row in rows}
    assert lengths <= set(titles)
    assert _paths(tmp_path / "file.svg") == _paths(tmp_path / "run.svg") != []
    assert command("plot", flies, "-o", tmp_path / "x.svg", "--min-length", 10**6).stderr.startswith("tidalign: 0 of 8 alignments, those of 1,000,000")
    assert command("plot", flies, "-o", tmp_path / "x.svg", "--region", "nothing").returncode == 65


def _paths(path: Path) -> list[str]:
    return sorted(each.attrib["d"] for each in ElementTree.parse(path).getroot().iter("{http://www.w3.org/2000/svg}path"))


def test_names_that_become_one_are_said(tmp_path: Path, command: Any) -> None:
    letters = gzip.decompress((DATA / "mt_chimp.fa.gz").read_bytes()).decode().split("\n", 1)[1].replace("\n", "")
    (tmp_path / "q.fa").write_text(f">chimp|ENm001|1\n{letters[:3000]}\n>chimp|ENm001|2\n{letters[3000:6000]}\n>other\n{letters[6000:7000]}\n")
    said = command("genome", HUMAN, tmp_path / "q.fa", "-o", tmp_path / "x.maf", "--device=cpu", "--workers=0").stderr
    assert "2 of 3 sequences are named 'chimp'" in said and "nameparse=darkspace" in said
    quiet = command("genome", HUMAN, f"{tmp_path}/q.fa[nameparse=darkspace]", "-o", tmp_path / "y.maf", "--device=cpu", "--workers=0").stderr
    assert "sequences are named" not in quiet


def test_a_plot_of_several_pairs_needs_a_name(tmp_path: Path, command: Any) -> None:
    source = GenomeSource((Pair("one", HUMAN, CHIMP), Pair("two", HUMAN, ORANGUTAN)))
    align(source, GenomeParameters(), tmp_path / "run")
    answer = command("plot", tmp_path / "run", "-o", tmp_path / "dots.svg")
    assert answer.returncode == 65 and "--pair" in answer.stderr
    assert command("plot", tmp_path / "run", "-o", tmp_path / "dots.svg", "--pair", "two").returncode == 0


def test_bad_input_leaves_no_folder(tmp_path: Path, command: Any) -> None:
    """But those that were there before."""
    (tmp_path / "one.fa").write_text(">a\nACGT\n")
    (tmp_path / "there").mkdir()
    for place in ("new/and/deep", "there"):
        assert command("genomes", "--all-vs-all", tmp_path / "one.fa", "-o", tmp_path / place).returncode == 65
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.fa", "there"] and not list((tmp_path / "there").iterdir())


def test_an_export_of_one_pair_counts_that_pair(tmp_path: Path, command: Any) -> None:
    """Leave out of the status what of other pairs was cut or given up."""
    source = GenomeSource((Pair("one", HUMAN, f"{CHIMP}[1..600]"), Pair("two", HUMAN, ORANGUTAN)))
    align(source, GenomeParameters(traceback_bytes=1_000_000), tmp_path / "run")
    results = GenomeResults(tmp_path / "run")
    both = [results.statuses(job=job) for job in range(2)]
    assert results.statuses() == {status: sum(each[status] for each in both) for status in both[0]} and [each["capped"] > 0 for each in both] == [False, True]
    for name, counted in zip(("one", "two"), both, strict=True):
        answer = command("export", tmp_path / "run", "-o", tmp_path / "x.parquet", "--pair", name)
        rows = sum(counted.values())
        assert (answer.returncode, answer.stderr.split(";")[0]) == (
            3 if counted["capped"] else 0,
            f"tidalign: {rows} {'row' if rows == 1 else 'rows'}: " + ", ".join(f"{count} {status}" for status, count in counted.items() if count),
        )


def test_pairs_and_genomes_are_told_apart(tmp_path: Path, run: Path, command: Any) -> None:
    assert command("export", run, "-o", tmp_path / "x.sam", "--cigar", "M").returncode == 65
    answer = command("export", run, "-o", tmp_path / "x.sam", "--sort")
    assert answer.returncode == 65 and "expected no --sort for a run of `tidalign genome` as sam, found it; " in answer.stderr
    assert command("plot", tmp_path, "-o", tmp_path / "x.png").returncode == 66
    assert command("export", run, "-o", tmp_path / "x.tsv").returncode == 0
    assert below((tmp_path / "x.tsv").read_text()) == golden("mt_chimp.general.gz")
