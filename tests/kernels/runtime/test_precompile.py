"""Kernels that take long are compiled before they are called, by other processes, each kernel by one of them."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from threading import Timer

import pytest

from tidalign.kernels.runtime import claims, precompile

DATA = Path(__file__).parents[2] / "data"

CLAIM = """
import sys, time; from pathlib import Path; from tidalign.kernels.runtime import claims
claims.claim(Path(sys.argv[1])); print("claimed", flush=True); time.sleep(60)
"""


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    """Others wait for whoever has claimed a file, and no longer than it lives; its name is then free again."""
    entry = tmp_path / "kernels" / "entry"
    assert claims.free(entry)
    with subprocess.Popen([sys.executable, "-c", CLAIM, str(entry)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "claimed\n"
        assert not claims.free(entry)
        begun = time.monotonic()
        Timer(1, other.kill).start()
        claims.claim(entry)
        assert 0.5 < time.monotonic() - begun < 30
    assert not list(entry.parent.glob("*.tmp"))
    claims.release(entry)
    assert claims.free(entry)
    assert not entry.exists()


def test_nobody_is_waited_for_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    claims.claim(tmp_path / "file" / "entry")
    claims.release(tmp_path / "file" / "entry")
    assert claims.free(tmp_path / "file" / "entry")


def test_a_claim_is_waited_for_no_longer_than_a_kernel_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "WAIT_SECONDS", 0.2)
    with subprocess.Popen([sys.executable, "-c", CLAIM, str(tmp_path / "entry")], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout and other.stdout.readline() == "claimed\n"
        claims.claim(tmp_path / "entry")
        assert not claims.free(tmp_path / "entry")
        other.kill()


COMPILED = """
import sys; from importlib import import_module; events = import_module("numba.core.event")
class Told(events.Listener):
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        print("compiled", function.__module__, function.__qualname__, file=sys.stderr)
    def on_end(self, event): pass
events.register("numba:compile", Told())
from tidalign.workflows.cli import main
sys.exit(main(sys.argv[1:]))
"""

AHEAD = "import json, os, sys; from tidalign.kernels.runtime import precompile; precompile.compile_lists(os.getppid(), 0, json.loads(sys.argv[1]))"

PAIR = [str(DATA / "genomes" / f"enm002_{name}.fa.gz") for name in ("human", "mouse")]
PROTEINS = [str(DATA / "search" / f"{name}.faa.gz") for name in ("queries", "proteins")]
READS = str(DATA / "pairs" / "gasal2_20k_150bp.seq.gz")


COUNTED = """
import subprocess, time; from tidalign.kernels.runtime import precompile
begun = []; popen = subprocess.Popen
def started(*words, **options): begun.append(popen(*words, **options)); return begun[-1]
subprocess.Popen = started
with precompile.ahead({listed}, 2):
    time.sleep(0.5)
    assert all(each.poll() is None for each in begun)
assert all(each.poll() is not None for each in begun)
print(len(begun))
"""


def write_plain(folder: Path) -> None:
    """Write pairs as files that are not compressed, whose records are read by kernels for these."""
    lines = gzip.decompress(Path(READS).read_bytes()).splitlines(keepends=True)[:400]
    (folder / "pairs.seq").write_bytes(b"".join(lines))
    letters = [line[1:].strip() for line in lines]
    (folder / "reads.fq").write_bytes(b"".join(b"@r%d\n%b\n+\n%b\n" % (place, read, b"I" * len(read)) for place, read in enumerate(letters[::2])))
    (folder / "windows.fa").write_bytes(b"".join(b">w%d\n%b\n" % window for window in enumerate(letters[1::2])))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("listed", "words"),
    [
        (("tidalign.kernels.commit.precompiled", (16, False)), ["genome", *PAIR, "-o", "out.maf"]),
        pytest.param(
            ("tidalign.kernels.commit.precompiled", (16, True)), ["genome", *PAIR, "-o", "out.maf", "--device", "gpu", "--gpus", "1"], marks=pytest.mark.gpu
        ),
        (("tidalign.kernels.commit.precompiled", (32, False)), ["genome", *PAIR, "-o", "out.maf", "--ydrop=40000"]),
        (("tidalign.kernels.pairwise.precompiled", ()), ["pairs", READS, "-o", "out.sam"]),
        (("tidalign.kernels.local.precompiled", ()), ["search", *PROTEINS, "--matrix", "blosum62", "-o", "out.m8"]),
        (("tidalign.kernels.text.precompiled", (False, "seq")), ["pairs", "pairs.seq", "-o", "out.sam"]),
        (("tidalign.kernels.text.precompiled", (False, "fasta", "fastq")), ["pairs", "reads.fq", "windows.fa", "-o", "out.sam"]),
        (("tidalign.kernels.text.precompiled", (True,)), ["genome", *PAIR, "-o", "out.maf"]),
    ],
    ids=["genome", "beside a GPU", "large costs", "pairs", "search", "text of pairs", "text of reads", "text of genomes"],
)
def test_a_run_compiles_nothing_that_is_listed(listed: tuple[str, tuple[int, ...]], words: list[str], tmp_path: Path) -> None:
    """The examples have the very types that the kernels are called with, or they would be compiled again."""
    write_plain(tmp_path)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "NUMBA_CACHE_DIR": ""}
    subprocess.run([sys.executable, "-c", AHEAD, json.dumps([listed])], env=environment, check=True)
    module, arguments = listed
    names = {f"{kernel.py_func.__module__} {kernel.py_func.__qualname__}" for kernel, _ in precompile.import_module(module).kernels(*arguments)}
    ran = subprocess.run(
        [sys.executable, "-c", COMPILED, *words[:1], "--device", "cpu", *words[1:]], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    compiled = {line.removeprefix("compiled ") for line in ran.stderr.splitlines() if line.startswith("compiled ")}
    assert compiled, "what is not listed is compiled by the run: else nothing was heard of"
    assert not names & compiled, names & compiled
    counted = COUNTED.format(listed=[listed])
    assert subprocess.run([sys.executable, "-c", counted], env=environment, capture_output=True, text=True, check=True).stdout == "0\n", "all of it is there"


FAILING = """
import gc; from numba import types; from numba.core.errors import TypingError; from tidalign.kernels.runtime import claims
from tidalign.kernels.runtime.numba_cache import wanted; from tidalign.kernels.text.lines import copy_ranges as kernel
collected = gc.isenabled()
text = (types.unicode_type,) * 4
try:
    kernel.compile(text)
