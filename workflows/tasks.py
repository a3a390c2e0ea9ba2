"""What runs on a worker: rows of a chunk in, a part out. The run directory says everything else."""

import multiprocessing
import os
import signal
import time
from typing import Any

import pyarrow as pa

from tidalign.kernels.errors import KernelError
from tidalign.kernels.penalties import Penalties
from tidalign.kernels.wavefront import warm_up
from tidalign.pipeline import claims
from tidalign.pipeline.align import Device, align_batch, batches, longest
from tidalign.pipeline.parameters import PairParameters
from tidalign.pipeline.partition import read_chunk
from tidalign.pipeline.parts import part_path, read_part, write_part


def align_range(directory: str, run: str, parameters: dict[str, Any], chunk: str, start: int, stop: int, claim: str | None, device: Device = "cpu") -> float:
    """Align rows [start, stop) of a chunk and write the part; returns the seconds it took. A part that is there already is left alone.

    claim: path of the claim that says which batch is being run, kept if the process dies; None where someone else watches.
    """
    began = time.perf_counter()
    if read_part(part_path(directory, chunk, start, stop), run):
        return 0.0
    settings = PairParameters.from_json(parameters)
    pairs = read_chunk(directory, chunk, start, stop)
    if device == "cpu":
        warm_up([Penalties.parse(settings.penalties)], longest(pairs))  # no batch is to blame for what this takes
    try:
        if claim:
            claims.write(claim, start, stop)
        aligned = []
        for a, b in batches(pairs, device):
            if claim:
                claims.write(claim, start + a, start + b)
            batch = pairs.slice(a, b - a)
            _test_hooks(batch)
            aligned.append(align_batch(batch, settings, device))
        write_part(directory, run, chunk, start, stop, pa.concat_tables(aligned))
    except MemoryError:
        raise  # the claim stays: the batch is to blame
    except KernelError:
        # No call of CUDA works in this process any more. A worker gives way to a new one; the claim stays.
        if multiprocessing.parent_process() is not None:
            os._exit(86)
        raise
    except Exception:
        if claim:
            claims.remove(claim)
        raise
    if claim:
        claims.remove(claim)
    return time.perf_counter() - began


def _test_hooks(batch: Any) -> None:
    """For tests of what kills workers: TIDALIGN_TEST_POISON and TIDALIGN_TEST_HANG name ordinals (with commas between) at which the process
    kills itself, or stops; TIDALIGN_TEST_SLOW is a number of seconds to wait at each batch."""
    if slow := os.environ.get("TIDALIGN_TEST_SLOW"):
        time.sleep(float(slow))
    for variable in ("TIDALIGN_TEST_POISON", "TIDALIGN_TEST_HANG"):
        if named := os.environ.get(variable):
            marked = {int(ordinal) for ordinal in named.split(",")}
            if marked & set(batch["ordinal"].to_pylist()):
                if variable.endswith("HANG"):
                    time.sleep(1e6)
                os.kill(os.getpid(), signal.SIGKILL)
