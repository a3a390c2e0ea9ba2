"""Files of runs that lose a bit or their end: noticed by all who read them, made again by the same command."""

import errno
import os
import random
from pathlib import Path

import damage
import pytest

from tidalign.pipeline.errors import CannotWrite, MissingInput
from tidalign.pipeline.formats.export import destination
from tidalign.workflows.status import Exit


@pytest.mark.parametrize("count", [24, pytest.param(500, marks=pytest.mark.slow)])
def test_no_damage_goes_unnoticed(short_path: Path, count: int) -> None:
    found = damage.trials(count, count, short_path)
    assert sum(found.values()) == count
    assert found.keys() <= {"the same rows", "plan.json refused"}


@pytest.fixture(params=["pairs", "genome"])
def command(request: pytest.FixtureRequest, short_path: Path) -> tuple[list[str], Path]:
    """Give the words that make a run, and one of its inputs."""
    letters = "".join(random.Random(5).choices("ACGT", k=300_000 if request.param == "genome" else 2000))
    for name in ("a", "b"):
        (short_path / f"{name}.fa").write_text(f">{name}\n{letters}\n")
    words = [request.param, f"{short_path}/a.fa", f"{short_path}/b.fa", "-o", f"{short_path}/run", "--device=cpu", "--quiet"]
    return words, short_path / "b.fa"


def test_a_finished_run_answers_without_its_input(command: tuple[list[str], Path]) -> None:
    words, file = command
    assert damage.call(*words) == (Exit.COMPLETE, "")
    file.unlink()
    assert damage.call(*words) == (Exit.COMPLETE, "")
    assert damage.call(*[word for word in words if word != "--quiet"], "--new")[0] == Exit.NO_INPUT
    (file.parent / "run" / "SUCCESS").unlink()
    status, said = damage.call(*words)
    assert status == Exit.NO_INPUT and str(file) in said


def test_an_input_that_changed_under_the_same_size_and_time_is_noticed(command: tuple[list[str], Path]) -> None:
    words, file = command
    assert damage.call(*words) == (Exit.COMPLETE, "")
    time, text = file.stat().st_mtime_ns, file.read_text()
    file.write_text(text[:-2] + ("A" if text[-2] != "A" else "C") + "\n")
    os.utime(file, ns=(time, time))
    status, said = damage.call(*words)
    assert status == Exit.MANIFEST_MISMATCH and f"{file}, which has changed since" in said


def test_what_cannot_be_made_again_is_named(command: tuple[list[str], Path]) -> None:
    words, file = command
    assert damage.call(*words) == (Exit.COMPLETE, "")
    run = file.parent / "run"
    lost = next((run / "sides").glob("*1/codes")) if words[0] == "genome" else next((run / "chunks").iterdir())
    next((run / "parts").iterdir()).unlink()
    data = bytearray(lost.read_bytes())
    data[len(data) // 2] ^= 4
    lost.write_bytes(data)
    file.unlink()
    status, said = damage.call(*words)
    assert status == Exit.MANIFEST_MISMATCH and str(lost) in said and "cannot be made again" in said and str(file) in said


def test_what_a_worker_meets_is_made_again(tmp_path: Path) -> None:
    letters = "".join(random.Random(6).choices("ACGT", k=200))
    for name in ("a", "b"):
        (tmp_path / f"{name}.fa").write_text("".join(f">{place}\n{letters[place:]}\n" for place in range(50)))
    words = ["pairs", f"{tmp_path}/a.fa", f"{tmp_path}/b.fa", "-o", f"{tmp_path}/run", "--device=cpu", "--quiet"]
    assert damage.call(*words) == (Exit.COMPLETE, "")
    answer = damage.exported(tmp_path / "run", "sam")
    for part in (tmp_path / "run" / "parts").iterdir():
        part.unlink()
    chunk = sorted((tmp_path / "run" / "chunks").iterdir())[0]
    chunk.write_bytes(chunk.read_bytes()[:-9] + bytes(9))
    assert damage.call(*words, "--workers=2") == (Exit.COMPLETE, "")
    assert f'"removed", "file": "chunks/{chunk.name}"' in (tmp_path / "run" / "journal.jsonl").read_text()
    assert damage.exported(tmp_path / "run", "sam") == answer
    assert damage.call("check", tmp_path / "run")[0] == Exit.COMPLETE


def test_a_read_error_is_no_write_error(tmp_path: Path) -> None:
    for error in (OSError("ZSTD decompression failed"), OSError(errno.EIO, "Input/output error", "/somewhere/parts/x.parquet")):
        with pytest.raises(MissingInput, match="cannot be read: "), destination(str(tmp_path / "out.sam")):
            raise error
    with pytest.raises(CannotWrite, match=r"out\.sam: cannot be written: Permission"), destination(str(tmp_path / "out.sam")):
        raise PermissionError(errno.EACCES, "Permission denied", str(tmp_path / ".out.sam.1.tmp"))
