"""Rows of gapped alignments: coordinates, CIGARs and counts against the reference model; sequences aligned with themselves against LASTZ 1.04.22."""

import random
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import genome_oracle
import genome_oracle_extension
import numpy as np
import oracle
import pyarrow as pa
import pytest
from genome_cases import mutated

from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.gapped.extender import extend
from tidalign.kernels.letters.nucleotides import reverse_complement
from tidalign.kernels.scoring.scores import Scoring
from tidalign.pipeline.device import CPU
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.stages import gapped, seeding
from tidalign.pipeline.schema import GENOME_ALIGNMENTS


def side(sequences: list[str], offsets: list[int]) -> Genome:
    """Make a side whose sequences were read from `offsets` on, of full ones that have 7 letters more at the end."""
    text = sequences[0] if len(sequences) == 1 else "".join(f"\0{sequence}" for sequence in sequences)
    lengths = np.array([len(sequence) for sequence in sequences])
    starts = np.array([0]) if len(sequences) == 1 else np.cumsum(lengths + 1) - lengths
    pieces = np.stack([starts, starts + lengths], axis=1)
    names = [f"s{i}" for i in range(len(sequences))]
    return Genome(
        np.frombuffer(text.encode(), np.uint8), names, starts, lengths, np.array(offsets), lengths + np.array(offsets) + 7, np.arange(len(names)), pieces
    )


def unit(target: Genome, query: Genome, strand: str, parameters: GenomeParameters, query_index: int = 0) -> Any:
    """Make what pipeline.genome.unit.Unit is, without a run."""
    codes = query.codes(query_index)
    scoring = parameters.scoring
    room = parameters.traceback_bytes if parameters.mode == "exact" else None
    costs = (scoring.gap_open, scoring.gap_extend, parameters.ydrop, parameters.gappedthresh, parameters.trim, room)
    return SimpleNamespace(
        device=CPU,
        parameters=parameters,
        target=target,
        query=query,
        query_index=query_index,
        strand=strand,
        target_codes=target.codes(),
        query_codes=codes if strand == "+" else reverse_complement(codes),
        bounds=target.bounds(),
        query_bounds=np.array([[0, len(codes)]]),
        joint=False,
        costs=Costs(scoring.plain(), *costs),
        least=parameters.gappedthresh,
        job=SimpleNamespace(sequence=None, row_job=lambda query: 4),
    )


@pytest.mark.parametrize("strand", ["+", "-"])
def test_rows_equal_the_reference(strand: str) -> None:
    """Names, places in the full sequences on the forward strand, CIGARs with N, X and lower case, counts of columns, what was cut."""
    capped = 0
    for seed in range(25):
        rng = random.Random(seed)
        sequences = ["".join(rng.choices("ACGTacgtNX", [20] * 4 + [5] * 4 + [1, 1], k=150)) for _ in range(3)]
        like = rng.randrange(3)
        queries = ["".join(rng.choices("ACGT", k=40)), mutated(rng, sequences[like], 0.1, 0.03, "ACGTacgtN")]
        if strand == "-":
            queries[1] = genome_oracle.reverse_complement(genome_oracle.letters(queries[1])).tobytes().decode()
        parameters = GenomeParameters(gappedthresh=1000, ydrop=910, traceback_bytes=rng.choice([80 << 20, 2000]))
        target, query = side(sequences, [0, 11, 500]), side(queries, [3, 90])
        one = unit(target, query, strand, parameters, query_index=1)
        t = np.sort(rng.sample([place for start, end in target.pieces.tolist() for place in range(start, end)], 40))
        q = (t - target.starts[like] + np.array([rng.randint(-3, 3) for _ in t])).clip(0, len(one.query_codes) - 1)
        found = gapped.rows(extend(one.target_codes, one.query_codes, one.bounds, t, q, one.costs), one)
        assert found.schema == GENOME_ALIGNMENTS

        letters = genome_oracle.letters(queries[1])
        turned = letters if strand == "+" else genome_oracle.reverse_complement(letters)
        costs = genome_oracle_extension.Costs.of(parameters)
        expected = []
        for a, b in zip(t.tolist(), q.tolist(), strict=True):
            alignment = genome_oracle_extension.extend(target.letters, turned, a, b, costs)
            if alignment is None or alignment.score < 1000:
                continue
            i = int(np.searchsorted(target.starts, a, "right")) - 1
            shift = int(target.offsets[i] - target.starts[i])
            start, end = alignment.query_start, alignment.query_end
            columns = [
                (x, y) for x, y in pairs(alignment, target.letters.tobytes().decode().upper(), turned.tobytes().decode().upper()) if x in "ACGT" and y in "ACGT"
            ]
            if strand == "-":
                start, end = len(turned) - end, len(turned) - start
            cigar = alignment.cigar(target.letters, turned)
            expected.append(
                {
                    "job": 4,
                    "target_number": i,
                    "target_name": f"s{i}",
                    "target_length": 157 + [0, 11, 500][i],
                    "target_start": alignment.target_start + shift,
                    "target_end": alignment.target_end + shift,
                    "query_number": 1,
                    "query_name": "s1",
                    "query_length": len(turned) + 97,
                    "query_start": start + 90,
                    "query_end": end + 90,
                    "strand": strand,
                    "score": alignment.score,
                    "cigar": cigar,
                    "matches": sum(x == y for x, y in columns),
                    "mismatches": sum(x != y for x, y in columns),
                    **{name: oracle.counts(cigar)[name] for name in ("gap_openings", "gap_letters")},
                    "status": "capped" if alignment.cut else "exact",
                    "reason": "LASTZ's traceback buffer ends there: --allocate:traceback=2000" if alignment.cut else None,
                }
            )
            capped += alignment.cut
        assert found.to_pylist() == expected
        assert expected
    assert capped > 3


