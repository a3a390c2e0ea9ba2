"""What launchers give to kernels is what the kernels declare: every kernel is launched, on a stand-in for the device, by the code that launches it."""

from collections.abc import Iterator
from typing import Any

import cupy_on_host
import numpy as np
import pytest
import simulate
from cupy_on_host import Recorder

from tidalign.kernels.bidirectional import device as bidirectional_device
from tidalign.kernels.bidirectional import host as bidirectional_host
from tidalign.kernels.bidirectional.launches import NO_KEY, TABLE
from tidalign.kernels.extension import launches as extension_launches
from tidalign.kernels.extension import runs as extension_runs
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.inspection import device as inspection_device
from tidalign.kernels.letters.nucleotides import encode
from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.local import pairs_device
from tidalign.kernels.local.choices import REPORTS, SEARCH_SPANS
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.local.device import extensions, launches
from tidalign.kernels.local.uploaded import uploaded
from tidalign.kernels.pairwise import wavefront_device
from tidalign.kernels.runtime.compiler import FOLDER, source
from tidalign.kernels.runtime.signature import signatures
from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.scoring.scores import Scoring
from tidalign.kernels.scoring.substitution import Substitution
from tidalign.kernels.search import best_device, words_device
from tidalign.kernels.seed import device as seed_device
from tidalign.kernels.seed.index import SeedPattern
from tidalign.kernels.ungapped import device as ungapped_device
from tidalign.kernels.wavefront import device as wavefront_batch
from tidalign.kernels.wavefront.device import ALIGNED, NO_ROOM, NOWHERE, OTHER_LETTERS, OUTGROWN, CallSettings
from tidalign.kernels.wavefront.model import Model

PRESETS = list(Penalties.presets().values())


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    yield cupy_on_host.installed(monkeypatch)
    wavefront_batch._compiled.cache_clear()


def entries(name: str) -> set[str]:
    return set(signatures(source(name)))


def test_every_source_has_its_test() -> None:
    tested = {"bidirectional", "extension", "inspection", "letters", "local", "search", "seed", "ungapped", "wavefront"}
    assert {file.relative_to(FOLDER).parts[0] for file in FOLDER.rglob("*.cu")} == tested


def sides(count: int, length: int, letters: str = "ACGT") -> tuple[Sequences, Sequences]:
    pairs = [*simulate.pairs(3, count, length, 0.1), (letters, letters)]
    queries, targets = (Sequences.from_strings(side) for side in zip(*pairs, strict=True))
    return queries, targets


@pytest.mark.parametrize("cigar", [True, False], ids=["cigar", "penalty"])
@pytest.mark.parametrize("ends_free", [None, (1, 2, 3, 4)], ids=["global", "free"])
@pytest.mark.parametrize(("length", "letters", "packed"), [(100, "ACGT", False), (5000, "ACGN", True)])
def test_wavefronts(recorder: Recorder, length: int, letters: str, packed: bool, ends_free: Any, cigar: bool) -> None:
    """The first pass leaves pairs of every status over; their penalties' bounds ask for rows of every width, on chip and off it."""

    def align(list: Any, status: Any, bound: Any, totals: Any, **_: Any) -> None:
        if not list.any():
            status[:] = np.arange(len(status)) % 5
            bound[:] = np.geomspace(20, 9000, len(bound))
            totals[1], totals[2] = 3, len(status)

    def align_close(list: Any, status: Any, totals: Any, **_: Any) -> None:
        if not list.any():
            status[:] = np.array([ALIGNED, OUTGROWN, NO_ROOM, OTHER_LETTERS])[np.arange(len(status)) % 4]
            totals[1], totals[2] = 3, len(status)

    recorder.effects |= {"wavefront_align": align, "edit_align": align_close}
    both: Any = sides(40, length, letters)
    if packed:
        both = [pack(side) for side in both]
    for penalties in PRESETS:
        wavefront_device.align(*both, penalties, ends_free=ends_free, cigar=cigar)
    close = {"edit_align"} if length < 1000 and not ends_free else set()
    assert recorder.names() == {"wavefront_align"} | close | ({"ends_of_runs", "gather_short_runs" if length < 4096 else "gather_runs"} if cigar else set())
    given = [arguments for _, arguments in recorder.launches if "row_memory" in arguments]
    assert any(isinstance(each["row_memory"], cupy_on_host.Array) for each in given) and any(isinstance(each["list"], cupy_on_host.Array) for each in given)
    assert any(isinstance(each["masks"], cupy_on_host.Array) for each in given) == ("N" in letters)


