"""Lists the kernels that write rows as text: a run comes to them last, when whoever compiles ahead of it has little else left."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidalign.kernels.text import columns, gapped, writing


def kernels(genomes: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give each with examples of its arguments. genomes: whether the rows are those of genomes, whose letters may be written, too."""
    numbers, table, letters = np.empty(0, np.int64), np.empty((0, 0), np.int64), np.empty(0, np.uint8)
    cigars = {"cigar": np.empty(0, np.uint32), "cigar_offsets": numbers, "offsets": numbers, "counts": table, "text": letters}
    lines = {"columns": table, "ends": numbers, "text": letters}
    sides = dict.fromkeys(("target", "query", "complement", "cigar", "cigars"), gapped.fixed(letters))
    if genomes:
        runs = {"run_offsets": numbers, "run_ops": letters, "run_lengths": numbers}
        yield columns.spell, sides | runs | {"starts": table, "room": np.int64(0), "counts": table}
    else:
        yield writing.count, cigars
    yield writing.measure, cigars
    yield writing.write, cigars
    yield writing.measure_lines, lines
    yield writing.write_lines, lines
    if genomes:
        places = dict.fromkeys(("target_firsts", "query_firsts", "bounds"), gapped.fixed(numbers))
        texts = {"backward": gapped.fixed(np.empty(0, np.bool_)), "target_text": letters, "query_text": letters, "offsets": numbers}
        yield gapped.write_texts, sides | places | texts
    else:
        places = {"offsets": gapped.fixed(numbers), "query_firsts": numbers, "target_firsts": numbers}
        yield writing.differences, lines | sides | places | {"form": np.int64(0), "codes": letters, "edits": numbers}
