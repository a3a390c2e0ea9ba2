"""`tidalign serve`: warm processes that do the calls of `tidalign-lastz`."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tidalign.cluster.errors import NoWorkers
from tidalign.cluster.gpus import TASKS_OF_A_GPU, close
from tidalign.cluster.task import cores
from tidalign.workflows import cli
from tidalign.workflows.commands import genome  # noqa: F401 workers have it from here
from tidalign.workflows.progress import say
from tidalign.workflows.run.devices import Resources, choose
from tidalign.workflows.serve import server
from tidalign.workflows.status import Exit

_WARMING = "ACGTTGCAAGCTTAGGCATTCAGGACTTAACGTCCATGGATTACAGCTTGACCTAGGTCAACTGATCGGATACCA"
"""Letters that are aligned with themselves to have all loaded that an alignment needs."""


def command(args: argparse.Namespace) -> Exit:
    """Serve until stopped; or stop the server."""
    if not sys.platform.startswith("linux"):
        raise NoWorkers("this system cannot fork a process that has libraries loaded: tidalign-lastz works without a server")
    if args.stop:
        found = server.stop()
        if not args.quiet:
            say("the server has ended" if found else "no server of this user runs here")
        return Exit.COMPLETE
    gpus = choose(Resources(device=args.device, gpus=args.gpus), hires=False)
    close()
    names, device = list(gpus.names), gpus.device.name
    count = args.processes or ((TASKS_OF_A_GPU if gpus.shareable else 1) * len(names) if names else cores())
    own: dict[str, str] = {}

    def settle(given: argparse.Namespace) -> None:
        """Set where a call is done: by its worker alone, and on its GPU, unless it says otherwise."""
        os.environ.update(own)
        if given.workers is None and not given.scheduler:
            given.workers, given.cluster = 0, "none"
        if given.device == "auto":
            given.device = device

    def warm(place: int) -> None:
        """Load what calls need, by a small one, and begin on the GPU of this worker."""
        if names:
            own["CUDA_VISIBLE_DEVICES"] = names[place % len(names)]
        os.environ.update(own)  # before CUDA is loaded
        with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
            sides = [Path(folder, f"{side}.fa") for side in ("target", "query")]
            for path in sides:
                path.write_text(f">{path.stem}\n{_WARMING * 8}\n")
            words = ["genome", *map(str, sides), "--format=lav", "-o", f"{folder}/out.lav", "--quiet"]
            if status := cli.main(words, settle=settle):
                raise RuntimeError(f"an alignment for a start ended with status {status}")

    server.Server(count, warm, settle, args.idle_timeout, args.quiet).run()
    return Exit.COMPLETE
