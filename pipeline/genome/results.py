"""Gather the results of a genome run from its parts, in LASTZ's order."""

import copy
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline import text
from tidalign.pipeline.errors import Damaged, InputError, MissingInput
from tidalign.pipeline.formats.export import destination, export
from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.formats.table import GENOME, Format, ending, find
from tidalign.pipeline.formats.together import write_apart
from tidalign.pipeline.genome.census import PLACED, Masks, key
from tidalign.pipeline.genome.formats.block import AlignmentBlock, blocks, counted_apart
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.manifest import GenomeManifest, Job
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import job_name, unit_name
from tidalign.pipeline.in_turn import Call
from tidalign.pipeline.schema import GENOME_ALIGNMENTS, KEPT
from tidalign.pipeline.store.files import read_lasting
from tidalign.pipeline.store.layout import GENOMES
from tidalign.pipeline.store.parts import all_parts
from tidalign.pipeline.store.results import Reader, RunResults, changed, read_rows


class GenomeResults(RunResults[GenomeManifest]):
    """Give the alignments of a genome run in `schema.GENOME_ALIGNMENTS`: jobs in order, in each queries in file order, + before -, then as LASTZ sorts them.

    Only a row group of a part is held in memory at a time. Raises MissingInput when `path` holds no genome run or, on reading, when it is not finished;
    ManifestMismatch when it was made with another layout.
    """

    layout = GENOMES
    manifest_type = GenomeManifest
    counted = "units"
    cigars = placed = True

    job: int | None = None
    """The pair of genomes whose rows these are; None: of all."""

    apart: bool = False
    """Whether the rows of each pair of genomes are counted by themselves, as they are written to files of their own."""

    beside: bool = False
    """Whether what is written stands beside the output, as LASTZ's `--rdotplot=FILE`, whose points it does not limit."""

    _format: Format | None = None
    """Says what the rows are written in; None: it is not known."""

    _masks: tuple[int, Masks | None] = (-1, None)
    """Of the pair of genomes that was last asked for."""

    @property
    def parameters(self) -> GenomeParameters:
        """Say what was computed."""
        return self._manifest.parameters

    @property
    def source(self) -> dict[str, Any]:
        """Say what was read; an index by the name of the file that it was made of."""
        of = {side["spec"]: side["of"] for side in self._manifest.sides if "of" in side}
        said = super().source
        return said | {"genomes": [{name: of.get(each, each) for name, each in pair.items()} for pair in said["genomes"]]} if of else said

    @property
    def names(self) -> list[str]:
        """Of the pairs of genomes; the column `job` is a place in this list."""
        return self._manifest.names

    def pair(self, name: str) -> int:
        """Find the place of a pair of genomes in `names`. InputError where there is none."""
        if name not in self.names:
            raise InputError(str(self.path), f"one of its pairs ({', '.join(self.names[:5])}{', ...' if len(self.names) > 5 else ''})", repr(name), "name one")
        return self.names.index(name)

    def statuses(self, *, job: int | None = None) -> dict[str, int]:
        """Count rows by status, of all pairs of genomes or of one, every status named; `rejected` counts what was given up without a row."""
        counted = super().statuses()
        if job is not None:
            found = Counter(status for batch in self.to_batches(["status"], job=job) for status in batch["status"].to_pylist())
            counted = {status: found[status] for status in counted}
        lost = [shortfall for shortfall in self.shortfalls() if job in (None, shortfall["job"])]
        return counted | {"rejected": sum(shortfall["status"] == "rejected" for shortfall in lost)}

    def shortfalls(self) -> list[dict[str, Any]]:
        """List what a guard cut or a crash cost: [{job, query_name, strand, status, reason}]. Rows that are cut themselves say so in their own status."""
        return [shortfall for part in all_parts(self._parts) for shortfall in part.labels["shortfalls"]]

    def genomes(self, job: int | None = None) -> tuple[Genome, Genome]:
        """Load target and query, as read, of a pair of genomes; None where the run has one target side and one query side (else InputError)."""
        if job is None:
            sides = {(group.target, group.query) for group in self._manifest.jobs}
            if len(sides) > 1:
                raise InputError(str(self.path), "one pair of files", f"{len(self.names)} pairs", "name one of them with --pair")
            target, query = sides.pop()
            return self._side(target), self._side(query)
        group = self._manifest.jobs[self._number(job)]
        return load_side(str(self.path), self._manifest.run, group.target, group.sequence)[0], self._side(group.query)

    @property
    def targets(self) -> list[Genome]:
        """Load the target sides, as read."""
        if self.job is not None:
            return [self.genomes(self.job)[0]]
        return [self._side(side) for side in dict.fromkeys(group.target for group in self._manifest.jobs)]

    def to_batches(self, columns: list[str] | None = None, *, job: int | None = None) -> Iterator[pa.RecordBatch]:
        """Give record batches in order, of all pairs of genomes or of one; all columns or those named."""
        return super().to_batches(columns) if job is None else self._of(job).to_batches(columns)

    def to_table(self, columns: list[str] | None = None, *, job: int | None = None) -> pa.Table:
        """Gather all rows, or those of one pair of genomes, as one table, which must fit in memory; all columns or those named."""
        return super().to_table(columns) if job is None else self._of(job).to_table(columns)

    def stage(self, name: str) -> pa.Table:
        """Read what `--keep` kept of a stage (`hits`, `hsps` or `anchors`), with the columns job, query_name and strand before its own."""
        if name not in KEPT:
            raise ValueError(f"no stage {name!r}: use one of {', '.join(KEPT)}")
        files = sorted(Path(self.path, "kept", name).glob("*.parquet"), key=_unit_order)
        if not files:
            raise MissingInput(f"{self.path}: {name} were not kept; run again with --keep {name}")
        wanted = [unit_name(number, unit) for number, job in enumerate(self._manifest.jobs) for unit in range(job.units)]
        lacks = sorted({*wanted} - {file.stem for file in files})
        if self.complete and len(lacks) > self.statuses()["rejected"]:
            raise Damaged(str(files[0].with_name(f"{lacks[0]}.parquet")), "gone", _ANEW)
        return pa.concat_tables([read_lasting(str(file), _ANEW).replace_schema_metadata(None) for file in files])

    def export(
        self,
        output: str | Path,
        *,
        format: str | None = None,
        markend: bool = False,
        beside: bool = False,
        job: int | None = None,
        notice: Callable[[str], None] | None = None,
        into: Callable[[str], AbstractContextManager[BinaryIO]] = destination,
    ) -> int:
        """Write the rows, of all pairs of genomes or of one, by the ending of `output` or `format`: see `pipeline.formats.export.export`.

        markend: end with LASTZ's line that says so. beside: of rdotplot, all points even where LASTZ's limits of a query leave some out.
        into: opens the file, which may be one of many.
        """
        rows = copy.copy(self if job is None else self._of(job))
        rows.beside = beside
        rows._format = find(GENOME, format or ending(str(output)))
        return export(rows, str(output), format, markend=markend, notice=notice, into=into)

    def export_each(self, outputs: Sequence[str], *, format: str, markend: bool, into: Callable[[str], AbstractContextManager[BinaryIO]]) -> None:
        """Write the rows of each pair of genomes to a file of its own; outputs: their names. All else is as `export` has it."""
        chosen = find(GENOME, format)
        if chosen.write or chosen.bgzf:
            for job, output in enumerate(outputs):
                self.export(output, format=format, markend=markend, job=job, into=into)
            return
        rows = copy.copy(self)
        rows.apart, rows._format = True, chosen
        request: Request[GenomeResults] = Request(rows, chosen, lambda text: None, markend=markend)
        write_apart(request, outputs, "job", lambda job: replace(request, rows=self._of(job), found={}), into)

    def pieces(self, letters: bool = False) -> Iterator[Call[Iterable[AlignmentBlock]]]:
        """Give what makes the blocks that formats take, in order; all have letters."""
        first, before = 0, (-1, 0)
        tables = chain.from_iterable(read() for read in self._readers(self.schema.names))
        for batch in (batch for table in text.in_batches(tables, TOGETHER) for batch in table.combine_chunks().to_batches()):
            for group, rows in self._by_sides(batch):
                sides = self._side(group.target), self._side(group.query)
                for block in blocks(rows, *sides, first, self.masks(group.first), hsps=not self.parameters.gapped, format=self._format):
                    if self.apart:
                        block, before = counted_apart(block, before)
                    yield Call(partial(list, [block]), block.room)
                first += rows.num_rows

    def _by_sides(self, batch: Any) -> Iterator[tuple[Job, Any]]:
        """Give the rows of jobs that follow each other and have the same sides, and the first of these; of each job by itself where something is masked."""
        jobs, start = np.asarray(batch["job"].to_numpy()), 0
        while start < len(jobs):
            number = last = self._number(int(jobs[start]))
            while self.parameters.masking is None and self._sides_of(last) == self._sides_of(last + 1):
                last += 1
            after = self._manifest.jobs[last + 1].first if last + 1 < len(self._manifest.jobs) else len(self.names)
            stop = int(np.searchsorted(jobs, after))
            yield self._manifest.jobs[number], batch.slice(start, stop - start)
            start = stop

    def _sides_of(self, number: int) -> tuple[int, int] | None:
        """Give the sides of one of the manifest's jobs; None behind the last."""
        jobs = self._manifest.jobs[number : number + 1]
        return (jobs[0].target, jobs[0].query) if jobs else None

    def masks(self, job: int) -> Masks | None:
        """Say what --masking masked of the target of a pair of genomes; None without it."""
        threshold = self.parameters.masking
        if threshold is None:
            return None
        if self._masks[0] != job:
            target, query = self.genomes(job)
            tables = (table for read in self._of(job)._readers(list(PLACED)) for table in read())
            self._masks = job, Masks.of(target, tables, threshold, joint=query.joint)
        return self._masks[1]

    def masked_strands(self) -> list[tuple[int, int]]:
        """List the strands of all queries that are not empty, in their order: the number of the pair of genomes, and `census.key`; none without --masking."""
        if self.parameters.masking is None:
            return []
        strands = [strand for strand, left_out in (("+", "minus"), ("-", "plus")) if self.parameters.strand != left_out]
        found = []
        for group in self._manifest.jobs if self.job is None else [self._manifest.jobs[self._number(self.job)]]:
            query = self._side(group.query)
            numbers = [0] if query.joint else np.flatnonzero(query.lengths).tolist()
            found += [(group.first, key(number, strand)) for number in numbers for strand in strands]
        return found

    def _of(self, job: int) -> "GenomeResults":
        """Limit these results to the rows of one pair of genomes."""
        self._number(job)
        one = copy.copy(self)
        one.job = job
        one._parts = self._parts  # found once for all pairs
        if len(self._manifest.chunk_jobs(self._manifest.jobs[self._number(job)].chunk)) > 1:
            one.threads = 1  # of a small job
        return one

    def _readers(self, columns: list[str]) -> Iterator[Reader]:
        """Give what reads each part, in order, or what it has of one pair of genomes."""
        if self.job is None:
            yield from (partial(_read, part.path, self._manifest.run, columns) for chunk in self._manifest.chunks for part in self._parts[chunk])
            return
        group = self._manifest.jobs[self._number(self.job)]
        units, parts = group.units_of(self.job, self.parameters), self._parts[job_name(group.chunk)]
        first = bisect_right(parts, group.begin + units.start, key=lambda part: part.stop)  # of one pair among thousands
        for part in takewhile(lambda part: part.start < group.begin + units.stop, islice(parts, first, None)):
            yield partial(_read_of, part.path, self._manifest.run, columns, self.job)

    def _side(self, side: int) -> Genome:
        return load_side(str(self.path), self._manifest.run, side)[0]

    def _number(self, job: int) -> int:
        """Find which of the manifest's jobs a pair of genomes is in."""
        if not 0 <= job < len(self.names):
            raise ValueError(f"{self.path}: no job {job}, there are {len(self.names)}")
        return bisect_right(self._manifest.jobs, job, key=lambda group: group.first) - 1


