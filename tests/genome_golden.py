"""The golden files of tests/data/genomes: what LASTZ printed of small real genomes."""

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from genome_rows import rows_of

from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome

PLACE = Path(__file__).parent / "data" / "genomes"
RUNS: dict[str, dict[str, Any]] = {run["name"]: run for run in json.loads((PLACE / "golden.json").read_text())["runs"]}


def text(file: str) -> str:
    return gzip.decompress((PLACE / file).read_bytes()).decode()


def rows(run: str) -> pa.RecordBatch:
    return rows_of(text(f"{run}.rows.gz"))


def side(run: str, role: str) -> Genome:
    return read_genome(str(PLACE / RUNS[run][role]), role=role)


def below(output: str) -> list[str]:
    """Read the lines of an output that are not LASTZ's own comments."""
    return [line for line in output.splitlines() if not line.startswith("#") or line.startswith(("#score", "#name", "#number"))]
