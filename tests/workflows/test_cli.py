"""The command line: what is printed where, and which status says what."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest

import tidalign
from tidalign.cluster import forks
from tidalign.cluster.errors import ClusterLost, NoWorkers, Stopped
from tidalign.pipeline.errors import CannotWrite, DiskFull, InputError, ManifestMismatch, MissingInput
from tidalign.pipeline.pairs.results import Results
from tidalign.workflows import cli
from tidalign.workflows.options.arguments import commands, parser
from tidalign.workflows.status import Exit

PROGRAM = str(Path(sys.executable).with_name("tidalign"))


@pytest.fixture(autouse=True)
def keep_signals():
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def program(*arguments: object, **options: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, **options)


# ---- what needs no run


@pytest.mark.parametrize(
    ("words", "cupy", "begun"),
    [
        ("genome a.fa b.fa -o c.maf --workers 2 --device cpu", True, ["genome on cores"]),
        ("genomes jobs.tsv -o out --workers 2", False, ["genome on cores"]),
        ("pairs a.fa b.fa -o run --workers 2", False, ["pairs on cores"]),
        ("partition a.fa b.fa -o run --workers 2", True, ["pairs on cores"]),
        ("pairs a.fa b.fa -o run", False, []),
        ("pairs a.fa b.fa -o run", True, [None]),
        ("pairs a.fa b.fa -o run --gpus 2", True, [2]),
        ("pairs a.fa b.fa -o run --gpus 2 --cpu-workers 2", True, ["pairs on GPUs"]),
        ("pairs a.fa b.fa -o run --scheduler tcp://host:8786", False, []),
        ("genome a.fa b.fa -o c.maf --gpus 1", True, [1]),
        ("genome a.fa b.fa -o c.maf --gpus 2", True, [2]),
        ("search a.fa b.fa -o c.tsv", True, [None]),
        ("search a.fa b.fa -o c.tsv --cpu-workers 2", True, ["search on GPUs"]),
        ("genome a.fa b.fa -o c.maf --scheduler tcp://host:8786", True, []),
        ("check", True, []),
    ],
)
def test_what_takes_long_begins_first(words: str, cupy: bool, begun: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU, or what workers are forked from."""
    found: list[object] = []

    def serve(modules: list[str], *, gpus: bool) -> None:
        found.append(f"{modules[0].removeprefix('tidalign.workflows.run.').removesuffix('.tasks')} on {'GPUs' if gpus else 'cores'}")

    monkeypatch.setattr(cli, "installed", lambda name: cupy)
    monkeypatch.setattr(cli, "begin", found.append)
    monkeypatch.setattr(forks, "serve", serve)
    arguments = words.split()
    cli._begin(parser(arguments[0]).parse_args(arguments))
    assert found == begun


def test_version() -> None:
    answer = program("--version")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, f"tidalign {tidalign.__version__}\n", "")


def test_a_command_alone_says_what_there_is() -> None:
    answers = [program(), subprocess.run([sys.executable, "-P", "-m", "tidalign"], capture_output=True, text=True)]
    for answer in answers:
        assert (answer.returncode, answer.stdout, len(answer.stderr.splitlines())) == (2, "", 10)
        assert all(f"tidalign {name} " in answer.stderr for name in ("pairs", "genome", "search", "estimate", "export", "plot"))


def test_help_is_light() -> None:
    heavy = ("pyarrow", "dask", "distributed", "numba", "numpy", "dnaio")
    code = f"""
import sys
from tidalign.workflows.cli import main
for words in ([], ["pairs"], ["partition"], ["export"], ["check"], ["demo"]):
    try:
        main([*words, "--help"])
    except SystemExit as end:
        assert end.code == 0
print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)
"""
    answer = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert answer.returncode == 0 and answer.stdout.count("usage: tidalign") == 6
    assert answer.stderr.strip() == "[]"


def test_usage_has_in_brackets_what_may_be_left_out() -> None:
    for name, each in commands().items():
        for action in (action for action in each._actions if action.metavar and not action.option_strings and action.nargs != "..."):
            bare = str(action.metavar).strip("[]") in each.format_usage().split()
            assert bare == action.required, (name, action.metavar)


