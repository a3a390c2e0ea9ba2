"""Lists the kernels that read records of pairs and write rows as text, which take long to compile: for cores, whatever aligns."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidalign.kernels.text import columns, gapped, lines, records, writing


def kernels(genomes: bool, *formats: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give each with examples of its arguments, those first that are wanted first or take longest. genomes: whether the rows are those of genomes, whose
    letters may be written, too. formats: of files that pairs are read from in any order, and again for their
    letters."""
    numbers, table, letters = np.empty(0, np.int64), np.empty((0, 0), np.int64), np.empty(0, np.uint8)
    cigars = {"cigar": np.empty(0, np.uint32), "cigar_offsets": numbers, "offsets": numbers, "counts": table, "text": letters}
    line = {"columns": table, "ends": numbers, "text": letters}
    sides = dict.fromkeys(("target", "query", "complement", "cigar", "cigars"), gapped.fixed(letters))
    if genomes:
        runs = {"run_offsets": numbers, "run_ops": letters, "run_lengths": numbers}
        places = dict.fromkeys(("target_firsts", "query_firsts", "bounds"), gapped.fixed(numbers))
        texts = {"backward": gapped.fixed(np.empty(0, np.bool_)), "target_text": letters, "query_text": letters, "offsets": numbers}
        yield gapped.write_texts, sides | places | texts
        yield columns.spell, sides | runs | {"starts": table, "room": np.int64(0), "counts": table}
    else:
        places = {"offsets": gapped.fixed(numbers), "query_firsts": numbers, "target_firsts": numbers}
        yield from _reading(formats)
        yield writing.differences, line | sides | places | {"form": np.int64(0), "codes": letters, "edits": numbers}
        yield writing.count, cigars
    yield writing.measure, cigars
    yield writing.write, cigars
    yield writing.measure_lines, line
    yield writing.write_lines, line


def _reading(formats: tuple[str, ...]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give those that read records of pairs and their letters."""
    text, ends, numbers, letters = np.frombuffer(b"", np.uint8), np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.uint8)
    side: dict[str, Any] = {"text": text, "spans": np.empty((0, 2), np.int64)}
    side |= dict.fromkeys(("skip", "first", "step", "longest", "longest_name", "longest_header"), np.int64(0))
    for form in (form for form in formats if form in records.FINDERS):
        yield records.FINDERS[form], side | {"at_line_start": True}
    if formats:
        read = {"name_ends": ends, "names": letters, "codes": letters, "code_ends": numbers, "ambiguous": np.empty(0, np.bool_)}
        yield records.fill, side | read
        yield records.measure, side | {"names": ends, "lengths": numbers, "codes": numbers}
        yield lines.line_bounds, {"text": letters, "at_line_start": True}
        yield lines.copy_ranges, {"text": letters, "starts": numbers, "offsets": numbers, "out": letters}
        yield lines.is_plain_dna, {"letters": letters}
