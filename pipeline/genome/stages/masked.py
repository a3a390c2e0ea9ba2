"""Hold a target as the alignments of earlier queries have masked it (`--masking`, LASTZ.md 23): small letters that no seed takes, and that cross extensions.

What is masked follows from the rows that are there, so whoever takes a run up again reads these.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.letters.nucleotides import Codes
from tidalign.kernels.seed.index import Positions, WordIndex
from tidalign.pipeline.genome.census import MASK, PLACED, Census, covered
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import job_name
from tidalign.pipeline.genome.stages.host import HostWords
from tidalign.pipeline.schema import GENOME_ALIGNMENTS
from tidalign.pipeline.store.parts import read_tables, scan_chunk


class MaskedTarget:
    """Holds the letters of a target, masked by what rows cover.

    genome, codes: the target as it was read.
    """

    def __init__(self, genome: Genome, codes: Codes, parameters: GenomeParameters) -> None:
        self._genome, self.codes = genome, np.array(codes)
        self._census = Census(self.codes, parameters.masking or 0)
        self._span = len(parameters.seed)
        self._covered = np.zeros(len(self.codes), np.bool_)
        """Where windows begin that have a masked letter."""

    def read(self, directory: str, run: str, job: int, number: int) -> None:
        """Mask the target by the rows of a job's units before one, all of which are there."""
        schema = pa.schema([GENOME_ALIGNMENTS.field(name) for name in PLACED])
        for part in scan_chunk(f"{directory}/parts", run, job_name(job)):
            if part.stop <= number:
                for table in read_tables(part.path, schema):
                    self._mask(*covered(self._genome, table))

    def words(self, whole: HostWords) -> "MaskedWords":
        """Give the words of the target that have no masked letter."""
        return MaskedWords(whole.index, self.codes, self._covered)

    def noting(self, tables: Iterable[Any]) -> Iterator[Any]:
        """Give tables of a unit's rows; after the last one what they cover counts."""
        found = []
        for table in tables:
            found.append(covered(self._genome, table))
            yield table
        for places in found:
            self._mask(*places)

    def _mask(self, starts: Positions, ends: Positions) -> None:
        for start, end in self._census.add(starts, ends):
            self.codes[start:end] = MASK
            self._covered[max(0, start - self._span + 1) : end] = True


class MaskedWords(HostWords):
    """Holds a target's words less those with a masked letter (`unit.Words`). covered: bool[n], where windows with such begin."""

    def __init__(self, index: WordIndex, target: Codes, covered: npt.NDArray[np.bool_]) -> None:
        super().__init__(index)
        self.target, self._covered = target, covered

    def hits(self, query: Codes, parameters: GenomeParameters, start: int = 0, **tile: int) -> Iterator[tuple[Positions, Positions]]:
        """Find all seed hits from query place `start` on, without those in masked letters."""
        for targets, queries in super().hits(query, parameters, start, **tile):
            kept = ~self._covered[targets]
            if kept.any():
                yield targets[kept], queries[kept]
