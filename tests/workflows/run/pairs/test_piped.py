"""Compare what comes through a pipe with what came before, when a run goes on or is asked for again."""

import io
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tidalign.cluster.errors import Stopped
from tidalign.pipeline.errors import ManifestMismatch, MissingInput
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input import stream
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.manifest import read_manifest
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.pairs import alignment
from tidalign.workflows.run.pairs.run import partition_pairs, run_pairs

Piped = Callable[..., Any]


def pairs(count: int, letter: str = "A", name: str = "r") -> str:
    return "".join(f">{name}{number}\nACGTAC{letter}{'GT'[number % 2]}\n" * 2 for number in range(count))


@pytest.fixture
def piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Piped:
    """piped(text) aligns the pairs of a text, in blocks of 10, in one run directory."""
    monkeypatch.setattr(stream, "BLOCK_PAIRS", 10)

    def run(text: str, stages: Callable[..., Any] = run_pairs) -> Any:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return stages(tmp_path / "run", inspect("-", interleaved=True), PairParameters(), resources=Resources(workers=0, device="cpu"))

    return run


FIRST = "pairs (1 to 10|11 to 20|21 to 25) that this run was begun with, found others"
"""Names any block, where all are others: threads look at them side by side, and the first to end is told."""

OTHERS = {
    pairs(25, "C"): f"{FIRST} from -",
    pairs(25, name="s"): FIRST,
    pairs(20) + pairs(5, "C"): "pairs 21 to 25 that this run was begun with, found others",
    pairs(24): "pairs 21 to 25 that this run was begun with, found others",
    pairs(20): "pairs from 21 on that this run was begun with, found none",
    pairs(26): "pairs 21 to 25 that this run was begun with, found others",
}


@pytest.mark.parametrize("other", OTHERS)
def test_a_finished_run_has_the_same_pairs(other: str, piped: Piped, tmp_path: Path) -> None:
    report = piped(pairs(25))
    rows, files = Results(tmp_path / "run").to_table(), {path for folder in ("blocks", "chunks", "parts") for path in (tmp_path / "run" / folder).iterdir()}
    with pytest.raises(ManifestMismatch, match=OTHERS[other]) as caught:
        piped(other)
    assert "--new throws this run away" in str(caught.value)
    assert {path for folder in ("blocks", "chunks", "parts") for path in (tmp_path / "run" / folder).iterdir()} == files
    assert piped(pairs(25)) == report
    assert Results(tmp_path / "run").to_table() == rows


def test_a_finished_run_has_no_more_pairs(piped: Piped) -> None:
    piped(pairs(20))
    with pytest.raises(ManifestMismatch, match=r"expected the 20 pairs that this run was begun with, found more from -"):
        piped(pairs(30))


@pytest.mark.parametrize("other", OTHERS)
def test_a_run_that_was_read_goes_on_with_the_same_pairs(other: str, piped: Piped, tmp_path: Path) -> None:
    piped(pairs(25), partition_pairs)
    with pytest.raises(ManifestMismatch, match=OTHERS[other]):
        piped(other)
    assert not list((tmp_path / "run" / "parts").iterdir())
    assert piped(pairs(25)).pairs == 25


def test_a_run_that_was_stopped_amid_reading(piped: Piped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = alignment.stream_blocks

    def stream_blocks(source: Any) -> Any:
        for block, read in real(source):
            if block.id == 2:
                until, records = time.monotonic() + 600, [tmp_path / "run" / "blocks" / f"b{number:05}.json" for number in range(2)]
                while not all(record.exists() for record in records) and time.monotonic() < until:
                    time.sleep(0.01)
                raise Stopped(15)
            yield block, read

    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(alignment, "stream_blocks", stream_blocks)
        piped(pairs(25))
    assert not rundir.has_manifest(str(tmp_path / "run"))
    with pytest.raises(ManifestMismatch, match=FIRST):
        piped(pairs(25, "C"))
    with pytest.raises(ManifestMismatch, match="pairs from 11 on that this run was begun with, found none"):
        piped(pairs(10))
    assert piped(pairs(20) + pairs(5, "C")).pairs == 25


def test_what_cannot_be_compared_goes_on(piped: Piped, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that were made before have no digest."""
    for record in read_manifest(str(tmp_path / "run")).blocks if piped(pairs(5)) else ():
        monkeypatch.delitem(record, "digest")
    assert piped(pairs(5, "C")).pairs == 5


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(MissingInput, match="standard input: closed; open it, or name a file"):
        inspect("-", interleaved=True)
