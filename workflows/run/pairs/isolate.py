"""Isolate the pairs that kill their process (isolate.py): each is a row that says why it has no alignment."""

from collections.abc import Callable
from typing import Any

from tidalign.kernels.pairwise.wavefront import warm_up
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.pipeline.pairs.align import longest
from tidalign.pipeline.pairs.partition import read_chunk
from tidalign.pipeline.pairs.rows import rejected, write_rows
from tidalign.pipeline.pairs.work import work
from tidalign.pipeline.store.parts import part_path, read_part
from tidalign.workflows.run.child import try_in_child
from tidalign.workflows.run.isolate import isolate
from tidalign.workflows.run.pairs.tasks import RowRange, align_ranges

SECONDS_PER_WORK = 1e-8
"""Nominal speed of one core; see pipeline/pairs/work.py for what a unit is."""


def patience(work_units: float, floor: float) -> float:
    """Seconds of CPU time after which rows of that much estimated work count as hanging.

    The estimate is for 10 % divergence; unrelated sequences take a hundred times it.
    """
    return max(floor, 100 * SECONDS_PER_WORK * work_units)


def isolate_range(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, floor: float, most: int) -> int:
    """Write parts for all rows [start, stop) of a chunk; ranges hang after `patience(.., floor)`.

    Returns the number of pairs rejected; TooManyRejected where there are more than `most`.
    """
    pairs = read_chunk(directory, chunk, start, stop)
    weights = work(pairs["query_length"].to_numpy(), pairs["target_length"].to_numpy())

    def attempt(a: int, b: int) -> str | None:
        if read_part(part_path(f"{directory}/parts", chunk, a, b), run):
            return None
        seconds = patience(float(weights[a - start : b - start].sum()), floor)
        return try_in_child("rows", [directory, run, parameters, chunk, a, b], seconds)

    def reject(a: int, reason: str) -> None:
        write_rows(directory, run, chunk, a, a + 1, rejected(pairs.slice(a - start, 1), reason))

    return isolate(start, stop, attempt, reject, most, directory, "pairs")


def do(order: Any, begun: Callable[[], object]) -> None:
    """Align one range of rows and write its part; in a child."""
    directory, run, parameters, chunk, start, stop = order
    warm_up([Penalties.parse(parameters["penalties"])], longest(read_chunk(directory, chunk, start, stop)))
    begun()
    align_ranges(directory, run, parameters, [RowRange(chunk, start, stop)])
