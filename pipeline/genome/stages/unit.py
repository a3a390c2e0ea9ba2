"""A unit of a genome run: one query sequence on one strand against a target side, with what its stages need of both."""

from collections import Counter
from functools import cached_property
from typing import Any

from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.letters.nucleotides import Codes, reverse_complement
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.plan.manifest import read_manifest
from tidalign.pipeline.genome.plan.tiles import unit_name, unit_of
from tidalign.pipeline.genome.stages.forms import HOST, Words, forms


class Unit:
    """Unit `number` of job `job` of the run in `directory`.

    device: a core, or this process's GPU: it makes a difference of speed only. forms: of the stages there.
    query_index, strand: which query sequence. name: of its files. bounds: the target's pieces, int64[m, 2].
    """

    def __init__(self, directory: str, job: int, number: int, device: Device = CPU) -> None:
        manifest = read_manifest(directory)
        self.directory, self.run, self.number = directory, manifest.run, number
        self.device, self.forms = device, forms(device)
        self.counts: Counter[str] = Counter()
        """What was done for it, in numbers."""
        self.parameters = manifest.parameters
        self.segments: str | None = manifest.source["segments"]
        self.keep: list[str] = manifest.source["keep"]
        self.job_number, self.job = job, manifest.jobs[job]
        self.name = unit_name(job, number)
        self.query_index, self.strand = unit_of(number, self.parameters)
        self.target, self.target_codes = load_side(directory, manifest.run, self.job.target, self.job.sequence)
        self.query = load_side(directory, manifest.run, self.job.query)[0]
        self.bounds = self.target.bounds()

    @property
    def row_job(self) -> int:
        """What the rows' column `job` says."""
        return self.job.row_job(self.query_index)

    @cached_property
    def query_codes(self) -> Codes:
        """Of the query sequence on its strand."""
        codes = self.query.codes(self.query_index)
        return codes if self.strand == "+" else reverse_complement(codes)

    @cached_property
    def costs(self) -> Costs:
        """What gapped extension needs to know."""
        parameters, scoring = self.parameters, self.parameters.scoring
        return Costs(
            scoring.plain(),
            scoring.gap_open,
            scoring.gap_extend,
            parameters.ydrop,
            parameters.gappedthresh,
            parameters.trim,
            parameters.traceback_bytes if parameters.mode == "exact" else None,
        )

    def words(self) -> Words:
        """Give the target's words; they are kept for the next unit. Raises DeviceLimit where they do not fit the GPU."""
        return self.forms.words(self.directory, self.run, self.job.target, self.job.sequence)

    def words_here(self) -> Words:
        """Give the target's words on the host, whatever the device."""
        return HOST.words(self.directory, self.run, self.job.target, self.job.sequence)

    def where(self) -> dict[str, Any]:
        """Names the unit in a report."""
        return {"job": self.row_job, "query_name": self.query.names[self.query_index], "strand": self.strand}
