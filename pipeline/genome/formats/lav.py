"""LAV as LASTZ writes it (https://www.bx.psu.edu/miller_lab/dist/lav_format.html): stanzas for each query and strand, 1-based closed ranges of what was read,
`-` counted on the reverse strand; a line with the per cent of matches for each gap-free run."""

from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.formats import headed
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers, gap_free, within
from tidalign.pipeline.genome.formats.comments import program, seeding
from tidalign.pipeline.genome.formats.measures import gapless, pairs
from tidalign.pipeline.genome.formats.text import MaskedStrands, with_lav
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.text import empty, joined

_OF = ("job", "target_number", "query_number", "strand")
"""What rows of one stanza of sequences have in common."""

_CAPITAL = np.uint8(0xDF)
"""Bits that upper and lower case share; a gap is no letter by them."""


def write(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many."""
    return _write(request, sink, "", _stanzas)


def write_with_text(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write LASTZ's `lav+text`: each alignment also as `text`, its places from 0."""
    said = "".join(f"# {line}\n{line}\n" for line in seeding(request.rows.parameters).replace("# ", "").splitlines())
    return _write(request, sink, said, lambda block: joined(_stanzas(block), with_lav(block, request)))


def _write(request: Request[GenomeRows], sink: BinaryIO, said: str, lines: Callable[[AlignmentBlock], Any]) -> int:
    sink.write(f"#:lav\n{_settings(request)}{said}".encode(errors="surrogateescape"))
    masked = MaskedStrands(request, "x {{\n  n {}\n}}\n")

    def head(block: AlignmentBlock, request: Request[GenomeRows], row: int, before: headed.Values | None) -> str:
        """Give what stands before a row of other sequences than those of the row before it."""
        return masked.before(block, row) + _sequences(block, request, row)

    count, last = headed.write(request, sink, _OF, head, lines)
    sink.write(masked.rest().encode() + _end(request, last) + (request.format.footer.encode() if request.markend else b""))
    return count


def _settings(request: Request[GenomeRows]) -> str:
    """Say what made the file, and with which scores."""
    parameters, pair = request.rows.parameters, _files(request, request.rows.job or 0)
    scoring = parameters.scoring
    lines = [f'  "{program()} {pair["target"]} {pair["query"]} ', "     A    C    G    T"]
    lines += [" " + "".join(f"{score:>5}" for score in row[:4]) for row in scoring.matrix[:4]]
    thresholds = f"K = {parameters.hspthresh}, L = {parameters.gappedthresh}, M = {parameters.masking or 0}"
    lines.append(f'  O = {scoring.gap_open}, E = {scoring.gap_extend}, {thresholds}"')
    return "d {\n" + "".join(f"{line}\n" for line in lines) + "}\n"


def _files(request: Request[GenomeRows], job: int) -> dict[str, str]:
    """Say which files a pair of genomes was read from; pairs of the sequences of two files are all of these."""
    genomes: list[dict[str, str]] = request.rows.source["genomes"]
    return genomes[0 if len(genomes) == 1 else job]


def _end(request: Request[GenomeRows], last: headed.Values | None) -> bytes:
    """Give the stanza of all that was masked, and the end."""
    masks = request.rows.masks(last[0] if last else request.rows.job or 0)
    reached = masks.reached if masks else []
    lines = "".join(f"  x {start + 1} {end}\n" for start, end in reached)
    return f"m {{\n{lines}  n {len(reached)}\n}}\n#:eof\n".encode()


def _sequences(block: AlignmentBlock, request: Request[GenomeRows], row: int) -> str:
    """Give the stanzas that name the sequences of a row."""
    pair = _files(request, block["job"][row].as_py())
    minus = bool(block.reverse[row])
    places, names = [], []
    for side, genome, turned in (("target", block.target, False), ("query", block.query, minus)):
        number = int(block.numbers(f"{side}_number")[row]) if len(genome) > 1 else 0
        wanted = Specifier.parse(pair[side])
        path = wanted.path + ("-" if turned else "")
        first = int(genome.offsets[number])
        record = int(genome.numbers[number]) + 1
        places.append(f'  "{path}" {first + 1} {first + int(genome.lengths[number])} {int(turned)} {record}\n')
        mark = "" if genome.qualities is not None or wanted.select or wanted.path.lower().endswith(".2bit") else ">"  # as headers begin in FASTA alone
        names.append(f'   "{mark}{genome.names[number]}{" (reverse complement)" if turned else ""}"\n')
    return f"#:lav\ns {{\n{''.join(places)}}}\nh {{\n{''.join(names)}}}\n"


def _matches(block: AlignmentBlock, begins: Numbers, ends: Numbers) -> Numbers:
    """Count the equal letters in columns of the block, between each begin and end: N with N too, but of HSPs."""
    every = block.operations
    if block.hsps or (pairs(block) == gapless(block)).all():
        equal = np.concatenate(([0], np.cumsum(np.where(every.letters == ord("="), every.lengths, 0))))
        columns = np.concatenate(([0], np.cumsum(every.lengths)))
        return equal[np.searchsorted(columns, ends)] - equal[np.searchsorted(columns, begins)]
    target, query = (np.frombuffer(text.buffers()[2], np.uint8) & _CAPITAL for text in block.texts)
    alike = np.concatenate(([0], np.cumsum(target == query)))
    return alike[ends] - alike[begins]


def _stanzas(block: AlignmentBlock) -> Any:
    """Give the stanza of each row: a large_string column."""
    target, query = (within(block, side) for side in ("target", "query"))
    spans = [block.numbers(f"{side}_end") - block.numbers(f"{side}_start") for side in ("target", "query")]
    runs, starts, ends = gap_free(block)
    row = np.repeat(np.arange(len(block)), np.diff(runs.offsets))
    t, q = target[row] + starts[0], query[row] + starts[1]
    among = pairs(block) if block.hsps else runs.lengths  # an HSP is one run, of which LASTZ leaves out columns of letters beyond ACGT
    share = (200 * _matches(block, ends - runs.lengths, ends) + among) // np.maximum(2 * among, 1)
    pieces = joined(
        *("  l ", pa.array(t + 1), " ", pa.array(q + 1), " ", pa.array(t + runs.lengths), " ", pa.array(q + runs.lengths), " ", pa.array(share), "\n"),
    )
    lines = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(runs.offsets), pieces), empty())
    return joined(
        *("a {\n  s ", block["score"], "\n  b ", pa.array(target + 1), " ", pa.array(query + 1), "\n  e "),
        *(pa.array(target + spans[0]), " ", pa.array(query + spans[1]), "\n", lines, "}\n"),
    )