RUN = ["pairs", "a.fq", "b.fq", "-o"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--nonsense"], "COMMAND"),
        (["bam2sam"], "bam2sam"),
        (["pairs", "a.fq", "b.fq"], "-o"),
        ([*RUN, "out", "--nonsense"], "--nonsense"),
        ([*RUN, "out", "--penalties", "affine:4,6"], "affine:X,O,E"),
        ([*RUN, "out", "--penalties", "linear:0,2"], "mismatch"),
        ([*RUN, "out", "--ends-free", "1,2,3"], "QB,QE,TB,TE"),
        ([*RUN, "out", "--ends-free", "1,2,3,-4"], "QB,QE,TB,TE"),
        ([*RUN, "out", "--workers", "-1"], "from 0 to 4096"),
        ([*RUN, "out", "--workers", "0", "--scheduler", "tcp://x:1"], "one of them"),
        ([*RUN, "out", "--workers", "2", "--scheduler", "tcp://x:1"], "one of them"),
        ([*RUN, "out", "--gpus", "1", "--device", "cpu"], "--gpus counts GPUs"),
        ([*RUN, "out", "--gpus", "1", "--scheduler", "tcp://x:1"], "--gpus counts GPUs"),
        (["genome", "a.fa", "b.fa", "-o", "out.maf", "--gpus", "2", "--device", "cpu"], "--gpus counts GPUs"),
        ([*RUN, "out", "--interleaved"], "one file"),
        ([*RUN, "out.cram"], "samtools"),
        ([*RUN, "out.parquet.gz"], "compress"),
        ([*RUN, "out.sam", "--rg", "SM:x"], "ID:x"),
        ([*RUN, "out", "--cs"], "--cs goes with a file"),
        ([*RUN, "-"], "tidalign export"),
        ([*RUN, "out.sam", "--penalty-only"], "CIGAR"),
        ([*RUN, "out.tsv", "--cigar", "M"], "--cigar"),
        ([*RUN, "out", "--keep-run"], "--keep-run"),
        ([*RUN, "out", "--device", "tpu"], "tpu"),
        (["export", "run", "-o", "-"], "--format"),
        (["export", "run", "-o", "out.xyz"], "--format"),
    ],
)
def test_usage(arguments: list[str], message: str, capsys) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments)
    written = capsys.readouterr()
    assert stopped.value.code == 2 and written.out == ""
    said, see = written.err.splitlines()
    command = f"tidalign {arguments[0]}" if arguments and arguments[0] in ("pairs", "genome", "export") else "tidalign"
    assert said.startswith(f"{command}: ") and message in said and see == f"see: {command} --help"


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (InputError("a.fq", "a name", "none", record=3), 65),
        (MissingInput("a.fq: no such file"), 66),
        (NoWorkers("none"), 69),
        (CannotWrite("out: cannot be written"), 73),
        (DiskFull("out: no space left"), 74),
        (ClusterLost("the scheduler is gone"), 75),
        (ManifestMismatch("run: other inputs"), 78),
        (Stopped(signal.SIGINT), 130),
        (Stopped(signal.SIGTERM), 143),
        (KeyboardInterrupt(), 130),
        (RuntimeError("two\nlines"), 1),
        (ValueError("inside"), 1),
    ],
)
def test_every_error_is_one_line_and_a_status(error: BaseException, status: int, capsys, monkeypatch) -> None:
    def command(args: object) -> None:
        raise error

    monkeypatch.setattr(cli, "import_module", lambda name: SimpleNamespace(command=command))
    assert cli.main(["pairs", "a.fq", "b.fq", "-o", "out"]) == status
    written = capsys.readouterr()
    first, *others = written.err.splitlines()
    assert written.out == "" and first.startswith("tidalign: ")
    assert others == (["tidalign pairs a.fq b.fq -o out"] if status == 143 else [])
    assert ("this is a bug: " in written.err) == (status == 1)
    assert cli.main(["pairs", "a.fq", "b.fq", "-o", "out", "--debug"]) == status
    if not isinstance(error, KeyboardInterrupt):
        assert "Traceback" in capsys.readouterr().err


