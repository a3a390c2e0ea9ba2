"""The results of a finished genome run, gathered from its parts in LASTZ's order."""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.formats.export import parse, write
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan.manifest import read_manifest
from tidalign.pipeline.genome.plan.tiles import job_name
from tidalign.pipeline.pairs.formats.export import destination
from tidalign.pipeline.schema import GENOME_ALIGNMENTS, KEPT, STATUSES
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES
from tidalign.pipeline.store.parts import Part, all_parts, counts, scan


class GenomeResults:
    """Alignments of a genome run in `schema.GENOME_ALIGNMENTS`: jobs in order, in each queries in file order, + before -, then as LASTZ sorts them.

    Only one part of the rows is held in memory at a time. Raises MissingInput when `path` holds no genome run or, on reading, when it is not finished;
    ManifestMismatch when it was made with another layout.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        rundir.require(str(path), GENOMES)
        self._manifest = read_manifest(str(path))

    @property
    def schema(self) -> Any:
        """The Arrow schema of the rows."""
        return GENOME_ALIGNMENTS

    @property
    def parameters(self) -> GenomeParameters:
        return self._manifest.parameters

    @property
    def names(self) -> list[str]:
        """Of the pairs of genomes; the column `job` is a place in this list."""
        return self._manifest.names

    def pair(self, name: str) -> int:
        """The place of a pair of genomes in `names`. InputError where there is none."""
        if name not in self.names:
            raise InputError(str(self.path), f"one of its pairs ({', '.join(self.names[:5])}{', ...' if len(self.names) > 5 else ''})", repr(name), "name one")
        return self.names.index(name)

    @property
    def complete(self) -> bool:
        """Everything was aligned. Some may be capped or given up: see `statuses` and `shortfalls`."""
        return rundir.finished(str(self.path)) is not None

    def __len__(self) -> int:
        """Rows."""
        return sum(counts(self._parts).values())

    def statuses(self) -> dict[str, int]:
        """Rows by status, every status named; `rejected` counts what was given up without a row."""
        rejected = sum(shortfall["status"] == "rejected" for shortfall in self.shortfalls())
        return dict.fromkeys(STATUSES, 0) | counts(self._parts) | {"rejected": rejected}

    def shortfalls(self) -> list[dict[str, Any]]:
        """What a guard cut or a crash cost: [{job, query_name, strand, status, reason}]. Rows that are cut themselves say so in their own status."""
        return [shortfall for part in all_parts(self._parts) for shortfall in part.labels["shortfalls"]]

    def genomes(self, job: int | None = None) -> tuple[Genome, Genome]:
        """Target and query, as read, of a pair of genomes; None where the run has one target side and one query side (else InputError)."""
        if job is None:
            sides = {(group.target, group.query) for group in self._manifest.jobs}
            if len(sides) > 1:
                raise InputError(str(self.path), "one pair of files", f"{len(self.names)} pairs", "name one of them with --pair")
            target, query = sides.pop()
            return self._side(target), self._side(query)
        group = self._manifest.jobs[self._number(job)]
        return load_side(str(self.path), self._manifest.run, group.target, group.sequence)[0], self._side(group.query)

    def to_batches(self, job: int | None = None) -> Iterator[Any]:
        """Record batches in order, of all pairs of genomes or of one."""
        for batch, _, _ in self._sided(job):
            yield batch

    def _batches(self, number: int, job: int | None) -> Iterator[Any]:
        group = self._manifest.jobs[number]
        for part in self._parts[job_name(number)]:
            table = pq.read_table(part.path).cast(GENOME_ALIGNMENTS)
            if job is not None and group.each:
                table = table.filter(pc.equal(table["job"], job))
            yield from table.to_batches()

    def to_table(self, job: int | None = None) -> Any:
        """All rows, or those of one pair of genomes, as one table, which must fit in memory."""
        return pa.Table.from_batches(self.to_batches(job), schema=GENOME_ALIGNMENTS)

    def stage(self, name: str) -> Any:
        """What `--keep` kept of a stage (`hits`, `hsps` or `anchors`), with the columns job, query_name and strand before its own."""
        if name not in KEPT:
            raise ValueError(f"no stage {name!r}: use one of {', '.join(KEPT)}")
        files = sorted(Path(self.path, "kept", name).glob("*.parquet"), key=_unit_order)
        if not files:
            raise MissingInput(f"{self.path}: {name} were not kept; run again with --keep {name}")
        return pa.concat_tables([pq.read_table(file) for file in files])

    def export(self, output: str | Path, *, format: str | None = None, markend: bool = False, job: int | None = None) -> int:
        """Write the rows, of all pairs of genomes or of one, to a file or (`-`) to standard output; returns how many.

        format: one of `pipeline.genome.export.FORMATS`; left out, the suffix of `output`. markend: end with LASTZ's line that says so.
        A file appears under its name only when it is whole. Raises ValueError for what cannot be asked, CannotWrite before any work, DiskFull,
        MissingInput for an unfinished run, InputError for names or lengths the format cannot hold.
        """
        kind = parse(format or Path(output).suffix[1:].lower())
        targets = [self._side(side) for side in dict.fromkeys(group.target for group in self._manifest.jobs)] if job is None else [self.genomes(job)[0]]
        with destination(str(output)) as sink:
            return write(kind, self._sided(job), targets, self.parameters, sink, markend=markend)

    def _sided(self, job: int | None) -> Iterator[tuple[Any, Genome, Genome]]:
        """Batches with the sides that they are of."""
        for number in range(len(self._manifest.jobs)) if job is None else [self._number(job)]:
            group = self._manifest.jobs[number]
            for batch in self._batches(number, job):
                yield batch, self._side(group.target), self._side(group.query)

    def _side(self, side: int) -> Genome:
        return load_side(str(self.path), self._manifest.run, side)[0]

    def _number(self, job: int) -> int:
        """Which of the manifest's jobs a pair of genomes is in."""
        if not 0 <= job < len(self.names):
            raise ValueError(f"{self.path}: no job {job}, there are {len(self.names)}")
        return bisect_right([group.first for group in self._manifest.jobs], job) - 1

    @cached_property
    def _parts(self) -> dict[str, list[Part]]:
        """The parts of each job. Refuses a run that is not finished, or has lost a part since."""
        if not self.complete:
            raise MissingInput(f"{self.path}: the run is not finished; run the same command again to go on")
        parts, _ = scan(f"{self.path}/parts", self._manifest.run)
        for number, group in enumerate(self._manifest.jobs):
            units = sum(part.stop - part.start for part in parts.get(job_name(number), []))
            if units != group.units:
                found = f"whole parts for {units} of the {group.units} units of {job_name(number)}"
                raise MissingInput(f"{self.path}/parts: found {found}; run the same command again to mend it")
        return parts


def _unit_order(path: Path) -> tuple[str, int]:
    job, _, unit = path.stem.partition(".u")
    return job, int(unit)
