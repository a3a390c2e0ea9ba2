"""Say which sides of a run lie in one folder: small files together, so that thousands of them are read, written and mapped as few large ones are."""

from collections.abc import Iterable, Mapping
from typing import Any

from tidalign.pipeline.genome.input.sides import IN_A_FOLDER, Side, read_sides
from tidalign.pipeline.genome.input.source import GenomeSource

SMALL = 1 << 18
"""Bytes of a file up to which it lies with others."""

TOGETHER = 1 << 22
"""Bytes of small files in one folder, which one task reads."""


def folders(sides: Iterable[Side], sizes: Mapping[str, int], read: Iterable[Mapping[str, Any]] = ()) -> dict[int, list[Side]]:
    """Give the sides of each folder, in the order of their places there.

    sizes: bytes of the file of each specifier; negative for a pipe. read: records of sides that have their places already, before lines were added.
    """
    found: dict[int, list[Side]] = {}
    for record in read:
        found.setdefault(record["id"] // IN_A_FOLDER, []).append((record["role"], record["spec"]))
    placed = {side for each in found.values() for side in each}
    left: dict[str, list[Side]] = {}
    for role, spec in sides:
        if (role, spec) not in placed:
            left.setdefault(spec, []).append((role, spec))
    number, open_, room = max(found, default=-1) + 1, -1, 0
    for spec, roles in left.items():
        small = 0 <= sizes[spec] <= SMALL
        if not small or open_ < 0 or sizes[spec] > room or len(found[open_]) + len(roles) > IN_A_FOLDER:
            found[number] = []
            if small:
                open_, room = number, TOGETHER
            number += 1
        place = open_ if small else number - 1
        found[place] += roles
        room -= sizes[spec] if small else 0
    return found


def read_all(directory: str, source: GenomeSource, ambiguous: str | None = None) -> list[dict[str, Any]]:
    """Read all sides of a source here; returns their records."""
    return [record for folder, sides in folders(source.sides(), source.sizes()).items() for record in read_sides(directory, folder, sides, ambiguous)]