def pairs(alignment: Any, target: str, query: str) -> list[tuple[str, str]]:
    found = []
    t, q = alignment.target_start, alignment.query_start
    for op, length in alignment.runs:
        if op == 0:
            found += zip(target[t : t + length], query[q : q + length], strict=True)
        t += length * (op != 1)
        q += length * (op != 2)
    return found


def pseudorandom(count: int, seed: int) -> str:
    out = []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        out.append("ACGT"[seed >> 16 & 3])
    return "".join(out)


REPEAT = pseudorandom(150, 7)
REPEATED = pseudorandom(200, 1) + REPEAT + pseudorandom(150, 2) + REPEAT[:70] + "ACGTTGCA" + REPEAT[70:] + pseudorandom(100, 3)
OTHERS = [(13841, 196, 350, 496, 658, "1=2X73=8I78=", 152, 2), (13841, 496, 658, 196, 350, "1=2X73=8D78=", 152, 2)]
ITSELF = (72398, 0, 758, 0, 758, "758=", 758, 0)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [ITSELF, *OTHERS]),
        ({"notrivial": True}, OTHERS),
        ({"gappedthresh": 200_000}, [(200_000, *ITSELF[1:])]),
        ({"gfextend": False, "gappedthresh": 1500, "ydrop": 910}, [ITSELF, *OTHERS]),
    ],
)
def test_a_sequence_with_itself(options: dict[str, Any], expected: list[tuple[Any, ...]]) -> None:
    """What `lastz t.fa[unmask] q.fa --strand=plus` printed with these options, t.fa being in lower case."""
    from tidalign.kernels.anchors.points import lastz_order
    from tidalign.kernels.seed.index import SeedPattern, build_index
    from tidalign.pipeline.genome.stages.host import HostWords

    parameters = replace(GenomeParameters(), **options)
    target = side([REPEATED], [0])
    one = unit(target, side([REPEATED], [0]), "+", parameters)
    words = HostWords(build_index(one.target_codes, SeedPattern.parse(parameters.seed), parameters.step, parameters.max_word_count))
    anchors = pa.concat_tables(list(seeding.find_anchors(target, one.query_codes, "+", words, parameters)))
    t, q, score = (anchors[name].to_numpy() for name in ("target", "query", "score"))
    order = lastz_order(t, q, score)
    walk = gapped.commit(one)
    walk.walk(t[order], q[order])
    found = gapped.rows(walk.alignments(), one).select(["score", "target_start", "target_end", "query_start", "query_end", "cigar", "matches", "mismatches"])
    assert [tuple(row.values()) for row in found.to_pylist()] == expected


def test_which_sequences_are_equal() -> None:
    """Case apart; the first of several; on the strand + only; letters that are no bases included."""
    parameters = GenomeParameters(gappedthresh=50)
    target = side(["ACGTNXACGT", "acgtacgtnn", "ACGTACGTNN"], [0, 0, 0])
    for query, strand, expected in (("ACgtACGTNN", "+", [12]), ("AcGTNxACGT", "+", [1]), ("ACGTACGTNA", "+", []), ("ACGTACGT", "-", [])):
        found = gapped.trivial(unit(target, side([query], [0]), strand, parameters))
        assert [int(one.ends[0]) for one in found] == expected
    [one] = gapped.trivial(unit(target, side(["ACGTACGTNN"], [0]), "+", parameters))
    assert one.score == 4 * 91 + 4 * 100 - 2 * 100
    assert Scoring().fill == -100
