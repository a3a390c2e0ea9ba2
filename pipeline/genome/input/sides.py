"""The sides of a genome run on disk: each file read once, its letters and their codes mapped by every task."""

import json
import os
import secrets
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tidalign.kernels.letters.nucleotides import Codes, encode
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.store.files import write_json, writing_error

_CODES, _RECORD = "codes", "side.json"
_PIECE = 1 << 24


def side_path(directory: str, side: int) -> str:
    """The folder of a side."""
    return f"{directory}/sides/s{side:04d}"


def read_side(directory: str, side: int, role: str, spec: str, ambiguous: str | None) -> dict[str, Any]:
    """Read a side into the run directory, whole or not at all; returns its record {id, role, spec, sequences, bases, empty}. What is there is left alone."""
    path = side_path(directory, side)
    record = side_record(directory, side)
    if record is not None:
        return record
    genome = read_genome(spec, role=role, ambiguous=ambiguous)
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    genome.save(temporary)
    try:
        with Path(temporary, _CODES).open("wb") as file:
            for start in range(0, len(genome.letters), _PIECE):
                file.write(encode(genome.letters[start : start + _PIECE]).data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise writing_error(path, error) from error
    record = {"id": side, "role": role, "spec": spec, "sequences": len(genome), "bases": int(genome.lengths.sum()), "empty": len(genome.empty)}
    write_json(f"{temporary}/{_RECORD}", record)
    try:
        Path(temporary).rename(path)
    except OSError as error:
        shutil.rmtree(temporary)
        if (other := side_record(directory, side)) is None:  # else another process was first
            raise writing_error(path, error) from error
        return other
    return record


def side_record(directory: str, side: int) -> dict[str, Any] | None:
    """What `read_side` said of a side; None where it is not there."""
    try:
        record: dict[str, Any] = json.loads(Path(side_path(directory, side), _RECORD).read_text())
    except FileNotFoundError:
        return None
    return record


@lru_cache(maxsize=4)
def load_side(directory: str, run: str, side: int, sequence: int | None = None) -> tuple[Genome, Codes]:
    """A side of a run and the codes of its array, both mapped; `sequence`: as if its file held only this one of its sequences."""
    path = side_path(directory, side)
    genome = Genome.load(path)
    codes: Codes = np.memmap(Path(path, _CODES), np.uint8, "r")
    return (genome, codes) if sequence is None else only(genome, codes, sequence)


def only(genome: Genome, codes: Codes, sequence: int) -> tuple[Genome, Codes]:
    """One sequence of a side, as a side."""
    start, length = int(genome.starts[sequence]), int(genome.lengths[sequence])
    one = slice(sequence, sequence + 1)
    alone = Genome(
        genome.letters[start : start + length],
        genome.names[one],
        np.zeros(1, np.int64),
        genome.lengths[one],
        genome.offsets[one],
        genome.full_lengths[one],
        np.zeros(1, np.int64),
        genome.bounds(sequence),
    )
    return alone, codes[start : start + length]
