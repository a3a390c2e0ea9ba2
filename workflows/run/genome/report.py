"""What a genome run did, for people and for the exit status."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tidalign.workflows.status import Exit


@dataclass(frozen=True, slots=True)
class GenomeReport:
    """report.json of a genome run.

    run: id of the run; pairs: of genomes; target_bases, query_bases: letters of all sides; empty: records without letters, left out.
    rows: alignments; statuses: rows of each status; shortfalls: what a guard cut or a crash cost, [{job, query_name, strand, status, reason}].
    seconds: what this call took, start to end; work: sums of what its tasks said they did (anchors, cells, seconds); earlier calls are not in them.
    device: names of the cards, or `cpu`; device_why: these and no others. workers: processes that aligned, 0 for this one alone.
    deaths: workers that died with a tile begun; retries: tasks started again.
    """

    run: str
    pairs: int
    target_bases: int
    query_bases: int
    empty: int
    rows: int
    statuses: Mapping[str, int]
    shortfalls: tuple[Mapping[str, Any], ...]
    seconds: float
    work: Mapping[str, float]
    device: str
    device_why: str
    workers: int
    deaths: int
    retries: int
    command: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def exit(self) -> Exit:
        """PARTIAL if something is capped or was given up."""
        return Exit.PARTIAL if self.statuses.get("capped") or self.shortfalls else Exit.COMPLETE

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "GenomeReport":
        known = {name: value for name, value in values.items() if name in cls.__slots__}
        return cls(**{**known, "command": tuple(known["command"]), "shortfalls": tuple(known["shortfalls"])})
