"""Rows of genome alignments as text, without a run directory."""

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

import genome_golden as golden
import pyarrow as pa

from tidalign.pipeline.formats.export import write
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.table import find
from tidalign.pipeline.genome.formats import block
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.in_turn import Call
from tidalign.pipeline.schema import GENOME_ALIGNMENTS


class Rows:
    """What export asks of GenomeResults, for given rows."""

    kind, cigars, beside, threads, schema = "genome", True, False, 2, GENOME_ALIGNMENTS
    source: dict[str, Any] = {}

    def __init__(self, rows: pa.RecordBatch, target: Genome, query: Genome, parameters: GenomeParameters) -> None:
        self.rows, self.query, self.parameters, self.targets = rows, query, parameters, [target]

    def to_batches(self, columns: list[str] | None = None) -> Iterator[Any]:
        return (self.rows.slice(start, 7) for start in range(0, self.rows.num_rows, 7))

    def groups(self, most: int) -> Iterator[Any]:
        return (Call(partial(list, [pa.Table.from_batches([batch])])) for batch in self.to_batches())

    def pieces(self) -> Iterator[Any]:
        for number, batch in enumerate(self.to_batches()):
            yield from (Call(partial(list, [piece]), piece.room) for piece in block.blocks(batch, self.targets[0], self.query, 7 * number))


def written(run: str, format: str, rows: pa.RecordBatch | None = None, parameters: GenomeParameters | None = None, *, markend: bool = False) -> str:
    table = golden.rows(run) if rows is None else rows
    used = parameters or GenomeParameters(gapped="--nogapped" not in golden.RUNS[run]["options"])
    source = Rows(table, golden.side(run, "target"), golden.side(run, "query"), used)
    sink = io.BytesIO()
    assert write(Request(source, find("genome", format), print, markend=markend), sink) == table.num_rows
    return sink.getvalue().decode()
