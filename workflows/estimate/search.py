"""Forecast a search from the letters of both sides; of DNA also from how many pairs of a sample are left out, as they share too few words."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.cluster.task import cores
from tidalign.kernels.letters.sequences import reverse_complement
from tidalign.kernels.search import best as best_search
from tidalign.pipeline.device import Device
from tidalign.pipeline.files.sniff import Input
from tidalign.pipeline.pairs.pack import sequences as packed
from tidalign.pipeline.pairs.scored import coding_of
from tidalign.pipeline.search.database import SLICE_BYTES, open_index, read_slices
from tidalign.pipeline.search.hits import LoadedSlice, search
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.search.records import is_index, sequences
from tidalign.pipeline.search.statistics import DatabaseSize
from tidalign.workflows.estimate.forecast import EXPORTED, PROCESS, Forecast
from tidalign.workflows.estimate.head import records
from tidalign.workflows.estimate.rates import Counts, of_core, of_gpus

TASK_CELLS = 1e10
"""Cells of a task of a core, about (workflows/run/search/run.py)."""

SAMPLE_QUERIES, SAMPLE_LETTERS = 32, 2_000_000
"""Queries, and letters of the database, that are looked at."""

ALIKE = 2.0
"""Times that a cell takes a core where pairs are alike, and so score more than 8 bits hold, of what one of others does."""

WORD_CELLS = 24.0
"""Cells that take as long as it does to look a word up."""

HIT_BYTES = 100.0
"""Bytes of a hit, about."""

ALPHABETS = {"dna": (b"ACGT", "match:2,mismatch:-4,gap:4,2"), "protein": (b"ARNDCQEGHILKMFPSTWYV", "blosum62,gap:11,1")}

SIZES = ((2, 300, 4000, 700), (16, 300, 100, 300), (1, 1200, 2000, 700))
"""Queries, their letters, sequences of the database and theirs: of a core; a GPU has `GPU_TIMES` as many of both."""

GPU_TIMES = 16


def forecast(queries: Input, database: Input, parameters: SearchParameters) -> Forecast:
    """Forecast a search. InputError for a pipe."""
    core = of_core()
    count, letters, asked = records(queries, parameters.alphabet)
    sequences, in_database, searched = of_database(database, parameters.alphabet)
    kind, counts = counted(parameters, count, letters, sequences, in_database)
    tasks, hits, cells = max(1, int(counts["cell"] / TASK_CELLS)), count * parameters.hits(sequences) * HIT_BYTES, counts["cell"]
    share = made(asked, searched, sequences, in_database, parameters)
    on_core, on_gpu = ({**counts, "cell": cells * min(1.0, share * times)} for times in (ALIKE, 1.0))
    return Forecast(
        what={"queries": count, "sequences": sequences, "letters": letters + in_database, "cells": cells},
        read=core.of("read", {"pair": count + sequences, "byte": letters + in_database, "run": 1.0}),
        readers=1,
        tasks=[(core.of(kind, on_core) / tasks, tasks)],
        gpu={gpu: gpu.of(kind, on_gpu) for gpu in of_gpus() if gpu.knows(kind)},
        host=0.0,
        export=hits / EXPORTED,
        bytes={
            "in": queries.size + database.size,
            "out": hits,
            "disk": letters + in_database + hits,
            "memory of a process": PROCESS + 10 * min(in_database, SLICE_BYTES),
        },
        sample="the lengths of both sides, by the begin of each file, and how alike these are",
        core=core,
        threads=cores(),
    )


def of_database(database: Input, alphabet: str) -> tuple[float, float, Any]:
    """Count the sequences of a database, or of its index, and their letters, and give the letters of the first."""
    if not is_index(database):
        return records(database, alphabet)
    index = open_index(database.path)
    return float(index.sequences), float(index.letters), read_slices(database.path, [0])["letters"]


def counted(parameters: SearchParameters, queries: float, letters: float, sequences: float, database: float) -> tuple[str, dict[str, float]]:
    """Count the work of so many queries of so many letters in all against a database of so many sequences and letters: its kind, and its terms. A query's hits
    are aligned again."""
    strands = len(parameters.strands)
    hits = queries * parameters.hits(sequences)
    return f"search {parameters.alphabet}", {"query": hits * letters / max(1.0, queries), "cell": letters * database * strands}


def made(queries: Any, database: Any, sequences: float, letters: float, parameters: SearchParameters) -> float:
    """Estimate what part of all cells is made, by some queries of the begin with some sequences of the begin of a database of so many, of so many letters."""
    coding = coding_of(parameters)
    if parameters.span != "local" or len(coding.scores) != 2 or not len(queries) or not len(database):
        return 1.0
    sides = queries.take(np.linspace(0, len(queries) - 1, min(len(queries), SAMPLE_QUERIES)).astype(np.int64)), database
    sampled = max(1, int(np.searchsorted(np.cumsum(pc.binary_length(database).to_numpy()), SAMPLE_LETTERS)))
    asked, searched = packed(sides[0]), coding.coded(packed(sides[1].slice(0, sampled)), 1)
    strands = [coding.coded(each, 0) for each in (asked, reverse_complement(asked))][: len(parameters.strands)]
    match, rank = int(coding.scores[0]), max(1, round(parameters.top * len(searched) / max(1.0, sequences)))
    part = 0.0
    for query, length in enumerate(lengths := asked.lengths.astype(np.int64)):
        if length * letters * len(strands) < best_search.WORDS_CELLS:
            part += float(length)
            continue
        enough, bar = best_search.left(strands, query, searched, coding, top=rank, least=parameters.min_score)
        rows = 1.0 - bar / (match * length)
        part += min(float(length), enough * rows * length + WORD_CELLS)
    return float(part / max(1.0, float(lengths.sum())))


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
            kind, counts = counted(parameters, len(sides[0]), total[0], len(sides[1]), total[1])
            with device.turn():
                database = LoadedSlice.of(sides[1], DatabaseSize(int(total[1]), len(sides[1])), parameters, device.name)
            found.setdefault(kind, []).append((counts, best(device, partial(search, sides[0], database, parameters, device.turn))))
    return found
