"""Find the pair that kills its process: halve the suspect rows in child processes until it stands alone, align all others, reject that one.

`python -m tidalign.workflows.isolate` is the child: it aligns one range, writes its part and exits; it may crash freely.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import traceback
from typing import Any

import pyarrow as pa

from tidalign.kernels.penalties import Penalties
from tidalign.kernels.wavefront import warm_up
from tidalign.pipeline.align import longest
from tidalign.pipeline.errors import CannotWrite, DiskFull
from tidalign.pipeline.partition import read_chunk
from tidalign.pipeline.parts import part_path, read_part, write_part
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.work import work
from tidalign.workflows.status import Exit
from tidalign.workflows.tasks import RowRange, align_ranges

START_TIMEOUT = 300.0
"""Seconds that a child may take to load and compile before it begins."""

OUT_OF_MEMORY = 86
"""Exit status of a child that could not get the memory it asked for."""

SECONDS_PER_WORK = 1e-8
"""Nominal speed of one core; see pipeline/work.py for what a unit is."""


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
    weights = work(pairs["query_length"].to_numpy(), pairs["target_length"].to_numpy())
    rejected = 0
    ranges = [(start, stop)]
    while ranges:
        a, b = ranges.pop()
        if read_part(part_path(directory, chunk, a, b), run):
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
        write_part(directory, run, chunk, a, b, _rejected(pairs.slice(a - start, 1), reason))
    return rejected


def _rejected(pair: Any, reason: str) -> Any:
    """A row that says why a pair has no alignment."""
    kept = {name: pair[name] for name in ("ordinal", "query_name", "query_length", "target_name", "target_length")}
    said = {"status": pa.array(["rejected"]), "reason": pa.array([reason])}
    return pa.table([(kept | said).get(field.name, pa.nulls(1, field.type)) for field in ALIGNMENTS], schema=ALIGNMENTS)


def _try(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, seconds: float) -> str | None:
    """Align a range in a child process: None, or what became of the child."""
    order = json.dumps([directory, run, parameters, chunk, start, stop])
    command = [sys.executable, "-P", "-m", "tidalign.workflows.isolate", order]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        said = _Drain(child.stderr)
        try:
            assert child.stdout is not None
            if select.select([child.stdout], [], [], START_TIMEOUT)[0]:
                child.stdout.read(1)  # it has begun, or died
                status = child.wait(seconds)
            else:
                return f"did not begin within {START_TIMEOUT:.0f} s"
        except subprocess.TimeoutExpired:
            return f"gave no result in {seconds:.0f} s"
        finally:
            child.kill()
    if status == 0:
        return None
    if status < 0:
        return f"ended its process with {signal.Signals(-status).name}"
    if status == OUT_OF_MEMORY:
        return "asked for more memory than there is"
    text = said.text()
    last = text.strip().splitlines()[-1] if text.strip() else ""
    if status == Exit.DISK_FULL:
        raise DiskFull(last)
    if status == Exit.CANNOT_WRITE:
        raise CannotWrite(last)
    if status == Exit.BUG:
        raise RuntimeError(f"chunk {chunk}, rows {start}..{stop}: {text}")
    return f"ended its process with status {status}"


class _Drain(threading.Thread):
    """Reads a pipe to its end, so that its writer never waits."""

    def __init__(self, pipe: Any) -> None:
        super().__init__(daemon=True)
        self._pipe, self._read = pipe, b""
        self.start()

    def run(self) -> None:
        self._read = self._pipe.read()

    def text(self) -> str:
        self.join(5)
        return self._read.decode(errors="replace")


def _die_with_parent() -> None:
    """A worker that is killed closes our standard input; then there is nobody left to work for."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> int:
    _die_with_parent()
    directory, run, parameters, chunk, start, stop = json.loads(sys.argv[1])
    try:
        warm_up([Penalties.parse(parameters["penalties"])], longest(read_chunk(directory, chunk, start, stop)))
        os.write(1, b".")  # the clock starts
        align_ranges(directory, run, parameters, [RowRange(chunk, start, stop)])
    except MemoryError:
        return OUT_OF_MEMORY
    except DiskFull as error:
        print(error, file=sys.stderr)
        return Exit.DISK_FULL
    except CannotWrite as error:
        print(error, file=sys.stderr)
        return Exit.CANNOT_WRITE
    except Exception:
        traceback.print_exc()
        return Exit.BUG
    return Exit.COMPLETE


if __name__ == "__main__":
    sys.exit(main())
