"""Where lines begin and end, and which are marks: against Python's own splitting of small texts."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.text.lines import before_blanks, copy_ranges, count_marks, hash_names, line_bounds, numbers_behind, other_record

TEXTS = st.one_of(
    st.text("\n\r@+A", max_size=300),
    st.lists(st.text("A\r", max_size=130), max_size=8).map("\n".join),  # ends at any place of 64 bytes
).map(str.encode)


def array(text: bytes) -> np.ndarray:
    return np.frombuffer(text, np.uint8)


def bounds(text: bytes, at_line_start: bool) -> list[tuple[int, int]]:
    """Begin and end of each line that begins in a text."""
    found, start = [], 0
    for line in text.split(b"\n"):
        found.append((start, start + len(line) - line.endswith(b"\r")))
        start += len(line) + 1
    if found[-1][0] == len(text):
        found.pop()
    return found if at_line_start else found[1:]


@given(TEXTS, st.booleans())
def test_lines_are_those_of_a_split(text: bytes, at_line_start: bool) -> None:
    expected = bounds(text, at_line_start)
    assert [tuple(line) for line in line_bounds(array(text), at_line_start).T.tolist()] == expected


@given(TEXTS.filter(bool), st.sampled_from([0, ord("@")]), st.data())
def test_marks_of_cells(text: bytes, first: int, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(1, len(text) - 1), max_size=3, unique=True))) if len(text) > 1 else []
    cells = [0, *cuts, len(text)]
    counts = np.zeros(len(cells) - 1, np.int64)
    count_marks(array(text), np.array(cells), first, counts)
    pieces = [text[start:stop] for start, stop in zip(cells[:-1], cells[1:], strict=True)]
    assert counts.tolist() == [sum(a == 10 and first in (0, b) for a, b in zip(piece, piece[1:], strict=False)) for piece in pieces]


RECORDS = st.tuples(st.sampled_from(["@r", "@", "r", ""]), st.text("A", max_size=3), st.sampled_from(["+", "+r", "", "r"]), st.text("I", max_size=3))


@given(st.lists(RECORDS, max_size=5))
def test_the_first_record_that_is_none(records: list[tuple[str, str, str, str]]) -> None:
    right = [head[:1] == "@" and plus[:1] == "+" and len(letters) == len(quality) for head, letters, plus, quality in records]
    text = "".join(f"{line}\n" for record in records for line in record).encode()
    whole = right.index(False) if False in right else len(records)
    starts, ends = line_bounds(array(text), True)
    row, named = other_record(array(text), starts, ends)
    assert (row, named) == (whole, any(len(record[2]) > 1 for record in records[:whole]))


@given(st.text("AC \t", max_size=60).map(str.encode), st.data())
def test_ranges_are_copied_up_to_their_first_blanks(text: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    ranges = list(zip(cuts[::2], cuts[1::2], strict=False))
    starts, ends = (np.array([each[side] for each in ranges], np.int64) for side in (0, 1))
    found = before_blanks(array(text), starts, ends)
    words = [text[start:end].replace(b"\t", b" ").split(b" ")[0] for start, end in ranges]
    assert (found - starts).tolist() == [len(word) for word in words]
    offsets = np.concatenate([[0], np.cumsum(found - starts)])
    out = np.empty(offsets[-1], np.uint8)
    copy_ranges(array(text), starts, offsets, out)
    assert out.tobytes() == b"".join(words)


PLACED = re.compile(rb"^(.+):([1-9][0-9]{0,9})-(0|[1-9][0-9]{0,9})$", re.DOTALL)
NAMES = st.one_of(
    st.text("a:-0129", max_size=30),
    st.builds("{}:{}-{}".format, st.text("a:-1é", max_size=5), st.integers(0, 10**11), st.integers(0, 10**11)),
    st.builds("{}:{:03d}-{}".format, st.text("a", max_size=2), st.integers(0, 2000), st.integers(1, 10**10)),
)


@given(st.lists(NAMES.map(str.encode), max_size=20))
def test_numbers_behind_names(names: list[bytes]) -> None:
    """Against a regular expression."""
    letters, offsets = array(b"before" + b"".join(names) or b" "), 6 + np.cumsum([0, *map(len, names)])
    stops, first, last = (np.zeros(len(names), np.int64) for _ in range(3))
    numbers_behind(letters, offsets, stops, first, last)
    found = [PLACED.match(name) for name in names]
    expected = [(offset + len(match[1]), int(match[2]), int(match[3])) if match else (-1, -1, -1) for match, offset in zip(found, offsets, strict=False)]
    assert list(zip(stops.tolist(), first.tolist(), last.tolist(), strict=True)) == expected


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_hashes_are_sums(names: list[bytes]) -> None:
    weights = np.random.default_rng(1).integers(0, 1 << 64, (2, 40), np.uint64)
    words = np.zeros((2, len(names)), np.uint64)
    hash_names(array(b"".join(names) or b" "), np.cumsum([0, *map(len, names)]), weights, words)
    for number, name in enumerate(names):
        for word in (0, 1):
            assert int(words[word, number]) == sum(letter * int(weights[word, place]) for place, letter in enumerate(name)) % (1 << 64)
