"""The CUDA kernels of alignment by scores and of searches without a GPU, threads taking turns on the host: the rows of the host twins."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cuda_on_host
import numpy as np
import pairfiles
import pytest
from related import related
from scored_cases import SCORINGS, aligned, cases, mutated, same

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import pairs, pairs_device
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import extensions, forms, launches
from tidalign.kernels.local.uploaded import uploaded
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best, best_device, words, words_device

pytestmark = [pytest.mark.slow, pytest.mark.skipif(cuda_on_host.COMPILER is None, reason="no C++ compiler here")]


@pytest.fixture(autouse=True)
def on_host(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[None]:
    cuda_on_host.installed(monkeypatch, tmp_path)
    yield


def alike(lengths: list[int], alphabet: str) -> tuple[Sequences, Sequences]:
    chance = random.Random(len(alphabet))
    queries = ["".join(chance.choices(alphabet, k=length)) for length in lengths]
    targets = ["".join(mutated(chance, query[len(query) // 8 :], alphabet)) + query[:3] for query in queries]
    return Sequences.from_strings(queries), Sequences.from_strings(targets)


@pytest.mark.parametrize("span", ["local", "overlap", "global"])
@pytest.mark.parametrize(
    ("text", "alphabet"), [("match:2,mismatch:-4,gap:4,2", "ACGT"), ("match:2,mismatch:-4,gap:4,2,24,1", "ACGT"), ("blosum62", "ARNDCQEGHILKMFPSTWYVXUOJ")]
)
def test_host_rows(text: str, alphabet: str, span: str) -> None:
    """Pairs of a team, of several strips, and of a gang."""
    scoring = Substitution.parse(text)
    sides = alike([0, 20, 150, 700, 1600], alphabet)
    found = pairs_device.align(*sides, scoring, span=span)
    assert found.by_host == 0 and aligned(found) == aligned(pairs.align(*sides, scoring, span=span))


@pytest.mark.parametrize(("fit", "by_host"), [(2, 0), (0, 5)])
def test_short_of_memory(monkeypatch: pytest.MonkeyPatch, fit: int, by_host: int) -> None:
    """Scores alone of as many pairs at a time as fit, and by the host of what does not fit alone."""
    import cupy

    sides, scoring = alike([20, 20, 20, 21, 21], "ACGT"), Substitution.parse("match:2,mismatch:-4,gap:4,2")
    score = launches.Kernels.score

    def scarce(self: launches.Kernels, form: forms.Form, query: Any, *rest: Any) -> Any:
        if len(query) > fit:
            raise cupy.cuda.memory.OutOfMemoryError
        return score(self, form, query, *rest)

    monkeypatch.setattr(launches.Kernels, "score", scarce)
    monkeypatch.setattr(forms.Form, "pairs", 1)
    found = pairs_device.align(*sides, scoring, report="score")
    expected = pairs.align(*sides, scoring, report="score")
    assert found.score is not None and expected.score is not None
    assert found.score.tolist() == expected.score.tolist() and found.by_host == by_host


def test_others_are_tried_where_some_find_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave to the host those that do not fit alone, and no others of their launch."""
    import cupy

    sides, scoring = alike([20, 20, 20, 21, 21], "ACGT"), Substitution.parse("match:2,mismatch:-4,gap:4,2")
    score = launches.Kernels.score

    def scarce(self: launches.Kernels, form: forms.Form, query: Any, *rest: Any) -> Any:
        if (query.lengths == 20).any():
            raise cupy.cuda.memory.OutOfMemoryError
        return score(self, form, query, *rest)

    monkeypatch.setattr(launches.Kernels, "score", scarce)
    monkeypatch.setattr(forms.Form, "pairs", 1)
    found, expected = (each(*sides, scoring, report="score") for each in (pairs_device.align, pairs.align))
    assert found.score is not None and expected.score is not None
    assert found.score.tolist() == expected.score.tolist() and found.by_host == 3


