"""Gapped text of alignments, against strings put together a letter at a time."""

import numpy as np
from genome_oracle import reverse_complement
from hypothesis import given
from hypothesis import strategies as st

from tidalign.kernels.text.gapped import gapped_texts

operations = st.lists(st.tuples(st.sampled_from("=XID"), st.integers(1, 5)), max_size=8)
letters = st.text("ACGTacgtNnX", min_size=49, max_size=60)  # all that operations take, from any start


@given(letters, letters, st.lists(st.tuples(operations, st.booleans(), st.integers(0, 9)), max_size=4))
def test_letters_and_gaps(target: str, query: str, alignments: list[tuple[list[tuple[str, int]], bool, int]]) -> None:
    expected, starts, ends = [], [], []
    for ops, reverse, start in alignments:
        span = sum(length for op, length in ops if op != "D")
        starts.append(start)
        ends.append(min(start + span, len(query)))
        turned = _bytes(query[start : start + span])
        left = [iter(target[start:]), iter((reverse_complement(turned) if reverse else turned).tobytes().decode())]
        columns = [op for op, length in ops for _ in range(length)]
        expected.append(tuple("".join("-" if op == gap else next(side) for op in columns) for side, gap in zip(left, "ID", strict=True)))
    flat = [one for ops, _, _ in alignments for one in ops]
    offsets = np.concatenate(([0], np.cumsum([len(ops) for ops, _, _ in alignments]))).astype(np.int64)
    target_text, query_text, places = gapped_texts(
        *(_bytes(target), _bytes(query), np.array(starts, np.int64), np.array(starts, np.int64), np.array(ends, np.int64)),
        *([reverse for _, reverse, _ in alignments], _bytes("".join(op for op, _ in flat)), np.array([length for _, length in flat], np.int64), offsets),
    )
    found = [
        tuple(text[places[i] : places[i + 1]].tobytes().decode() for text in (target_text, query_text)) for i in range(len(alignments))
    ]  # fmt: skip
    assert found == expected


def _bytes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)
