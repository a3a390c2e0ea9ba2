"""Compile the kernels of a genome run before anybody has to wait for them in the middle of it."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tidalign.kernels.gapped.alignments import Extensions
from tidalign.pipeline.device import CPU, Device
from tidalign.pipeline.genome import units as stages
from tidalign.pipeline.genome.input.sides import read_side
from tidalign.pipeline.genome.input.source import GenomeSource, Pair
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan.manifest import write_manifest
from tidalign.pipeline.genome.stages import anchoring
from tidalign.pipeline.genome.stages.unit import Unit
from tidalign.pipeline.genome.walk.speculation import extend_ahead
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.layout import GENOMES

LETTERS = 3000


def warm_up(parameters: GenomeParameters, device: Device = CPU) -> Any:
    """Align two small made-up sequences with these parameters: what is compiled for them is kept on disk, where worker processes find it. Returns the rows
    (`GENOME_ALIGNMENTS`), the same on every device."""
    any_score = replace(parameters, strand="plus", hspthresh=1, gappedthresh=1, filters=(), cells=None, seconds=None)
    letters = np.random.default_rng(1).choice(np.frombuffer(b"ACGT", np.uint8), LETTERS)
    changed = np.where(np.arange(LETTERS) % 97 == 0, np.roll(letters, 1), letters)
    with tempfile.TemporaryDirectory(prefix="tidalign-") as folder:
        for name, sequence in (("target", letters), ("query", np.delete(changed, slice(1500, 1510)))):
            Path(folder, f"{name}.fa").write_bytes(b">%s\n%s\n" % (name.encode(), sequence.tobytes()))
        source = GenomeSource((Pair("pair", f"{folder}/target.fa", f"{folder}/query.fa"),))
        rundir.create(folder, any_score.to_json(), source.to_json(), None, GENOMES)
        write_manifest(folder, [read_side(folder, side, role, spec, None) for side, (role, spec) in enumerate(source.sides())])
        unit = Unit(folder, 0, 0, device)
        if not device.takes_gpu and parameters.mode == "exact" and parameters.gapped:
            # By those who have nothing else to do, near the end of a run.
            anchoring.write_anchors(unit, lambda: None)
            extend_ahead(unit, anchoring.read_anchors(unit), Extensions.empty(), 0, lambda: False)
        return stages.whole(unit, lambda: None)[0]
