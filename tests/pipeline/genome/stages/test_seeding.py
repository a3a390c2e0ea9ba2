"""Seeds to anchors as stages: tables, the reference model's rows, limits over both strands, segments from a file."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import genome_oracle
import numpy as np
import pyarrow as pa
import pytest
from genome_pairs import related

from tidalign.kernels.gapped.extender import Extender
from tidalign.kernels.letters.nucleotides import encode, reverse_complement
from tidalign.kernels.seed.index import SeedPattern, build_index, hits
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.segments import load_segments
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import filters, host, seeding
from tidalign.pipeline.genome.stages.host import HostWords
from tidalign.pipeline.genome.stages.unit import Words, costs_of
from tidalign.pipeline.schema import ANCHORS, HITS, HSPS


def genome(letters: bytes, names: list[str] | None = None) -> Genome:
    """Make a side as it is read, from letters with a NUL before each of several sequences."""
    array = np.frombuffer(letters, np.uint8)
    nulls = np.flatnonzero(array == 0)
    starts = nulls + 1 if len(nulls) else np.zeros(1, np.int64)
    ends = np.append(nulls[1:], len(array))
    lengths = ends[: len(starts)] - starts
    return Genome(
        *(array, names or [f"s{i}" for i in range(len(starts))], starts, lengths, np.zeros_like(starts), lengths, np.arange(len(starts))),
        np.stack([starts, starts + lengths], axis=1),
    )


def sides(seed: int, parameters: GenomeParameters, length: int = 900) -> tuple[Genome, bytes, Any, Words]:
    target, query = related(np.random.default_rng(seed), length)
    side = genome(target)
    index = build_index(side.codes(), SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count)
    return side, query, encode(query), HostWords(index)


def rows(table: Any) -> list[tuple[int, ...]]:
    return list(zip(*table.to_pydict().values(), strict=True))


def find_anchors(target: Genome, query: Any, strand: str, words: Words, parameters: GenomeParameters) -> Any:
    """Find all anchors."""
    pieces = seeding.find_anchors(target, query, strand, words, parameters)
    return pa.concat_tables([(ANCHORS if parameters.gapped else HSPS).empty_table(), *pieces])


@pytest.mark.parametrize("mode", ["exact", "independent"])
@pytest.mark.parametrize("gfextend", [True, False])
@pytest.mark.parametrize("chain", [None, (0, 0)])
def test_anchors_are_those_of_the_model(mode: str, gfextend: bool, chain: tuple[int, int] | None) -> None:
    parameters = GenomeParameters(mode=mode, gfextend=gfextend, chain=chain, hspthresh=1500, seed_filter=(12, 4))
    count = 0
    for seed in range(6):
        side, query, codes, words = sides(seed, parameters)
        letters = side.letters, genome_oracle.letters(query)
        if chain and len(side) > 1:
            continue  # the model has one sequence there
        found = find_anchors(side, codes, "+", words, parameters)
        assert found.schema == ANCHORS
        assert rows(found) == genome_oracle.anchors(*letters, parameters)
        ungapped = replace(parameters, gapped=False)
        segments = rows(find_anchors(side, codes, "+", words, ungapped))
        assert segments == genome_oracle.segments_of(*letters, ungapped, genome_oracle.tables(parameters.scoring)[1])
        count += len(found)
    assert count


def test_stages_alone_give_the_same_in_batches() -> None:
    parameters = GenomeParameters(hspthresh=1500)
    side, query, codes, words = sides(3, parameters)
    batches = list(seeding.find_hits(words, codes, parameters, 20))
    assert [batch.schema for batch in batches] == [HITS] * len(batches)
    assert len(batches) > 1
    raw = genome_oracle.raw_hits(side.letters, genome_oracle.letters(query))
    assert [(t + 19, q + 19) for batch in batches for t, q in rows(batch)] == raw
    hsps = [row for batch in seeding.find_hsps(words, codes, parameters) for row in rows(batch)]
    assert hsps == rows(find_anchors(side, codes, "+", words, replace(parameters, gapped=False))) != []


@pytest.mark.parametrize("gapped", [True, False])
def test_anchors_come_a_tile_at_a_time(gapped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = GenomeParameters(gfextend=False, mode="independent", gapped=gapped)
    side, _, codes, words = sides(3, parameters, 2000)
    whole = find_anchors(side, codes, "+", words, parameters)
    monkeypatch.setattr(seeding, "PIECE", 3)
    monkeypatch.setattr(host, "hits", partial(hits, tile=5))
    pieces = list(seeding.find_anchors(side, codes, "+", words, parameters))
    assert max(len(piece) for piece in pieces) == 3 < len(pieces)
    assert pa.concat_tables(pieces) == whole


def test_chains_stay_within_a_sequence_of_the_target() -> None:
    # As LASTZ 1.04.22: what goes on from one sequence of the target to the next is two chains, also where it goes back in the query.
    letters = np.random.default_rng(1).choice(list(b"ACGT"), 300).astype(np.uint8).tobytes()
    side = genome(b"\0" + letters[150:] + b"\0" + letters[:150])
    parameters = GenomeParameters(gapped=False, chain=(0, 0))
    found = find_anchors(side, encode(letters), "+", HostWords(build_index(side.codes(), SeedPattern.parse("12of19"))), parameters)
    assert [row[:3] for row in rows(found)] == [(1, 150, 150), (152, 0, 150)]


def both_strands(parameters: GenomeParameters, seed: int) -> list[list[tuple[int, ...]]]:
    side, _, codes, words = sides(seed, parameters, 2000)
    return [rows(find_anchors(side, codes if strand == "+" else reverse_complement(codes), strand, words, parameters)) for strand in ("+", "-")]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_best_hsps_of_both_strands_and_those_that_tie(n: int) -> None:
    parameters = GenomeParameters(gapped=False, hspthresh=1200)
    several = 0
    for seed in range(8):
        plus, minus = both_strands(parameters, seed)
        best = both_strands(replace(parameters, query_hsp_best=n), seed)
        if len(plus) + len(minus) <= n:
            assert best == [plus, minus]
            continue
        least = sorted(row[3] for row in plus + minus)[-n]
        assert best == [sorted((row for row in strand if row[3] >= least), key=lambda row: (-row[3], row[1], row[0])) for strand in (plus, minus)]
        several += bool(plus and minus)
    assert several


def test_queries_with_too_many_hsps_give_nothing() -> None:
    parameters = GenomeParameters(gapped=False, hspthresh=1200)
    given_up = 0
    for seed in range(4):
        plus, minus = both_strands(parameters, seed)
        for limit in (1, 10, 100):
            too_many = len(plus) + len(minus) > limit
            limited = replace(parameters, query_hsp_limit=limit)
            assert both_strands(limited, seed) == ([[], []] if too_many else [plus, minus])
            _, _, codes, words = sides(seed, parameters, 2000)
            assert seeding.given_up(words, codes, limited) == too_many
            given_up += too_many
    assert 0 < given_up < 12


# Of a query with so many HSPs on + and on -, what LASTZ 1.04.22 keeps with --queryhsplimit=keep,nowarn:5.
KEPT = {(0, 8): (0, 5), (1, 8): (0, 5), (2, 4): (1, 4), (3, 2): (3, 2), (3, 8): (2, 3), (4, 1): (4, 1), (5, 1): (4, 1), (8, 0): (5, 0), (8, 8): (3, 2)}


@pytest.mark.parametrize("counts", KEPT)
def test_or_the_first_of_them(counts: tuple[int, int]) -> None:
    random = np.random.default_rng(1)
    parts = [random.choice(list(b"ACGT"), 60).astype(np.uint8).tobytes() for _ in range(16)]
    apart = [random.choice(list(b"ACGT"), 60).astype(np.uint8).tobytes() for _ in range(16)]
    target = genome(b"".join(a + b for a, b in zip(parts, apart, strict=True)))
    query = b"".join(parts[8 : 8 + counts[0]])  # on one diagonal each, as what lies between is left out
    query += b"".join(encode_back(part) for part in parts[: counts[1]])
    parameters = GenomeParameters(gapped=False)
    words = HostWords(build_index(target.codes(), SeedPattern.parse("12of19")))
    codes = encode(query)
    found = {}
    for keep in (False, True):
        wanted = replace(parameters, query_hsp_limit=5, query_hsp_keep=True) if keep else parameters
        found[keep] = [rows(find_anchors(target, strand, name, words, wanted)) for name, strand in (("+", codes), ("-", reverse_complement(codes)))]
    assert tuple(len(strand) for strand in found[False]) == counts
    # Each strand is searched until it has more than what is left; of that - is shown first.
    assert [strand[: len(kept)] for strand, kept in zip(found[False], found[True], strict=True)] == found[True]
    plus = min(counts[0], 6)
    assert [len(strand) for strand in found[True]] == [plus, min(counts[1], max(1, 5 - plus) + 1)]
    shown = list(filters.shown([[pa.table({"score": [row[3] for row in strand]})] for strand in found[True][::-1]], 5, gapped=False))
    assert tuple(len(strand) for strand in shown[::-1]) == KEPT[counts]


def encode_back(letters: bytes) -> bytes:
    """Make the reverse complement."""
    return letters[::-1].translate(bytes.maketrans(b"ACGT", b"TGCA"))


def load(tmp_path: Path, text: str, target: Genome, queries: Genome, best: int | None = None) -> dict[tuple[int, str], list[tuple[int, ...]]]:
    path = tmp_path / "segments"
    path.write_text(text)
    tables = load_segments(str(path), target, queries, best=best)
    assert all(table.schema == HSPS for table in tables.values())
    return {key: rows(table) for key, table in tables.items()}


def test_segments_that_overlap_are_joined(tmp_path: Path) -> None:
    # Checked against LASTZ 1.04.22 (--segments, --nogapped); it wants the lines in the order of the queries, this does not.
    lines = """# name1 start1 end1 name2 start2 end2 strand score
