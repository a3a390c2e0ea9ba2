"""`tidalign.align` takes sequences in every shape, and gives one row for each pair."""

import threading
import time
from itertools import count
from typing import Any

import numpy as np
import oracle
import pandas
import pyarrow as pa
import pytest
import simulate

import tidalign
from tidalign.cluster import gpus
from tidalign.cluster.errors import NoWorkers
from tidalign.kernels.local import pairs as local_pairs
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.schema import ALIGNMENTS, COUNTS

QUERIES = ["ACGTACGT", "acgt", "", "ACNT", "GATTACA"]
TARGETS = ["ACGTTCGT", "AGT", "ACG", "ACNT", "GATTACA"]
# By hand: one mismatch 4; C inserted 6 + 2; three letters deleted 6 + 3 * 2; N equals nothing 4; equal.
PENALTIES = [4, 8, 12, 4, 0]
CIGARS = ["4=1X3=", "1=1I2=", "3D", "2=1X1=", "7="]


def test_by_hand() -> None:
    table = tidalign.align(QUERIES, TARGETS)
    assert table.schema == ALIGNMENTS
    assert table["penalty"].to_pylist() == PENALTIES
    assert table["cigar"].to_pylist() == CIGARS
    assert table["query_name"].to_pylist() == table["target_name"].to_pylist() == list("01234")
    assert table["target_end"].to_pylist() == [len(target) for target in TARGETS]
    assert set(table["status"].to_pylist()) == {"exact"}


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="device 'tpu': expected 'auto' or 'cpu' or 'gpu'"):
        tidalign.align(QUERIES, TARGETS, device="tpu")
    monkeypatch.setattr(gpus, "installed", lambda name: False)
    with pytest.raises(NoWorkers, match="Python packages cupy and pynvml not found"):
        tidalign.align(QUERIES, TARGETS, device="gpu")


