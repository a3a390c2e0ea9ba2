"""The tags MD, NM and cs against loops over letters, and back: the query's letters and the MD give the target."""

from itertools import groupby

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.text.writing import CS, MD
from tidalign.pipeline.text import differences

DNA, PROTEIN = "ACGTacgtNnRy", "ACDEFGHWYBZX*ace"
RUNS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("=XIDM")), max_size=8)


def columns(query: str, target: str, runs: list[tuple[int, str]], starts: tuple[int, int]) -> list[tuple[str, str, str]]:
    """List (letter of M, I or D; of the query, of the target) of each column."""
    v, h = starts
    found = []
    for length, letter in runs:
        for _ in range(length):
            kind = letter if letter in "ID" else "M"
            found.append((kind, query[v] if kind != "D" else "", target[h] if kind != "I" else ""))
            v, h = v + (kind != "D"), h + (kind != "I")
    return found


def equal(q: str, t: str, protein: bool) -> bool:
    return q.upper() == t.upper() and (protein or q.upper() in "ACGT")


def md(found: list[tuple[str, str, str]], protein: bool) -> tuple[str, int]:
    text, run, deleting, edits = "", 0, False, 0
    for kind, q, t in found:
        if kind == "I":
            edits += 1
            deleting = False  # runs of D on either side of an I are two
        elif kind == "D":
            text += t.upper() if deleting else f"{run}^{t.upper()}"
            run, deleting, edits = 0, True, edits + 1
        else:
            deleting = False
            if equal(q, t, protein):
                run += 1
            else:
                text, run, edits = f"{text}{run}{t.upper()}", 0, edits + 1
    return f"{text}{run}", edits


def cs(found: list[tuple[str, str, str]], protein: bool) -> str:
    words = ["+" + q if kind == "I" else "-" + t if kind == "D" else ":" if equal(q, t, protein) else f"*{t}{q}" for kind, q, t in found]
    text = ""
    for kind, group in groupby(words, key=lambda word: word[0]):
        each = list(group)
        text += f":{len(each)}" if kind == ":" else kind + "".join(word[1:] for word in each) if kind in "+-" else "".join(each)
    return text.lower()


@st.composite
def rows(draw: st.DrawFn) -> tuple[list[dict[str, object]], bool]:
    protein = draw(st.booleans())
    letters = PROTEIN if protein else DNA
    made = []
    for _ in range(draw(st.integers(1, 4))):
        runs = draw(RUNS)
        merged = [(length, letter) for place, (length, letter) in enumerate(runs) if not place or runs[place - 1][1] != letter]
        before = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        sizes = [sum(length for length, letter in merged if letter != other) + start for other, start in zip("DI", before, strict=True)]
        query, target = ("".join(draw(st.lists(st.sampled_from(letters), min_size=size, max_size=size + 2))) for size in sizes)
        made.append({"query": query, "target": target, "runs": merged, "query_start": before[0], "target_start": before[1]})
    return made, protein


@given(rows())
def test_tags(given: tuple[list[dict[str, object]], bool]) -> None:
    made, protein = given
    table = {name: pa.array([each[name].encode() for each in made], pa.large_binary()) for name in ("query", "target")}
    table |= {name: pa.array([each[name] for each in made]) for name in ("query_start", "target_start")}
    for side, other in (("query", "D"), ("target", "I")):
        table[f"{side}_end"] = pa.array([each[f"{side}_start"] + sum(n for n, letter in each["runs"] if letter != other) for each in made])
    table["cigar"] = pa.array(["".join(f"{length}{letter}" for length, letter in each["runs"]) for each in made])
    batch = pa.RecordBatch.from_pydict(table)
    alphabet = "protein" if protein else "dna"
    found = [columns(each["query"], each["target"], each["runs"], (each["query_start"], each["target_start"])) for each in made]
    for skipped in (0, 1):
        texts, edits = differences(MD, batch.slice(skipped), alphabet)
        assert list(zip(texts.to_pylist(), edits.tolist(), strict=True)) == [md(each, protein) for each in found[skipped:]]
        texts, edits = differences(CS, batch.slice(skipped), alphabet)
        assert texts.to_pylist() == [cs(each, protein) for each in found[skipped:]]


@pytest.mark.parametrize(
    ("query", "target", "cigar", "wanted"),
    [
        ("ACGT", "ACGT", "4=", ("4", ":4", 0)),
        ("ACGT", "ACGTT", "4=1D", ("4^T0", ":4-t", 1)),
        ("AGT", "ACAT", "1=1D2X", ("1^C0A1", ":1-c*ag:1", 2)),  # said to differ, but the last letters are equal
        ("AN", "AN", "1=1X", ("1N0", ":1*nn", 1)),
        ("aCg", "AcT", "2=1X", ("2T0", ":2*tg", 1)),
        ("AAC", "AC", "1=1I1=", ("2", ":1+a:1", 1)),
    ],
)
def test_by_hand(query: str, target: str, cigar: str, wanted: tuple[str, str, int]) -> None:
    batch = {"query": pa.array([query.encode()], pa.large_binary()), "target": pa.array([target.encode()], pa.large_binary()), "cigar": pa.array([cigar])}
    batch |= {f"{side}_start": pa.array([0]) for side in ("query", "target")}
    batch |= {"query_end": pa.array([len(query)]), "target_end": pa.array([len(target)])}
    (places, edits), (words, _) = (differences(form, batch, "dna") for form in (MD, CS))
    assert (places[0].as_py(), words[0].as_py(), edits[0]) == wanted
