"""Isolate the pairs that kill their process (isolate.py): each gets a row that says so."""

from collections.abc import Callable
from typing import Any

from tidalign.pipeline.device import CPU
from tidalign.pipeline.pairs.aligner import described, longest, work, write_rows
from tidalign.pipeline.pairs.partition import read_chunk
from tidalign.pipeline.store.parts import part_path, read_part
from tidalign.workflows.run.child import try_in_child
from tidalign.workflows.run.isolate import isolate
from tidalign.workflows.run.pairs.tasks import RowRange, align_ranges, patience


def isolate_range(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, floor: float, most: int) -> int:
    """Write parts for all rows [start, stop) of a chunk; ranges hang after `patience(.., floor)`.

    Returns the number of pairs rejected; TooManyRejected where there are more than `most`.
    """
    pairs = read_chunk(directory, chunk, start, stop)
    weights = work(described(parameters)[0], pairs)

    def attempt(a: int, b: int) -> str | None:
        if read_part(part_path(f"{directory}/parts", chunk, a, b), run):
            return None
        seconds = patience(float(weights[a - start : b - start].sum()), floor)
        return try_in_child("rows", [directory, run, parameters, chunk, a, b], seconds)

    def reject(a: int, reason: str) -> None:
        from tidalign.pipeline.pairs.unaligned import rejected

        write_rows(directory, run, chunk, a, a + 1, rejected(pairs.slice(a - start, 1), reason))

    return isolate(start, stop, attempt, reject, most, directory, "pairs")


def do(order: Any, begun: Callable[[], object]) -> None:
    """Align one range of rows and write its part; in a child."""
    directory, run, parameters, chunk, start, stop = order
    aligner, settings = described(parameters)
    aligner.on(CPU).warm_up(settings, longest(read_chunk(directory, chunk, start, stop)))
    begun()
    align_ranges(directory, run, parameters, [RowRange(chunk, start, stop)])
