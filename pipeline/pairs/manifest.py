"""Write and read manifest.json of a run over pairs: written when every block is partitioned and the counts agree; says which chunks hold the pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from tidalign.pipeline.pairs.aligner import Aligner, described
from tidalign.pipeline.pairs.blocks import BlockRecord
from tidalign.pipeline.store import manifest, rundir
from tidalign.pipeline.store.layout import PAIRS


@dataclass(frozen=True, slots=True)
class PairManifest(manifest.Manifest):
    """Hold what manifest.json says of a run over pairs: the blocks of the input, in its order."""

    aligner: Aligner[Any]
    blocks: list[BlockRecord]

    @property
    def pairs(self) -> int:
        """Count the pairs of the input."""
        return sum(self.chunks.values())

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Make one of what manifest.json holds."""
        aligner, parameters = described(values["parameters"])
        return cls(values["run"], parameters, values["source"], values["chunks"], aligner, values[PAIRS.kind]["blocks"])


def write_manifest(directory: str, records: Sequence[BlockRecord]) -> PairManifest:
    """Close the partition stage: check that the blocks follow each other and that every pair is in a chunk, write manifest.json and return it."""
    planned = rundir.read_plan(directory)["blocks"]
    blocks = sorted(records, key=lambda record: record["id"])
    first = 0
    for place, block in enumerate(blocks):
        rows = sum(chunk["rows"] for chunk in block["chunks"])
        if (block["id"], block["first"], block["pairs"]) != (place, first, rows):
            raise RuntimeError(f"{directory}: block {block['id']} has {rows} rows from ordinal {block['first']}; expected block {place} from {first}")
        first += rows
    if planned is not None and [(b["id"], b["pairs"]) for b in blocks] != [(b["id"], b["pairs"]) for b in planned]:
        raise RuntimeError(f"{directory}: {len(blocks)} blocks were written, not the {len(planned)} that were planned")
    chunks = {chunk["id"]: chunk["rows"] for block in blocks for chunk in block["chunks"]}
    return manifest.write(directory, PairManifest, chunks, {"blocks": blocks})


def read_manifest(directory: str) -> PairManifest:
    """Read manifest.json of a run over pairs. MissingInput while the partition stage is not over."""
    return manifest.read(directory, PairManifest)
