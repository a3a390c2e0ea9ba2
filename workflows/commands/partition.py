"""`tidalign partition`: the first stage of a run alone. `tidalign pairs` with the same inputs and directory goes on from it."""

import argparse
import time
from pathlib import Path

from tidalign.pipeline.pairs.input.read import inspect
from tidalign.pipeline.pairs.parameters import PairParameters
from tidalign.workflows.commands.pairs import prepared
from tidalign.workflows.progress import Progress, say
from tidalign.workflows.run.devices import Resources
from tidalign.workflows.run.pairs.run import partition_pairs
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Read the input, write its chunks and the manifest."""
    began = time.monotonic()
    parameters = PairParameters(penalties=args.penalties, ends_free=args.ends_free, penalty_only=args.penalty_only, ambiguous=args.ambiguous)
    source = inspect(
        args.queries,
        args.targets,
        interleaved=args.interleaved,
        same_names=args.same_names,
        query_column=args.query_column,
        target_column=args.target_column,
        allow_empty=args.allow_empty,
    )
    progress = Progress()
    shown = None if args.quiet else progress
    try:
        with prepared(Path(args.output), new=args.new):
            manifest = partition_pairs(args.output, source, parameters, resources=Resources(args.workers, args.scheduler), progress=shown)
    finally:
        progress.close()
    if not args.quiet:
        chunks = [chunk for block in manifest["blocks"] for chunk in block["chunks"]]
        bytes_ = sum(chunk["bytes"] for chunk in chunks)
        longest = max((chunk["longest"] for chunk in chunks), default=0)
        seconds = time.monotonic() - began
        say(f"{manifest['pairs']:,} pairs in {len(chunks):,} chunks, {bytes_ / 1e6:,.1f} MB, longest sequence {longest:,}; {seconds:.1f} s; {args.output}")
    return Exit.COMPLETE
