"""The reference model of whole-genome alignment against LASTZ's output (tests/data/genomes)."""

import genome_golden as golden
import pytest
from genome_oracle_extension import align_independent
from genome_oracle_fences import align_exact

from tidalign.pipeline.genome.parameters import GenomeParameters

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
