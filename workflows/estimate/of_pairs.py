"""Forecast a run over pairs from its input: how much that is, what a sample of it takes, and bytes."""

from dataclasses import replace
from typing import Any

import numpy as np

from tidalign.cluster.task import cores
from tidalign.pipeline.in_turn import WRITERS
from tidalign.pipeline.pairs.aligner import aligner_of, work
from tidalign.pipeline.pairs.formats.coordinate import SORTERS
from tidalign.pipeline.pairs.input.index import BLOCK_BASES, BLOCK_PAIRS
from tidalign.pipeline.pairs.input.read import PairSource
from tidalign.pipeline.pairs.partition import CHUNK_ROWS, CHUNK_WORK, length_bin
from tidalign.workflows.estimate.forecast import EXPORTED, PROCESS, Forecast
from tidalign.workflows.estimate.head import Head, head
from tidalign.workflows.estimate.pairs import SAMPLE_SECONDS, PairWork, places, sampled
from tidalign.workflows.estimate.rates import of_core, of_gpus
from tidalign.workflows.estimate.tiny import UNIT_SECONDS
from tidalign.workflows.estimate.written import Output, Sizes, sizes

WRITER, LETTERED = 110e6, 160e6
"""Bytes of a thread that writes rows, and of one that writes them with letters: 90 to 110 and 120 to 220 million."""

SORTING, SORTER = 300e6, 100e6
"""Bytes that sorting takes beside, and each of its threads."""

TARGET, INDEXED = 100.0, 400.0
"""Bytes of a target whose name is like no other's, in the header of SAM and BAM, and with an index."""


def forecast(source: PairSource, parameters: Any, output: Output | None = None) -> Forecast:
    """Forecast a run over pairs. output: what is written; None: nobody asks for its bytes. InputError for a pipe, and for what is wrong in the begin.

    A letter takes a quarter of a byte in a chunk, and a pair about thirty; what rows take is `written.sizes`.
    """
    core, begin = of_core(), head(replace(source, whole=output is not None), parameters.ambiguous, plain=parameters.plain)
    weights = work(aligner_of(parameters), begin.chunk)
    at, stands_for = places(weights, SAMPLE_SECONDS / UNIT_SECONDS)
    amount, pace = sampled(parameters, begin.chunk.take(at), stands_for * begin.scale, core) if len(at) else (PairWork({}), 1.0)
    bases, steps = begin.letters * begin.scale, amount.total("step")
    write = core.of("write", {"row": begin.pairs, "step": steps})
    packed = any(each.compression != "none" for each in source.inputs)
    size = Sizes(0.0)
    if output and len(at):
        qualities = begin.qualities and begin.qualities.take(at)
        size = sizes(output, parameters, begin.chunk.take(at), qualities, stands_for * begin.scale, begin.targets)
    disk = bases * 0.25 + begin.pairs * 30 + size.parts
    known = {gpu: seconds for gpu in of_gpus() if amount.kinds and (seconds := amount.seconds(gpu)) is not None}
    chunk = min(begin.pairs, CHUNK_ROWS) * (bases / max(1.0, begin.pairs) + 400)
    return Forecast(
        what={"pairs": begin.pairs, "letters": bases, "cells": amount.total("cell")},
        read=core.of("read", {"pair": begin.pairs, "byte": begin.text, "run": 1.0}) + core.of("unpack", {"byte": begin.text * packed}),
        readers=int(bases / BLOCK_BASES) + 1 if source.has_ranges else 1,
        tasks=_chunks(begin, weights, (amount.seconds(core) or 0.0) * pace + write),
        gpu=known,
        host=write,
        export=size.text / EXPORTED,
        bytes={
            "in": sum(each.size for each in source.inputs),
            "out": size.file or disk,
            "disk": disk + size.file,
            "memory of a process": PROCESS + max(1.9 * chunk, min(_writing(output), 3 * size.text) + begin.targets * _target(output)),
        },
        sample=f"{len(at):,} of {'' if begin.whole else 'about '}{begin.pairs:,.0f} pairs{'' if begin.whole else ', from the begin of the input'}",
        core=core,
        threads=cores(),
    )


def _writing(output: Output | None) -> float:
    """Say what memory the threads take, at most, that write a file: all of them are of one process."""
    if output is None or output.format is None:
        return 0.0
    threads = min(WRITERS, cores())
    sorting = SORTING + SORTER * min(SORTERS, threads) if output.options.get("sort") else 0.0
    return (LETTERED if output.format.wants_letters(output.options) else WRITER) * threads + sorting


def _target(output: Output | None) -> float:
    """Say what memory a target takes of a header, and of an index."""
    if output is None or output.format is None or not output.format.names or output.options.get("lift") is not None:
        return 0.0
    return INDEXED if output.options.get("sort") else TARGET


def _chunks(begin: Head, weights: Any, seconds: float) -> list[tuple[float, int]]:
    """Estimate what tasks pairs are cut into, [(seconds, how many)]: chunks of one length bin of one block."""
    bins = length_bin(*(begin.chunk[f"{side}_length"].to_numpy() for side in ("query", "target")))
    blocks = max(1.0, np.ceil(begin.letters * begin.scale / BLOCK_BASES), np.ceil(begin.pairs / BLOCK_PAIRS))
    tasks = []
    for each in np.unique(bins):
        chosen = bins == each
        heavy, rows = (float(total) * begin.scale / blocks for total in (weights[chosen].sum(), chosen.sum()))
        pieces = int(blocks * max(1.0, np.ceil(heavy / CHUNK_WORK), np.ceil(rows / CHUNK_ROWS)))
        tasks.append((float(weights[chosen].sum() / weights.sum()) * seconds / pieces, pieces))
    return tasks
