"""Alignment by scores on the GPU: against the whole matrix and, for what that is too slow for, against the host twin."""

import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pairfiles
import pytest
import scored_oracle
from scored_cases import SCORINGS, aligned, batch, cases, mutated, same

from tidalign.kernels.local import pairs
from tidalign.kernels.local.choices import SEARCH_SPANS
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.wavefront.alignments import Alignments

DATA = Path(__file__).parents[2] / "data"

pytestmark = [pytest.mark.gpu, pytest.mark.usefixtures("device")]


def align(*arguments: Any, **options: Any) -> Alignments:
    from tidalign.kernels.local import pairs_device

    return pairs_device.align(*arguments, **options)


def alike(seed: int, lengths: list[int], alphabet: str, count: int = 6) -> tuple[list[str], list[str]]:
    """Draw pairs with ends of their own around what is alike, and unrelated ones."""
    chance = random.Random(seed)
    queries, targets = [], []
    for length in lengths:
        for _ in range(count):
            query = "".join(chance.choices(alphabet, k=length))
            ends = ["".join(chance.choices(alphabet, k=chance.randint(0, length // 4))) for _ in range(2)]
            queries.append(query)
            targets.append(ends[0] + "".join(mutated(chance, query[chance.randint(0, length // 3) :], alphabet)) + ends[1])
        queries.append(queries[-1])
        targets.append("".join(chance.choices(alphabet, k=length // 2)))
    return queries, targets


@pytest.mark.parametrize("span", SEARCH_SPANS)
@pytest.mark.parametrize("name", SCORINGS)
def test_all_is_as_in_the_whole_matrix(name: str, span: str) -> None:
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    queries, targets = cases(len(name) + len(span), alphabet, 120)
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    found = align(*sides, scoring, span=span, ambiguous=ambiguous)
    assert found.by_host == 0
    for query, target, row in zip(queries, targets, aligned(found), strict=True):
        assert row == scored_oracle.align(query, target, scoring, span, ambiguous), (query, target)
    scores = align(*sides, scoring, span=span, report="score", ambiguous=ambiguous)
    assert found.score is not None and scores.score is not None and scores.score.tolist() == found.score.tolist() and scores.cigar is None
    ends = align(*sides, scoring, span=span, report="ends", ambiguous=ambiguous)
    same(found, ends, "ends")


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "letters"])
@pytest.mark.parametrize("span", SEARCH_SPANS)
@pytest.mark.parametrize("name", ["affine", "two pieces", "n", "n matches", "blosum62", "pam250 in two pieces"])
def test_host_rows(name: str, span: str, packed: bool) -> None:
    """Queries of every team of lanes, of one strip and of several."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    sides = [batch(strings, scoring, packed=packed) for strings in alike(4, [10, 63, 65, 128, 150, 190, 257, 384, 512, 513, 900, 1700], alphabet)]
    for report in ("cigar", "score"):
        options: dict[str, Any] = {"span": span, "ambiguous": ambiguous, "report": report}
        expected, found = (each(*sides, scoring, **options) for each in (pairs.align, align))
        assert found.by_host == 0
        same(expected, found, report)


@pytest.mark.parametrize(("length", "match"), [(20_000, 2), (600, 127), (5_000, 8)])
def test_scores_beyond_16_bits(length: int, match: int) -> None:
    scoring = Substitution.parse(f"match:{match},mismatch:-4,gap:4,2")
    letters = "".join(random.Random(length).choices("ACGT", k=length))
    queries = [letters, letters[: 32_640 // match], letters[: 32_640 // match + 1], letters[: 32_767 // match + 1], letters[:100], letters[: length // 3]]
    sides = [batch(strings, scoring) for strings in (queries, [letters] * len(queries))]
    for report in ("cigar", "score"):
        expected, found = (each(*sides, scoring, report=report) for each in (pairs.align, align))
        same(expected, found, report)


def test_parts_of_launches_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.kernels.local import pairs_device

    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    sides = [batch(strings, scoring) for strings in alike(8, [30, 100, 400, 1200], "ACGTN")]
    whole = align(*sides, scoring)
    assert whole.by_host == 0
    monkeypatch.setattr(pairs_device, "MAX_BYTES", 1 << 19)
    parts = align(*sides, scoring)
    assert parts.by_host > 0, "the longest fit in no launch"
    same(whole, parts, "cigar")


@pytest.mark.parametrize("few", [0, 8], ids=["tall strips", "low strips"])
@pytest.mark.parametrize("text", ["match:2,mismatch:-4,gap:4,2", "match:2,mismatch:-4,gap:4,2,24,1", "blosum62"])
@pytest.mark.parametrize("span", ["local", "query", "global", "overlap"])
def test_long_pairs_are_shared(monkeypatch: pytest.MonkeyPatch, text: str, span: str, few: int) -> None:
    """Strips of a pair among blocks, in 16 bits and in 32, where the target is short and where it is long."""
    monkeypatch.setattr("tidalign.kernels.local.device.forms.FEW_STRIPS", few)
    scoring = Substitution.parse(text)
    alphabet = "ACGT" if scoring.alphabet == "dna" else "ARNDCQEGHILKMFPSTWYV"
    queries, targets = alike(6, [1600, 2100, 4200], alphabet, 1)
    queries += [queries[0] * 30, queries[2] * 9, queries[2], queries[1]]
    targets += [targets[0] * 2, targets[2][:40], targets[2] * 8, ""]
    sides = [batch(strings, scoring) for strings in (queries, targets)]
    for report in ("cigar", "score"):
        expected, found = (each(*sides, scoring, span=span, report=report) for each in (pairs.align, align))
        assert found.by_host == 0
        same(expected, found, report)


@pytest.mark.parametrize("gang", [2, 4])
def test_blocks_take_turns(monkeypatch: pytest.MonkeyPatch, gang: int) -> None:
    """More bands of strips than the device runs at a time; the scores of teams that have a pair alone."""
    from tidalign.kernels.local.device import forms, launches

    monkeypatch.setattr(forms, "GANGS", {32: gang, 16: gang})
    chance = random.Random(13)
    letters = ["".join(chance.choices("ACGT", k=20_000)) for _ in range(100)]
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    sides = [batch(strings, scoring) for strings in (letters, [each[100:7_000] for each in letters])]
    launched: list[int] = []
    score = launches.Kernels.score
    monkeypatch.setattr(launches.Kernels, "score", lambda self, form, *given: (launched.append(form.gang), score(self, form, *given))[1])
    expected = align(*sides, scoring, report="score").score
    assert set(launched) == {gang} and expected is not None and (expected >= 13_800).all()
    monkeypatch.setattr(forms, "SHARED_FROM", [1 << 20])
    others = align(*sides, scoring, report="score").score
    assert others is not None and np.array_equal(expected, others)


@pytest.mark.parametrize("name", ["affine", "two pieces", "blosum62"])
@pytest.mark.parametrize("span", SEARCH_SPANS)
def test_short_targets_under_several_strips(name: str, span: str) -> None:
    """Targets of fewer letters than a team has lanes, or than its lanes look ahead."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    queries, targets = alike(9, [513, 530, 700, 1600, 2100], alphabet, 7)
    sides = [batch(strings, scoring) for strings in (queries, [target[: place % 40] for place, target in enumerate(targets)])]
    for report in ("cigar", "score"):
        expected, found = (each(*sides, scoring, span=span, ambiguous=ambiguous, report=report) for each in (pairs.align, align))
        assert found.by_host == 0
        same(expected, found, report)


@pytest.mark.parametrize("sorted_on_host", [0, 1 << 14])
def test_calls_beside_each_other_give_what_each_gives_alone(monkeypatch: pytest.MonkeyPatch, sorted_on_host: int) -> None:
    """Pairs of other lengths and letters from two threads, as many times as their copies and kernels need to meet."""
    monkeypatch.setattr("tidalign.kernels.local.device.forms.SORTED_ON_HOST", sorted_on_host)
    scorings = [Substitution.parse(text) for text in ("match:2,mismatch:-4,gap:4,2", "blosum62")]
    made = [[batch(strings, scoring) for strings in alike(11, [40 + 50 * turn, 700], "ACGT", 200)] for turn in range(6) for scoring in scorings]
    calls = list(zip(made, scorings * 6, strict=True))
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(lambda call: align(*call[0], call[1]), calls))
    for (sides, scoring), rows in zip(calls, found, strict=True):
        assert rows.by_host == 0
        same(pairs.align(*sides, scoring), rows, "cigar")


APART = """
import sys
import cupy
from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.local import pairs_device, uploaded
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best_device, words_device
sys.modules["cupyx"] = None  # raises where something imports it
scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
sides = [pack(Sequences.from_strings(["ACGTTGCA" * 40, "ACGT" * 300] * 3000)) for _ in range(2)]
for span, zdrop in (("local", None), ("global", None), ("extension", 40)):
    pairs_device.align(*sides, scoring, span=span, zdrop=zdrop)
words_device.COUNT_CELLS, coding = 0, Coding(scoring)
few = uploaded.uploaded(Sequences.from_strings(["ACGTTGCA" * 40, "ACGT" * 300]), coding)
best_device.search([few, few], uploaded.uploaded(sides[1], coding), coding, top=3, least=1)
"""


def test_arrays_meet_no_numbers_in_cupy() -> None:
    """It would load cupyx with SciPy, which takes longer than most small commands' work."""
    done = subprocess.run([sys.executable, "-c", APART], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


def test_nothing() -> None:
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    assert len(align(batch([], scoring), batch([], scoring), scoring)) == 0
    for span in SEARCH_SPANS:
        sides = [batch(strings, scoring) for strings in (["", "", "A"], ["", "A", ""])]
        same(pairs.align(*sides, scoring, span=span), align(*sides, scoring, span=span), "cigar")


@pytest.mark.parametrize(("zdrop", "bonus"), [(None, 0), (None, 7), (10, 0), (3, 5), (0, 0), (40, 20), (400, 0)])
@pytest.mark.parametrize("name", SCORINGS)
def test_extensions(name: str, zdrop: int | None, bonus: int) -> None:
    """Pairs of one strip and of several, alike, alike at first and not at all, in bands too narrow at first."""
    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    short, long = cases(11, alphabet, 300), alike(5, [10, 129, 300, 700, 1700, 2600], alphabet, 3)
    half = [query[: len(query) // 2] + target[len(target) // 3 :] for query, target in zip(*long, strict=True)]
    for packed in (True, False):
        sides = [batch([*some, *more, *last], scoring, packed=packed) for some, more, last in zip(short, long, (long[0], half), strict=True)]
        for report in ("cigar", "ends", "score"):
            options: dict[str, Any] = {"span": "extension", "report": report, "zdrop": zdrop, "end_bonus": bonus, "ambiguous": ambiguous}
            expected, found = (each(*sides, scoring, **options) for each in (pairs.align, align))
            assert found.by_host == 0 and found.heuristic == expected.heuristic
            same(expected, found, report)


@pytest.mark.parametrize("name", ["gasal2_20k_150bp", "ecoli_pacbio_clr_1kb", "ecoli_ont_r9_1-10kb", "ecoli_k12_hifi"])
@pytest.mark.parametrize("text", ["match:2,mismatch:-4,gap:4,2,24,1", "match:1,mismatch:-4,gap:6,1"])
def test_extensions_of_reads(monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    """Reads as they are, and against what belongs to others; a band that a sample has chosen."""
    from tidalign.kernels.local.device import extensions

    monkeypatch.setattr(extensions, "SAMPLE_PAIRS", 4)
    scoring = Substitution.parse(text)
    reads = pairfiles.read_seq(DATA / "pairs" / f"{name}.seq.gz")[:400]
    reads = reads[: 1 + int(np.searchsorted(np.cumsum([len(query) * len(target) for query, target in reads]), 3e8))]
    reads += [(query, target) for (query, _), (_, target) in zip(reads, reads[1:4], strict=False)]
    sides = [batch([read[place].decode() for read in reads], scoring) for place in (0, 1)]
    for zdrop, bonus in ((400, 0), (100, 10), (None, 0)):
        options: dict[str, Any] = {"span": "extension", "zdrop": zdrop, "end_bonus": bonus}
        expected, found = (each(*sides, scoring, **options) for each in (pairs.align, align))
        assert found.by_host == 0
        same(expected, found, "cigar")


@pytest.mark.parametrize(("zdrop", "bonus"), [(None, 7), (40, 20), (400, 0)])
@pytest.mark.parametrize("name", SCORINGS)
def test_extensions_in_bands(monkeypatch: pytest.MonkeyPatch, name: str, zdrop: int | None, bonus: int) -> None:
    """Bands narrower than a strip and wider, with and without narrower ones that a sample has chosen."""
    from tidalign.kernels.local.device import extensions

    text, alphabet, ambiguous = SCORINGS[name]
    scoring = Substitution.parse(text)
    short, long = cases(12, alphabet, 200), alike(6, [10, 129, 300, 700, 1700, 2600], alphabet, 3)
    half = [query[: len(query) // 2] + target[len(target) // 3 :] for query, target in zip(*long, strict=True)]
    sides = [batch([*some, *more, *last], scoring) for some, more, last in zip(short, long, (long[0], half), strict=True)]
    for k, band in enumerate((1, 5, 33, 150, 257, 751, 1 << 30)):
        monkeypatch.setattr(extensions, "SAMPLE_PAIRS", (8, 1 << 20)[k % 2])
        for report in ("cigar", "ends"):
            options: dict[str, Any] = {"span": "extension", "report": report, "zdrop": zdrop, "end_bonus": bonus, "ambiguous": ambiguous, "band": band}
            expected, found = (each(*sides, scoring, **options) for each in (pairs.align, align))
            assert found.by_host == 0 and found.heuristic and expected.heuristic
            same(expected, found, report)


def test_extensions_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pairs whose scores do not fit are left to the host, up to their ends."""
    from tidalign.kernels.local.device import extensions

    monkeypatch.setattr(extensions, "MAX_SCORE", 1000)
    scoring = Substitution.parse("match:2,mismatch:-4,gap:4,2")
    sides = [batch(strings, scoring) for strings in alike(8, [30, 100, 400, 700], "ACGT")]
    for report in ("cigar", "ends", "score"):
        expected, found = (each(*sides, scoring, span="extension", report=report, zdrop=100) for each in (pairs.align, align))
        assert 0 < found.by_host < len(found)
        same(expected, found, report)
