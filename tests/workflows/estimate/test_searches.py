"""What an estimate counts of searches: all cells, less those of pairs of DNA that are left out."""

import random

import pyarrow as pa
from scored_cases import mutated

from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.workflows.estimate import search


def test_a_search_of_relatives_makes_few_of_its_cells() -> None:
    """All cells of sequences that have nothing in common, or of too few letters to count words; a part of those of relatives, a query's best among them."""
    chance = random.Random(5)
    families = ["".join(chance.choices("ACGT", k=600)) for _ in range(40)]
    relatives = ["".join(mutated(chance, family, "ACGT")) if number % 4 else family for family in families for number in range(40)]
    chance.shuffle(relatives)
    queries, database = (
        pa.array([family.encode() for family in families], pa.large_binary()),
        pa.array([each.encode() for each in relatives], pa.large_binary()),
    )
    parameters, letters = SearchParameters(top=5), float(sum(map(len, relatives)))
    few = search.made(queries, database, len(relatives), letters, parameters)
    assert 24 / 600 <= few < 0.3
    assert few < search.made(queries, database, len(relatives), letters, SearchParameters(top=40)) < 1.0, "the last is a mutated one"
    strangers = pa.array(["".join(chance.choices("ACGT", k=600)).encode() for _ in range(40)], pa.large_binary())
    assert search.made(strangers, database, len(relatives), letters, parameters) > 0.9
    assert search.made(queries, database, len(relatives), letters, SearchParameters("match:1,mismatch:-4,n:-1,gap:6,1")) == 1.0
    assert search.made(queries, database, len(relatives), 1000.0, parameters) == 1.0 == search.made(queries.slice(0, 0), database, 1.0, 1.0, parameters)