@pytest.mark.parametrize(("gigabytes", "left"), [(8, 0), (1, 1)])
def test_a_block_may_have_more_than_its_lanes_share(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, gigabytes: int, left: int) -> None:
    """Launch the last pass of a pair that outgrows all others with as much memory as a block needs, if it is there; else the pair is the host's."""
    import cupy

    monkeypatch.setattr(cupy.cuda.runtime, "memGetInfo", lambda: (gigabytes << 30, gigabytes << 30))
    largest = 3 << 29  # what a block of the last pass needs for pairs of 3,500 letters, about

    def align(list: Any, status: Any, penalty: Any, totals: Any, direction_memory: Any, **_: Any) -> None:
        fits = len(direction_memory) > largest
        status[:], penalty[:] = (ALIGNED, NOWHERE) if fits else (OUTGROWN, 0)
        totals[2] += not fits

    recorder.effects["wavefront_align"] = align
    queries, targets = (Sequences.from_strings([side]) for side in simulate.pairs(3, 1, 3500, 0.1)[0])
    found = wavefront_device.align(queries, targets, Penalties.parse("affine2p:4,6,2,24,1"), heuristic=Heuristic.parse("zdrop:60,2"))
    assert found.by_host == left
    bytes_of = [len(each["direction_memory"]) for _, each in recorder.launches if "direction_memory" in each]
    share = int(0.8 * (gigabytes << 30)) // 16
    assert (max(bytes_of) > largest > share) == (not left) and max(bytes_of) < 16 * share


@pytest.mark.parametrize("rule", ["adaptive", "band:-40,40", "adaptive-band:-999,999", "xdrop:100", "zdrop:100"])
@pytest.mark.parametrize(("length", "letters", "ends_free", "cigar"), [(100, "ACGT", None, True), (5000, "ACGN", (1, 2, 3, 4), False)])
def test_heuristics(recorder: Recorder, length: int, letters: str, ends_free: Any, cigar: bool, rule: str) -> None:
    """Some pairs outgrow the first pass, with and without other letters; what has no memory then is the host's. The others are given up."""

    def align(list: Any, status: Any, penalty: Any, totals: Any, **_: Any) -> None:
        if not list.any():
            status[:] = np.array([OUTGROWN, OTHER_LETTERS, ALIGNED])[np.arange(len(status)) % 3]
            penalty[:] = NOWHERE
            totals[1], totals[2] = 3, len(status)

    recorder.effects["wavefront_align"] = align
    for penalties in PRESETS:
        found = wavefront_device.align(*sides(40, length, letters), penalties, ends_free=ends_free, cigar=cigar, heuristic=Heuristic.parse(rule))
        assert found.dropped is not None and found.dropped.sum() == len(found) - found.by_host and 3 * found.by_host <= len(found) + 2
        assert not found.penalty[found.dropped].any() and not found.query_end[found.dropped].any()
    given = [arguments for _, arguments in recorder.launches if "row_memory" in arguments]
    assert {int(each["width"]) for each in given} > {256} and len({int(each["steps"]) for each in given}) > 2
    assert any(isinstance(each["list"], cupy_on_host.Array) for each in given)


