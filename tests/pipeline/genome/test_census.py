"""What alignments mask of a target (--masking): against counts letter by letter, and in a run that is stopped between queries."""

import json
from pathlib import Path
from typing import Any

import genome_golden as golden
import numpy as np
import pytest

import tidalign
from tidalign.cluster.errors import Stopped
from tidalign.kernels.letters.nucleotides import encode
from tidalign.pipeline.genome import units
from tidalign.pipeline.genome.census import Census, ranges
from tidalign.pipeline.genome.stages import guards

CASES = [case for case in json.loads(golden.text("searches.json.gz"))["cases"] if case["query"] and any("--masking" in option for option in case["options"])]


@pytest.mark.parametrize("threshold", [1, 2, 3, 255, 256])
def test_letters_are_masked_when_they_are_covered_so_often(threshold: int) -> None:
    rng = np.random.default_rng(threshold)
    letters = rng.choice(np.frombuffer(b"ACGTNacgtn", np.uint8), 300)
    census, counts, masked = Census(encode(letters), threshold), np.zeros(300, np.int64), np.zeros(300, np.bool_)
    for _ in range(900 if threshold > 3 else 12):
        starts = rng.integers(0, 200, 3)
        ends = starts + rng.integers(1, 100, 3)
        fresh = np.zeros(300, np.bool_)
        for start, end in census.add(starts, ends):
            assert not fresh[start:end].any()
            fresh[start:end] = True
        for start, end in zip(starts, ends, strict=True):
            counts[start:end] += 1
        now = (counts >= threshold) & (letters < ord("a"))
        assert (fresh == now & ~masked).all()
        masked = now
    assert masked.any()
    assert census.reached() == ranges(counts >= threshold)


def test_ranges() -> None:
    assert ranges(np.array([True, True, False, True])) == [(0, 2), (3, 4)]
    assert ranges(np.zeros(3, np.bool_)) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join([case["query"], *case["options"], case["format"][:8]]))
def test_what_is_masked_does_not_depend_on_stops(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose parts are a unit each, and which ends amid them, knows afterwards what they have masked."""
    for name, text in case["files"].items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(guards, "CUT_SECONDS", 0.0)
    whole, at = units.whole, 0

    def ends(*arguments: Any) -> Any:
        nonlocal at
        at += 1
        if at == 2:
            raise KeyboardInterrupt
        return whole(*arguments)

    monkeypatch.setattr(units, "whole", ends)
    given = {name: value if equals else True for name, equals, value in (option.removeprefix("--").partition("=") for option in case["options"])}
    with pytest.raises(Stopped):
        tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, **given)
    assert list(Path("run/parts").iterdir())
    tidalign.align_genomes(case["target"], case["query"], out="run", workers=0, **given).export("out", format=case["format"])
    found = Path("out").read_text().replace(f"{tmp_path}/", "")
    found = found[found.index("}") + 2 :] if case["format"] == "lav" else found
    assert [line for line in found.splitlines() if not line.startswith("#") or line.startswith("#:")] == case["lines"]
