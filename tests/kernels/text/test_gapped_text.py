"""Gapped text of alignments, against strings put together a letter at a time."""

import numpy as np
from genome_oracle import reverse_complement
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.text.gapped import gapped_texts

operations = st.lists(st.tuples(st.sampled_from("=XID"), st.one_of(st.integers(1, 5), st.just(12))), max_size=8)
letters = st.text("ACGTacgtNnX", min_size=105, max_size=110)  # all that operations take, from any start


@given(letters, letters, st.lists(st.tuples(operations, st.booleans(), st.integers(0, 9)), max_size=4))
def test_letters_and_gaps(target: str, query: str, alignments: list[tuple[list[tuple[str, int]], bool, int]]) -> None:
    expected, starts, ends, target_ends, cigars = [], [], [], [], []
    for ops, reverse, start in alignments:
        span = sum(length for op, length in ops if op != "D")
        starts.append(start)
        ends.append(min(start + span, len(query)))
        target_ends.append(start + sum(length for op, length in ops if op != "I"))
        cigars.append("".join(f"{length}{op}" for op, length in ops))
        turned = _bytes(query[start : start + span])
        left = [iter(target[start:]), iter((reverse_complement(turned) if reverse else turned).tobytes().decode())]
        columns = [op for op, length in ops for _ in range(length)]
        expected.append(tuple("".join("-" if op == gap else next(side) for op in columns) for side, gap in zip(left, "ID", strict=True)))
    target_text, query_text, places = gapped_texts(
        *(_bytes(target), _bytes(query), *(np.array(values, np.int64) for values in (starts, target_ends, starts, ends))),
        *([reverse for _, reverse, _ in alignments], _bytes("".join(cigars)), np.cumsum([0, *map(len, cigars)])),
    )
    found = [
        tuple(text[places[i] : places[i + 1]].tobytes().decode() for text in (target_text, query_text)) for i in range(len(alignments))
    ]  # fmt: skip
    assert found == expected


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)
