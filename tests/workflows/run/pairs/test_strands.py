"""Both strands: rows are those of the better one aligned by itself, on any number of workers; SAM is that of queries turned by hand, but for the flag."""

from pathlib import Path
from typing import Any

import bam_reader
import numpy as np
import pytest

import tidalign
from tidalign.kernels.letters.sequences import PackedSequences, Sequences, pack, reverse_complement, unpack
from tidalign.kernels.pairwise import wavefront

COMPLEMENT = str.maketrans("ACGTRYKMBDHVacgtrykmbdhv", "TGCAYRMKVHDBtgcayrmkvhdb")


def other(letters: str) -> str:
    return letters.translate(COMPLEMENT)[::-1]


def pairs(count: int) -> tuple[list[str], list[str]]:
    """Draw queries and targets: a third on the other strand, a third unrelated or equal on both, some empty, N and lower case among them."""
    rng = np.random.default_rng(4)
    queries, targets = [], []
    for number in range(count):
        target = "".join(rng.choice(list("ACGT"), int(rng.integers(0, 120))))
        query = "".join(letter for letter in target if rng.random() > 0.05)
        query = "".join(rng.choice(list("ACGTNRacg")) if rng.random() < 0.05 else letter for letter in query)
        if number % 3 == 1:
            query = other(query)
        if number % 9 == 2:
            query = target = "ACGT" * (number % 5)  # its own reverse complement
        queries.append(query)
        targets.append(target)
    return queries, targets


