"""The least time of a genome run's kernels on one core: the work of the run, counted, over what the instructions that it cannot do without take.

python genome_bound.py TARGET QUERY [--options OPTION,OPTION ...]

Exact mode; FASTA (gzip too) or 2bit with actions. Prints JSON; other benchmarks call `bound`. Counting does the work once, so it takes as long as a run.

Instructions were counted in the kernels' inner loops, one for a vector: a lower bound, as the loops' ends, tails and all that is between them are left
out, and so is memory. `reference` is what prototypes of the gapped kernel reached on another machine (Xeon with AVX-512, one core, 2026-11-20), a rate to
compare with, not a bound.
"""

import argparse
import json
import math
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, NoReturn

import numba
import numpy as np
import pyarrow as pa

from tidalign.kernels.anchors.points import lastz_order
from tidalign.kernels.commit.walk import Commit
from tidalign.kernels.extension import vectors as ydrop_vectors_host
from tidalign.kernels.extension.costs import Costs
from tidalign.kernels.letters.nucleotides import reverse_complement
from tidalign.kernels.runtime.vectors import VECTOR_LANES
from tidalign.kernels.seed.index import SeedPattern, build_index
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import strands
from tidalign.pipeline.genome.stages import seeding
from tidalign.pipeline.genome.stages.host import HostWords
from tidalign.pipeline.schema import ANCHORS
from tidalign.workflows.options.command_line import add_options
from tidalign.workflows.options.given import check
from tidalign.workflows.options.given import parameters as parameters_of
from tidalign.workflows.options.spelling import spell_out

PER_CYCLE = 4
"""Instructions that a core ends in a cycle, at most, where most are vector instructions."""

LOOKUP = 5
"""A word looked up: made of the one before, its range loaded (2), compared, branch."""

HIT = 10
"""A hit passed on: position loaded, its two places stored, its diagonal (2), the diagonal's record (page, entry, load), compared, branch."""

HSP_LETTER = (12 / 2 + 32 / 28) / 16
"""A letter of a gap-free scan: two columns of 16 hits through the sieve (kernels/ungapped/vectors.py); 28 columns of these turned in 32 shuffles."""

TRAIL_CELL = 53 / ydrop_vectors_host.COLUMN_LANES
"""A cell of a sweep that keeps a trail (kernels/extension/vectors.py): COLUMN_LANES columns of a row."""

INSPECTED_CELL = 27 / VECTOR_LANES
"""A cell of VECTOR_LANES extensions side by side (kernels/inspection/vectors.py), which bare seeds go through first."""

OF_BOXES = 0.88
"""Cells in half of an inspected seed's box, which is what a walk counts for it: the least of two pairs of genomes, 400 seeds each."""

REFERENCE = {"trail": 1.08e9, "inspected": 1.9e9}
"""Cells a second of the prototypes: of long alignments with their way back; of chance seeds by score alone."""


@dataclass
class Work:
    """What a run has to do. hsp_letters: of the gap-free segments of all hits that are used, whatever their score; cells: looked at by gapped extension."""

    lookups: int = 0
    hits: int = 0
    hsp_letters: int = 0
    anchors: int = 0
    cells: int = 0


def counted(target: str, query: str, parameters: GenomeParameters) -> Work:
    """Count the work of a run in exact mode over `path[actions]` of both sides."""
    sides = read_genome(target, role="target"), read_genome(query, role="query")
    pattern = SeedPattern.parse(parameters.seed)
    cares = parameters.seed.count("1")
    words = sum(math.comb(cares, changed) for changed in range(parameters.transitions + 1))
    scoring = parameters.scoring
    costs = Costs(
        *(scoring.plain(), scoring.gap_open, scoring.gap_extend, parameters.ydrop, parameters.gappedthresh, parameters.trim, parameters.traceback_bytes)
    )
    codes, work = sides[0].codes(), Work()
    indexed = HostWords(build_index(codes, pattern, parameters.step, parameters.max_word_count))
    every = replace(parameters, hspthresh=-(1 << 40), entropy=False, query_hsp_best=None, query_hsp_limit=None)
    for i in range(len(sides[1])):
        for strand in strands(parameters):
            forward = sides[1].codes(i)
            letters = forward if strand == "+" else reverse_complement(forward)
            work.lookups += words * max(0, len(letters) - pattern.span + 1)
            work.hits += sum(len(batch) for batch in seeding.find_hits(indexed, letters, parameters))
            if parameters.gfextend:
                work.hsp_letters += sum(int(batch["length"].to_numpy().sum()) for batch in seeding.find_hsps(indexed, letters, every))
            if not parameters.gapped:
                continue
            anchors = pa.concat_tables([ANCHORS.empty_table(), *seeding.find_anchors(sides[0], letters, strand, indexed, parameters)])
            t, q, score = (anchors[name].to_numpy() for name in ("target", "query", "score"))
            order = lastz_order(t, q, score)
            walk = Commit(codes, letters, sides[0].bounds(), costs)
            at = 0
            while at < len(order):
                at += walk.walk(t[order[at:]], q[order[at:]])
            work.anchors += len(order)
            work.cells += int(walk.cells)
    return work


def _chain(count: int, value: np.uint64) -> np.uint64:
    """Compute three shifts and three exclusive ors, one after the other: six cycles."""
    for _ in range(count):
        value ^= value << np.uint64(13)
        value ^= value >> np.uint64(7)
        value ^= value << np.uint64(17)
    return value


def clock() -> float:
    """Measure cycles a second of this core, now."""
    chain: Any = numba.njit(_chain)
    chain(1, np.uint64(1))
    seconds = []
    for _ in range(5):
        began = time.perf_counter()
        chain(10_000_000, np.uint64(88172645463325252))
        seconds.append(time.perf_counter() - began)
    return 6 * 10_000_000 / min(seconds)


def least_seconds(work: Work, parameters: GenomeParameters, cycles: float) -> dict[str, float]:
    """Compute the seconds of each kernel at `cycles` a second, at least."""
    cell = TRAIL_CELL if parameters.gfextend else INSPECTED_CELL * OF_BOXES
    instructions = {
        "lookups": LOOKUP * work.lookups,
        "hits": HIT * work.hits,
        "gap-free extension": HSP_LETTER * work.hsp_letters,
        "gapped extension": cell * work.cells,
    }
    seconds = {name: count / PER_CYCLE / cycles for name, count in instructions.items()}
    return {name: round(value, 3) for name, value in (seconds | {"all": sum(seconds.values())}).items()}


def bound(target: str, query: str, options: list[str]) -> dict[str, Any]:
    """Counted work of a run with LASTZ's options, the least seconds of its kernels on one core of this machine, and the prototypes' for the cells."""
    parser = argparse.ArgumentParser()
    add_options(parser)
    given = parser.parse_args(spell_out(options)).options
    try:
        check(given)
    except ValueError as problem:
        _refuse(str(problem))
    parameters = parameters_of(given)
    if "segments" in given or parameters.mode != "exact":
        _refuse("the work of --segments and of --mode independent is not counted")
    work, cycles = counted(target, query, parameters), clock()
    return {
        "work": asdict(work),
        "cycles a second": round(cycles),
        "least seconds on one core": least_seconds(work, parameters, cycles),
        "reference seconds of gapped extension": round(work.cells / REFERENCE["trail" if parameters.gfextend else "inspected"], 3),
    }


def _refuse(message: str) -> NoReturn:
    raise SystemExit(message)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("--options", default="")
    arguments = parser.parse_args()
    json.dump(bound(arguments.target, arguments.query, [option for option in arguments.options.split(",") if option]), sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
