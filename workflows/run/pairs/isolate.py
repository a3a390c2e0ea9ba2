"""Find the pair that kills its process: halve the suspect rows in child processes until it stands alone, align all others, reject that one.

`python -m tidalign.workflows.run.pairs.isolate` is the child: it aligns one range, writes its part and exits; it may crash freely.
"""

import sys
from collections.abc import Callable
from typing import Any

from tidalign.pipeline.device import CPU
from tidalign.pipeline.pairs.align import longest, work
from tidalign.pipeline.pairs.aligner import described
from tidalign.pipeline.pairs.partition import read_chunk
from tidalign.pipeline.pairs.rows import rejected as rejected_rows
from tidalign.pipeline.pairs.rows import write_rows
from tidalign.pipeline.store.parts import part_path, read_part
from tidalign.workflows.run.child import serve, try_in_child
from tidalign.workflows.run.pairs.tasks import RowRange, align_ranges

SECONDS_PER_WORK = 1e-8
"""Nominal speed of one core; see pipeline/pairs/work.py for what a unit is."""


def patience(work_units: float, floor: float) -> float:
    """Seconds after which rows of that much estimated work count as hanging.

    The estimate is for 10 % divergence; unrelated sequences take a hundred times it.
    """
    return max(floor, 100 * SECONDS_PER_WORK * work_units)


class TooManyRejected(Exception):
    """So many pairs kill their process that the fault is not in the pairs."""


def isolate_range(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, floor: float, most: int) -> int:
    """Write parts for all rows [start, stop) of a chunk, trying ranges in child processes and halving those that die or take longer than `patience(.., floor)`.

    Returns the number of pairs rejected; TooManyRejected where there are more than `most`.
    """
    pairs = read_chunk(directory, chunk, start, stop)
    weights = work(described(parameters)[0], pairs)
    rejected = 0
    ranges = [(start, stop)]
    while ranges:
        a, b = ranges.pop()
        if read_part(part_path(f"{directory}/parts", chunk, a, b), run):
            continue
        reason = _try(directory, run, parameters, chunk, a, b, patience(float(weights[a - start : b - start].sum()), floor))
        if reason is None:
            continue
        if b - a > 1:
            middle = (a + b) // 2
            ranges += [(middle, b), (a, middle)]
            continue
        rejected += 1
        if rejected > most:
            raise TooManyRejected(f"{directory}: more than {most} pairs kill their worker, the last one because it {reason}; run `tidalign check`")
        write_rows(directory, run, chunk, a, b, rejected_rows(pairs.slice(a - start, 1), reason))
    return rejected


def _try(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, seconds: float) -> str | None:
    """Align a range in a child process: None, or what became of the child."""
    return try_in_child("tidalign.workflows.run.pairs.isolate", [directory, run, parameters, chunk, start, stop], seconds)


def _work(order: Any, begun: Callable[[], None]) -> None:
    directory, run, parameters, chunk, start, stop = order
    aligner, settings = described(parameters)
    aligner.on(CPU).warm_up(settings, longest(read_chunk(directory, chunk, start, stop)))
    begun()
    align_ranges(directory, run, parameters, [RowRange(chunk, start, stop)])


if __name__ == "__main__":
    sys.exit(serve(_work))
