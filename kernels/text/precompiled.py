"""Lists the kernels that read records of pairs and write rows as text, which take long to compile: for cores, whatever aligns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidalign.kernels.text import columns, gapped, records, writing


def kernels(genomes: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give each with examples of its arguments, those first that take longest. genomes: whether the rows are those of genomes, whose letters may be written,
    too; else those of pairs, whose records are read by one of these."""
    numbers, table, letters = np.empty(0, np.int64), np.empty((0, 0), np.int64), np.empty(0, np.uint8)
    cigars = {"cigar": np.empty(0, np.uint32), "cigar_offsets": numbers, "offsets": numbers, "counts": table, "text": letters}
    lines = {"columns": table, "ends": numbers, "text": letters}
    sides = dict.fromkeys(("target", "query", "complement", "cigar", "cigars"), gapped.fixed(letters))
    if genomes:
        runs = {"run_offsets": numbers, "run_ops": letters, "run_lengths": numbers}
        places = dict.fromkeys(("target_firsts", "query_firsts", "bounds"), gapped.fixed(numbers))
        texts = {"backward": gapped.fixed(np.empty(0, np.bool_)), "target_text": letters, "query_text": letters, "offsets": numbers}
        yield gapped.write_texts, sides | places | texts
        yield columns.spell, sides | runs | {"starts": table, "room": np.int64(0), "counts": table}
    else:
        places = {"offsets": gapped.fixed(numbers), "query_firsts": numbers, "target_firsts": numbers}
        yield writing.differences, lines | sides | places | {"form": np.int64(0), "codes": letters, "edits": numbers}
        side = dict.fromkeys(("first", "step", "longest"), np.int64(0)) | {"text": np.frombuffer(b"", np.uint8), "spans": np.empty((0, 2), np.int64)}
        read = {"name_ends": np.empty(0, np.int32), "names": letters, "codes": letters, "code_ends": numbers, "ambiguous": np.empty(0, np.bool_)}
        yield records.fill, side | read
        yield writing.count, cigars
    yield writing.measure, cigars
    yield writing.write, cigars
    yield writing.measure_lines, lines
    yield writing.write_lines, lines