WAYS: list[dict[str, Any]] = [
    {},
    {"penalties": "edit", "ends_free": (0, 0, 5, 5)},
    {"penalties": "affine:4,6,2", "ends_free": (3, 0, 9, 0)},
    {"penalty_only": True, "ends_free": (3, 0, 9, 0)},
    {"ambiguous": "match"},
    {"scoring": "match:2,mismatch:-4,gap:4,2"},
    {"scoring": "match:2,mismatch:-4,gap:4,2", "span": "query", "report": "ends"},
    {"scoring": "match:2,mismatch:-4,gap:4,2", "report": "score"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_rows_are_those_of_the_better_strand(way: dict[str, Any]) -> None:
    queries, targets = pairs(90)
    found = tidalign.align(queries, targets, strand="both", **way).to_pylist()
    plus, minus = (tidalign.align(side, targets, **way).to_pylist() for side in (queries, [other(query) for query in queries]))
    value = "score" if "scoring" in way else "penalty"
    strands = []
    for row, one, two in zip(found, plus, minus, strict=True):
        better = two[value] > one[value] if value == "score" else two[value] < one[value]
        expected = two | {"strand": "-"} if better else one
        if better and two["query_start"] is not None:
            expected |= {"query_start": two["query_length"] - two["query_end"], "query_end": two["query_length"] - two["query_start"]}
        assert row == expected
        strands.append(row["strand"])
    assert 20 < strands.count("-") < 60 and {row["strand"] for row in plus} == {"+"}


@pytest.mark.parametrize("penalties", ["edit", "affine:4,6,2"])
def test_reads_of_any_error(penalties: str) -> None:
    """Reads of 5 to 60 % errors, on either strand, of which words tell little at last."""
    rng = np.random.default_rng(9)
    queries, targets = [], []
    for number in range(60):
        target, rate = "".join(rng.choice(list("ACGT"), 400)), 0.05 + number / 110
        query = "".join(str(rng.choice(list("ACGT"))) * int(rng.integers(0, 3)) if rng.random() < rate else letter for letter in target)
        queries.append(other(query) if number % 2 else query)
        targets.append(target)
    found = tidalign.align(queries, targets, strand="both", penalties=penalties).to_pylist()
    plus, minus = (tidalign.align(side, targets, penalties=penalties).to_pylist() for side in (queries, [other(query) for query in queries]))
    for row, one, two in zip(found, plus, minus, strict=True):
        better = two if two["penalty"] < one["penalty"] else one
        assert (row["strand"], row["penalty"], row["cigar"]) == ("-" if better is two else "+", better["penalty"], better["cigar"])


def test_the_wrong_strand_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words rule it out where errors are few; else it has the penalty of the right one as its limit, which the query as it is may come to as well."""
    given: list[np.ndarray[Any, Any]] = []
    within = wavefront.penalties_within
    monkeypatch.setattr(wavefront, "penalties_within", lambda *sides, **options: (given.append(sides[3]), within(*sides, **options))[1])
    rng = np.random.default_rng(5)
    targets = ["".join(rng.choice(list("ACGT"), 500)) for _ in range(20)]
    for rate, ruled_out in ((0.03, True), (0.3, False)):
        queries = ["".join(str(rng.choice(list("ACGT"))) if rng.random() < rate else letter for letter in target) for target in targets]
        queries = [other(query) if number % 2 else query for number, query in enumerate(queries)]
        given.clear()
        rows = tidalign.align(queries, targets, strand="both", penalties="edit").to_pylist()
        limits = np.concatenate(given).tolist()
        assert [row["strand"] for row in rows] == ["+", "-"] * 10
        assert limits == [-1 if ruled_out else row["penalty"] - (row["strand"] == "+") for row in rows]


def test_the_other_strand_of_sequences() -> None:
    queries, _ = pairs(60)
    plain = Sequences.from_strings(queries)
    turned = reverse_complement(plain)
    assert isinstance(turned, Sequences)
    assert bytes(turned.letters) == b"".join(other(query).encode() for query in queries)
    packed = reverse_complement(pack(plain))
    assert isinstance(packed, PackedSequences)
    assert bytes(unpack(packed).letters) == bytes(unpack(pack(turned)).letters)
    again = reverse_complement(packed)
    assert isinstance(again, PackedSequences)
    assert all(np.array_equal(getattr(again, name), getattr(pack(plain), name)) for name in ("codes", "code_offsets", "ambiguous", "ambiguous_offsets"))


def write(folder: Path, name: str, queries: list[str], targets: list[str], qualities: list[str]) -> tuple[Path, Path]:
    reads = "".join(f"@q{n}\n{query}\n+\n{quality}\n" for n, (query, quality) in enumerate(zip(queries, qualities, strict=True)))
    (folder / f"{name}.fq").write_text(reads)
    (folder / f"{name}.fa").write_text("".join(f">c:{n * 200 + 1}-{n * 200 + len(target)}\n{target}\n" for n, target in enumerate(targets)))
    return folder / f"{name}.fq", folder / f"{name}.fa"


def test_files(tmp_path: Path) -> None:
    queries, targets = (list(side) for side in zip(*[pair for pair in zip(*pairs(90), strict=True) if all(pair)], strict=True))
    rng = np.random.default_rng(2)
    qualities = ["".join(map(chr, rng.integers(33, 127, len(query)))) for query in queries]
    given: dict[str, Any] = {"ends_free": (0, 0, 5, 5)}
    files = write(tmp_path, "both", queries, targets, qualities)
    one, two = (tidalign.align_pairs(*files, out=tmp_path / f"run{workers}", strand="both", workers=workers, **given) for workers in (None, 2))
    rows, columns = one.to_table(), ["strand", "cigar"]
    assert rows == two.to_table() and rows.select(columns) == tidalign.align(queries, targets, strand="both", **given).select(columns)
    reverse = [strand == "-" for strand in rows["strand"].to_pylist()]
    by_hand = [other(query) if turned else query for query, turned in zip(queries, reverse, strict=True)]
    backward = [quality[::-1] if turned else quality for quality, turned in zip(qualities, reverse, strict=True)]
    plain = tidalign.align_pairs(*write(tmp_path, "plus", by_hand, targets, backward), out=tmp_path / "plus", **given)
    lines = {}
    for name, results in {"both": two, "plus": plain}.items():
        for suffix in ("sam", "bam", "paf", "tsv"):
            results.export(tmp_path / f"{name}.{suffix}", lift="", **({"cs": True} if suffix != "tsv" else {}))
        lines[name] = [line.split("\t") for line in (tmp_path / f"{name}.sam").read_text().splitlines() if line[0] != "@"]
        packed = bam_reader.text((tmp_path / f"{name}.bam").read_bytes())
        assert packed.upper() == (tmp_path / f"{name}.sam").read_text().upper()  # BAM has no case
    for turned, here, there in zip(reverse, lines["both"], lines["plus"], strict=True):
        assert here[1] == ("16" if turned and there[1] == "0" else there[1])
        assert here[2:] == there[2:] or there[1] == "4"
    pafs = [[line.split("\t") for line in (tmp_path / f"{name}.paf").read_text().splitlines()] for name in ("both", "plus")]
    for turned, here, there in zip(reverse, *pafs, strict=True):
        length, start, end = map(int, there[1:4])
        assert here == (there if not turned else [*there[:2], str(length - end), str(length - start), "-", *there[5:]])
    header, *rest = [line.split("\t") for line in (tmp_path / "both.tsv").read_text().splitlines()]
    assert header[-1] == "strand" and [each[-1] == "-" for each in rest] == reverse
    assert "strand" not in (tmp_path / "plus.tsv").read_text()
    assert "--strand both" in (tmp_path / "both.sam").read_text() and "--strand" not in (tmp_path / "plus.sam").read_text()


def test_what_has_no_other_strand() -> None:
    with pytest.raises(ValueError, match="reverse complement, which proteins do not have"):
        tidalign.align(["ARND"], ["ARND"], scoring="blosum62,gap:11,1", strand="both")
    with pytest.raises(ValueError, match="plus, both"):
        tidalign.align(["A"], ["A"], strand="minus")
