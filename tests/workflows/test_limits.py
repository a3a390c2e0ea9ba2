"""Too low limits of the system are said in one line, with the limit and the way out."""

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tidalign.cluster import forks
from tidalign.cluster.errors import NoWorkers
from tidalign.pipeline.errors import CannotWrite
from tidalign.workflows import cli, limits
from tidalign.workflows.status import Exit

PROGRAM = str(Path(sys.executable).with_name("tidalign"))
LETTERS = "GATTACACCTGAGTCATTGCCA" * 8


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name in ("a.fa", "b.fa"):
        (tmp_path / name).write_text(f">{name}\n{LETTERS}\n")
    return [str(tmp_path / "a.fa"), str(tmp_path / "b.fa")]


def limited(limit: str, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run the program under a limit of the shell's."""
    return subprocess.run(["bash", "-c", f'ulimit {limit} && exec "$@"', "bash", PROGRAM, *words], capture_output=True, text=True)


@pytest.mark.parametrize("command", ["pairs", "genome"])
@pytest.mark.parametrize("limit", ["-n 5", "-n 24", "-n 60", "-v 200000", "-v 1000000"])
def test_a_low_limit_is_named(command: str, limit: str, files: list[str], tmp_path: Path) -> None:
    out = str(tmp_path / ("out.sam" if command == "pairs" else "out.maf"))
    answer = limited(limit, command, *files, "-o", out, "--workers", "2", "--device", "cpu", "--quiet")
    assert (answer.returncode, answer.stdout) == (Exit.UNAVAILABLE, "")
    assert len(answer.stderr.splitlines()) == 1 and len(answer.stderr) <= 301
    assert answer.stderr.count(f"ulimit {limit[:2]}") == 2


@pytest.mark.parametrize(
    ("soft", "hard", "asked", "root"),
    [(60, 60, 1024, True), (60, 4096, 1024, False), (60, 80, 80, False), (1024, 1 << 19, 2048, False), (1024, 1100, 1100, False), (4096, 4096, 8192, True)],
)
def test_a_limit_that_is_asked_for_is_more_than_there_is(soft: int, hard: int, asked: int, root: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in (hard, *([] if root else [resource.RLIM_INFINITY])):
        monkeypatch.setattr(resource, "getrlimit", lambda which, most=most: (soft, most))
        said = limits.met(OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
        number = max(1024, 2 * soft) if most == resource.RLIM_INFINITY else asked
        assert said and f"than the {soft} that may be open" in said and f"`ulimit -n {number}`" in said and number > soft
        assert ("root" in said) == root


def test_files_of_the_machine_are_no_limit_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    said = limits.met(OSError(errno.ENFILE, os.strerror(errno.ENFILE)))
    assert said and "ulimit" not in said and "end other programs" in said


@pytest.mark.parametrize("length", [250, 300])
def test_a_name_that_is_too_long_is_named(length: int, files: list[str], tmp_path: Path) -> None:
    answer = subprocess.run([PROGRAM, "pairs", *files, "-o", f"{'x' * length}.sam", "--device", "cpu"], capture_output=True, text=True, cwd=tmp_path)
    assert (answer.returncode, answer.stderr.count("\n")) == (Exit.CANNOT_WRITE, 1) and "a name longer than the file system takes" in answer.stderr


def test_a_folder_that_is_gone_is_named(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()
    line = 'cd gone && rmdir ../gone && exec "$@" -o out.sam --device cpu'
    answer = subprocess.run(["bash", "-c", line, "bash", PROGRAM, "pairs", *files], capture_output=True, text=True, cwd=tmp_path)
    assert (answer.returncode, answer.stderr.count("\n")) == (Exit.CANNOT_WRITE, 1) and "started in is gone" in answer.stderr


@pytest.mark.parametrize("command", ["pairs", "genome"])
def test_this_process_alone_with_few_files(command: str, files: list[str], tmp_path: Path) -> None:
    out = tmp_path / ("out.sam" if command == "pairs" else "out.maf")
    for count in (5, 9, 20):
        answer = limited(f"-n {count}", command, *files, "-o", str(out), "--device", "cpu", "--quiet")
        said = answer.stderr.splitlines()
        assert answer.returncode in (Exit.COMPLETE, Exit.UNAVAILABLE), answer.stderr
        assert len(said) == (answer.returncode == Exit.UNAVAILABLE) and all("ulimit -n" in line for line in said)
        assert out.exists() == (answer.returncode == Exit.COMPLETE)


def test_the_soft_limit_is_raised_where_it_may_be(files: list[str], tmp_path: Path) -> None:
    answer = limited("-Sn 40", "pairs", *files, "-o", str(tmp_path / "run"), "--workers", "2", "--device", "cpu", "--quiet")
    assert (answer.returncode, answer.stderr) == (Exit.COMPLETE, "")


def test_room_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int]] = []
    infinity = resource.RLIM_INFINITY
    monkeypatch.setattr(resource, "setrlimit", lambda which, limit: made.append(limit))
    for limit, raised in (((1024, 4096), []), ((256, infinity), [(320, infinity)]), ((infinity, infinity), []), ((300, 320), [(320, 320)])):
        monkeypatch.setattr(resource, "getrlimit", lambda which, limit=limit: limit)
        made.clear()
        forks.make_room(16)
        assert made == raised
    monkeypatch.setattr(resource, "getrlimit", lambda which: (300, 319))
    with pytest.raises(NoWorkers, match="ulimit -n 320"):
        forks.make_room(16)


def test_an_error_that_comes_from_a_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """However it was put by who met it."""
    full = OSError(errno.EMFILE, os.strerror(errno.EMFILE))
    wrapped = CannotWrite("out: cannot be written")
    wrapped.__cause__ = full
    other = ValueError("something else")
    other.__context__ = MemoryError()
    for error, word in (
        (full, "ulimit -n"),
        (wrapped, "ulimit -n"),
        (CannotWrite(f"out: cannot be written: {os.strerror(errno.EMFILE)}"), "ulimit -n"),  # from a worker, of whose errors nothing else is left
        (MemoryError("Unable to allocate 3 TiB"), "memory ran out (Unable to allocate 3 TiB)"),
        (other, "memory ran out"),
        (RuntimeError("can't start new thread"), "memory ran out"),
    ):
        assert cli.fail(error, debug=False) == Exit.UNAVAILABLE
        assert word in capsys.readouterr().err
    try:
        try:
            raise BlockingIOError(errno.EAGAIN, "busy")
        except BlockingIOError:
            raise CannotWrite("in use") from None
    except CannotWrite as error:
        assert limits.met(error) is None
