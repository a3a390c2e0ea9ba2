"""What every pairwise aligner must do, on any device: one function that takes the aligner and raises AssertionError with a pair to paste.

A case is a model, a span and what N equals. In each, one batch holds pairs of corner lengths (0 to 70, around 128 and 256), of every error rate from 0 to 60 %,
repeats, long gaps, unrelated, N and lower case. Expectations come from tests/oracle.py: the penalty from the full matrix; the CIGAR re-scored; on the smaller
pairs the CIGAR and the ends by WFA2-lib's tie rule. The same batch is given packed, without CIGARs and in another order: nothing may change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import oracle
import simulate

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import Alignments, cigar_counts, cigar_text

Aligner = Callable[..., Alignments]

OTHER_PENALTIES = (
    "linear:3,2",
    "linear:1,3",
    "affine:3,4,1",
    "affine:5,8,3",
    "affine:1,1,1",
    "affine:2,0,1",
    "affine2p:3,2,3,9,1",
    "affine2p:2,1,2,12,1",
    "affine2p:1,5,1,0,4",
)
PENALTIES = (*map(str, Penalties.presets().values()), *OTHER_PENALTIES)
SPANS: tuple[oracle.EndsFree | None, ...] = (None, (4, 0, 9, 3), (0, 12, 0, 1000))

TIES_UP_TO = 72
"""Letters of the longer side up to which CIGARs are compared with the reference's: its time grows with the square of the penalty."""


@dataclass(frozen=True)
class Case:
    penalties: str
    ends_free: oracle.EndsFree | None = None
    ambiguous: str = "mismatch"

    def __str__(self) -> str:
        span = "" if self.ends_free is None else "-free" + ",".join(map(str, self.ends_free))
        return f"{self.penalties}{span}{'-Nmatches' if self.ambiguous == 'match' else ''}"


def cases() -> list[Case]:
    """List every preset in every span and with N both ways; other penalties end to end and with free ends."""
    presets, others = PENALTIES[: -len(OTHER_PENALTIES)], OTHER_PENALTIES
    spanned = [Case(text, span) for texts, spans in ((presets, SPANS), (others, SPANS[:2])) for text in texts for span in spans]
    return spanned + [Case(text, None, "match") for text in presets]


@cache
def pairs() -> list[simulate.Pair]:
    """Draw the batch: the same for every case and run."""
    random = np.random.default_rng(20)
    found: list[simulate.Pair] = [(b"", b""), (b"A", b""), (b"", b"C"), (b"A", b"a"), (b"N", b"N"), (b"N", b"A"), (b"ACGT", b""), (b"", b"ACGTN")]
    for length in range(71):  # corner lengths, both sides moving
        found.append(simulate.pair(random, length, random.choice([0.0, 0.1, 0.3]), simulate.ERRORS[length % 3]))
    for length in (1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65):
        text = simulate.sequence(random, length)
        found += [(text, text), (text, simulate.sequence(random, 3)), (simulate.sequence(random, 5), text), (b"A" * length, b"T" * length)]
        found += [(text, text + simulate.sequence(random, 8)), (text + simulate.sequence(random, 8), text)]
    for kind in simulate.KINDS:
        for rate in (0.02, 0.1, 0.3, 0.6):
            found += [simulate.pair(random, int(random.integers(20, TIES_UP_TO)), rate, kind) for _ in range(2)]
    for length in (127, 128, 129, 255, 256, 257):
        for rate, kind in ((0.0, "mixed"), (0.05, "mixed"), (0.3, "gaps"), (0.1, "repeats"), (0.1, "ambiguous"), (0.6, "indel")):
            found.append(simulate.pair(random, length, rate, kind))
    return found


@cache
def expected(case: Case) -> list[tuple[int, oracle.Alignment | None]]:
    """Compute for each pair its penalty and, if it is small, its alignment."""
    penalties = Penalties.parse(case.penalties)
    rows = []
    for query, target in pairs():
        small = max(len(query), len(target)) <= TIES_UP_TO
        arguments = (query, target, penalties, case.ends_free, case.ambiguous)
        rows.append((oracle.gotoh(*arguments), oracle.wavefront(*arguments) if small else None))
    return rows


def check_aligner(align: Aligner, case: Case) -> None:
    """Compare `align`, called as tidalign.kernels.pairwise.wavefront.align is, with the oracles in one case."""
    penalties = Penalties.parse(case.penalties)
    options = {"ends_free": case.ends_free, "ambiguous": case.ambiguous}
    batch = pairs()
    queries, targets = (Sequences.from_strings(side) for side in zip(*batch, strict=True))
    found = align(queries, targets, penalties, **options)
    text, offsets = cigar_text(found)
    cigars = [text[start:stop].tobytes().decode() for start, stop in zip(offsets[:-1], offsets[1:], strict=True)]
    counts = cigar_counts(found).T.tolist()
    for i, ((query, target), (penalty, alignment)) in enumerate(zip(batch, expected(case), strict=True)):
        start, end = int(found.query_start[i]), int(found.query_end[i])
        first, last = int(found.target_start[i]), int(found.target_end[i])
        got = oracle.Alignment(int(found.penalty[i]), start, end, first, last, cigars[i])
        paste = f"\npair {i} of {case}:\nquery, target = {query!r}, {target!r}\ngot {got}"
        assert got.penalty == penalty, f"{paste}\nthe optimal penalty is {penalty}"
        assert 0 <= start <= end <= len(query) and 0 <= first <= last <= len(target), paste
        free = case.ends_free or (0, 0, 0, 0)
        assert start <= free[0] and len(query) - end <= free[1] and first <= free[2] and len(target) - last <= free[3], (
            f"{paste}\nmore than the free ends is left out"
        )
        try:
            scored = oracle.rescore(got.cigar, query[start:end], target[first:last], penalties, case.ambiguous)
        except ValueError as error:
            raise AssertionError(f"{paste}\n{error}") from error
        assert scored == penalty, f"{paste}\nthe CIGAR costs {scored}"
        assert counts[i] == list(oracle.counts(got.cigar).values()), f"{paste}\nthe CIGAR was counted as {counts[i]}"
        assert alignment is None or got == alignment, f"{paste}\nWFA2-lib's tie rule gives {alignment}"

    same(found, align(pack(queries), pack(targets), penalties, **options), f"{case}, packed")
    same(found, align(queries, targets, penalties, cigar=False, **options), f"{case}, without CIGARs", with_cigar=False)
    order = np.random.default_rng(1).permutation(len(batch))
    shuffled = [Sequences.from_strings([batch[i][side] for i in order]) for side in (0, 1)]
    again = align(*shuffled, penalties, **options)
    text, offsets = cigar_text(again)
    for place, i in enumerate(order):
        assert text[offsets[place] : offsets[place + 1]].tobytes().decode() == cigars[i], f"{case}: another order gives another CIGAR of\n{batch[i]!r}"


def same(one: Alignments, other: Alignments, what: str, with_cigar: bool = True) -> None:
    """Check that both have the same numbers, and the same operations unless CIGARs were left out of `other`."""
    for column in ("penalty", "query_start", "query_end", "target_start", "target_end"):
        differ = np.flatnonzero(getattr(one, column) != getattr(other, column))
        assert len(differ) == 0, f"{what}: another {column} for pairs {differ[:5].tolist()}"
    if with_cigar:
        assert np.array_equal(one.cigar_offsets, other.cigar_offsets), f"{what}: other CIGARs"
        assert np.array_equal(one.cigar, other.cigar), f"{what}: other CIGARs"
    else:
        assert other.cigar is None, f"{what}: a CIGAR came though none was asked for"
