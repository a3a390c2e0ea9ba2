"""Standard streams that are closed, and outputs that are no files."""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from array import array
from pathlib import Path
from typing import Any
from unittest import mock

import psutil
import pytest
from ending import wait_until

from tidalign.cluster.here import THREAD
from tidalign.workflows import cli
from tidalign.workflows.status import Exit

PROGRAM = str(Path(sys.executable).with_name("tidalign"))
LETTERS = "GATTACACCTGAGTCATTGCCA" * 8
FORMATS = {"pairs": "sam", "genome": "maf"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(f">{name}\n{LETTERS}\n")
    return tmp_path


def shell(folder: Path, words: str) -> "subprocess.CompletedProcess[str]":
    """Run `tidalign` with these words of a shell's."""
    return subprocess.run(["bash", "-c", f"{PROGRAM} {words}"], capture_output=True, text=True, cwd=folder)


def expected(folder: Path, command: str) -> str:
    answer = shell(folder, f"{command} a.fa b.fa -o expected.{FORMATS[command]} --device cpu --quiet")
    assert (answer.returncode, answer.stdout, answer.stderr) == (Exit.COMPLETE, "", "")
    return (folder / f"expected.{FORMATS[command]}").read_text()


@pytest.mark.parametrize("command", FORMATS)
def test_closed_streams(command: str, folder: Path) -> None:
    whole = expected(folder, command)
    out = folder / f"out.{FORMATS[command]}"
    for closed in (">&-", "2>&-", "<&- >&- 2>&-", "--workers 2 >&- 2>&-"):
        answer = shell(folder, f"{command} a.fa b.fa -o {out} --device cpu {closed}")
        assert (answer.returncode, answer.stdout) == (Exit.COMPLETE, ""), answer.stderr
        assert answer.stderr == "" if "2>&-" in closed else "Traceback" not in answer.stderr
        assert out.read_text() == whole
        out.unlink()


@pytest.mark.parametrize("command", FORMATS)
def test_standard_output_that_is_closed(command: str, folder: Path) -> None:
    """Said before anything is aligned; with standard error closed nothing of it goes elsewhere."""
    words = f"{command} a.fa b.fa -o - --format {FORMATS[command]} --device cpu"
    answer = shell(folder, f"{words} >&-")
    assert (answer.returncode, answer.stderr) == (Exit.CANNOT_WRITE, "tidalign: standard output: closed; open it, or name a file with -o\n")
    answer = shell(folder, f"{words} 2>&-")
    assert (answer.returncode, answer.stdout) == (Exit.COMPLETE, expected(folder, command))


@pytest.mark.parametrize("command", FORMATS)
def test_outputs_that_are_no_files(command: str, folder: Path) -> None:
    whole, given = expected(folder, command), f"--format {FORMATS[command]} --device cpu --quiet"
    for output in ("", "-o -", "-o /dev/stdout", "-o /dev/fd/1"):
        answer = shell(folder, f"{command} a.fa b.fa {output} {given}")
        assert (answer.returncode, answer.stdout, answer.stderr) == (Exit.COMPLETE, whole, "")
    (folder / "kept").write_text("kept\n")
    assert shell(folder, f"{command} a.fa b.fa -o /dev/stdout {given} >> kept").returncode == Exit.COMPLETE
    assert (folder / "kept").read_text() == f"kept\n{whole}"
    answer = shell(folder, f"{command} a.fa b.fa -o >(cat > piped) {given}; wait $!")
    assert (answer.returncode, answer.stderr) == (Exit.COMPLETE, "") and (folder / "piped").read_text() == whole
    for more in (given, "--device cpu --quiet"):
        answer = shell(folder, f"{command} a.fa b.fa -o /dev/null {more}")
        assert (answer.returncode, answer.stdout, answer.stderr) == (Exit.COMPLETE, "", "")
    assert not Path("/dev/null.run").exists() and Path("/dev/null").is_char_device()


@pytest.mark.parametrize("command", FORMATS)
@pytest.mark.parametrize("output", ["/dev/stdout", "/dev/null"])
def test_what_a_stream_cannot_have(command: str, output: str, folder: Path) -> None:
    for more, word in ((f"--format {FORMATS[command]} --keep-run", "--keep-run"), (f"--format {FORMATS[command]} --scheduler tcp://x:1", "run directory")):
        answer = shell(folder, f"{command} a.fa b.fa -o {output} --device cpu {more}")
        assert answer.returncode == Exit.USAGE and word in answer.stderr
    answer = shell(folder, f"{command} a.fa b.fa -o /dev/stdout --device cpu")
    assert answer.returncode == Exit.USAGE and "--format" in answer.stderr


def test_what_goes_with_the_command_is_not_forced_to_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """A run directory that nobody can go on with; one that is kept, and a file, are."""
    for name in ("t", "q"):
        (tmp_path / f"{name}.fa").write_text(f">{name}\n{'ACGTTGCAAC' * 8}\n")
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", forced.append)
    words = ["genome", str(tmp_path / "t.fa"), str(tmp_path / "q.fa"), "--workers", "0", "--device", "cpu", "--quiet"]
    assert cli.main([*words, "--format=maf"]) == Exit.COMPLETE
    assert capfd.readouterr().out.startswith("##maf") and not forced
    assert cli.main([*words, "-o", str(tmp_path / "run")]) == Exit.COMPLETE
    assert len(forced) > 5


PRINTED = ("man", "completion bash", "completion fish", "check", "estimate pairs a.fa b.fa -o out.sam", "estimate --json search a.fa b.fa -o out.m8")


@pytest.mark.parametrize("words", PRINTED)
def test_what_is_printed_for_nobody(words: str, folder: Path) -> None:
    """A reader that is gone before anything is written."""
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run([PROGRAM, *words.split()], stdout=theirs, stderr=subprocess.PIPE, text=True, cwd=folder)
    os.close(theirs)
    assert (done.returncode, done.stderr) == (Exit.OUTPUT_CLOSED, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux has it")
@pytest.mark.parametrize("words", PRINTED)
def test_what_is_printed_where_there_is_no_room(words: str, folder: Path) -> None:
    answer = shell(folder, f"{words} > /dev/full")
    said = "tidalign: standard output: no space left on its disk; free some, then run the same command again\n"
    assert (answer.returncode, answer.stderr) == (Exit.DISK_FULL, said)


def test_a_pipe_of_others_is_none_of_standard_output(folder: Path, monkeypatch: pytest.MonkeyPatch, command: Any) -> None:
    """One of a run that breaks is no reader that has gone."""
    monkeypatch.setattr("tidalign.workflows.commands.manual.page", mock.Mock(side_effect=BrokenPipeError("of a worker")))
    answer = command("man")
    assert answer.returncode == Exit.BUG and "BrokenPipeError: of a worker" in answer.stderr


@pytest.mark.parametrize("words", ["a.fa - < b.fa", "a.fa < b.fa", "a.fa /dev/stdin < b.fa", "a.fa --step=1 <(cat b.fa)"])
@pytest.mark.parametrize("end", ["", " --workers 1"])
def test_queries_on_standard_input(words: str, end: str, folder: Path) -> None:
    whole = expected(folder, "genome")
    answer = shell(folder, f"genome {words} --format maf --device cpu --quiet{end}")
    assert (answer.returncode, answer.stdout) == (Exit.COMPLETE, whole), answer.stderr


def test_a_run_goes_on_with_what_came_on_standard_input(folder: Path) -> None:
    (folder / "c.fa").write_text(f">b.fa\n{LETTERS[1:]}\n")
    run = "genome a.fa - -o run --device cpu --quiet"
    for given, status in (("cat b.fa |", 0), ("cat b.fa |", 0), ("true |", 0), ("cat c.fa |", 78), ("cat a.fa |", 78), ("cat b.fa |", 0)):
        answer = subprocess.run(["bash", "-c", f"{given} {PROGRAM} {run}"], capture_output=True, text=True, cwd=folder)
        assert answer.returncode == status, (given, answer.stderr)
        assert ("begun with other sequences from -" in answer.stderr) == (status == 78)
    (folder / "run" / "SUCCESS").unlink()  # as if it had been stopped
    answer = shell(folder, f"{run} < c.fa")
    assert answer.returncode == 78, answer.stderr


@pytest.mark.parametrize(("words", "status", "message"), [("/dev/stdin /dev/stdin < a.fa", 65, "it for both"), ("a.fa < /dev/null", 66, "found nothing")])
def test_one_stream_is_one_side(words: str, status: int, message: str, folder: Path) -> None:
    answer = shell(folder, f"genome {words} --format maf --device cpu --quiet")
    assert answer.returncode == status
    assert message in answer.stderr


@pytest.mark.parametrize("output", ["-", "/dev/stdout"])
@pytest.mark.parametrize("more", [("paf",), ("paf", "--threads", "1"), ("bam", "--threads", "1")], ids=" ".join)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_waits_for_nobody_who_reads(output: str, more: tuple[str, ...], number: signal.Signals, tmp_path: Path) -> None:
    """Neither the threads that write nor who closes the output does, nor who has many blocks to write."""
    (tmp_path / "a.fa").write_text("".join(f">{i}\n{LETTERS}\n" for i in range(20000)))
    words = ["pairs", tmp_path / "a.fa", tmp_path / "a.fa", "-o", output, "--device", "cpu", "--workers", "0", "--format", *more]
    ours, theirs = os.pipe()
    with psutil.Popen([PROGRAM, *words], stdout=theirs, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}) as process:
        os.close(theirs)
        wait_until(lambda: full(ours), process)
        process.send_signal(number)
        try:
            status = process.wait(60)
        except psutil.TimeoutExpired:
            process.kill()
            raise
        assert (status, f"stopped by {number.name}" in process.stderr.read()) == (128 + number, True)
    os.close(ours)
    assert [path.name for path in tmp_path.iterdir()] == ["a.fa"]


def full(pipe: int) -> bool:
    """Tell whether a pipe holds so much that who writes to it waits: all that it has room for, but for a write's last bytes."""
    waiting, _ = array("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))), time.sleep(0.2)
    return waiting[0] > 1 << 15 and waiting == array("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))


ENDING = """
import sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from tidalign.workflows.cli import _leave

class Torn:
    def __del__(self):
        print("taken apart")

torn = Torn()
if sys.argv[1] == "pool":
    pool = ThreadPoolExecutor(1)
    pool.submit(lambda: time.sleep(0.3) or print("written"))
else:
    threading.Thread(target=time.sleep, args=(600,), name=sys.argv[1], daemon=sys.argv[2] == "daemon").start()
_leave(7)
"""


@pytest.mark.parametrize(("thread", "kind", "said"), [("pool", "", "written\n"), ("Dask-Offload_0", "daemon", ""), (THREAD, "", "")])
def test_an_end_waits_for_what_is_written_and_takes_nothing_apart(thread: str, kind: str, said: str) -> None:
    """A thread of a library that comes to need an interpreter which is taken apart ends the process with SIGABRT."""
    answer = subprocess.run([sys.executable, "-c", ENDING, thread, kind], capture_output=True, text=True, timeout=300)
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, said, "")


SIGNALLED = """
import atexit, os, signal, sys
from tidalign.workflows import __main__, cli, logs, progress

progress.SILENT_SECONDS = 1e6  # however long it takes on a busy machine

def signalled(function):
    def call(*arguments, **options):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2):
            os.kill(os.getpid(), number)
        return function(*arguments, **options)
    return call

place = sys.argv.pop(1)
if place == "atexit":
    atexit.register(signalled(int))
else:
    module = {"end": logs, "say": cli, "tell": cli}[place]
    setattr(module, place, signalled(getattr(module, place)))
    if place == "tell":
        from tidalign.workflows.commands import pairs
        pairs.command = lambda args: os.kill(os.getpid(), signal.SIGTERM)
__main__.main()
"""


@pytest.mark.parametrize(
    ("place", "query", "status", "said"),
    [
        ("atexit", "a.fa", Exit.COMPLETE, "1 pair: 1 exact"),
        ("end", "a.fa", Exit.COMPLETE, "1 pair: 1 exact"),
        ("say", "none.fa", Exit.NO_INPUT, "none.fa"),
        ("atexit", "none.fa", Exit.NO_INPUT, "none.fa"),
        ("tell", "a.fa", Exit.TERMINATED, "stopped by SIGTERM"),
    ],
)
def test_signals_change_nothing_once_the_status_is_known(place: str, query: str, status: Exit, said: str, folder: Path) -> None:
    words = ["pairs", query, "b.fa", "-o", "run", "--device", "cpu", "--log", "log"]
    answer = subprocess.run([sys.executable, "-c", SIGNALLED, place, *words], capture_output=True, text=True, cwd=folder, timeout=300)
    assert answer.returncode == status and said in answer.stderr, answer.stderr
    assert "Traceback" not in answer.stderr and answer.stderr.count("tidalign: ") == 1


def test_a_signal_ends_the_wait_for_threads() -> None:
    kill = "import os, signal, threading, time\nfrom tidalign.workflows import cli\nsignal.signal(signal.SIGINT, cli._stop)\n"
    kill += "def send():\n    while cli._End.status < 0:\n        time.sleep(0.01)\n    os.kill(os.getpid(), signal.SIGINT)\n"  # it waits for them
    kill += "threading.Thread(target=send, daemon=True).start()"
    answer = subprocess.run([sys.executable, "-c", kill + ENDING, "sleeps", ""], capture_output=True, text=True, timeout=300)
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, "", "")


STOPPED = """
import os, signal, sys
from tidalign.workflows import __main__
from tidalign.workflows.commands import pairs

number = int(sys.argv.pop(1))
if sys.argv.pop(1) == "nohup":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
pairs.command = lambda args: os.kill(os.getpid(), number) or 0
__main__.main()
"""


@pytest.mark.parametrize(
    ("number", "around", "output", "status", "said"),
    [
        (
            signal.SIGTERM,
            "",
            "-",
            143,
            "stopped by SIGTERM; nothing is kept of what goes to standard output: with -o FILE a run goes on where it was stopped\n",
        ),
        (signal.SIGINT, "", "-", 130, "stopped by SIGINT; nothing is kept"),
        (signal.SIGINT, "", "run", 130, "stopped by SIGINT; what is done is kept: the same command goes on from here\n"),
        (signal.SIGHUP, "", "run", 143, "stopped by SIGHUP; what is done is kept, and this goes on from here:\ntidalign pairs"),
        (signal.SIGHUP, "nohup", "run", 0, ""),
    ],
)
def test_what_is_said_of_a_stop(number: int, around: str, output: str, status: int, said: str, folder: Path) -> None:
    words = ["pairs", "a.fa", "b.fa", "-o", output, *(["--format", "sam"] if output == "-" else [])]
    answer = subprocess.run([sys.executable, "-c", STOPPED, str(int(number)), around, *words], capture_output=True, text=True, cwd=folder, timeout=300)
    assert answer.returncode == status and said in answer.stderr and "Traceback" not in answer.stderr, answer.stderr