@pytest.mark.parametrize("ends_free", [(0, 0, 0, 0), (3, 4, 5, 6)], ids=["global", "free"])
@pytest.mark.parametrize(("letters", "penalty", "leaf"), [("ACGT", 600, 1), ("ACGN", 600, 1), ("ACGT", 12_000, 12_000)])
def test_long_pairs(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, letters: str, penalty: int, leaf: int, ends_free: tuple[int, int, int, int]) -> None:
    """Parts of unknown penalties and then of known ones are cut in the middle; leaves are aligned, with rows on chip or, of large ones, off it."""
    monkeypatch.setattr(bidirectional_host, "LEAF", leaf)

    def found(parts: Any, keys: Any) -> None:
        table = np.asarray(parts).view(TABLE)
        total = np.where(table["known"] >= 0, table["known"], penalty).astype(np.uint64)
        keys[:] = total << np.uint64(40) | table["n"].astype(np.uint64)

    def meet(parts: Any, keys: Any, block_keys: Any, block_columns: Any, **_: Any) -> None:
        found(parts, keys)
        block_columns[:] = np.minimum(*(np.asarray(parts).view(TABLE)[name] for name in "nm"))[:, None] // 2

    def aligned(counts: Any, **_: Any) -> None:
        counts[:] = 1

    def narrow(parts: Any, keys: Any, columns: Any, **_: Any) -> None:
        """Leave each second part to sweeps. Leaves are measured alone."""
        if not isinstance(keys, cupy_on_host.Array):
            return
        found(parts, keys)
        keys[1::2] = NO_KEY
        columns[:] = np.minimum(*(np.asarray(parts).view(TABLE)[name] for name in "nm")) // 2

    recorder.effects |= {"bidirectional_meet": meet, "bidirectional_narrow": narrow, "bidirectional_leaf": aligned}
    if any(ends_free):
        recorder.effects["bidirectional_sweep"] = lambda parts, keys, **_: found(parts, keys)
    queries, targets = sides(3, 400, letters)
    for penalties in PRESETS:
        span = CallSettings(Model.of(penalties), ends_free, True, 1)
        bidirectional_device.align(queries, targets, list(range(len(queries))), span)
    uncut = {"bidirectional_meet"} if any(ends_free) and leaf >= penalty else set()
    once = {"bidirectional_narrow"} if leaf >= penalty else set()
    assert recorder.names() == entries("bidirectional/bidirectional.cu") - uncut - once
    rows = [given["row_memory"] for name, given in recorder.launches if name == "bidirectional_leaf"]
    assert any(isinstance(each, cupy_on_host.Array) for each in rows) == (leaf > 1)


def coded(letters: Any, offsets: Any, codes: Any, count: Any, starts: Any, out: Any, others: Any, lacking: Any) -> None:
    """Do what codes_of_letters does."""
    for i in range(count):
        marked = codes[letters[offsets[i] : offsets[i + 1]]]
        out[starts[i] : starts[i] + len(marked)] = sequence = marked & 127
        others[i], lacking[i] = (sequence >= 4).any(), (marked > 127).any()


