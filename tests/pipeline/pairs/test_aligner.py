"""An aligner is a value: the stage does what it says, and a plan names it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidalign.pipeline.device import CPU, DEVICES
from tidalign.pipeline.errors import ManifestMismatch
from tidalign.pipeline.pairs.aligner import ALIGNERS, WAVEFRONT, Aligner, PairParameters, align_batch, batches, described, rejected
from tidalign.pipeline.pairs.pack import pack_pairs
from tidalign.pipeline.schema import ALIGNMENTS, PAIRS


@pytest.fixture
def chunk() -> Any:
    columns = {"ordinal": [0, 1], "query_name": ["a", "b"], "target_name": ["c", "d"], "query": [b"ACGT", b"AC"], "target": [b"AGT", b"AC"]}
    return pack_pairs(pa.table(columns).cast(PAIRS))


def turned(found: Any) -> Any:
    return replace(found, penalty=-found.penalty)


def test_the_stage_does_what_the_aligner_says(chunk: Any) -> None:
    parameters, form = PairParameters(penalties="edit"), WAVEFRONT.on(CPU)
    forms = {CPU.name: replace(form, align=lambda *arguments: turned(form.align(*arguments)))}
    other: Aligner[PairParameters] = replace(WAVEFRONT, name="other", forms=forms, work=lambda query, target: np.full(len(query), CPU.batch_work))
    assert [batches(aligner, chunk, CPU) for aligner in (WAVEFRONT, other)] == [[(0, 2)], [(0, 1), (1, 2)]]
    assert [align_batch(aligner, chunk, parameters, CPU)["penalty"].to_pylist() for aligner in (WAVEFRONT, other)] == [[1, 0], [-1, 0]]


def test_identity() -> None:
    """By hand: 7 of 8 columns; 3 of 4, one a gap; nothing but a gap; no columns at all."""
    pairs = {"query": [b"ACGTACGT", b"ACGT", b"", b""], "target": [b"ACGTTCGT", b"AGT", b"ACG", b""]}
    names = {"ordinal": range(4), "query_name": list("abcd"), "target_name": list("efgh")}
    packed = pack_pairs(pa.table({**names, **pairs}).select(PAIRS.names).cast(PAIRS))
    made = [align_batch(WAVEFRONT, packed, PairParameters(penalty_only=penalty_only), CPU) for penalty_only in (False, True)]
    assert [table["identity"].type for table in made] == [pa.float64()] * 2
    assert [table["identity"].to_pylist() for table in made] == [[7 / 8, 3 / 4, 0.0, None], [None] * 4]
    assert rejected(packed, "why")["identity"].to_pylist() == [None] * 4
    assert align_batch(WAVEFRONT, packed.slice(0, 0), PairParameters(), CPU) == ALIGNMENTS.empty_table()


def test_a_plan_names_its_aligner() -> None:
    parameters = PairParameters(penalties="edit", ends_free=(1, 2, 3, 4))
    values = WAVEFRONT.to_json(parameters)
    assert values["aligner"] == "wavefront" and described(values) == (WAVEFRONT, parameters)
    assert described(parameters.to_json()) == (WAVEFRONT, parameters)
    with pytest.raises(ManifestMismatch, match="aligner 'smith': expected one of wavefront"):
        described({**values, "aligner": "smith"})


def test_every_aligner_has_a_form_on_every_device() -> None:
    assert all(set(aligner.forms) == set(DEVICES) for aligner in ALIGNERS.values())