TOGETHER = 1 << 20
"""Bytes of rows, of parts that follow each other, that are made into blocks together: about what a thread turns into text at a time. Parts can be small."""

HELD = 1 << 22
"""Bytes of a part, compressed, up to which it is read whole and held for the next pair of genomes that has rows in it."""


def _read(path: str, run: str, columns: list[str]) -> Iterator[Any]:
    """Read the rows of a part, in tables."""
    yield from read_rows(path, run, pa.schema([GENOME_ALIGNMENTS.field(name) for name in columns]))


def _read_of(path: str, run: str, columns: list[str], job: int) -> Iterator[Any]:
    """Read the rows of a part that are of one pair of genomes, in tables."""
    try:
        state = Path(path).stat()
    except FileNotFoundError:
        raise changed(path) from None
    if state.st_size <= HELD:
        table, jobs = _held(path, run, state.st_mtime_ns, state.st_ino)
        start, stop = np.searchsorted(jobs, [job, job + 1])
        yield table.slice(start, stop - start).select(columns)
        return
    schema = pa.schema([GENOME_ALIGNMENTS.field(name) for name in dict.fromkeys((*columns, "job"))])
    for table in read_rows(path, run, schema):
        yield table.filter(pc.equal(table["job"], job)).select(columns)


@lru_cache(maxsize=2)
def _held(path: str, run: str, written: int, file: int) -> tuple[Any, Any]:
    """Read all rows of a part, and the pair of genomes of each, which are in order."""
    table = pa.concat_tables([GENOME_ALIGNMENTS.empty_table(), *read_rows(path, run, GENOME_ALIGNMENTS)]).combine_chunks()
    return table, table["job"].to_numpy()


_ANEW = "start again with --new, which makes all of the run anew"
"""Says the way out where a table is lost that --keep has kept: a finished run makes none again."""


def _unit_order(path: Path) -> tuple[str, int]:
    job, _, unit = path.stem.partition(".u")
    return job, int(unit)
