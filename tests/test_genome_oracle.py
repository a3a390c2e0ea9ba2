"""The reference model of whole-genome alignment against LASTZ's output (tests/data/genomes)."""

from pathlib import Path
from typing import Any

import genome_golden as golden
import numpy as np
import pytest
from genome_oracle_extension import align_independent
from genome_oracle_fences import align_exact
from genome_pairs import related

import tidalign
from tidalign.pipeline.genome.parameters import GenomeParameters, genome_parameters

MODELLED = {
    "yeast_nogfextend": GenomeParameters(gfextend=False),
    "yeast_independent": GenomeParameters(gfextend=False, mode="independent"),
    "yeast": GenomeParameters(),
    "yeast_truncated": GenomeParameters(traceback_bytes=1_000_000),
    "mt_chimp": GenomeParameters(),
}


@pytest.mark.parametrize("name", MODELLED)
def test_model_is_lastz(name: str) -> None:
    target, query = golden.side(name, "target"), golden.side(name, "query")
    parameters = MODELLED[name]
    align = align_exact if parameters.mode == "exact" else align_independent
    letters = [bytes(side.letters) for side in (target, query)]
    found = []
    for strand, one in align(*letters, parameters):
        shift, length = int(target.offsets[0]), int(query.lengths[0])
        start, end = (one.query_start, one.query_end) if strand == "+" else (length - one.query_end, length - one.query_start)
        found.append((one.score, one.target_start + shift, one.target_end + shift, start + int(query.offsets[0]), end + int(query.offsets[0]), strand))
    names = ("score", "target_start", "target_end", "query_start", "query_end", "strand")
    assert found == [tuple(row[name] for name in names) for row in golden.rows(name).to_pylist()]


def test_of_equal_ends_the_best_is_kept(tmp_path: Path) -> None:
    """Anchors on either side of a gap that the best path takes elsewhere."""
    parameters = genome_parameters(mode="independent", gfextend=False, gappedthresh=1000, ydrop=600, seed="match8", transitions=0, strand="plus")
    target, query = related(np.random.default_rng(35), 500)
    expected = [alignment for _, alignment in align_independent(target, query, parameters)]
    for name, text in (("t", target), ("q", query)):
        (tmp_path / f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), text))
    options: dict[str, Any] = {"nogfextend": True, "gappedthresh": 1000, "ydrop": 600, "seed": "match8", "notransition": True, "strand": "plus"}
    rows = tidalign.align_genomes(tmp_path / "t.fa", tmp_path / "q.fa", out=tmp_path / "run", mode="independent", **options).to_table().to_pylist()
    ends = ("target_start", "target_end", "query_start", "query_end")
    assert {tuple(row[name] for name in ends): row["score"] for row in rows} == {alignment.ends(): alignment.score for alignment in expected}
    assert len(rows) == len(expected) > 1