KINDS = [pa.string(), pa.large_string(), pa.binary(), pa.large_binary(), pa.string_view(), pa.binary_view(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_arrow_arrays(kind: pa.DataType) -> None:
    queries, targets = (pa.array(letters).cast(kind) for letters in (QUERIES, TARGETS))
    assert queries.type == kind
    assert tidalign.align(queries, targets)["cigar"].to_pylist() == CIGARS
    # A slice, and an array in pieces.
    assert tidalign.align(queries.slice(1, 3), targets.slice(1, 3))["cigar"].to_pylist() == CIGARS[1:4]
    assert tidalign.align(pa.chunked_array([queries.slice(0, 2), queries.slice(2)]), targets)["cigar"].to_pylist() == CIGARS


def test_other_shapes() -> None:
    assert tidalign.align([letters.encode() for letters in QUERIES], tuple(TARGETS))["cigar"].to_pylist() == CIGARS
    assert tidalign.align(np.array(QUERIES), np.array(TARGETS))["cigar"].to_pylist() == CIGARS
    assert tidalign.align([], []) == ALIGNMENTS.empty_table()
    table = pa.table({"target": TARGETS, "more": range(5), "query": QUERIES, "query_name": list("abcde")})
    aligned = tidalign.align(table)
    assert aligned["cigar"].to_pylist() == CIGARS and aligned["query_name"].to_pylist() == list("abcde")
    assert tidalign.align(table.to_batches()[0]).equals(aligned)


def test_parameters_are_passed_on() -> None:
    assert tidalign.align(QUERIES, TARGETS, "edit")["penalty"].to_pylist() == [1, 1, 3, 1, 0]
    assert tidalign.align(QUERIES, TARGETS, ambiguous="match")["penalty"].to_pylist() == [4, 8, 12, 0, 0]
    assert tidalign.align(QUERIES, TARGETS, penalty_only=True)["cigar"].null_count == 5
    row = tidalign.align(["CGTA"], ["TTCGTATT"], ends_free=(0, 0, 2, 2)).to_pylist()[0]
    assert (row["penalty"], row["target_start"], row["target_end"], row["cigar"]) == (0, 2, 6, "4=")


@pytest.mark.parametrize("penalties", ["edit", "linear:3,2", "affine:4,6,2", "affine2p:4,6,2,24,1"])
@pytest.mark.parametrize(("ends_free", "ambiguous"), [(None, "mismatch"), ((9, 9, 9, 9), "match")])
def test_counts_are_those_of_the_cigar(penalties: str, ends_free: tuple[int, ...] | None, ambiguous: str) -> None:
    random = np.random.default_rng(5)
    pairs = [(b"", b""), (b"", b"ACGT"), (b"ACGT", b""), (b"NNNN", b"NNNN"), (b"A" * 9000, b"A" * 20)]
    pairs += [simulate.pair(random, length, 0.2, kind) for length in (1, 60, 300) for kind in simulate.KINDS]
    table = tidalign.align(*map(list, zip(*pairs, strict=True)), penalties, ends_free=ends_free, ambiguous=ambiguous)
    assert table.select([name for name, _ in COUNTS]).to_pylist() == [oracle.counts(cigar) for cigar in table["cigar"].to_pylist()]
    assert table["identity"].to_pylist() == [oracle.identity(cigar) for cigar in table["cigar"].to_pylist()]


def test_without_cigars_nothing_is_counted() -> None:
    table = tidalign.align(QUERIES, TARGETS, penalty_only=True)
    assert all(table[name].null_count == len(QUERIES) for name in ("identity", *(name for name, _ in COUNTS)))


def test_what_is_refused_is_named() -> None:
    with pytest.raises(InputError, match=r"targets: record 2.*'-' at position 3"):
        tidalign.align(["AC", "AC"], ["AC", "AC-G"])
    with pytest.raises(InputError, match="queries: record 2.*null"):
        tidalign.align(["AC", None], ["AC", "AC"])
    with pytest.raises(InputError, match="record 2"):
        tidalign.align(["AC", "AN"], ["AC", "AC"], ambiguous="error")
    with pytest.raises(ValueError, match="2 queries and 1 targets"):
        tidalign.align(["AC", "AC"], ["AC"])
    with pytest.raises(ValueError, match="affine:X,O,E"):
        tidalign.align(["AC"], ["AC"], "affine:1")
    with pytest.raises(ValueError, match="query and target"):
        tidalign.align(pa.table({"q": ["A"], "target": ["A"]}))
    with pytest.raises(TypeError, match="list"):
        tidalign.align("ACGT", "ACGT")
    with pytest.raises(TypeError, match="two lists"):
        tidalign.align(["ACGT"])
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"scoring": 5}, "scoring: expected text, not 5"),
        ({"heuristic": ("band", 3)}, r"heuristic: expected text, not \('band', 3\)"),
        ({"penalty_only": "no"}, "penalty_only: expected True or False, not 'no'"),
    ]
    for options, said in wrong:
        with pytest.raises(ValueError, match=said):
            tidalign.align(["AC"], ["AC"], **options)
    assert tidalign.align(["AC"], ["AC"], penalty_only=np.bool_(True))["cigar"].to_pylist() == [None]


@pytest.mark.parametrize("twice", ["query", "target_name", "else"])
def test_a_column_that_is_there_twice(twice: str) -> None:
    names = ["query", "target", "target_name", "else"]
    columns = [pa.array(values) for values in (QUERIES, TARGETS, list("abcde"), range(5))]
    table = pa.Table.from_arrays([*columns, columns[names.index(twice)]], names=[*names, twice])
    shapes = (table, table.to_batches()[0], table.to_pandas())
    for shape in shapes:
        if twice == "else":
            assert tidalign.align(shape)["cigar"].to_pylist() == CIGARS
            continue
        with pytest.raises(ValueError, match=f"expected one column '{twice}', found columns {', '.join(names)}, {twice}; rename or drop one of them"):
            tidalign.align(shape)
    letters = pa.Table.from_arrays([pa.array(["ACGT"])] * 3, names=["sequence", "name", "name"])
    with pytest.raises(ValueError, match="database: expected one column 'name', found columns sequence, name, name; rename or drop one of them"):
        tidalign.search(["ACGT"], letters)


