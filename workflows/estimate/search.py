"""Forecast a search from the letters of both sides alone, as all of a matrix is computed."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.cluster.task import cores
from tidalign.pipeline.device import Device
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.search.database import SLICE_BYTES
from tidalign.pipeline.search.hits import LoadedSlice, search
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.search.records import sequences
from tidalign.pipeline.search.statistics import DatabaseSize
from tidalign.workflows.estimate.forecast import EXPORTED, PROCESS, Forecast
from tidalign.workflows.estimate.head import records
from tidalign.workflows.estimate.rates import Counts, of_core, of_gpus

TASK_CELLS = 1e10
"""Cells of a task of a core, about (workflows/run/search/run.py)."""

HIT_BYTES = 100.0
"""Bytes of a hit, about."""

ALPHABETS = {"dna": (b"ACGT", "match:2,mismatch:-4,gap:4,2"), "protein": (b"ARNDCQEGHILKMFPSTWYV", "blosum62,gap:11,1")}

SIZES = ((2, 300, 4000, 700), (16, 300, 100, 300), (1, 1200, 2000, 700))
"""Queries, their letters, sequences of the database and theirs: of a core; a GPU has `GPU_TIMES` as many of both."""

GPU_TIMES = 16


def forecast(queries: Input, database: Input, parameters: SearchParameters) -> Forecast:
    """Forecast a search. InputError for a pipe."""
    core = of_core()
    count, letters = records(queries, parameters.alphabet)
    sequences, in_database = records(database, parameters.alphabet)
    kind, counts = counted(parameters, count, letters, in_database)
    tasks, hits = max(1, int(counts["cell"] / TASK_CELLS)), count * parameters.top * HIT_BYTES
    return Forecast(
        what={"queries": count, "sequences": sequences, "letters": letters + in_database, "cells": counts["cell"]},
        read=core.of("read", {"pair": count + sequences, "byte": letters + in_database, "run": 1.0}),
        readers=1,
        tasks=[(core.of(kind, counts) / tasks, tasks)],
        gpu={gpu: gpu.of(kind, counts) for gpu in of_gpus() if gpu.knows(kind)},
        host=0.0,
        export=hits / EXPORTED,
        bytes={
            "in": queries.size + database.size,
            "out": hits,
            "disk": letters + in_database + hits,
            "memory of a process": PROCESS + 10 * min(in_database, SLICE_BYTES),
        },
        sample="the lengths of both sides, by the begin of each file",
        core=core,
        threads=cores(),
    )


def counted(parameters: SearchParameters, queries: float, letters: float, database: float) -> tuple[str, dict[str, float]]:
    """Count the work of so many queries of so many letters in all against a database of so many: its kind, and its terms. A query's hits are aligned again."""
    strands = len(parameters.strands)
    hits = queries * parameters.top
    return f"search {parameters.alphabet}", {"query": hits * letters / max(1.0, queries), "cell": letters * database * strands}


def points(device: Device, best: Callable[[Device, Callable[[], Any]], float]) -> dict[str, list[tuple[Counts, float]]]:
    """Measure searching on a device. best(device, work): the seconds that some work takes."""
    times = GPU_TIMES if device.takes_gpu else 1
    found: dict[str, list[tuple[Counts, float]]] = {}
    for alphabet, (letters, scoring) in ALPHABETS.items():
        parameters, random = SearchParameters(scoring, alphabet), np.random.default_rng(5)
        for queries, length, count, longest in SIZES:
            sizes = ([length] * queries * times, random.integers(longest // 2, longest, count * times))
            made = ([random.choice(np.frombuffer(letters, np.uint8), size).tobytes() for size in side] for side in sizes)
            sides = [sequences(None, pa.array(side, pa.large_binary()), 0) for side in made]
            total = [float(side["length"].to_numpy().sum()) for side in sides]
            kind, counts = counted(parameters, len(sides[0]), *total)
            with device.turn():
                database = LoadedSlice.of(sides[1], DatabaseSize(int(total[1]), len(sides[1])), parameters, device.name)
            found.setdefault(kind, []).append((counts, best(device, partial(search, sides[0], database, parameters, device.turn))))
    return found
