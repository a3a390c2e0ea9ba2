"""Gather the results of a run over pairs block by block: a row for each, in input order."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.formats.export import export
from tidalign.pipeline.pairs.manifest import BlockRecord, PairManifest
from tidalign.pipeline.schema import ALIGNMENTS
from tidalign.pipeline.store.layout import PAIRS
from tidalign.pipeline.store.parts import read_tables
from tidalign.pipeline.store.results import Reader, RunResults
from tidalign.pipeline.text import in_order


class Results(RunResults[PairManifest]):
    """Give the alignments of a run, one row for each pair of the input, in `schema.ALIGNMENTS`.

    Only one block of the input is held in memory at a time, whatever the size of the run. Raises MissingInput when `path` holds no run or,
    on reading, when the run is not finished; ManifestMismatch when it was made with another layout.
    """

    layout = PAIRS
    manifest_type = PairManifest
    counted = "rows"
    threads = min(12, os.cpu_count() or 1)

    @property
    def parameters(self) -> Any:
        """Say what was computed: parameters of one of the aligners."""
        return self._manifest.parameters

    @property
    def cigars(self) -> bool:
        """Tell whether the rows have CIGARs."""
        return not self.parameters.penalty_only

    @property
    def placed(self) -> bool:
        """Tell whether the rows have places."""
        return not self.parameters.scored or bool(self.parameters.report != "score")

    def __len__(self) -> int:
        """Count the pairs of the input, which is rows of the table."""
        return self._manifest.pairs

    def export(self, output: str | Path, *, format: str | None = None, cigar: str = "=X", notice: Callable[[str], None] | None = None) -> int:
        """Write the rows as PAF, SAM, TSV or Parquet, by the ending of `output` or `format`: see `pipeline.formats.export.export`.

        cigar: `=X`, or `M` for matches and mismatches alike (PAF and SAM).
        """
        return export(self, str(output), format, cigar=cigar, notice=notice)

    def _readers(self, columns: list[str]) -> Iterator[Reader]:
        """Give what reads each block of the input, in order."""
        parts = self._parts
        for block in self._manifest.blocks:
            paths = [part.path for chunk in block["chunks"] for part in parts[chunk["id"]]]
            yield partial(_ordered, paths, columns, block)


def _ordered(paths: list[str], wanted: list[str], block: BlockRecord) -> Iterator[Any]:
    """Read the rows of one block by ordinal, the columns wanted, in tables."""
    columns = ["ordinal", *(name for name in wanted if name != "ordinal")]
    schema = pa.schema([ALIGNMENTS.field(name) for name in columns])
    table = pa.concat_tables([schema.empty_table(), *(rows for path in paths for rows in read_tables(path, schema))])
    ordinals = table["ordinal"].to_numpy()
    order = np.argsort(ordinals, kind="stable")
    if not np.array_equal(ordinals[order], np.arange(block["first"], block["first"] + block["pairs"])):
        raise RuntimeError(f"block {block['id']}: its parts do not hold each of its {block['pairs']} pairs once")
    yield from in_order(table.select(wanted), order)