t 201 260 q1 47 106 +
t 231 300 q1 77 146 + 50

t 400 420 q1 300 320 + 7
t 420 440 q1 320 340 + 9
t 500 520 q1 300 320 + 7
t 521 540 q1 321 340 + 9
t 700 700 q1 400 400 + 9
t 700 700 q1 400 400 + 3
t 810 815 q1 410 415 + 99
t 800 820 q1 400 420 + 9
*\t900 920 q2 47 67 - 5
"""
    target, queries = genome(b"A" * 1000, ["t"]), genome(b"\0" + b"C" * 500 + b"\0" + b"C" * 100, ["q1", "q2"])
    assert load(tmp_path, lines, target, queries) == {
        (0, "+"): [(399, 299, 41, 9), (200, 46, 100, 50), (499, 299, 21, 7), (520, 320, 20, 9), (699, 399, 1, 9), (799, 399, 21, 99)],
        (1, "-"): [(899, 46, 21, 5)],
    }


# What LASTZ 1.04.22 keeps of some segments with --queryhspbest=N and --nogapped: (target start, query start, length, score) of the first query.
BEST_SEGMENTS = """t 201 260 q1 47 106 +
t 231 300 q1 77 146 + 50
t 400 420 q1 300 320 + 7
t 420 440 q1 320 340 + 9
t 500 520 q1 300 320 + 7
t 521 540 q1 321 340 + 9
t 700 700 q1 400 400 + 9
t 810 815 q1 410 415 + 99
t 800 820 q1 400 420 + 9
t 900 920 q2 47 67 + 5
t 901 921 q2 41 61 + 6
"""
NINES = [(419, 319, 21, 9), (230, 76, 70, 50), (520, 320, 20, 9), (699, 399, 1, 9), (799, 399, 21, 99)]
BEST = {1: [(809, 409, 6, 99)], 2: [(230, 76, 70, 50), (809, 409, 6, 99)], 3: NINES, 6: NINES}


@pytest.mark.parametrize("best", BEST)
def test_the_best_segments_of_each_query(best: int, tmp_path: Path) -> None:
    """What ties stays; segments that are left out are not joined with others."""
    target, queries = genome(b"A" * 1000, ["t"]), genome(b"\0" + b"C" * 500 + b"\0" + b"C" * 100, ["q1", "q2"])
    assert load(tmp_path, BEST_SEGMENTS, target, queries, best=best) == {
        (0, "+"): BEST[best],
        (1, "+"): [(899, 46, 21, 5), (900, 40, 21, 6)][-min(best, 2) :],
    }


def test_the_best_segments_of_both_strands_together(tmp_path: Path) -> None:
    """LASTZ 1.04.22 takes those on - for some on + there; here each stays on its strand."""
    side = genome(b"A" * 100, ["t"])
    lines = "t 1 9 t 1 9 + 3\nt 21 29 t 1 9 + 5\nt 1 9 t 11 19 - 5\nt 31 39 t 31 39 - 7\n"
    both = {(0, "+"): [(20, 0, 9, 5)], (0, "-"): [(0, 10, 9, 5), (30, 30, 9, 7)]}
    assert load(tmp_path, lines, side, side, best=2) == both == load(tmp_path, lines, side, side, best=3)
    assert load(tmp_path, lines, side, side, best=1) == {(0, "-"): [(30, 30, 9, 7)]}
    assert load(tmp_path, lines, side, side, best=9) == load(tmp_path, lines, side, side)


def test_of_one_strand_all_segments_are_kept(tmp_path: Path) -> None:
    # As LASTZ 1.04.22 does with --strand=plus.
    side = genome(b"A" * 100, ["t"])
    (tmp_path / "segments").write_text("t 1 9 t 1 9 + 3\nt 21 29 t 1 9 + 5\n")
    assert {key: rows(table) for key, table in load_segments(str(tmp_path / "segments"), side, side, "+", best=1).items()} == {
        (0, "+"): [(0, 0, 9, 3), (20, 0, 9, 5)]
    }


def test_segments_count_in_full_sequences_and_become_places_of_the_array(tmp_path: Path) -> None:
    target = replace(genome(b"\0" + b"A" * 50 + b"\0" + b"A" * 300, ["a", "b"]), offsets=np.array([0, 100]), full_lengths=np.array([50, 900]))
    queries = replace(genome(b"A" * 150, ["q"]), offsets=np.array([50]), full_lengths=np.array([1426]))
    lines = "b 101 130 q 51 80 + 5\nb 101 130 q 1227 1256 - 6\na 1 30 q 61 90 +\n"
    assert load(tmp_path, lines, target, queries) == {(0, "+"): [(1, 10, 30, 0), (52, 0, 30, 5)], (0, "-"): [(52, 0, 30, 6)]}
    for wrong in ("b 1 30 q 51 80 +", "b 101 130 q 1 30 +", "b 101 130 q 1226 1255 -", "b 372 401 q 51 80 +"):
        with pytest.raises(InputError, match="line 1: expected a (target|query) interval within"):
            load(tmp_path, wrong, target, queries)


def test_segments_of_a_query_in_pieces(tmp_path: Path) -> None:
    """Places count in the whole sequence; a segment lies in one piece."""
    (tmp_path / "q.fa").write_text(f">p\n{'A' * 40}\n>q\n{'A' * 30}NN{'C' * 20}N{'G' * 10}\n")  # 63 letters
    target, queries = genome(b"A" * 100, ["t"]), read_genome(f"{tmp_path}/q.fa[separator=N]", role="query")
    lines = "t 1 9 q 2 10 +\nt 1 9 q 33 41 + 5\nt 1 9 q 53 61 - 6\nt 1 9 q 12 20 - 7\nt 1 9 p 1 9 +\nt 1 9 q 54 62 + 8\n"
    expected = {(1, "+"): [(0, 1, 9, 0)], (2, "+"): [(0, 0, 9, 5)], (1, "-"): [(0, 19, 9, 6)], (2, "-"): [(0, 0, 9, 7)]}
    assert load(tmp_path, lines, target, queries) == expected | {(0, "+"): [(0, 0, 9, 0)], (3, "+"): [(0, 0, 9, 8)]}
    with pytest.raises(InputError, match=r"a query interval within 1..30 or 33..52 or 54..63 \(strand \+\), found 25..33"):
        load(tmp_path, "t 1 9 q 25 33 +", target, queries)


@pytest.mark.parametrize("line", ["t 25 33 q 1 9 +", "t 25 60 q 1 36 +", "t 31 32 q 1 2 +", "t 54 63 q 1 10 +"])
def test_segments_lie_between_separators_of_a_target(tmp_path: Path, line: str) -> None:
    """LASTZ 1.04.22 refuses each: target interval out of range."""
    (tmp_path / "t.fa").write_text(f">t\n{'A' * 30}NN{'C' * 20}NN{'G' * 8}N\n")
    target, queries = read_genome(f"{tmp_path}/t.fa[separator=N]", role="target"), genome(b"A" * 100, ["q"])
    assert load(tmp_path, "t 22 30 q 1 9 +\nt 55 62 q 1 8 + 5\n", target, queries) == {(0, "+"): [(22, 0, 9, 0), (55, 0, 8, 5)]}
    with pytest.raises(InputError, match=f"line 1: expected a target interval between two separators, found {line.split()[1]}"):
        load(tmp_path, line, target, queries)


def test_a_strand_that_is_not_looked_at_has_no_segments(tmp_path: Path) -> None:
    # LASTZ refuses the file, too, when it comes to the end of its query.
    side = genome(b"A" * 100, ["t"])
    (tmp_path / "segments").write_text("t 1 30 t 1 30 +\nt 1 30 t 1 30 -\n")
    for strands, line in (("+", 2), ("-", 1)):
        with pytest.raises(InputError, match=f"line {line}: expected segments on strand \\{strands} alone"):
            load_segments(str(tmp_path / "segments"), side, side, strands)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("t 1 30 q 1 31 + 5", "line 2: expected intervals of one length, found 30 on the target and 31 on the query"),
        ("t 30 1 q 30 1 + 5", "line 2: expected a target interval within 1..100"),
        ("t 0 29 q 0 29 + 5", "line 2: expected a target interval within 1..100"),
        ("t 1 30 q 1 30", "line 2: expected 7 or 8 fields"),
        ("t 1 30 q 1 30 + 5 7", "line 2: expected 7 or 8 fields"),
        ("t 1 30 q 1 30 + 5.7", "line 2: expected whole numbers"),
        ("t 1 30 q 1 30 + -1000000000000000000000000", "line 2: expected a score from -2147483647 to 2147483647, found '-10{24}'"),
        ("t 1 30 q 1 30 x 5", "line 2: expected strand \\+ or -, found 'x'"),
        ("u 1 30 q 1 30 + 5", "line 2: expected the name of a target sequence \\(t\\), found 'u'"),
        ("t 1 30 r 1 30 + 5", "line 2: expected a query name that one sequence has, found 'r', which several have"),
        ("t 1 30 * 1 30 + 5", "line 2: expected the name of a query sequence"),
    ],
)
def test_lines_that_are_no_segments(tmp_path: Path, line: str, message: str) -> None:
    target, queries = genome(b"\0" + b"A" * 100, ["t"]), genome(b"\0" + b"C" * 100 + b"\0" + b"C" * 100 + b"\0" + b"C" * 100, ["q", "r", "r"])
    with pytest.raises(InputError, match=message):
        load(tmp_path, f"# segments\n{line}\n", target, queries)


def test_comments_behind_blanks_and_names_of_a_target_that_is_one_sequence(tmp_path: Path) -> None:
    """LASTZ 1.04.22 takes all of these; not so with [multiple]."""
    lines = "  # segments\nu 1 30 q 1 30 + 5\n"
    assert load(tmp_path, lines, genome(b"A" * 100, ["t"]), genome(b"C" * 100, ["q"])) == {(0, "+"): [(0, 0, 30, 5)]}
    with pytest.raises(InputError, match="line 2: expected the name of a target sequence"):
        load(tmp_path, lines, genome(b"\0" + b"A" * 100, ["t"]), genome(b"C" * 100, ["q"]))


def test_a_target_is_packed_once_for_all_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    target, parameters = encode(np.random.default_rng(5).choice(np.frombuffer(b"ACGT", np.uint8), 5000)), GenomeParameters(mode="independent")
    words = HostWords(build_index(target, SeedPattern.parse("12of19")))
    packed = mock.Mock(wraps=host.packed)
    monkeypatch.setattr(host, "packed", packed)
    found = [sum(len(segments) for segments, _, _ in words.segments(target[start : start + 500].copy(), parameters)) for start in (100, 2000)]
    assert min(found) > 0 and packed.call_count == 1


CHEAP = {"hspthresh": 700, "gappedthresh": 700}


@pytest.mark.parametrize(
    ("changes", "surely"),
    [
        (CHEAP, True),
        (CHEAP | {"entropy": False, "mode": "independent"}, True),
        (CHEAP | {"gappedthresh": 701}, False),
        (CHEAP | {"gfextend": False}, False),
        (CHEAP | {"hsp_cover": "50%"}, False),
        (CHEAP | {"matching": (0, 20)}, False),
    ],
)
def test_hsps_of_the_least_score_of_an_alignment_have_one(changes: dict[str, Any], surely: bool) -> None:
    """That is why nobody inspects their anchors: nothing would be rejected."""
    parameters = replace(GenomeParameters(), **changes)
    costs = costs_of(parameters)
    assert costs.of_hsps == surely
    if not surely:
        return
    found = 0
    for seed in range(12):
        target, _, codes, words = sides(seed, parameters)
        anchors = find_anchors(target, codes, "+", words, parameters)
        extender = Extender(target.codes(), codes, target.bounds(), replace(costs, of_hsps=False))
        t, q = (anchors[name].to_numpy() for name in ("target", "query"))
        assert not extender.inspect(t, q)[0].any()
        assert all(extender.extend(i, int(t[i]), int(q[i]))[0] for i in range(len(t)))
        found += len(t)
    assert found > 20
