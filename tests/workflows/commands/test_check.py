"""`tidalign check` passes here, and says what to do where it would not."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from unittest import mock

import pytest

from tidalign.cluster.errors import NoWorkers
from tidalign.kernels.runtime import numba_internals
from tidalign.pipeline.device import CPU, GPU, Device
from tidalign.workflows import cli
from tidalign.workflows.commands import check, compile


def test_check(capsys) -> None:
    assert cli.main(["check"]) == 0
    written = capsys.readouterr()
    assert written.err == ""
    for word in ("tidalign 0.", "numba ", "distributed ", "processor: ", "GPUs: ", "2 of 2 known answers"):
        assert word in written.out


def test_a_wrong_answer_is_status_1(capsys, monkeypatch) -> None:
    pair = next(iter(check.KNOWN))
    monkeypatch.setitem(check.KNOWN, pair, check.KNOWN[pair] | {"affine:4,6,2": (3, "32=")})
    assert cli.main(["check"]) == 1
    written = capsys.readouterr().out
    assert "wrong: affine:4,6,2 on the cpu: expected (3, '32=')" in written and "1 of 2" in written


def test_what_is_compiled_beforehand(capsys, monkeypatch) -> None:
    def compiled(devices: list[Device]) -> Iterator[tuple[int, int, str]]:
        assert devices == [CPU]
        yield from ((1, 2, ""), (2, 2, wrong))

    monkeypatch.setattr(compile, "compiled", compiled)
    monkeypatch.setattr(check, "usable", mock.Mock(side_effect=NoWorkers("none")))
    wrong = ""
    assert cli.main(["check", "--compile"]) == 0
    assert "2 of 2 commands ran" in (said := capsys.readouterr().out) and "9 of 9 known answers" in said
    wrong = "pairs a b: killed"
    assert cli.main(["check", "--compile"]) == 1
    assert "wrong: pairs a b: killed" in (said := capsys.readouterr().out) and "1 of 2 commands ran" in said


RUN = """
import sys
from tidalign.kernels.runtime.numba_cache import LISTENERS
from tidalign.workflows import cli
begun = []
LISTENERS.append(lambda begins: begun.append(begins))
status = cli.main(sys.argv[1:])
print(status, len(begun))
"""


@pytest.mark.slow
def test_no_command_compiles_after_that(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    subprocess.run([sys.executable, "-m", "tidalign.workflows", "check", "--compile"], env=environment, check=True)
    letters = "".join(random.Random(3).choices("ACGT", k=3000))
    for name in ("a", "b"):
        (tmp_path / f"{name}.fa").write_text(f">1\n{letters}\n>2\n{letters[:150]}\n")
    (tmp_path / "long.fa").write_text(f">1\n{letters * 4}\n")
    pairs, scored = "pairs a.fa b.fa", "--scoring match:2,mismatch:-4,gap:4,2"
    commands = [pairs, f"{pairs} --penalties affine2p:4,6,2,24,1", f"{pairs} --penalties edit", f"{pairs} {scored}", "genome a.fa b.fa"]
    commands += [f"pairs long.fa long.fa {scored}", f"pairs long.fa long.fa {scored} --span overlap"]
    for number, words in enumerate(map(str.split, commands)):
        line = [sys.executable, "-c", RUN, *words, "-o", f"{number}.paf", "--device", "cpu", "--quiet"]
        done = subprocess.run(line, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.split()[-2:] == ["0", "0"], (words, done.stdout, done.stderr)


def test_a_missing_package_is_status_69(capsys, monkeypatch) -> None:
    def version(name: str) -> str:
        if name == "numba":
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(check, "version", version)
    assert cli.main(["check"]) == 69
    assert "missing: numba; install" in capsys.readouterr().err


def test_a_numba_that_keeps_kernels_otherwise_is_named(capsys, monkeypatch) -> None:
    monkeypatch.setattr(check, "_self_test", lambda device, every: check.Exit.COMPLETE)
    assert cli.main(["check"]) == 0
    assert "a way of its own" not in capsys.readouterr().out
    monkeypatch.setattr(numba_internals, "difference", lambda: "numba.core.caching.Cache.load_overload")
    assert cli.main(["check"]) == 0
    assert "keeps kernels in a way of its own (numba.core.caching.Cache.load_overload)" in capsys.readouterr().out


def test_the_answer_for_genomes_is_that_of_lastz() -> None:
    rows = (Path(__file__).parents[2] / "data" / "genomes" / "made_up.tsv").read_text().splitlines()
    assert check.digest(row for row in rows if not row.startswith("#")) == check.GENOMES
    assert check._compare(CPU, (), genomes=True) == ([], 1)


def test_a_wrong_answer_for_genomes_is_told(monkeypatch) -> None:
    monkeypatch.setattr(check, "GENOMES", "0" * 64)
    (told,), tried = check._compare(CPU, (), genomes=True)
    assert tried == 1 and told.startswith("two small genomes on the cpu: expected LASTZ's alignments, 000000000000, found ")


def test_gpus_are_named_and_tested(capsys, monkeypatch) -> None:
    """Have other processes compile meanwhile what takes longest of what a GPU's test needs."""
    tested, compiled = [], []
    monkeypatch.setattr(check, "usable", lambda: {"0": "NVIDIA H200"})
    monkeypatch.setattr(check, "_self_test", lambda device, every: tested.append(device) or check.Exit.COMPLETE)
    monkeypatch.setattr(check.precompile, "ahead", lambda lists, most: nullcontext(compiled.extend(lists)))
    assert cli.main(["check"]) == 0
    assert "GPUs: NVIDIA H200 (0)" in capsys.readouterr().out
    assert tested == [CPU, GPU]
    assert [module for module, _ in compiled] == ["tidalign.kernels.commit.precompiled"]
