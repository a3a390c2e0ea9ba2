"""Genome alignments into one file, in LASTZ's formats or Parquet, a batch at a time."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.genome.formats import axt, comments, exonerate, general, maf, paf, sam
from tidalign.pipeline.genome.formats import chain as chain_format
from tidalign.pipeline.genome.formats import segments as segments_format
from tidalign.pipeline.genome.formats.block import Block, blocks
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.schema import GENOME_ALIGNMENTS
from tidalign.pipeline.text import content

Batches = Iterable[tuple[Any, Genome, Genome]]
Header = Callable[[Sequence[Genome], GenomeParameters], str]
Lines = Callable[[Block, GenomeParameters], Any]
Check = Callable[[str, str, Genome], None]

THREADS = 2
"""Blocks of rows that are made into text at a time."""

END = b"# lastz end-of-file\n"
"""What --markend writes last. Who reads LASTZ's output looks for these very words."""


def _nothing(targets: Sequence[Genome], parameters: GenomeParameters) -> str:
    return ""


def _anything(role: str, file: str, genome: Genome) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Format:
    """A text format: its first lines, the lines of some rows, what letters no name may have in it, what stands above the first alignment, and what else a
    side must be like."""

    header: Header
    lines: Lines
    banned: str
    above: Header = _nothing
    check: Check = _anything


def _maf_header(targets: Sequence[Genome], parameters: GenomeParameters) -> str:
    return f"##maf version=1 scoring={comments.program()}\n{comments.settings(parameters)}"


def _axt_header(targets: Sequence[Genome], parameters: GenomeParameters) -> str:
    return f"# {comments.program()}\n{comments.settings(parameters)}"


def _with_seeding(header: Header) -> Header:
    return lambda targets, parameters: header(targets, parameters) + comments.seeding(parameters)


_BLANKS, _TABS = " \t", "\t"

_FORMATS = {
    "maf": Format(_maf_header, maf.lines, _BLANKS),
    "maf+": Format(_with_seeding(_maf_header), maf.commented_lines, _BLANKS),
    "maf-": Format(_nothing, maf.lines, _BLANKS),
    "axt": Format(_axt_header, axt.lines, _BLANKS),
    "axt+": Format(_with_seeding(_axt_header), axt.commented_lines, _BLANKS),
    "paf": Format(_nothing, paf.lines, _TABS),
    "paf:minimap2": Format(_nothing, paf.lines, _TABS),
    "paf:wfmash": Format(_nothing, paf.exact_lines, _TABS),
    "sam": Format(sam.header, sam.hard_lines, _TABS, sam.targets, sam.check),
    "sam-": Format(_nothing, sam.hard_lines, _TABS, check=sam.check),
    "softsam": Format(sam.header, sam.soft_lines, _TABS, sam.targets, sam.check_whole),
    "softsam-": Format(_nothing, sam.soft_lines, _TABS, check=sam.check_whole),
    "cigar": Format(_nothing, exonerate.lines, _BLANKS),
    "chain": Format(_nothing, chain_format.lines, _BLANKS),
    "segments": Format(segments_format.header, segments_format.lines, _TABS),
}

FORMATS = (*_FORMATS, "general", "general-", "mapping", "mapping-", "parquet")
"""Values of --format; `general` and `general-` may be followed by `:` and names of fields. A minus leaves out headers, so that files can be joined."""


def parse(text: str) -> str:
    """A value of --format as it stands in messages and run directories. Raises ValueError for one that does not exist."""
    if text != "parquet":
        _format(text)
    return text


def _format(text: str) -> Format:
    if text in _FORMATS:
        return _FORMATS[text]
    kind, _, wanted = text.partition(":")
    if kind in ("general", "general-"):
        names = general.fields(wanted.split(",") if wanted else general.DEFAULT)
    elif text in ("mapping", "mapping-"):
        names = general.MAPPING
    else:
        raise ValueError(f"no format {text!r}: use one of {', '.join(FORMATS)}")

    def header(targets: Sequence[Genome], parameters: GenomeParameters) -> str:
        return "" if kind.endswith("-") else general.header(names)

    def lines(block: Block, parameters: GenomeParameters) -> Any:
        return general.lines(block, names)

    return Format(header, lines, _TABS)


def check(format: str, role: str, file: str, genome: Genome) -> None:
    """Refuse a side that a format cannot hold, before there are rows of it. role: target or query. Raises InputError."""
    if format != "parquet":
        chosen = _format(format)
        _check_names(pa.array(genome.names, pa.large_string()), role, chosen.banned, format, file)
        chosen.check(role, file, genome)


def write(format: str, batches: Batches, targets: Sequence[Genome], parameters: GenomeParameters, sink: BinaryIO, *, markend: bool = False) -> int:
    """Write alignments in the order in which they come; returns how many.

    format: one of FORMATS. batches: rows in `schema.GENOME_ALIGNMENTS` (record batches), each with the target and the query side it is of.
    targets: all target sides, for SAM's header. Memory: some bytes for each of THREADS times `block.COLUMNS` columns of alignment, or of one alignment
    where it is longer. Raises ValueError for no such format, InputError for names and lengths that it cannot hold.
    """
    if format == "parquet":
        return _write_parquet(batches, sink)
    chosen = _format(format)
    sink.write(chosen.header(targets, parameters).encode())
    count = 0
    made: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(THREADS) as threads:
        for rows, target, query in batches:
            if rows.num_rows and not count:
                sink.write(chosen.above(targets, parameters).encode())
            for side in ("target", "query"):
                _check_names(rows[f"{side}_name"], side, chosen.banned, format)
            for block in blocks(rows, target, query, count):
                made.append(threads.submit(chosen.lines, block, parameters))
                if len(made) == THREADS:
                    sink.write(content(made.popleft().result()))
            count += rows.num_rows
        while made:
            sink.write(content(made.popleft().result()))
    if markend:
        sink.write(END)
    return count


def _write_parquet(batches: Batches, sink: BinaryIO) -> int:
    count = 0
    with pq.ParquetWriter(sink, GENOME_ALIGNMENTS, compression="zstd") as writer:
        for rows, _, _ in batches:
            writer.write_batch(rows)
            count += rows.num_rows
    return count


def _check_names(names: Any, role: str, banned: str, format: str, file: str | None = None) -> None:
    strange = pc.index(pc.match_substring_regex(names, f"[{banned}]"), True).as_py()
    if strange >= 0:
        kind = "blanks" if banned == _BLANKS else "tabs"
        expected = f"{role} names without {kind}" + (f" for format {format}" if file else "")
        raise InputError(file or f"format {format}", expected, shown(names[strange].as_py()), f"read the {role} with [nameparse=darkspace]")