def test_a_thousand_pairs_are_quick() -> None:
    random = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", np.uint8)[random.integers(0, 4, (1000, 150))]
    changed = np.where(random.random((1000, 150)) < 0.05, ord("A"), letters).astype(np.uint8)
    queries, targets = ([row.tobytes() for row in rows] for rows in (letters, changed))
    tidalign.align(queries[:1], targets[:1])
    best = float("inf")
    for _ in range(5):
        began = time.process_time()
        tidalign.align(queries, targets)
        best = min(best, time.process_time() - began)
    assert best < 0.05


class Seq:
    """As Bio.Seq: letters that have bytes(), and are no str."""

    def __init__(self, letters: str) -> None:
        self.letters = letters

    def __bytes__(self) -> bytes:
        return self.letters.encode()


class NAType:
    """As pandas.NA: neither true nor false."""

    def __bool__(self) -> bool:
        raise TypeError("boolean value of NA is ambiguous")


class Series:
    """As a Series of polars."""

    def __init__(self, values: list[Any]) -> None:
        self.values = values

    def to_arrow(self) -> pa.Array:
        return pa.array(self.values)


class Frame:
    """As a DataFrame of pandas or polars: columns by name."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.columns = columns

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]


def test_shapes_of_other_libraries() -> None:
    assert tidalign.align([Seq(letters) for letters in QUERIES], [bytearray(letters.encode()) for letters in TARGETS])["cigar"].to_pylist() == CIGARS
    assert tidalign.align(Series(QUERIES), Series(TARGETS))["cigar"].to_pylist() == CIGARS
    columns: dict[str, Any] = {"query": QUERIES, "target": TARGETS, "query_name": list("abcde"), "target_name": range(5, 10)}
    for frame in (Frame(columns), Frame({name: Series(list(values)) for name, values in columns.items()}), pa.table(columns)):
        aligned = tidalign.align(frame)
        assert aligned["cigar"].to_pylist() == CIGARS
        assert aligned["query_name"].to_pylist() == list("abcde") and aligned["target_name"].to_pylist() == list("56789")


def test_parameters_as_values() -> None:
    assert tidalign.align(QUERIES, TARGETS, ("affine", 4, 6, 2)) == tidalign.align(QUERIES, TARGETS)
    assert tidalign.align(QUERIES, TARGETS, ["linear", np.int64(3), np.int8(2)]) == tidalign.align(QUERIES, TARGETS, "linear:3,2")
    assert tidalign.align(QUERIES, TARGETS, ("edit",)) == tidalign.align(QUERIES, TARGETS, "edit")
    both = ["CGTA"], ["TTCGTATT"]
    expected = tidalign.align(*both, ends_free=(2, 2, 2, 2))
    for ends in (2, np.int64(2), [2, 2, 2, 2], np.array([2, 2, 2, 2]), (np.uint8(2),) * 4):
        assert tidalign.align(*both, ends_free=ends) == expected
    for penalties in (("affine", 4, "6", 2), 4, ("affine", 4.0, 6, 2), ("affine", True, 6, 2), ()):
        with pytest.raises(ValueError, match=r"expected a text, as 'affine:4,6,2', a tuple, as"):
            tidalign.align(*both, penalties)
    for wrong in (-1, 2.5, True, (1, 2, 3), (1, 2, 3, "4"), (0, 0, 0, 10**20), "2"):
        with pytest.raises(ValueError, match="ends-free takes four whole numbers"):
            tidalign.align(*both, ends_free=wrong)


@pytest.mark.parametrize("null", [None, float("nan"), np.float64("nan"), NAType()], ids=["None", "nan", "NumPy", "pandas"])
def test_nulls_of_every_kind(null: Any) -> None:
    with pytest.raises(ValueError, match="queries: record 2: expected a sequence, found null; leave such pairs out"):
        tidalign.align(["AC", null], ["AC", "AC"])
    with pytest.raises(ValueError, match="targets: record 1: expected a sequence, found null"):
        tidalign.align(["AC", "AC"], [null, "AC"])
    frame = Frame({"query": ["A", "C"], "target": ["A", "C"], "target_name": ["a", null]})
    with pytest.raises(ValueError, match="target_name: record 2: expected a name, found null; name every record, or leave the column out"):
        tidalign.align(frame)


def test_nulls_of_arrow() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int32()), pa.array(["AC", None]))
    assert values.null_count == 0
    with pytest.raises(ValueError, match="queries: record 2: expected a sequence, found null"):
        tidalign.align(values, ["AC"] * 3)
    for nulls in (pa.nulls(2), pa.array(["AC", None])):
        with pytest.raises(ValueError, match=r"targets: record \d: expected a sequence, found null"):
            tidalign.align(["AC", "AC"], nulls)
    names = pa.table({"query": ["A", "C"], "target": ["A", "C"], "query_name": ["x", None]})
    with pytest.raises(ValueError, match="query_name: record 2: expected a name, found null"):
        tidalign.align(names)


@pytest.mark.parametrize(
    ("queries", "said"),
    [(["AC", "AU"], "'U' at position 2; RNA"), (["AC", "xA"], "'x' at position 1"), (["AC", 7], "found int"), (["AC", ["A"]], "found list")],
)
def test_what_is_no_dna_names_the_record(queries: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=f"queries: record 2: .*{said}"):
        tidalign.align(queries, ["AC", "AC"])


def test_arrays_of_numbers_are_no_sequences() -> None:
    for values in (pa.array([1, 2]), pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}])):
        with pytest.raises(ValueError, match="queries: record 1: expected a sequence in each record, texts or bytes, found values of type"):
            tidalign.align(values, ["A", "C"])


@pytest.mark.parametrize(
    ("queries", "said"),
    [
        ({"a": "ACGT"}, r"found a dict; give list\(d.values\(\)\)"),
        ({"ACGT"}, "found a set, which has no order"),
        (pa.table({"query": ["ACGT"]}), r"found a table \(Table\); give one of its columns"),
        (pandas.DataFrame({"A": ["ACGT"]}), r"found a table \(DataFrame\)"),
        (5, "found int"),
        (bytearray(b"ACGT"), "found one bytearray"),
    ],
)
def test_what_is_no_list_of_sequences_is_not_read_as_one(queries: Any, said: str) -> None:
    """Names of a dict, or of columns, are letters often enough."""
    with pytest.raises(TypeError, match=f"queries: expected a list of sequences, {said}"):
        tidalign.align(queries, ["ACGT"])
    if not isinstance(queries, pa.Table | pandas.DataFrame):
        with pytest.raises(TypeError, match=f"queries: expected a list of sequences, {said}"):
            tidalign.search(queries, ["ACGT"])


def test_letters_beyond_ascii_are_shown_as_they_are() -> None:
    with pytest.raises(ValueError, match="record 2: expected DNA letters .* found 'Ö' at position 2;"):
        tidalign.align(["AC", "AÖ"], ["AC", "AC"])
    with pytest.raises(ValueError, match=r"queries: record 1: expected a sequence in letters, found '\\udc80' at position 2"):
        tidalign.align(["A\udc80"], ["AC"])


# ---- any subset of pairs

SIDES = (["GATTACAGATTACA", "ACGT", "TTTTTTTT", "", "GATTNCA"], ["ACGTT", "GATTACCATTACA", "TTTTCTTTTT", "TGTAATCTGAATC"])


@pytest.mark.parametrize(
    "options",
    [{}, {"penalties": "edit", "ends_free": 2}, {"scoring": "match:2,mismatch:-4,gap:4,2"}, {"scoring": "match:1,mismatch:-1,gap:1,n:0", "span": "query"}]
    + [{"scoring": "blosum62", "report": report} for report in ("score", "ends", "cigar")]
    + [{"scoring": "match:2,mismatch:-3,gap:5,2", "strand": "both", "span": span} for span in ("local", "query")]
    + [{"strand": "both"}],
)
def test_a_subset_of_pairs_is_what_these_pairs_give(options: dict[str, Any]) -> None:
    sides = (["WYRDAL", "LARD", "", "MKVLAT"], ["DALWYR", "MKVAT", "RRR"]) if options.get("scoring") == "blosum62" else SIDES
    chance = np.random.default_rng(3)
    i, j = chance.integers(0, len(sides[0]), 60), chance.integers(0, len(sides[1]), 60).astype(np.uint8)
    found = tidalign.align(*sides, pairs=(i, j), **options)
    wanted = tidalign.align([sides[0][each] for each in i], [sides[1][each] for each in j], **options)
    assert found.drop_columns(["query_name", "target_name"]).equals(wanted.drop_columns(["query_name", "target_name"]))
    assert (found["query_name"].to_pylist(), found["target_name"].to_pylist()) == ([str(each) for each in i], [str(each) for each in j])
    assert found.schema == wanted.schema
    assert ("-" in found["strand"].to_pylist()) == (options.get("strand") == "both")
    assert len(tidalign.align(*sides, pairs=([], []), **options)) == 0


def test_letters_of_a_subset_are_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """By scores a pair of 100,000 letters that is named 1,000 times is looked up where it lies."""
    seen = []
    whole = local_pairs.align_coded
    monkeypatch.setattr(
        local_pairs, "align_coded", lambda query, target, *rest, **options: (seen.append(query.codes.nbytes), whole(query, target, *rest, **options))[1]
    )
    letters = "ACGT" * 25_000
    none = np.zeros(1_000, np.int64)
    found = tidalign.align([letters, "ACGT"], ["ACGT", letters], pairs=(none + 1, none), scoring="match:2,mismatch:-4,gap:4,2", report="score")
    assert found["score"].to_pylist() == [8] * 1_000 and max(seen) == 100_004


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (([0, 5], [0, 0]), r"pairs: expected numbers of queries from 0 to 4, found 5 at place 1 of i"),
        (([0], [-1]), r"pairs: expected numbers of targets from 0 to 3, found -1 at place 0 of j"),
        (([0, 1], [0]), r"pairs: expected as many numbers in i as in j, found 2 and 1"),
        (([0.5], [0]), r"pairs: expected i as an array of whole numbers, one for each pair, found float64 of 1 dimensions"),
        (([[0]], [0]), r"found int64 of 2 dimensions"),
        (([True], [False]), r"found bool"),
        ((["a"], [0]), r"expected i as an array of whole numbers"),
        (([[0], [0, 1]], [0]), r"expected i as an array of whole numbers, one for each pair, found \[\[0\], \[0, 1\]\]"),
        ([0, 1, 2], r"pairs: expected \(i, j\), two arrays of whole numbers, found \[0, 1, 2\]"),
    ],
)
def test_bad_pairs(pairs: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tidalign.align(*SIDES, pairs=pairs)


@pytest.mark.parametrize(
    ("penalties", "text"),
    [
        (tidalign.Edit(), "edit"),
        (tidalign.Linear(3, 2), "linear:3,2"),
        (tidalign.Affine(4, 6, 2), "affine:4,6,2"),
        (tidalign.Affine(mismatch=4, opening=6, extension=np.int64(2)), "affine:4,6,2"),
        (tidalign.TwoPiece(4, 6, 2, 24, 1), "affine2p:4,6,2,24,1"),
        (("affine2p", 4, 6, 2, 24, 1), "affine2p:4,6,2,24,1"),
    ],
    ids=str,
)
def test_penalties_by_name(penalties: Any, text: str) -> None:
    assert str(penalties) == text or isinstance(penalties, tuple)
    assert tidalign.align(QUERIES, TARGETS, penalties) == tidalign.align(QUERIES, TARGETS, text)


def test_models_refuse_what_the_command_line_does() -> None:
    for model in (lambda: tidalign.Affine(0, 6, 2), lambda: tidalign.Linear(1_000_000, 1), lambda: tidalign.Affine(4, 6, "x")):
        with pytest.raises(ValueError, match="penalt|whole numbers"):
            model()
    with pytest.raises(ValueError, match=r"or tidalign.Affine\(4, 6, 2\)"):
        tidalign.align(QUERIES, TARGETS, {"affine": 4})


def test_a_misspelt_argument_is_told_its_nearest() -> None:
    with pytest.raises(TypeError, match=r"align\(\) has no argument 'penaltes'; did you mean 'penalties'\?"):
        tidalign.align(QUERIES, TARGETS, penaltes="edit")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="has no argument 'zzz': expected some of queries, database, top"):
        tidalign.search(["ACGT"], ["ACGT"], zzz=1)  # type: ignore[call-arg]
    for function in (tidalign.align_pairs, tidalign.search_files):
        with pytest.raises(TypeError, match="did you mean 'scheduler'"):
            function("a.fa", "b.fa", out="run", schedule="tcp://host:1")  # type: ignore[call-arg]


@pytest.mark.parametrize("threads", [2, 3, None])
@pytest.mark.parametrize("scoring", [None, "match:2,mismatch:-4,gap:4,2"])
def test_rows_are_the_same_for_any_number_of_threads(threads: int | None, scoring: str | None) -> None:
    random = np.random.default_rng(11)
    pairs = [simulate.pair(random, int(length), 0.1, "uniform") for length in random.integers(1, 400, 300)]
    queries, targets = zip(*pairs, strict=True)
    one = tidalign.align(queries, targets, scoring=scoring)
    assert tidalign.align(queries, targets, scoring=scoring, threads=threads) == one
    chosen = random.integers(0, 300, 500), random.integers(0, 300, 500)
    wanted = tidalign.align(queries, targets, scoring=scoring, pairs=chosen)
    assert tidalign.align(queries, targets, scoring=scoring, pairs=chosen, threads=threads) == wanted


def test_threads_align_beside_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """More batches than threads, in more threads than one: the first is done alone, and of those behind it three wait for each other."""
    from tidalign.workflows import table as home

    used, begun, together = [], count(), threading.Barrier(3, timeout=600)
    known = home.align_batch

    def noted(*arguments: Any) -> Any:
        used.append(threading.get_ident())
        if 0 < next(begun) < 4:
            together.wait()
        return known(*arguments)

    monkeypatch.setattr(home, "align_batch", noted)
    tidalign.align(["ACGTACGTAC"] * 100, ["ACGTACGTAC"] * 100, threads=4)
    assert len(used) >= 16 and len(set(used)) >= 3


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_wrong_threads(threads: Any) -> None:
    with pytest.raises(ValueError, match="expected a whole number from 1 on"):
        tidalign.align(QUERIES, TARGETS, threads=threads)


def test_auto_takes_a_gpu_for_much_work_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from tidalign.pipeline.device import CPU, GPU
    from tidalign.workflows.run import devices

    monkeypatch.setattr(devices, "usable", lambda count: {"0": "NVIDIA H200"})
    assert devices.of_process("auto", lambda: 10.0) is CPU
    assert devices.of_process("auto", lambda: 1e12) is GPU and devices.of_process("cpu", lambda: 1e12) is CPU
    monkeypatch.setattr(devices, "usable", gpus.usable)
    monkeypatch.setattr(gpus, "installed", lambda name: False)
    assert devices.of_process("auto", lambda: 1e12) is CPU