SIGNALLED = """
import os, sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), {number:d})
sys.meta_path.insert(0, Finder())
from tidalign.workflows.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["argparse", "tidalign.workflows.options.arguments", "pyarrow", "numba", "tidalign.workflows.commands.pairs"])
def test_a_signal_while_it_is_loaded(number: signal.Signals, module: str, tmp_path: Path) -> None:
    words = ["pairs", str(tmp_path / "a.fa"), str(tmp_path / "b.fa"), "-o", str(tmp_path / "run"), "--workers", "2", "--device", "cpu"]
    code = SIGNALLED.format(module=module, number=number)
    answer = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert (answer.returncode, answer.stdout) == (128 + number, "")
    assert answer.stderr == f"tidalign: stopped by {number.name}; run the same command again\n"


# ---- runs


@pytest.fixture
def pairs(tmp_path: Path) -> tuple[str, str]:
    """Write two small files; read i is its target with one letter changed, and the target has two letters more on either side."""
    random = np.random.default_rng(5)
    reads, targets = [], []
    for number in range(50):
        letters = random.choice(list("ACGT"), 40)
        targets.append(f">t{number}\n{''.join(letters)}\n")
        letters[20] = {"A": "C", "C": "G", "G": "T", "T": "A"}[letters[20]]
        reads.append(f"@r{number}\n{''.join(letters[2:-2])}\n+\n{'I' * 36}\n")
    (tmp_path / "reads.fq").write_text("".join(reads))
    (tmp_path / "targets.fa").write_text("".join(targets))
    return str(tmp_path / "reads.fq"), str(tmp_path / "targets.fa")


def test_pairs_to_a_file(pairs, tmp_path) -> None:
    answer = program("pairs", *pairs, "-o", tmp_path / "out.tsv", "--ends-free", "0,0,2,2")
    assert (answer.returncode, answer.stdout) == (0, "")
    assert "50 exact" in answer.stderr.splitlines()[-1]  # kernels that are not compiled yet may let progress speak before
    rows = [line.split("\t") for line in (tmp_path / "out.tsv").read_text().splitlines()]
    # One mismatch in 36 letters, the two free letters of the target left out at either end.
    assert rows[1:] == [[str(n), f"r{n}", "36", "0", "36", f"t{n}", "40", "2", "38", "4", "18=1X17=", "exact", ""] for n in range(50)]
    assert not (tmp_path / "out.tsv.run").exists()


def test_pairs_to_a_run_directory_then_export(pairs, tmp_path, command) -> None:
    run = tmp_path / "run"
    assert command("pairs", *pairs, "-o", run, "--penalties", "edit", "--quiet").stderr == ""
    results = Results(run)
    assert results.complete and len(results) == 50 and results.parameters.penalties == "edit"
    # Two letters of the target are deleted at either end, one is substituted; the gaps may also lie further in at equal cost.
    assert results.to_table()["penalty"].to_pylist() == [5] * 50
    answer = command("export", run, "-o", "-", "--format", "paf")
    assert answer.returncode == 0 and len(answer.stdout.splitlines()) == 50
    assert command("export", run, "-o", tmp_path / "out.parquet", "--quiet").stderr == ""
    assert pq.read_table(tmp_path / "out.parquet") == results.to_table()
    again = command("pairs", *pairs, "-o", run, "--penalties", "edit")
    assert again.returncode == 0 and "finished already" in again.stderr
    part = next((run / "parts").iterdir())
    part.write_bytes(part.read_bytes()[:-9])
    mended = command("pairs", *pairs, "-o", run, "--penalties", "edit")
    assert mended.returncode == 0 and "finished already" not in mended.stderr and "50 pairs: 50 exact" in mended.stderr
    other = command("pairs", *pairs, "-o", run)
    assert other.returncode == 78 and "edit" in other.stderr
    assert command("pairs", *pairs, "-o", run, "--new").returncode == 0
    assert Results(run).parameters.penalties == "affine:4,6,2"


@pytest.fixture
def genomes(tmp_path) -> tuple[str, str]:
    letters = "".join(random.Random(1).choices("ACGT", k=3000))
    for name in ("target", "query"):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    return str(tmp_path / "target.fa"), str(tmp_path / "query.fa")


def test_a_long_path_of_temporary_files(pairs, tmp_path) -> None:
    """Python's fork server makes a socket, whose path can have 107 letters."""
    folder = tmp_path / ("t" * 100)
    folder.mkdir()
    answer = program("pairs", *pairs, "-o", tmp_path / "out.tsv", "--workers", "1", "--device", "cpu", "--quiet", env={**os.environ, "TMPDIR": str(folder)})
    assert (answer.returncode, answer.stderr) == (0, "") and not list(folder.iterdir())


