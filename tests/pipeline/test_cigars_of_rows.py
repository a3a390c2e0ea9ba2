"""The functions of `tidalign.cigar` against the kernels that write the same of whole columns, against the tests' oracle, and by hand."""

import re

import oracle
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidalign import cigar
from tidalign.kernels.text.writing import CS, MD
from tidalign.pipeline.text import differences

RUNS = st.lists(st.tuples(st.integers(1, 5), st.sampled_from("=XIDM")), max_size=9)


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, str, str, int, int, str]:
    runs = draw(RUNS)
    merged = [run for place, run in enumerate(runs) if not place or runs[place - 1][1] != run[1]]
    starts = draw(st.integers(0, 3)), draw(st.integers(0, 3))
    letters, alphabet = draw(st.sampled_from([("ACGTacgtNn", "dna"), ("ACDEFGHWYBZX*ace", "protein")]))
    sizes = [sum(length for length, letter in merged if letter != other) + start for other, start in zip("DI", starts, strict=True)]
    query, target = (draw(st.text(letters, min_size=size, max_size=size + 2)) for size in sizes)
    return "".join(f"{length}{letter}" for length, letter in merged), query, target, *starts, alphabet


@given(rows())
def test_tags_are_those_of_the_formats(row: tuple[str, str, str, int, int, str]) -> None:
    text, query, target, q, t, alphabet = row
    ends = [start + len(re.sub(other, "", cigar.expand(text))) for start, other in ((q, "D"), (t, "I"))]
    batch = {"query": pa.array([query.encode()], pa.large_binary()), "target": pa.array([target.encode()], pa.large_binary()), "cigar": pa.array([text])}
    batch |= {name: pa.array([place]) for name, place in (("query_start", q), ("target_start", t), ("query_end", ends[0]), ("target_end", ends[1]))}
    (places, _), (short, _) = (differences(form, batch, alphabet) for form in (MD, CS))
    assert cigar.md(text, query, target, query_start=q, target_start=t, alphabet=alphabet) == places[0].as_py()
    assert cigar.cs(text, query.encode(), target.encode(), query_start=q, target_start=t, alphabet=alphabet) == short[0].as_py()
    if alphabet == "dna":  # the long form: = and letters for : and their number
        whole = cigar.cs(text, query, target, query_start=q, target_start=t, long=True)
        assert re.sub("=([ACGT]+)", lambda found: f":{len(found[1])}", whole) == short[0].as_py()


@given(st.lists(st.tuples(st.integers(1, 9), st.sampled_from("=XID")), max_size=9))
def test_expand_and_identity(runs: list[tuple[int, str]]) -> None:
    text = "".join(f"{length}{letter}" for length, letter in runs)
    columns = cigar.expand(text)
    assert columns == "".join(letter * length for length, letter in runs) and cigar.operations(text) == runs
    assert cigar.identity(text) == oracle.identity(text)


@given(rows(), st.integers(1, 20))
def test_a_drawing_has_both_sequences_and_their_places(row: tuple[str, str, str, int, int, str], width: int) -> None:
    text, query, target, q, t, _ = row
    lines = cigar.pretty(text, query, target, query_start=q, target_start=t, width=width).split("\n") if text else []
    for name, whole, start, other in (("query", query, q, "D"), ("target", target, t, "I")):
        drawn = [line.split() for line in lines if line.startswith(name)]
        letters = "".join(words[2] for words in drawn)
        assert all(len(words[2]) <= width for words in drawn)
        assert letters.replace("-", "") == whole[start : start + len(re.sub(other, "", cigar.expand(text)))]
        places = [(int(words[1]), int(words[3])) for words in drawn]
        assert all(end - begin == len(words[2].replace("-", "")) for (begin, end), words in zip(places, drawn, strict=True))
        assert [begin for begin, _ in places] == [start, *(end for _, end in places[:-1])][: len(places)]
    marks = sum(line.count("|") for line in lines)
    assert marks >= cigar.expand(text).count("=")


@pytest.mark.parametrize("text", ["3", "=", "3=4", "3S", "3=x", " 3=", "-1="])
def test_what_is_no_cigar(text: str) -> None:
    with pytest.raises(ValueError, match="expected lengths and letters of =XMID"):
        cigar.expand(text)


def test_sequences_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="expected 3 letters of the target from 1 on, found 2"):
        cigar.md("3=", "ACG", "ACG", target_start=1)
    with pytest.raises(ValueError, match="M says of no column"):
        cigar.identity("3M")
