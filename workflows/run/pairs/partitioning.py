"""The partition stage of a run: every block of the input becomes chunks, counts are checked, the manifest is written."""

from collections.abc import Callable
from typing import Any

from tidalign.cluster.task import Task
from tidalign.pipeline.pairs.blocks import BlockRecord, read_block_record
from tidalign.pipeline.pairs.input.read import Block, Source, plan
from tidalign.pipeline.pairs.manifest import PairManifest, read_manifest, write_manifest
from tidalign.pipeline.pairs.partition import partition_block, partition_stream
from tidalign.pipeline.store import manifest as manifests
from tidalign.pipeline.store import rundir
from tidalign.workflows.run.crew import Crew, Repeated


def partition(crew: Crew, source: Source, parameters: dict[str, Any], progress: Callable[[str, int, int | None], None]) -> PairManifest:
    """The manifest of a run whose chunks are all there: what is missing of them is made. The caller holds the directory's lock."""
    directory = crew.directory
    if manifests.written(directory):
        manifest = read_manifest(directory)
        if all(read_block_record(directory, record["id"]) for record in manifest.blocks):
            return manifest
    if not rundir.exists(directory):
        blocks = plan(source, map=crew.map)
        described = None if blocks is None else [block.to_json() for block in blocks]
        rundir.create(directory, parameters, source.to_json(), described)
    # As written rather than as planned: a run that goes on must cut its input where it did before.
    planned = rundir.read_plan(directory)["blocks"]
    blocks = None if planned is None else [Block.from_json(block) for block in planned]
    pairs = None if blocks is None else sum(block.pairs for block in blocks)
    progress("partition", 0, pairs)
    stage = _Partition(directory, pairs, progress)
    if blocks is None:
        crew.run([Task("partition", partition_stream, (directory, source))], stage, here=source.has_pipe)
    else:
        crew.run([Task(f"partition-{block.id}", partition_block, (directory, source, block), block.pairs) for block in blocks], stage)
    manifest = write_manifest(directory, stage.records)
    rundir.journal(directory, "partitioned", pairs=manifest.pairs, blocks=len(stage.records), chunks=len(manifest.chunks))
    return manifest


class _Partition(Repeated):
    def __init__(self, directory: str, pairs: int | None, progress: Callable[[str, int, int | None], None]) -> None:
        super().__init__(directory)
        self._pairs, self._progress = pairs, progress
        self._done = 0
        self.records: list[BlockRecord] = []

    def done(self, task: Task, result: BlockRecord | list[BlockRecord]) -> None:
        for record in result if isinstance(result, list) else [result]:
            self.records.append(record)
            self._done += record["pairs"]
        self._progress("partition", self._done, self._pairs)
