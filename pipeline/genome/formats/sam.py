"""SAM as LASTZ writes it (https://samtools.github.io/hts-specs/SAMv1.pdf).

SEQ is the aligned part (with soft clips: all) of the query's strand, QUAL its qualities, of FASTQ, else `*`; there are no tags.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters.nucleotides import decode, reverse_complement
from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.table import GZIP, Format
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.pairs.formats.sam import LONGEST_TARGET, QUERY_NAME, REFERENCE_NAME
from tidalign.pipeline.text import empty, joined

_OTHER = "choose another format, PAF or MAF"
_NAMES = {
    "target": (REFERENCE_NAME, "target names of the letters SAM allows (section 1.2.1 of its specification)"),
    "query": (QUERY_NAME, "query names of at most 254 printable ASCII letters other than @, as SAM wants them"),
}


def header(request: Request[GenomeRows]) -> list[bytes]:
    """Give the @HD line."""
    return [b"@HD\tVN:1.0\tSO:unsorted\n"]


def targets(request: Request[GenomeRows]) -> Iterator[bytes]:
    """Give an @SQ line for each target sequence, empty ones too; LASTZ has them where there is an alignment. InputError for lengths and names that SAM does not
    have."""
    sides = request.rows.targets
    check_together("SAM header", sides, request.format)
    for target in sides:
        _check_lengths(target)
        for _, name, length in _listed(target):
            yield f"@SQ\tSN:{name}\tLN:{length}\n".encode()


def _listed(target: Genome) -> list[tuple[int, str, int]]:
    """Number, name and length of each target sequence, empty ones too, in the order of the file."""
    sequences = zip(target.numbers.tolist(), target.names, target.full_lengths.tolist(), strict=True)
    return sorted([*sequences, *((number, name, 0) for number, name in target.empty)])


def check(role: str, file: str, genome: Genome, format: Format | None = None) -> None:
    """Raise InputError for a side whose names or lengths SAM does not have. role: target or query."""
    names = genome.names if role == "query" else [*genome.names, *(name for _, name in genome.empty)]
    _check(pa.array(names, pa.large_string()), role, file)
    if role == "target":
        _check_lengths(genome, file)
        if format is not None and format.above:
            check_together(file, [genome], format)


def check_together(file: str, targets: Sequence[Genome], format: Format) -> None:
    """Raise InputError where two sequences of the targets of one header have one name."""
    name, times = Counter(name for target in targets for _, name, _ in _listed(target)).most_common(1)[0]
    if times > 1:
        way_out = f"rename them, use [nameparse=darkspace] or --format={format.name.removesuffix(GZIP)}-"
        raise InputError(file, "a name of its own for each target, as SAM's header wants it", f"{shown(name)} {times} times", way_out)


def check_whole(role: str, file: str, genome: Genome, format: Format | None = None) -> None:
    """Check, as `check` does, records with whole sequences."""
    check(role, file, genome, format)
    if role == "query":
        _check_whole(genome, slice(None), file)


def hard_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a large_string column: the record of each row; what is not aligned is clipped off."""
    return _lines(block, "H", pc.utf8_upper(block.query_letters), block.query_qualities)


def soft_lines(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `hard_lines`, with whole sequences, what is clipped in lower case. Raises InputError for a subrange, whose rest is not there."""
    sequences = block.numbers("query_number")
    _check_whole(block.query, sequences, "softsam")
    whole, qualities = {}, {}
    texts, beside = [], []
    for i, key in enumerate(zip(sequences.tolist(), block.reverse.tolist(), strict=True)):
        if key not in whole:
            codes, quality = block.query.codes(key[0]), block.query.qualities_of(key[0])
            whole[key] = decode(reverse_complement(codes) if key[1] else codes).tobytes().decode()
            qualities[key] = "*" if quality is None else (quality[::-1] if key[1] else quality).tobytes().decode()
        text, start, end = whole[key], block.strand_start[i], block.strand_end[i]
        texts.append(text[:start].lower() + text[start:end].upper() + text[end:].lower())
        beside.append(qualities[key])
    return _lines(block, "S", pa.array(texts, pa.large_string()), pa.array(beside, pa.large_string()))


def _lines(block: AlignmentBlock, clip: str, letters: Any, qualities: Any) -> Any:
    rows = block.rows
    for role in ("target", "query"):
        _check(rows[f"{role}_name"], role, "SAM")
    flags = pa.array(np.where(block.reverse, 16, 0))
    return joined(
        *(rows["query_name"], "\t", flags, "\t", rows["target_name"], "\t", pa.array(block.numbers("target_start") + 1), "\t255\t"),
        *(_clip(block.strand_start, clip), block.operations.merged().text(), _clip(block.numbers("query_length") - block.strand_end, clip)),
        *("\t*\t0\t0\t", letters, "\t", "*" if qualities is None else qualities, "\n"),
    )


def _check(names: Any, role: str, file: str) -> None:
    allowed, expected = _NAMES[role]
    strange = pc.index(pc.match_substring_regex(names, allowed), False).as_py()
    if strange >= 0:
        raise InputError(file, expected, shown(names[strange].as_py()), _OTHER)


def _check_lengths(target: Genome, file: str = "SAM header") -> None:
    longest = int(np.argmax(target.full_lengths))
    if target.full_lengths[longest] > LONGEST_TARGET:
        found = f"{target.full_lengths[longest]} in {shown(target.names[longest])}"
        raise InputError(file, f"targets of at most {LONGEST_TARGET} bases for SAM", found, _OTHER)


def _check_whole(query: Genome, sequences: Any, file: str) -> None:
    if (query.lengths[sequences] < query.full_lengths[sequences]).any():
        raise InputError(file, "whole query sequences for softsam", "a subrange", "use --format=sam")


def _clip(lengths: Numbers, letter: str) -> Any:
    """Write `nH` where n > 0."""
    return pc.if_else(pa.array(lengths > 0), joined(pa.array(lengths), letter), empty())