@pytest.mark.parametrize("words", ["export {run}", "genome {genomes}", "genome {genomes} --workers 1"])
def test_an_output_that_nobody_reads_any_more(words, genomes, tmp_path) -> None:
    program("genome", *genomes, "-o", tmp_path / "run")
    words = words.format(run=tmp_path / "run", genomes=" ".join(genomes))
    (tmp_path / "temporary").mkdir()
    shell = f"TMPDIR={tmp_path}/temporary {PROGRAM} {words} -o - --format maf --quiet | true; echo ${{PIPESTATUS[0]}}"
    answer = subprocess.run(["bash", "-c", shell], capture_output=True, text=True)
    assert answer.stderr == ""
    assert answer.stdout.split() == ["141"]
    assert not list((tmp_path / "temporary").iterdir())


def test_sigpipe_stays_as_it_is(genomes, capfdbinary) -> None:
    """A cluster that is started later in the process has connections that may close at any time."""
    assert cli.main(["genome", *genomes, "-o", "-", "--format", "maf", "--quiet"]) == 0
    assert signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN


def test_keep_run(pairs, tmp_path, command) -> None:
    answer = command("pairs", *pairs, "-o", tmp_path / "out.sam", "--keep-run")
    assert answer.returncode == 0 and "out.sam.run" in answer.stderr
    assert len(Results(tmp_path / "out.sam.run")) == 50


def test_a_pair_that_kills_gives_status_3_and_a_row(pairs, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TIDALIGN_TEST_POISON", "2")
    for path, lines in zip(map(Path, pairs), (16, 8), strict=True):  # four pairs: the search for the bad one starts a process for each half
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
    arguments = ("pairs", *pairs, "-o", tmp_path / "out.paf")
    assert program(*arguments).returncode == -signal.SIGKILL  # a small job runs in the command's own process
    answer = program(*arguments)
    lines = (tmp_path / "out.paf").read_text().splitlines()
    assert answer.returncode == 3 and "3 exact, 1 rejected" in answer.stderr
    assert [line.split("\t")[0] for line in lines] == ["r0", "r1", "r2", "r3"]
    assert lines[2].split("\t")[4:6] == ["*", "*"] and "st:Z:rejected" in lines[2]
    assert (tmp_path / "out.paf.run").exists()


def test_partition_then_pairs(pairs, tmp_path, command) -> None:
    answer = command("partition", *pairs, "-o", tmp_path / "run")
    assert (answer.returncode, answer.stdout) == (0, "") and "50 pairs" in answer.stderr
    assert not Results(tmp_path / "run").complete
    assert command("export", tmp_path / "run", "-o", tmp_path / "out.paf").returncode == 66
    assert command("pairs", *pairs, "-o", tmp_path / "run").returncode == 0
    assert Results(tmp_path / "run").complete


def test_statuses_of_what_can_be_wrong(pairs, tmp_path, command) -> None:
    reads, targets = pairs
    (tmp_path / "short.fa").write_text(">t0\nACGT\n")
    (tmp_path / "empty.fa").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "precious").write_text("")
    (tmp_path / "directory.paf").mkdir()
    for arguments, status, word in (
        ((reads, tmp_path / "short.fa", "-o", tmp_path / "out"), 65, "short.fa"),
        ((reads, tmp_path / "none.fa", "-o", tmp_path / "out"), 66, "none.fa"),
        ((tmp_path / "empty.fa", tmp_path / "empty.fa", "-o", tmp_path / "out"), 66, "empty.fa"),
        ((reads, targets, "-o", tmp_path / "out", "--device", "gpu"), 69, "use --device"),
        ((reads, targets, "-o", tmp_path / "full"), 73, "precious"),
        ((reads, targets, "-o", tmp_path / "directory.paf"), 73, "directory"),
        ((reads, targets, "-o", f"{reads}/out.paf"), 73, "reads.fq"),
    ):
        answer = command("pairs", *arguments)
        assert answer.returncode == status, answer.stderr
        assert answer.stdout == "" and len(answer.stderr.splitlines()) == 1 and word in answer.stderr
        assert ("--allow-empty" in answer.stderr) == (word == "empty.fa")
    assert not list(tmp_path.glob("out*"))
    answer = command("pairs", tmp_path / "empty.fa", tmp_path / "empty.fa", "-o", tmp_path / "out.sam", "--allow-empty")
    assert answer.returncode == 0 and (tmp_path / "out.sam").read_text().startswith("@HD")


