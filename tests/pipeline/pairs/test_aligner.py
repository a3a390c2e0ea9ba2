"""An aligner is a value: the stage does what it says, and a plan names it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tidalign.pipeline.device import CPU, DEVICES
from tidalign.pipeline.errors import ManifestMismatch
from tidalign.pipeline.pairs.aligner import ALIGNERS, SCORED, WAVEFRONT, Aligner, PairParameters, align_batch, aligner_of, batches, described, work
from tidalign.pipeline.pairs.pack import pack_pairs
from tidalign.pipeline.pairs.scored import ScoreParameters
from tidalign.pipeline.pairs.unaligned import rejected
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
    assert [batches(work(aligner, chunk), CPU) for aligner in (WAVEFRONT, other)] == [[(0, 2)], [(0, 1), (1, 2)]]
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
    scores = ScoreParameters("match:2,mismatch:-4,gap:4,2", span="extension", zdrop=100)
    assert "band" not in SCORED.to_json(scores)  # a plan from before there were bands
    banded = replace(scores, band=751)
    assert described(SCORED.to_json(banded)) == (SCORED, banded) and banded.words()[-2:] == ["--band", "751"]
    assert described(SCORED.to_json(scores)) == (SCORED, scores) and aligner_of(scores) is SCORED and aligner_of(parameters) is WAVEFRONT
    with pytest.raises(ManifestMismatch, match="aligner 'smith': expected one of wavefront"):
        described({**values, "aligner": "smith"})


def test_every_aligner_has_a_form_on_every_device() -> None:
    assert all(set(aligner.forms) == set(DEVICES) for aligner in ALIGNERS.values())


def test_rows_of_scores() -> None:
    """By hand: 4 matches and a gap of one letter; nothing alike; proteins as they are."""
    pairs = {"query": [b"ACGTAC", b"AAAA"], "target": [b"TACGAC", b"CCCC"]}
    names = {"ordinal": range(2), "query_name": list("ab"), "target_name": list("ef")}
    packed = pack_pairs(pa.table({**names, **pairs}).select(PAIRS.names).cast(PAIRS))
    row, nothing = align_batch(SCORED, packed, ScoreParameters("match:3,mismatch:-5,gap:1,1"), CPU).to_pylist()
    assert [row[name] for name in ("score", "penalty", "cigar", "query_start", "query_end", "target_start", "target_end")] == [13, None, "3=1I2=", 0, 6, 1, 6]
    assert [row["matches"], row["identity"], row["status"]] == [5, 5 / 6, "exact"]
    assert [nothing[name] for name in ("score", "cigar", "query_end", "identity")] == [0, "", 0, None]
    alone = align_batch(SCORED, packed, ScoreParameters("match:3,mismatch:-5,gap:1,1", report="score"), CPU).to_pylist()[0]
    assert [alone[name] for name in ("score", "cigar", "query_start", "target_end", "matches")] == [13, None, None, None, None]
    stopped = ScoreParameters("match:3,mismatch:-5,gap:1,1", span="extension", zdrop=3)
    for parameters in (stopped, replace(stopped, zdrop=None, band=1)):
        assert align_batch(SCORED, packed, parameters, CPU)["status"].to_pylist() == ["heuristic"] * 2
    proteins = pa.table({**names, "query": [b"MKVW", b"u"], "target": [b"MKvW", b"X"]}).select(PAIRS.names).cast(PAIRS)
    table = align_batch(SCORED, pack_pairs(proteins, plain=True), ScoreParameters("blosum62", span="global"), CPU)
    assert table["score"].to_pylist() == [5 + 5 + 4 + 11, -1] and table["cigar"].to_pylist() == ["4=", "1X"]
    assert rejected(packed, "why")["score"].to_pylist() == [None] * 2


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"span": "locale"}, "span must be one of local"),
        ({"report": "all"}, "report must be one of score"),
        ({"zdrop": 10}, "go with the span extension"),
        ({"span": "extension", "zdrop": -1}, "zdrop must lie in 0"),
        ({"band": 10}, "go with the span extension"),
        ({"span": "extension", "band": 0}, "band must lie in 1..1073741824, a whole number, not 0"),
        ({"scoring": "blosum62", "ambiguous": "match"}, "leave it out for proteins"),
        ({"scoring": "blosum62", "alphabet": "dna"}, "protein letters"),
    ],
)
def test_parameters_of_scores_that_make_no_sense(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ScoreParameters(**{"scoring": "match:1,mismatch:-1,gap:1", **values})
