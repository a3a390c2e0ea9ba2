"""Run directories as commands meet them: who removes one holds it meanwhile, and one of another kind is called by its name."""

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tidalign.pipeline.pairs.results import Results
from tidalign.workflows import running
from tidalign.workflows.status import Exit

LETTERS = "GATTACACCTGAGTCATTGCCA" * 8


@pytest.fixture
def inputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.fa", "b.fa"):
        Path(name).write_text(f">{name}\n{LETTERS}\n")
    Path("bad.fa").write_text(f">bad\n{LETTERS}\n>\n")


@pytest.mark.parametrize(("query", "status"), [("a.fa", Exit.COMPLETE), ("bad.fa", Exit.BAD_INPUT)])
def test_who_removes_a_run_holds_it_until_it_is_gone(query: str, status: Exit, inputs: None, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever opened its lock before would hold what has no name any more, and the next one the directory."""
    free: list[bool] = []
    unlink = Path.unlink

    def watched(path: Path, missing_ok: bool = False) -> None:
        if path.name == "run.lock":
            with path.open() as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    free.append(False)
                else:
                    free.append(True)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", watched)
    answer = command("pairs", query, "b.fa", "-o", "out.sam", "--device", "cpu")
    assert (answer.returncode, free) == (status, [False]), answer.stderr
    assert not Path("out.sam.run").exists()


def test_a_run_that_begins_while_another_is_removed_stays(inputs: None, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    unlink = Path.unlink

    def begun(path: Path, missing_ok: bool = False) -> None:
        unlink(path, missing_ok)
        if path.name == "run.lock":
            path.with_name("parts").mkdir()  # as the other's first step

    monkeypatch.setattr(Path, "unlink", begun)
    answer = command("pairs", "a.fa", "b.fa", "-o", "out.sam", "--device", "cpu")
    assert answer.returncode == Exit.COMPLETE, answer.stderr
    assert Path("out.sam.run", "parts").exists()


def test_a_run_is_held_while_it_is_written_out(inputs: None, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same command elsewhere, as of a workflow manager that tries again, would remove it meanwhile."""
    export, answers = Results.export, []

    def watched(self: Results, *arguments: Any, **options: Any) -> None:
        answers.append(command("pairs", "a.fa", "b.fa", "-o", "out.sam", "--device", "cpu"))
        export(self, *arguments, **options)

    monkeypatch.setattr(Results, "export", watched)
    assert command("pairs", "a.fa", "b.fa", "-o", "out.sam", "--device", "cpu").returncode == Exit.COMPLETE
    (other,) = answers
    assert other.returncode == Exit.CANNOT_WRITE and "in use by process" in other.stderr
    assert Path("out.sam").exists() and not Path("out.sam.run").exists()


def test_a_run_that_another_has_removed(inputs: None, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = running.locked

    @contextmanager
    def late(directory: str) -> Iterator[None]:
        shutil.rmtree(directory)  # the other is done
        with locked(directory):
            yield

    monkeypatch.setattr(running, "locked", late)
    answer = command("pairs", "a.fa", "b.fa", "-o", "out.sam", "--device", "cpu")
    assert answer.returncode == Exit.CANNOT_WRITE and "removed meanwhile by the same command elsewhere" in answer.stderr
    assert not Path("out.sam.run").exists()


@pytest.mark.parametrize("more", [(), ("--new",)])
def test_a_run_of_another_kind_is_named_and_stays(more: tuple[str, ...], inputs: None, command: Any) -> None:
    kinds, given = ("pairs", "genome", "search"), ("a.fa", "b.fa", "--device", "cpu", "--workers", "0", "--quiet")
    for made in kinds:
        assert command(made, *given, "-o", made).returncode == Exit.COMPLETE
        files = sorted(Path(made).rglob("*"))
        for kind in {*kinds} - {made}:
            answer = command(kind, *given, "-o", made, *more)
            said = f"tidalign: {made}: expected a new run directory or one of `tidalign {kind}`, found one of `tidalign {made}`; choose another place with -o"
            assert answer.returncode == Exit.CANNOT_WRITE and answer.stderr.startswith(said)
        assert sorted(Path(made).rglob("*")) == files
