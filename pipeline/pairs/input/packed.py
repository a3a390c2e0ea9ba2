"""Read a block of pairs of text straight into the columns of a chunk, where nothing in it is unusual: as `read_block` and `pack_pairs` do, in a third of the
time and with few returns to the interpreter, for whose lock threads wait."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.letters.packing import AMBIGUOUS
from tidalign.kernels.text import records
from tidalign.pipeline.errors import MOST_HEADER, MOST_NAME
from tidalign.pipeline.files.decompress import PLAIN_BYTES, plain_range, read_range
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.input.index import PairBlock, RecordSpan
from tidalign.pipeline.pairs.input.read import PairSource
from tidalign.pipeline.pairs.pack import column
from tidalign.pipeline.schema import CHUNK

_FINDERS = {"fasta": records.find_fasta, "fastq": records.find_fastq, "seq": records.find_seq}


def packed_block(source: PairSource, block: PairBlock, *, ambiguous: str) -> Any:
    """Read the pairs of a planned block in `schema.CHUNK`; None where what is in it must be looked at more closely: errors, names and letters that few files
    have, and all that has to be kept as it was read."""
    if source.inputs[0].is_table or source.alphabet != "dna" or source.whole or source.same_names:
        return None
    columns: dict[str, Any] = {"ordinal": pa.array(np.arange(block.first, block.first + block.pairs))}
    sides = [(0, 0, 2), (0, 1, 2)] if source.interleaved else [(0, 0, 1), (1, 0, 1)]
    found: dict[int, Any] = {}
    for side, (place, first, step) in zip(("query", "target"), sides, strict=True):
        if place not in found:  # the text of one side is looked at no more when that of the other is read, into the same memory
            found[place] = _found(source.inputs[place], block.spans[place])
        packed = _packed(found[place], first, step, block.pairs, ambiguous) if found[place] else None
        if packed is None:
            return None
        columns |= {f"{side}_{name}" if name else side: values for name, values in packed.items()}
        if source.inputs[place].format == "seq":
            columns[f"{side}_name"] = columns["ordinal"].cast(pa.string())
    return pa.table([columns[name] for name in CHUNK.names], schema=CHUNK)


def _found(text: Input, span: RecordSpan) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]] | None:
    """Read a span, and find its records; None where one is not plain."""
    if span.stop - span.start > PLAIN_BYTES:
        return None
    plain = text.compression == "none"
    try:
        read = plain_range(text.path, span.start, span.stop) if plain else read_range(text.path, text.compression, span.start, span.stop)
    except OSError:
        return None
    content, spans = np.frombuffer(read, np.uint8), np.empty((5, span.records), np.int64)
    content.flags.writeable = False  # whatever it was read into: kernels are compiled for one type of it
    whole = _FINDERS[text.format](content, span.line_start, span.skip, MOST_NAME, MOST_HEADER, spans) == span.records
    return (content, spans) if whole else None


def _packed(found: tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]], first: int, step: int, count: int, ambiguous: str) -> dict[str, Any] | None:
    """Make the columns of a side, of every `step`-th record from `first` on; None where letters or names must be looked at."""
    text, spans = found
    name_ends, lengths, code_ends = np.empty(count + 1, np.int32), np.empty(count, np.int64), np.empty(count + 1, np.int64)
    longest = records.measure(spans, first, step, name_ends, lengths, code_ends)
    if longest < 0:
        return None
    names, codes = (np.empty(ends[-1] + records.SPARE, np.uint8) for ends in (name_ends, code_ends))
    others = np.empty(count, np.bool_)
    if not records.fill(text, spans, first, step, longest, name_ends, names, code_ends, codes, others) or (ambiguous == "error" and others.any()):
        return None
    masks: Any = pa.nulls(count, pa.large_binary())
    if others.any():
        bit_ends = np.zeros(count + 1, np.int64)
        np.cumsum(np.where(others, (lengths + 7) // 8, 0), out=bit_ends[1:])
        bits = np.zeros(bit_ends[-1], np.uint8)
        records.mask(text, spans, first, step, longest, AMBIGUOUS, bit_ends, bits)
        masks = column(bits, bit_ends, empty_is_null=True)
    named = pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(name_ends), pa.py_buffer(names[: name_ends[-1]])])
    return {"name": named, "length": lengths, "": column(codes[: code_ends[-1]], code_ends), "ambiguous": masks}
