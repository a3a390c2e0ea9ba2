"""LAV as LASTZ writes it (https://www.bx.psu.edu/miller_lab/dist/lav_format.html): stanzas for each query and strand, 1-based closed ranges of what was read,
`-` counted on the reverse strand; a line with the per cent of matches for each gap-free run."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.export import in_turn, refuse_names
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.census import key
from tidalign.pipeline.genome.formats.block import Block, GenomeRows, Numbers, gap_free
from tidalign.pipeline.genome.formats.comments import program
from tidalign.pipeline.genome.input.actions import Specifier
from tidalign.pipeline.text import content, empty, joined

_OF = ("job", "target_number", "query_number", "strand")
"""What rows of one stanza of sequences have in common."""

_NOTHING = (-1, -1, -1, "")
"""In place of these before the first row."""


def write(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write all rows of a request; returns how many. Whether a row is of other sequences than the one before it is found out in their order."""
    count, before = 0, _NOTHING
    sink.write(b"#:lav\n" + _settings(request).encode())
    for blocks in in_turn((partial(_made, piece, request) for piece in request.rows.pieces()), request.rows.threads):
        for block, paragraphs in blocks:
            others = np.zeros(len(block), np.bool_)
            for name, value in zip(_OF, before, strict=True):
                column = block[name].combine_chunks() if isinstance(block[name], pa.ChunkedArray) else block[name]
                last = pa.concat_arrays([pa.array([value], column.type), column[:-1]])
                others |= pc.not_equal(column, last).to_numpy(zero_copy_only=False)
            heads = pa.array([_head(block, request, row, before) if other else "" for row, other in enumerate(others.tolist())], pa.large_string())
            sink.write(content(joined(heads, paragraphs)))
            before = tuple(block[name][-1].as_py() for name in _OF)
            count += len(block)
    sink.write(_end(request, before) + (request.format.footer.encode() if request.markend else b""))
    return count


def _made(piece: Callable[[], Iterable[Any]], request: Request[GenomeRows]) -> list[tuple[Block, Any]]:
    """Make the blocks of a piece, with the stanza of each row."""
    blocks = []
    for block in piece():
        refuse_names(block, request.format)
        blocks.append((block, _stanzas(block)))
    return blocks


def _settings(request: Request[GenomeRows]) -> str:
    """Say what made the file, and with which scores."""
    parameters, pair = request.rows.parameters, request.rows.source["genomes"][0]
    scoring = parameters.scoring
    lines = [f'  "{program()} {pair["target"]} {pair["query"]} ', "     A    C    G    T"]
    lines += [" " + "".join(f"{score:>5}" for score in row[:4]) for row in scoring.matrix[:4]]
    thresholds = f"K = {parameters.hspthresh}, L = {parameters.gappedthresh}, M = {parameters.masking or 0}"
    lines.append(f'  O = {scoring.gap_open}, E = {scoring.gap_extend}, {thresholds}"')
    return "d {\n" + "".join(f"{line}\n" for line in lines) + "}\n"


def _head(block: Block, request: Request[GenomeRows], row: int, before: tuple[Any, ...]) -> str:
    """Give what stands before a row of other sequences than the one before it, of which `before` tells where it is in another block."""
    if row:
        before = tuple(block[name][row - 1].as_py() for name in _OF)
    here = tuple(block[name][row].as_py() for name in _OF)
    same = (before[0], *before[2:]) == (here[0], *here[2:])
    return ("" if same else _masked(request, before)) + _sequences(block, request, row)


def _masked(request: Request[GenomeRows], last: tuple[Any, ...]) -> str:
    """Say how many letters the alignments of a query strand masked, of which a row is the last."""
    masks = None if last == _NOTHING else request.rows.masks(last[0])
    return "" if masks is None else f"x {{\n  n {masks.of_strand(key(*last[2:]))}\n}}\n"


def _end(request: Request[GenomeRows], last: tuple[Any, ...]) -> bytes:
    """Give the stanza of all that was masked, and the end."""
    masks = request.rows.masks(max(0, last[0]))
    reached = masks.reached if masks else []
    lines = "".join(f"  x {start + 1} {end}\n" for start, end in reached)
    return f"{_masked(request, last)}m {{\n{lines}  n {len(reached)}\n}}\n#:eof\n".encode()


def _sequences(block: Block, request: Request[GenomeRows], row: int) -> str:
    """Give the stanzas that name the sequences of a row."""
    genomes = request.rows.source["genomes"]
    pair = genomes[0 if len(genomes) == 1 else block["job"][row].as_py()]
    minus = bool(block.reverse[row])
    places, names = [], []
    for side, genome, turned in (("target", block.target, False), ("query", block.query, minus)):
        number = int(block.numbers(f"{side}_number")[row]) if len(genome) > 1 else 0
        wanted = Specifier.parse(pair[side])
        path = wanted.path + (f"/{wanted.select}" if wanted.select else "") + ("-" if turned else "")
        first = int(genome.offsets[number])
        record = int(genome.numbers[number]) + 1
        places.append(f'  "{path}" {first + 1} {first + int(genome.lengths[number])} {int(turned)} {record}\n')
        names.append(f'   ">{genome.names[number]}{" (reverse complement)" if turned else ""}"\n')
    return f"#:lav\ns {{\n{''.join(places)}}}\nh {{\n{''.join(names)}}}\n"


def _stanzas(block: Block) -> Any:
    """Give the stanza of each row: a large_string column."""
    target, query = (_within(block, side) for side in ("target", "query"))
    spans = [block.numbers(f"{side}_end") - block.numbers(f"{side}_start") for side in ("target", "query")]
    runs, starts, matches = gap_free(block)
    row = np.repeat(np.arange(len(block)), np.diff(runs.offsets))
    t, q = target[row] + starts[0], query[row] + starts[1]
    share = (200 * matches + runs.lengths) // np.maximum(2 * runs.lengths, 1)
    pieces = joined(
        *("  l ", pa.array(t + 1), " ", pa.array(q + 1), " ", pa.array(t + runs.lengths), " ", pa.array(q + runs.lengths), " ", pa.array(share), "\n"),
    )
    lines = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(runs.offsets), pieces), empty())
    return joined(
        *("a {\n  s ", block["score"], "\n  b ", pa.array(target + 1), " ", pa.array(query + 1), "\n  e "),
        *(pa.array(target + spans[0]), " ", pa.array(query + spans[1]), "\n", lines, "}\n"),
    )


def _within(block: Block, side: str) -> Numbers:
    """Where alignments start in what was read of their sequence, on the query's strand."""
    genome = block.target if side == "target" else block.query
    number = block.numbers(f"{side}_number") if len(genome) > 1 else np.zeros(len(block), np.int64)
    start = block.numbers(f"{side}_start") - genome.offsets[number]
    if side == "target":
        return start
    end = block.numbers("query_end") - genome.offsets[number]
    return np.where(block.reverse, genome.lengths[number] - end, start)
