"""Find tiny inputs by their sizes, and do them on cores where nobody said where; what is larger costs no look at the input."""

import gzip
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tidalign.pipeline.device import GPU
from tidalign.pipeline.files.sniff import sniff
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.pairs.aligner import PairParameters
from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.scored import ScoreParameters
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.workflows.estimate import rates, tiny
from tidalign.workflows.run import devices
from tidalign.workflows.run.devices import DEFAULT, Gpus, Resources, at_once
from tidalign.workflows.run.genome.run import Genomes
from tidalign.workflows.run.pairs.run import Pairs
from tidalign.workflows.run.search.run import Search, SearchSource

H100 = Gpus({"0": "NVIDIA H100 80GB HBM3"}, "all that this machine has", GPU)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have all kernels of cores kept, and nothing measured."""
    monkeypatch.setattr(devices, "kept", lambda _: True)
    monkeypatch.setattr(rates, "_kept", tuple)


def pairs(folder: Path, count: int, length: int, parameters: Any = None, write: Callable[[Path, bytes], Any] = Path.write_bytes) -> Pairs:
    """Describe a run over pairs of one length, FASTQ and FASTA of two lines a record."""
    letters = b"ACGTA" * (length // 5)
    write(folder / "q", b"".join(b"@q%d\n%b\n+\n%b\n" % (number, letters, b"I" * length) for number in range(count)))
    write(folder / "t", b"".join(b">t%d\n%b\n%b\n" % (number, letters[:50], letters[50:]) for number in range(count)))
    return Pairs(inspect(str(folder / "q"), str(folder / "t")), parameters or PairParameters())


def packed(path: Path, text: bytes) -> None:
    path.write_bytes(gzip.compress(text))


def test_a_thousand_pairs_are_for_cores(tmp_path: Path) -> None:
    kind = pairs(tmp_path, 1000, 150)
    chosen = kind.chosen(H100, DEFAULT)
    assert not chosen.names and not chosen.device.takes_gpu
    assert chosen.why == "by the estimate 0.4 s for 0.7 s on the GPU; --device chooses otherwise"
    for asked in (Resources(device="gpu"), Resources(gpus=1), Resources(workers=2), Resources(cpu_workers=1)):
        assert kind.chosen(H100, asked) is H100, "somebody said where to do it"
    unknown = replace(H100, names={"0": "of another maker"})
    assert kind.chosen(unknown, DEFAULT) is unknown
    none = Gpus({}, "no usable GPU")
    assert kind.chosen(none, DEFAULT) is none


@pytest.mark.parametrize(("count", "length"), [(50, 9000), (5000, 300), (1, 30_000)])
def test_more_work_is_for_the_gpu(tmp_path: Path, count: int, length: int) -> None:
    assert pairs(tmp_path, count, length).chosen(H100, DEFAULT) is H100


@pytest.mark.parametrize("parameters", [PairParameters(strand="both"), ScoreParameters("match:2,mismatch:-4,gap:4,2"), PairParameters(heuristic="adaptive")])
def test_pairs_of_any_parameters(tmp_path: Path, parameters: Any) -> None:
    assert not pairs(tmp_path, 300, 100, parameters, packed).chosen(H100, DEFAULT).names


def test_cores_whose_kernels_are_not_kept_would_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(devices, "kept", lambda kernel: bool(asked.append(kernel)))
    assert pairs(tmp_path, 10, 100).chosen(H100, DEFAULT) is H100
    assert asked == ["tidalign.kernels.wavefront.batch.align_encoded"]


def test_kernels_have_these_names(tmp_path: Path) -> None:
    scored = ScoreParameters("match:2,mismatch:-4,gap:4,2")
    found = [
        tiny.of_pairs(kind._source, kind._parameters, kind._aligner.work)
        for given in (PairParameters(), PairParameters(heuristic="adaptive"), scored, replace(scored, span="extension"))
        for kind in [pairs(tmp_path, 3, 100, given)]
    ]
    found += [tiny.of_search(sniff(str(tmp_path / "t")), sniff(str(tmp_path / "t")), SearchParameters("match:2,mismatch:-4,gap:4,2", "dna"))]
    found += [tiny.of_genomes(genomes(tmp_path, 1000)._source, GenomeParameters())]
    named = {name for each in found if each for name in each[1]}
    assert len(named) == 7 and all(found)
    for name in named:
        module, _, function = name.rpartition(".")
        assert hasattr(getattr(import_module(module), function), "py_func"), name


def test_a_look_at_what_is_large_is_one_at_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = pairs(tmp_path, 10, 100)
    source = replace(kind._source, inputs=tuple(replace(each, size=3_000_000) for each in kind._source.inputs))
    monkeypatch.setattr(tiny, "_lengths", lambda _: 1 / 0)
    large, began = Pairs(source, PairParameters()), time.thread_time()
    for _ in range(100):
        assert large.chosen(H100, DEFAULT) is H100
    assert time.thread_time() - began < 1.0, "a hundredth of a second each, at most"


def test_inputs_that_are_gone_or_more_than_they_seem(tmp_path: Path) -> None:
    kind = pairs(tmp_path, 10, 100, write=packed)
    packed(tmp_path / "q", b">x\n" + b"A" * 2 * tiny.BYTES)
    assert kind.chosen(H100, DEFAULT) is H100
    (tmp_path / "q").unlink()
    assert kind.chosen(H100, DEFAULT) is H100, "of a finished run"


def genomes(folder: Path, letters: int, **options: Any) -> Genomes:
    for name in ("a.fa", "b.fa"):
        (folder / name).write_text(f">x\n{'ACGT' * (letters // 4)}\n")
    return Genomes(GenomeSource((Pair("", str(folder / "a.fa"), str(folder / "b.fa")),)), GenomeParameters(**options))


def test_genomes_and_searches(tmp_path: Path) -> None:
    assert not genomes(tmp_path, 40_000).chosen(H100, DEFAULT).names
    assert genomes(tmp_path, 400_000).chosen(H100, DEFAULT) is H100
    assert genomes(tmp_path, 40_000, mode="independent").chosen(H100, DEFAULT) is H100, "nobody knows what is extended"
    search = SearchParameters("match:2,mismatch:-4,gap:4,2", "dna")
    for letters, wanted in ((400, True), (100_000, False)):
        genomes(tmp_path, letters)
        sides = [sniff(str(tmp_path / name)) for name in ("a.fa", "b.fa")]
        assert (not Search(SearchSource(*sides), search).chosen(H100, DEFAULT).names) == wanted


def test_what_is_not_tiny_is_not_known(tmp_path: Path) -> None:
    assert at_once(H100, DEFAULT, lambda: None) is None
    assert at_once(H100, DEFAULT, lambda: (10.0, ())) is None
