"""`tidalign partition`: the first stage of a run alone. `tidalign pairs` with the same inputs and directory goes on from it."""

import argparse
import time
from pathlib import Path

from tidalign.pipeline.store.layout import PAIRS
from tidalign.workflows import running
from tidalign.workflows.commands.pairs import parameters_of, source_of
from tidalign.workflows.progress import say
from tidalign.workflows.run.pairs.run import partition_pairs
from tidalign.workflows.status import Exit


def command(args: argparse.Namespace) -> Exit:
    """Read the input, write its chunks and the manifest."""
    began = time.monotonic()
    parameters = parameters_of(args)
    source = source_of(args, Path(args.output), parameters.alphabet)
    with running.progress(args) as told, running.prepared(Path(args.output), PAIRS, new=args.new):
        manifest = partition_pairs(args.output, source, parameters, resources=running.resources_of(args), progress=told)
    if not args.quiet:
        chunks = [chunk for block in manifest.blocks for chunk in block["chunks"]]
        bytes_ = sum(chunk["bytes"] for chunk in chunks)
        longest = max((chunk["longest"] for chunk in chunks), default=0)
        seconds = time.monotonic() - began
        what = f"{running.counted(manifest.pairs, 'pairs')} in {running.counted(len(chunks), 'chunks')}"
        say(f"{what}, {bytes_ / 1e6:,.1f} MB, longest sequence {longest:,}; {seconds:.1f} s; {args.output}")
    return Exit.COMPLETE
