"""SAM as LASTZ writes it (https://samtools.github.io/hts-specs/SAMv1.pdf).

SEQ is the aligned part (with soft clips: all) of the query's strand, QUAL `*`; there are no tags.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.nucleotides import decode, reverse_complement
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.genome.block import Block, Numbers
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.sequences import Genome
from tidalign.pipeline.sam import LONGEST_TARGET, QUERY_NAME, REFERENCE_NAME
from tidalign.pipeline.text import empty, joined

_OTHER = "choose another format, PAF or MAF"


def header(targets: Sequence[Genome], parameters: GenomeParameters) -> str:
    """The @HD line."""
    return "@HD\tVN:1.0\tSO:unsorted\n"


def targets(targets: Sequence[Genome], parameters: GenomeParameters) -> str:
    """An @SQ line for each target sequence; LASTZ has them where there is an alignment. Raises InputError for lengths that SAM does not have."""
    texts = []
    for target in targets:
        for name, length in zip(target.names, target.full_lengths.tolist(), strict=True):
            if length > LONGEST_TARGET:
                raise InputError("SAM header", f"targets of at most {LONGEST_TARGET} bases", f"{length} in {name!r}", _OTHER)
            texts.append(f"@SQ\tSN:{name}\tLN:{length}\n")
    return "".join(texts)


def hard_lines(block: Block, parameters: GenomeParameters) -> Any:
    """A large_string column: the record of each row; what is not aligned is clipped off."""
    return _lines(block, "H", pc.utf8_upper(block.query_letters))


def soft_lines(block: Block, parameters: GenomeParameters) -> Any:
    """As `hard_lines`, with the whole sequence in each record: what is clipped in lower case. Raises InputError for a subrange, whose rest is not there."""
    sequences = block.numbers("query_number")
    if (block.query.lengths[sequences] < block.query.full_lengths[sequences]).any():
        raise InputError("softsam", "whole query sequences", "a subrange", "use --format=sam")
    whole = {}
    texts = []
    for i, key in enumerate(zip(sequences.tolist(), block.reverse.tolist(), strict=True)):
        if key not in whole:
            codes = block.query.codes(key[0])
            whole[key] = decode(reverse_complement(codes) if key[1] else codes).tobytes().decode()
        text, start, end = whole[key], block.strand_start[i], block.strand_end[i]
        texts.append(text[:start].lower() + text[start:end].upper() + text[end:].lower())
    return _lines(block, "S", pa.array(texts, pa.large_string()))


def _lines(block: Block, clip: str, letters: Any) -> Any:
    rows = block.rows
    _check(rows["target_name"], REFERENCE_NAME, "target names of the letters SAM allows (section 1.2.1 of its specification)")
    _check(rows["query_name"], QUERY_NAME, "query names of at most 254 printable ASCII letters other than @")
    flags = pa.array(np.where(block.reverse, 16, 0))
    return joined(
        *(rows["query_name"], "\t", flags, "\t", rows["target_name"], "\t", pa.array(block.numbers("target_start") + 1), "\t255\t"),
        *(_clip(block.strand_start, clip), block.operations.merged().text(), _clip(block.numbers("query_length") - block.strand_end, clip)),
        *("\t*\t0\t0\t", letters, "\t*\n"),
    )


def _check(names: Any, allowed: str, expected: str) -> None:
    strange = pc.index(pc.match_substring_regex(names, allowed), False).as_py()
    if strange >= 0:
        raise InputError("SAM", expected, repr(names[strange].as_py()), _OTHER)


def _clip(lengths: Numbers, letter: str) -> Any:
    """`nH` where n > 0."""
    return pc.if_else(pa.array(lengths > 0), joined(pa.array(lengths), letter), empty())