@pytest.mark.parametrize(("gigabytes", "share"), [(16, 2), (40, 4)])
def test_a_call_leaves_room_for_one_beside_it(monkeypatch: pytest.MonkeyPatch, gigabytes: int, share: int) -> None:
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (gigabytes << 30, gigabytes << 30))
    assert pairs_device.room() == (gigabytes << 30) // share


@pytest.mark.parametrize("low", [False, True])
@pytest.mark.parametrize("span", ["local", "overlap", "global"])
@pytest.mark.parametrize(("text", "alphabet"), [("match:2,mismatch:-4,gap:4,2", "ACGT"), ("blosum62", "ARNDCQEGHILKMFPSTWYVX")])
def test_bands_of_strips_among_blocks(monkeypatch: pytest.MonkeyPatch, text: str, alphabet: str, span: str, low: bool) -> None:
    """Pairs of several bands, scored in 16 bits and in 32, of low strips and of tall ones, and one without letters on a side."""
    monkeypatch.setattr(forms, "SHARED_FROM", [1])
    monkeypatch.setattr(forms, "GANGS", {32: 2, 16: 2})
    monkeypatch.setattr(forms, "FEW_STRIPS", 8 * low)
    launched: set[tuple[int, int]] = set()
    score = launches.Kernels.score
    monkeypatch.setattr(launches.Kernels, "score", lambda self, form, *given: (launched.add((form.rows, form.gang)), score(self, form, *given))[1])
    scoring = Substitution.parse(text)
    queries, targets = alike([1100, 1600, 530], alphabet)
    sides = queries, Sequences.from_strings([targets.letters[slice(*targets.offsets[k : k + 2])].tobytes().decode() for k in range(2)] + [""])
    for report in ("cigar", "score"):
        found, expected = (each(*sides, scoring, span=span, report=report) for each in (pairs_device.align, pairs.align))
        assert found.by_host == 0
        same(expected, found, report)
    assert launched == {(16 if low or alphabet != "ACGT" else 32, 2)}


@pytest.mark.parametrize(("text", "alphabet"), [("match:2,mismatch:-4,gap:4,2", "ACGT"), ("blosum62", "ARNDCQEGHILKMFPSTWYV")])
def test_targets_shorter_than_a_team_under_several_strips(text: str, alphabet: str) -> None:
    scoring = Substitution.parse(text)
    sides = alike([530, 1600, 700, 2100, 600, 520], alphabet)[0], alike([1, 9, 13, 15, 17, 31], alphabet)[0]
    for report in ("cigar", "score"):
        found, expected = (each(*sides, scoring, report=report) for each in (pairs_device.align, pairs.align))
        assert found.by_host == 0 and found.score is not None and expected.score is not None and found.score.tolist() == expected.score.tolist()
        assert report == "score" or aligned(found) == aligned(expected)


@pytest.mark.parametrize(("text", "alphabet"), [("match:2,mismatch:-3,gap:5,2", "ACGTN"), ("blosum62", "ARNDCQEGHILKMFPSTWYVX")])
def test_hits_are_the_hosts(monkeypatch: pytest.MonkeyPatch, text: str, alphabet: str) -> None:
    """Several blocks a query, queries of one strip and of several."""
    monkeypatch.setattr(launches, "UNITS", 1)
    coding = Coding(Substitution.parse(text))
    queries, targets = alike([0, 20, 150, 700], alphabet), alike([*range(40), 130, 300], alphabet)[1]
    options: dict[str, Any] = {"top": 5, "least": 1}
    expected = best.search([coding.coded(side, 0) for side in queries], coding.coded(targets, 1), coding, **options)
    found = best_device.search([uploaded(side, coding) for side in queries], uploaded(targets, coding), coding, **options)
    assert len(found) and all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in ("query", "target", "strand", "score"))