@pytest.mark.parametrize("output", ["out.sam", "out.maf", "out.axt", "-"])
def test_export_of_what_is_no_run(tmp_path: Path, output: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Said before the format is looked at, which may be one of genomes or of pairs."""
    (tmp_path / "file").write_text("")
    for run, found in (("none", "no such folder"), ("file", "a file"), ("", "a folder without plan.json")):
        assert cli.main(["export", str(tmp_path / run), "-o", output if output == "-" else str(tmp_path / output), "--format=maf"]) == 66
        assert f"{tmp_path / run}: expected a run directory, found {found};" in capsys.readouterr().err


# ---- the end of the process


LEAVING = """
import atexit, sys, threading, time
from tidalign.workflows import cli
from tidalign.workflows.options.arguments import parser
sys.argv[1:] = ["export", "nowhere", "-o", "out.sam"]
atexit.register(lambda: print("handler"))
def late():
    time.sleep(0.5)
    print("thread", flush=True)
{more}
print("output kept back", end="")
sys.exit(cli.main())
"""


@pytest.mark.parametrize(
    ("more", "printed"),
    [
        ("", "output kept backhandler\n"),
        ("threading.Thread(target=late).start()", "output kept backthread\nhandler\n"),  # waited for, as always
    ],
)
def test_the_process_ends_with_its_status_output_and_handlers(tmp_path: Path, more: str, printed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    answer = subprocess.run([sys.executable, "-P", "-c", LEAVING.format(more=more)], capture_output=True, text=True, cwd=tmp_path)
    assert (answer.returncode, answer.stdout) == (Exit.NO_INPUT, printed)
    assert answer.stderr.startswith("tidalign: nowhere")


def test_an_output_that_cannot_be_written_is_said_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what is kept back until the process ends, too."""
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    code = "import sys; from tidalign.workflows import cli; sys.argv[1:] = ['export', 'nowhere', '-o', 'out.sam']; print('kept back'); sys.exit(cli.main())"
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run([sys.executable, "-P", "-c", code], stdout=full, stderr=subprocess.PIPE, text=True)
    assert answer.returncode == 120 and "No space left" in answer.stderr  # as Python says it


@pytest.mark.parametrize("new", [[], ["--new"]], ids=["again", "new"])
@pytest.mark.parametrize("place", ["parts/thesis.tex", "parts/deep/er.tmp", "notes.tmp", "linked"])
def test_nothing_of_the_users_is_deleted(pairs, tmp_path, command, new, place) -> None:
    mine = tmp_path / "mine"
    assert command("pairs", *pairs, "-o", mine).returncode == 0
    if place == "linked":
        (mine / "parts").rename(tmp_path / "elsewhere")
        (mine / "parts").symlink_to(tmp_path / "elsewhere")
    else:
        (mine / place).parent.mkdir(exist_ok=True)
        (mine / place).write_text("mine")
    before = sorted(tmp_path.rglob("*"))
    answer = command("pairs", *pairs, "-o", mine, *new)
    assert answer.returncode == 73 and f"'{'parts' if place == 'linked' else place}'" in answer.stderr
    assert sorted(tmp_path.rglob("*")) == before


def test_a_run_directory_with_something_else_in_it_outlives_its_output(pairs, tmp_path, command, monkeypatch) -> None:
    def export(this, results, **options):
        (this.run / "parts" / "thesis.tex").write_text("mine")
        Path(this.args.output).write_text("SAM")

    monkeypatch.setattr("tidalign.workflows.running.Command.export", export)
    answer = command("pairs", *pairs, "-o", tmp_path / "out.sam")
    assert answer.returncode == 0 and "the run directory is kept" in answer.stderr
    assert (tmp_path / "out.sam.run" / "parts" / "thesis.tex").read_text() == "mine"
