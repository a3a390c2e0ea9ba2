"""A merge that is stopped ends with the signal's status, and the same command goes on."""

import os
import signal
from pathlib import Path

import pytest

from tidalign.pipeline.store import merge
from tidalign.workflows.cli import main


def test_a_signal_stops_a_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    letters = "GATTACACCTGAGTCATTGCCA"
    Path("a.fa").write_text("".join(f">s{number}\n{letters * (1 + number)}\n" for number in range(40)))
    words = ["pairs", "a.fa", "a.fa", "--device", "cpu", "--quiet", "--workers", "0"]
    assert main([*words, "-o", "whole.sam"]) == 0
    for share in (1, 2):
        assert main([*words, "-o", f"part{share}", "--shard", f"{share}/2"]) == 0
    known = merge._link

    def link(source: Path, target: Path) -> None:
        known(source, target)
        os.kill(os.getpid(), signal.SIGTERM)

    handler = signal.getsignal(signal.SIGTERM)
    try:
        with monkeypatch.context() as patched:
            patched.setattr(merge, "_link", link)
            assert main(["merge", "part1", "part2", "-o", "out.sam"]) == 143
        said = capsys.readouterr().err
        assert "stopped by SIGTERM; what is done is kept" in said and "tidalign merge part1 part2 -o out.sam" in said
        assert not Path("out.sam").exists() and not Path("out.sam.run", "plan.json").exists()
        assert main(["merge", "part1", "part2", "-o", "out.sam"]) == 0
    finally:
        signal.signal(signal.SIGTERM, handler)
    assert Path("out.sam").read_bytes() == Path("whole.sam").read_bytes()