except TypingError:
    print(wanted(kernel, text), claims._held, gc.isenabled() == collected)
"""


def test_a_kernel_that_cannot_be_compiled_is_claimed_no_longer(tmp_path: Path) -> None:
    """Another process would wait for its claim for as long as this one lives."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    assert subprocess.run([sys.executable, "-c", FAILING], env=environment, capture_output=True, text=True, check=True).stdout == "True {} True\n"


ELSEWHERE = """
import subprocess, sys; import numpy as np; from tidalign.kernels.runtime import numba_cache
from tidalign.kernels.runtime.bases import bases; from tidalign.kernels.text.lines import is_plain_dna as kernel
letters = np.frombuffer(b"ACGT", np.uint8)
print(numba_cache.elsewhere(kernel, [letters]))
kept = kernel._cache
entry = bases().kept / kept._entry((numba_cache.import_module("numba").typeof(letters),), kernel.targetctx.codegen())
other = subprocess.Popen([sys.executable, "-c", sys.argv[1], str(entry)], stdout=subprocess.PIPE, text=True)
other.stdout.readline()
print(numba_cache.elsewhere(kernel, [letters]))
other.kill(); other.wait()
print(numba_cache.elsewhere(kernel, [letters]), kernel(letters), numba_cache.elsewhere(kernel, [letters]))
"""


def test_it_is_told_while_another_process_compiles_a_kernel(tmp_path: Path) -> None:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    told = subprocess.run([sys.executable, "-c", ELSEWHERE, CLAIM], env=environment, capture_output=True, text=True, check=True).stdout
    assert told == "False\nTrue\nFalse True False\n"


def test_processes_end_with_what_they_were_begun_for(tmp_path: Path) -> None:
    """A run that ends before kernels are compiled leaves no process behind, and the next one begins again."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    counted = COUNTED.format(listed=[("tidalign.kernels.commit.precompiled", (16, False))])
    for _ in range(2):
        assert subprocess.run([sys.executable, "-c", counted], env=environment, capture_output=True, text=True, check=True).stdout == "2\n"


def test_a_run_that_has_compiled_all_itself_says_so(tmp_path: Path) -> None:
    """Its processes had no time to: none is begun again. What is listed after the first list does not matter."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path), "NUMBA_CACHE_DIR": ""}
    listed = [("tidalign.kernels.text.precompiled", (True,)), ("tidalign.kernels.commit.precompiled", (16, False))]
    by_itself = f"""
for kernel, examples in precompile.import_module(listed[0][0]).kernels(True):
    kernel.compile(precompile.types(kernel, examples))
subprocess.Popen = lambda line, **_: started([sys.executable, "-c", "import time; time.sleep(600)"])
with precompile.ahead({listed}, 2):
    pass
print(len(begun))
"""
    counted = COUNTED.format(listed=listed)
    program = f"import sys; listed = {listed}\n{counted.partition('with ')[0]}{by_itself}"
    for words, processes in ((program, "2\n"), (counted, "0\n")):
        assert subprocess.run([sys.executable, "-c", words], env=environment, capture_output=True, text=True, check=True).stdout == processes