@pytest.mark.parametrize("room", [3, 1 << 16])
@pytest.mark.parametrize("strands", [1, 2])
def test_scores_that_may_not_have_fitted(monkeypatch: pytest.MonkeyPatch, strands: int, room: int) -> None:
    """Find those of one strand, also where they are more than there was room for."""
    import cupy

    monkeypatch.setattr(best_device, "OVER_ROOM", room)
    scores = np.random.default_rng(strands).integers(launches.OVER - 20, launches.OVER + 2, (7, 90 * strands), np.int32)
    for strand in range(strands):
        places = best_device._over(cupy.asarray(scores), strands, strand)
        which, rows, sequences, _ = words_device.of_strand(places, scores.shape[1], strands, strand)
        assert sorted(map(list, zip(rows.tolist(), sequences.tolist(), strict=True))) == np.argwhere(scores[:, strand::strands] >= launches.OVER).tolist()
        assert sorted(which.tolist()) == list(range(len(places)))
        words_device.put(places, cupy.asarray(np.zeros(len(places), np.int32)), again := cupy.asarray(scores))
        assert np.array_equal(again[:, strand::strands], np.where(scores[:, strand::strands] >= launches.OVER, 0, scores[:, strand::strands]))


@pytest.mark.parametrize("few", [1, 1 << 20])
@pytest.mark.parametrize(("text", "top", "least"), [("match:2,mismatch:-3,gap:5,2", 3, 1), ("match:5,mismatch:-4,n:-2,gap:8,6", 1, 300)])
def test_what_cannot_be_among_the_best(monkeypatch: pytest.MonkeyPatch, text: str, top: int, least: int, few: int) -> None:
    """Related sequences, pair by pair where words say which, and all with bars."""
    for name, value in (("FEW", few), ("counted", lambda *_: True)):
        monkeypatch.setattr(words_device, name, value)
    monkeypatch.setattr(words, "LIKELIEST", 4)
    coding, (strands, targets) = Coding(Substitution.parse(text)), related(top, [700, 330, 40], 7)
    sides, database = [Sequences.from_strings(strand) for strand in strands], Sequences.from_strings(targets)
    expected = best.search([coding.coded(side, 0) for side in sides], coding.coded(database, 1), coding, top=top, least=least)
    found = best_device.search([uploaded(side, coding) for side in sides], uploaded(database, coding), coding, top=top, least=least)
    assert len(found) and all(np.array_equal(getattr(found, name), getattr(expected, name)) for name in ("query", "target", "strand", "score"))