def placed(lengths: Any, starts: Any, shorter: Any, numbers: Any, longest: Any, **_: Any) -> None:
    """Do what places_of_sequences does."""
    starts[0], shorter[:], numbers[:], longest[:] = 0, lengths, np.arange(len(lengths)), max(lengths, default=0)
    starts[1:] = np.cumsum((np.asarray(lengths) + 3) // 4 * 4)


def taken(rows: Any, longest: Any, out_lengths: Any, **given: Any) -> None:
    """Do what sequences_taken does."""
    out_lengths[:] = given["lengths"][rows]
    longest[:] = max(out_lengths, default=0)
    for name in ("starts", "others", "lacking", "numbers"):
        given[f"out_{name}"][:] = given[name][rows]


def keyed(n: Any, m: Any, others: Any, all_tabled: int, heights: Any, plain: int, all: int, keys: Any, counts: Any, tallest: Any, **_: Any) -> None:
    """Do what keys_of_pairs does."""
    low, high = (np.minimum(np.searchsorted(each, n), len(each) - 1) for each in (heights[:plain], heights[plain:]))
    kinds = np.where(np.asarray(others) | bool(all_tabled), plain + high, low)
    keys[:] = kinds.astype(np.int64) << 54 | (n // heights[kinds]).astype(np.int64) << 28 | m
    counts[:] = np.bincount(kinds, minlength=all)
    np.maximum.at(np.asarray(tallest), kinds, np.asarray(n))


def kept(n: Any, m: Any, count: int, pairs: int, keep: int, strip: int, team: int, columns: int, rows: int, starts: Any) -> None:
    """Do what cells_of_teams does."""
    tall, long = (np.pad(np.asarray(each, np.int64), (0, -count % pairs)).reshape(-1, pairs).max(axis=1) for each in (n, m))
    steps = (long + team + 2) // 4 * 4
    cells = (-(-tall // strip) if strip else 1) * team * (steps + -(-steps // columns) * rows) if keep else long
    starts[0], starts[1:] = 0, np.cumsum(cells)


def summed(counts: Any, places: Any, **_: Any) -> None:
    """Do what places_of_operations does."""
    places[0], places[1:] = 0, np.cumsum(counts)


def put(rows: Any, score: Any, out_score: Any, **_: Any) -> None:
    """Do what results_placed does with scores."""
    out_score[rows] = score


TAKEN = {"codes_of_letters": coded, "places_of_sequences": placed, "sequences_taken": taken}
SCORED = TAKEN | {"keys_of_pairs": keyed, "cells_of_teams": kept, "places_of_operations": summed, "results_placed": put}
UPLOADED = {"codes_of_letters", "places_of_sequences"}


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize("span", SEARCH_SPANS)
@pytest.mark.parametrize("text", ["match:2,mismatch:-4,gap:4,2", "match:2,mismatch:-4,gap:1000,2,2000,1", "blosum62"])
def test_scores(recorder: Recorder, text: str, span: str, report: str) -> None:
    """Queries of every shape of a team, of gangs, with and without other letters; some scores are too high for 16 bits; the longest fit no memory."""
    scoring = Substitution.parse(text)

    def scored(scores: Any, room: Any, row_room: Any, **_: Any) -> None:
        scores[:] = launches.OVER + 1
        assert room.nbytes >= 16 and row_room >= 0

    recorder.effects |= SCORED | {"local_scores": scored}
    lengths = [0, 3, 60, 90, 120, 150, 190, 250, 380, 500, 600, 1700, 4300, 9000]
    letters = ["A" * length for length in lengths] + ["ARN" * 20]
    found = pairs_device.align(Sequences.from_strings(letters), Sequences.from_strings(letters), scoring, span=span, report=report)
    of_cigars, traced = {"room_of_operations", "places_of_operations", "operations_gathered"}, {"local_traces"} if report != "score" else set()
    assert recorder.names() == {*SCORED, "local_scores"} - of_cigars | traced | (of_cigars if report == "cigar" else set())
    assert len(found) == len(letters) and found.score is not None and (found.by_host > 0) == (report != "score")


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize(("text", "bonus"), [("match:2,mismatch:-4,gap:4,2", 0), ("match:2,mismatch:-4,gap:4,2,24,1", 5), ("blosum62", 5)])
def test_extensions(recorder: Recorder, monkeypatch: pytest.MonkeyPatch, text: str, bonus: int, report: str) -> None:
    """Every team; a sample, bands that are not enough, and then the whole matrix; of pairs of 150 letters two a team are not sure."""
    monkeypatch.setattr(extensions, "SAMPLE_PAIRS", 1)

    def extended(lengths: Any, bands: Any, scores: Any, query_ends: Any, target_ends: Any, losses: Any, enough: Any, **_: Any) -> None:
        scores[:], losses[:], enough[:] = 5, 300, bands >= lengths
        query_ends[:] = target_ends[:] = lengths

    def paired(lengths: Any, sure: Any, **given: Any) -> None:
        extended(lengths, **given)
        sure[:] = lengths != 150

    def possible(possible: Any, **_: Any) -> None:
        possible[:] = True

    def begun(n: Any, share: float, least: int, bands: Any, tails: Any, **_: Any) -> None:
        bands[:] = tails[:] = (n * share).astype(np.int32) + least

    def keyed(picks: Any, rows: Any, n: Any, others: Any, paired: int, low: int, height1: int, height2: int, keys: Any, counts: Any, **given: Any) -> None:
        places = picks if isinstance(picks, cupy_on_host.Array) else np.arange(len(keys))
        of = rows[places] if isinstance(rows, cupy_on_host.Array) else places
        kinds = 2 + 2 * ((n[of] > height1).astype(int) + (n[of] > height2)) + others[of]
        if paired >= 0 and not given["all_tabled"]:
            kinds = np.where(~others[of] & (n[of] >= paired), n[of] > low, kinds)
        keys[:], counts[:] = kinds.astype(np.int64) << 58, np.bincount(kinds, minlength=len(counts))

    def picked(order: Any, picks: Any, rows: Any, bands: Any, tails: Any, out_places: Any, out_rows: Any, out_bands: Any, out_tails: Any, **_: Any) -> None:
        out_places[:] = picks[order] if isinstance(picks, cupy_on_host.Array) else order
        out_rows[:] = rows[out_places] if isinstance(rows, cupy_on_host.Array) else out_places
        out_bands[:], out_tails[:] = bands[out_places], tails[out_places]

    def told(places: Any, rows: Any, each: Any, enough: Any, sure: Any, found: Any, losses: Any, out_enough: Any, unsure: Any, left: Any, **_: Any) -> None:
        found[:, rows], losses[places], out_enough[places] = each[:3], each[3], enough
        if isinstance(sure, cupy_on_host.Array):
            left[:] = (~sure).sum()
            unsure[: int(left[0])] = places[~sure]

    def again(rows: Any, enough: Any, n: Any, out_rows: Any, bands: Any, left: Any, **_: Any) -> None:
        those = np.flatnonzero(~enough)
        left[:], out_rows[: len(those)] = len(those), rows[those] if isinstance(rows, cupy_on_host.Array) else those
        bands[: len(those)] = n[out_rows[: len(those)]]

    recorder.effects |= {"pairs_possible": possible, "bands_begun": begun, "keys_of_extensions": keyed, "extensions_taken": picked}
    recorder.effects |= {"extensions_placed": told, "extensions_again": again}
    recorder.effects |= SCORED | {"local_extensions": lambda query_lengths, **given: extended(query_lengths, **given)}
    recorder.effects["local_paired_extensions"] = lambda query_lengths, **given: paired(query_lengths, **given)
    letters = ["A" * length for length in (0, 3, 60, 150, 600, 3000)] + ["ARN" * 20] * 4
    sides = [Sequences.from_strings(letters)] * 2
    found = pairs_device.align(*sides, Substitution.parse(text), span="extension", report=report, end_bonus=bonus)
    assert recorder.names() >= (entries("local/device/plan.cu") - {"bands_within"}) | {*UPLOADED, "local_extensions"} and (
        "local_traces" in recorder.names()
    ) == (report == "cigar")
    assert ("local_paired_extensions" in recorder.names()) == (bonus == 0)
    bands = [given["bands"] for name, given in recorder.launches if name == "local_extensions"]
    assert len(bands) > 3 and found.score is not None and len(found) == len(letters)


def test_packed_letters_become_codes(recorder: Recorder) -> None:
    recorder.effects["places_of_sequences"] = placed
    uploaded(pack(Sequences.from_strings(["ACGTN", "", "TT"])), Coding(Substitution.parse("match:2,mismatch:-4,gap:4,2")))
    assert recorder.names() == {"codes_of_packed", "places_of_sequences"}


@pytest.mark.parametrize(("text", "span"), [("match:2,mismatch:-4,gap:4,2", "local"), ("blosum62", "local"), ("blosum62", "global")])
def test_search(recorder: Recorder, text: str, span: str) -> None:
    """Queries of every shape, and one whose table fits no block."""
    recorder.effects |= SCORED
    coding = Coding(Substitution.parse(text))
    lengths = [0, 3, 60, 90, 120, 150, 190, 250, 380, 500, 600, 1700, 9000]
    queries, database = (
        uploaded(Sequences.from_strings(letters), coding) for letters in (["A" * length for length in lengths], ["A" * 700, "RN", "", "C" * 90])
    )
    assert len(best_device.search([queries, queries], database, coding, top=3, least=1, span=span)) == 0
    assert recorder.names() - {"keys_of_pairs", *SCORED} == {"local_scores", "best_of_rows", "columns_placed"} | (
        {"worth_of_codes", "scores_over"} if span == "local" else set()
    )
    assert recorder.names() >= {*TAKEN}


def of_strand(places: Any, width: int, strands: int, strand: int, found: Any, which: Any, rows: Any, sequences: Any, **_: Any) -> None:
    """Do what pairs_of_strand does."""
    those = np.flatnonzero(np.asarray(places) % width % strands == strand)
    found[:], which[: len(those)] = len(those), those
    rows[: len(those)], sequences[: len(those)] = places[those] // width, places[those] % width // strands


def enough(counts: Any, **_: Any) -> None:
    """Have the first query few pairs with words enough, and the others too many."""
    counts[:] = 1000
    counts[0] = 2


def test_search_by_words(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder.effects |= SCORED
    monkeypatch.setattr(words_device, "COUNT_CELLS", 0.0)
    coding = Coding(Substitution.parse("match:2,mismatch:-3,gap:5,2"))
    queries, database = (uploaded(Sequences.from_strings(letters), coding) for letters in (["A" * 700, "ACG"], ["A" * 700, "ACGT"] * 70))
    recorder.effects |= {"pairs_of_strand": of_strand, "columns_enough": enough}
    assert len(best_device.search([queries, queries], database, coding, top=3, least=1)) == 0
    one_by_one = {"pairs_of_strand", "scores_placed", "columns_enough", "places_enough"}
    of_words = {"count_shared", "worth_of_codes", *one_by_one}
    assert recorder.names() == {*SCORED, *of_words, "local_scores", "best_of_rows", "scores_over", "columns_placed"} - {
        "places_of_operations",
        "cells_of_teams",
    }


LETTERS = [encode(text.encode() * 40) for text in ("ACGTTGCATGCANNCA", "ACGTTGCATGAACGCA")]


@pytest.fixture
def seeded(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Index every window of the target, let every window of the query have three hits, and sort entries in several shares."""
    monkeypatch.setattr(seed_device, "SORTED", 64)

    def sizes(sizes: Any, windows: Any, **_: Any) -> None:
        sizes[1 : int(windows) + 1] = 1

    def counts(counts: Any, **_: Any) -> None:
        counts[:] = 3

    def rare(alike: Any, **_: Any) -> None:
        alike[:] = 1

    recorder.effects |= {"index_sizes": sizes, "seed_counts": counts, "index_rare": rare}
    return recorder


@pytest.mark.parametrize("limit", [None, "3", "90%"])
@pytest.mark.parametrize("pattern", ["12of19", "14of22", "1" * 22])
def test_seeds(seeded: Recorder, pattern: str, limit: str | None) -> None:
    index = seed_device.build_index(LETTERS[0], SeedPattern.parse(pattern), 1, limit)
    for seed_filter in (None, (12, 2), (10, None)):
        assert list(seed_device.hits(index, LETTERS[1], 1, seed_filter, tile=1000))
    limited = {"index_rare", "index_close_up"}
    assert seeded.names() == entries("seed/seed.cu") - {"seed_letters", "seed_bases"} - (set() if limit else limited)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("gapfree", [None, (910, 3000, True), (400, 1, False)])
def test_ungapped(seeded: Recorder, exact: bool, gapfree: Any) -> None:
    def two(kept_count: Any = None, counts: Any = None, **_: Any) -> None:
        (counts[1:] if kept_count is None else kept_count)[:1] = 2

    def rows(rows: Any, **_: Any) -> None:
        rows[:] = 0, 5 | 5 << 32, 4000, 3 | 2 << 32, 3 | 2 << 32

    seeded.effects |= {"use_seeds": two, "extend_left": two, "hsp_rows": rows}
    index = seed_device.build_index(LETTERS[0], SeedPattern.parse("12of19"))
    options: dict[str, Any] = {"transitions": 1, "seed_filter": None, "scoring": Scoring(), "exact": exact, "gapfree": gapfree, "tile": 500}
    found = list(ungapped_device.segments(index, LETTERS[1], **options))
    assert all(len(segments) == 2 for segments, _ in found)
    of_seeds = {"use_seeds", "seed_segments"}
    assert seeded.names() >= {"seed_letters", "seed_hits", "sort_counts", "sort_scatter"} | ({"seed_bases"} if gapfree else set())
    assert seeded.names() & entries("ungapped/ungapped.cu") == (entries("ungapped/ungapped.cu") - of_seeds if gapfree else of_seeds | {"hit_runs"})


def test_inspection(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection_device, "BATCH", 16)
    bounds = np.array([[0, 300], [301, len(LETTERS[0])]])
    inspector = inspection_device.Inspector(*LETTERS, bounds, Costs(Scoring().plain()))
    places = np.arange(40, 90)
    inspector.inspect(places, places)
    assert recorder.names() == entries("inspection/inspection.cu")


@pytest.mark.parametrize("costs", [Costs(Scoring().plain()), Costs(Scoring(ambiguous=("iupac", 10, 100)).plain(), traceback=1 << 20)])
def test_extension(recorder: Recorder, costs: Costs) -> None:
    """Sides in records of both widths, one of which is cut; paths of several sides to one end."""
    said = iter([(2, 1, 0), (1, 0, 1), (0, 0, 0)])

    def follow(counts: Any, sides: Any, **_: Any) -> None:
        counts[:3] = next(said)
        for name in ("rows", "records", "state"):
            sides[:, extension_launches._SIDE.index(name)] = 3 if name != "state" else extension_launches.DONE

    def paths(counts: Any, **_: Any) -> None:
        counts[:] = 2, 1, 4

    def walk(counts: Any, sides: Any, **_: Any) -> None:
        counts[np.asarray(sides)] = 1

    recorder.effects |= {"extension_follow": follow, "extension_paths": paths, "extension_walk": walk}
    launches = extension_launches.Launches(*LETTERS, costs)
    places = np.zeros(6, extension_launches.PLACE)
    launches.sweep(places)
    which = np.arange(6)
    words, pieces = extension_runs.runs(launches, which)
    assert len(words) == 6 and pieces.shape == (6, 2, 2)
    assert launches.ranges(which).shape == (18, 2)
    assert recorder.names() == set().union(*(entries(name) for name, _ in extension_launches.needed(costs)))
