"""LASTZ's lists of masked ranges of a target (`--outputmasking`): 1-based and closed, of the array of all sequences, or of each, by name."""

from collections.abc import Iterable

import numpy as np

from tidalign.pipeline.formats.export import destination
from tidalign.pipeline.formats.table import END, MASKINGS
from tidalign.pipeline.genome.census import Masks, ranges
from tidalign.pipeline.genome.input.sequences import Genome


def write(path: str, way: str, target: Genome, masks: Masks | None, *, markend: bool) -> None:
    """Write a list, of a way in MASKINGS. masks: None without --masking, when only small letters are there."""
    soft, named = MASKINGS[way]
    lines = _lines(target, _small(target, masks) if soft else masks.reached if masks else [], named=named)
    with destination(path) as sink:
        sink.write("".join([*lines, END if markend else ""]).encode())


def _small(target: Genome, masks: Masks | None) -> list[tuple[int, int]]:
    """Give the ranges of small letters, of those that were masked too."""
    small = (target.letters >= ord("a")) & (target.letters <= ord("z"))
    return ranges(small if masks is None else small | (masks.by < Masks.LATER))


def _lines(target: Genome, found: list[tuple[int, int]], *, named: bool) -> Iterable[str]:
    shift = np.zeros(len(target), np.int64) if int(target.starts[0]) else target.offsets
    for start, end in found:
        sequence = int(target.sequence_at(np.array([start]))[0])
        before = int(target.starts[sequence] - target.offsets[sequence]) if named else -int(shift[sequence])
        yield f"{target.names[sequence] + ' ' if named else ''}{start + 1 - before} {end - before}\n"