@pytest.mark.parametrize(("zdrop", "bonus"), [(None, 0), (40, 7), (0, 0), (400, 0)])
@pytest.mark.parametrize("name", ["affine", "linear", "two pieces", "n", "blosum62"])
def test_extensions(monkeypatch: pytest.MonkeyPatch, name: str, zdrop: int | None, bonus: int) -> None:
    """Short pairs, and those of several strips: in a band that a sample has chosen, in one that is too narrow at first, and in the whole matrix."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    short, long = cases(3, alphabet, 40), alike([0, 20, 150, 700, 330], alphabet[:20])
    sides = [
        Sequences.from_strings([*some, *(side.letters[a:b].tobytes().decode() for a, b in zip(side.offsets[:-1], side.offsets[1:], strict=True))])
        for some, side in zip(short, long, strict=True)
    ]
    for share, sample, report in ((1 / 8, 4, "cigar"), (1 / 64, 1 << 20, "ends"), (1.0, 1 << 20, "score")):
        monkeypatch.setattr(extensions, "FIRST_BAND", share)
        monkeypatch.setattr(extensions, "SAMPLE_PAIRS", sample)
        options: dict[str, Any] = {"span": "extension", "report": report, "zdrop": zdrop, "end_bonus": bonus, "ambiguous": ambiguous}
        found, expected = (each(*sides, scoring, **options) for each in (pairs_device.align, pairs.align))
        assert found.by_host == 0 and found.heuristic == expected.heuristic
        same(expected, found, report)


@pytest.mark.parametrize(("zdrop", "bonus"), [(None, 7), (40, 0)])
@pytest.mark.parametrize("name", ["affine", "two pieces", "a mismatch earns", "blosum62"])
def test_extensions_in_bands(monkeypatch: pytest.MonkeyPatch, name: str, zdrop: int | None, bonus: int) -> None:
    """Short pairs, and those of several strips: by bands narrower than a strip and wider, which some pairs need and others do not."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    chance = random.Random(5)
    short = cases(3, alphabet, 20)
    texts = [["".join(chance.choices(alphabet[:20], k=length)) for _ in range(3)] for length in (3, 60, 110, 130, 260)]
    three, sixty, middle, strip, long = texts
    whole = [long[0] + strip[0] + long[1], long[0] + strip[0], long[2], three[0], long[0] + long[1], "", middle[0]]
    other = [
        long[0] + long[1],
        long[0] + sixty[1] + strip[0],
        three[0] + long[2],
        long[1],
        "".join(mutated(chance, long[0] + long[1], alphabet)),
        long[0],
        long[1],
    ]
    queries, targets = ([*few, *many, *others] for few, many, others in zip(short, (whole, other), (other, whole), strict=True))
    sides = [Sequences.from_strings(texts) for texts in (queries, targets)]
    launched, launch = set(), extensions.Extensions._launch
    monkeypatch.setattr(extensions.Extensions, "_launch", lambda self, *given: (launched.add(given[-1]), launch(self, *given))[1])
    for band, shapes, share, report in (
        (1, None, 1 / 8, "ends"),
        (20, None, 1 / 64, "cigar"),
        (65, None, 1 / 8, "ends"),
        (127, 64, 1 / 64, "score"),
        (130, 64, 1 / 8, "cigar"),
        (300, 100, 1 / 64, "ends"),
    ):
        monkeypatch.setattr(extensions, "FIRST_BAND", share)
        monkeypatch.setattr(extensions, "SAMPLE_PAIRS", 2 if band == 65 else 1 << 20)
        if shapes:
            monkeypatch.setattr(extensions, "SHAPES", {shapes: (8, 16), 1 << 30: (16, 16)})
        options: dict[str, Any] = {"span": "extension", "report": report, "zdrop": zdrop, "end_bonus": bonus, "ambiguous": ambiguous, "band": band}
        found, expected = (each(*sides, scoring, **options) for each in (pairs_device.align, pairs.align))
        assert found.by_host == 0 and found.heuristic and expected.heuristic
        same(expected, found, report)
    assert launched == {False, True}


def test_extensions_of_reads() -> None:
    """Pairs of strips whose bands do not hold all columns, among them two that do not belong together, by minimap2's defaults."""
    reads = pairfiles.read_seq(Path(__file__).parents[2] / "data" / "pairs" / "ecoli_pacbio_clr_1kb.seq.gz")[:3]
    reads += [(reads[0][0], reads[1][1]), (reads[0][0] + reads[1][0], reads[0][1] + reads[2][1]), (reads[0][0] * 2, reads[0][0] * 2)]
    sides = [Sequences.from_strings([read[place].decode() for read in reads]) for place in (0, 1)]
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2,24,1")
    options: dict[str, Any] = {"span": "extension", "report": "ends", "zdrop": 400}
    found, expected = (each(*sides, scoring, **options) for each in (pairs_device.align, pairs.align))
    assert found.by_host == 0
    same(expected, found, "ends")


@pytest.mark.parametrize("span", ["local", "global"])
def test_a_query_of_several_strips_and_nothing(span: str) -> None:
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    sides = Sequences.from_strings(["ACGT" * 250]), Sequences.from_strings([""])
    found, expected = (each(*sides, scoring, span=span, report="score") for each in (pairs_device.align, pairs.align))
    assert found.score is not None and expected.score is not None and found.score.tolist() == expected.score.tolist()
