"""Say what a tiny input takes one core at most, about, from sizes and lengths alone, as whoever is to choose a device is not to wait.

Each function gives None for what is not tiny, or of which that is not known, after a look at sizes; else seconds and the kernels of cores, by their dotted
names, that call what takes long to compile.
"""

import io
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tidalign.pipeline.files.decompress import Damage, decompress
from tidalign.pipeline.files.sniff import Input

if TYPE_CHECKING:
    from tidalign.pipeline.genome.input.source import GenomeSource
    from tidalign.pipeline.genome.parameters import GenomeParameters
    from tidalign.pipeline.pairs.input.read import PairSource
    from tidalign.pipeline.search.parameters import SearchParameters

Tiny = tuple[float, tuple[str, ...]]

BYTES = 4_000_000
"""Bytes of input files from which on nothing is tiny; of those that are compressed a byte counts as `PACKED`."""

PACKED = 4
"""Letters that a byte of a compressed file holds, about."""

UNIT_SECONDS = 1e-8
"""Seconds of a core for a unit of `Aligner.work`, about."""

LONGEST = 10_000
"""Letters of a side up to which pairs are tiny: others may need other kernels."""

BOTH_STRANDS = 3
"""Alignments of a pair whose strand is to be found."""

CELL_SECONDS = 1e-10
"""Seconds of a core for a cell of a search, where sequences are alike and score more than 8 bits hold."""

WORD_LETTERS = 4.0**12 / 16
"""Words of a target among which one is a hit of a query's word by chance: of twelve letters, of which one may be a transition, about."""

PAIR_SECONDS = 0.005
"""Seconds around the work of a pair of genomes."""

LETTER_CELLS = 2000.0
"""Cells of a query's letter where all of it is in alignments, which are extended both ways as far as ydrop lets them, and some more than once."""


def of_pairs(source: "PairSource", parameters: Any, work: Any) -> Tiny | None:
    """Take pairs by their lengths, with a tenth of their letters different. work: of pairs of such lengths (`Aligner.work`)."""
    size = sum(each.size * (PACKED if each.compression != "none" else 1) for each in source.inputs)
    if source.has_pipe or size >= BYTES or any(each.is_table for each in source.inputs):
        return None
    from tidalign.workflows.estimate.rates import of_core

    try:
        sides = [_lengths(each) for each in source.inputs]
    except (OSError, _Large):  # a finished run's input may be gone
        return None
    if len(sides) == 1:
        sides = [sides[0][0::2], sides[0][1::2]]
    sides = [side[: min(map(len, sides))] for side in sides]
    if max((int(side.max(initial=0)) for side in sides), default=0) > LONGEST:
        return None
    called = f"local.{'extension.extend' if parameters.span == 'extension' else 'walk.align_groups'}" if parameters.scored else ""
    called = called or f"wavefront.batch.align_{'pruned' if parameters.heuristic else 'encoded'}"
    times = BOTH_STRANDS if parameters.strand == "both" else 1
    seconds = times * UNIT_SECONDS * float(work(*sides).sum())
    return seconds + of_core().of("read", {"pair": len(sides[0]), "byte": size}), (f"tidalign.kernels.{called}",)


class _Large(Exception):
    """Says that more was unpacked than the size of the file let expect."""


def _lengths(source: Input) -> Any:
    """Give the letters of each record of a small text, newlines of FASTA among them."""
    text = Path(source.path).read_bytes()
    if source.compression != "none":
        packed, pieces, size = io.BytesIO(text), list[bytes](), 0
        with suppress(Damage):  # who reads it for the run says so
            for piece in decompress(packed.read):
                pieces.append(piece)
                size += len(piece)
                if size > BYTES:
                    raise _Large
        text = b"".join(pieces)
    if source.format == "fasta":
        found = [len(record) - record.find(b"\n") - 1 for record in (b"\n" + text).split(b"\n>")[1:]]
    else:
        lines = text.splitlines()
        found = list(map(len, lines[1::4] if source.format == "fastq" else lines))
    return np.array(found, np.int64)


def of_search(queries: Input, database: Input, parameters: "SearchParameters") -> Tiny | None:
    """Take a search of texts by their sizes."""
    sides = queries, database
    letters = [each.size * (PACKED if each.compression != "none" else 1) for each in sides]
    if sum(letters) >= BYTES or any(each.stream or each.format not in ("fasta", "fastq") for each in sides):
        return None
    from tidalign.workflows.estimate.rates import of_core

    seconds = CELL_SECONDS * letters[0] * letters[1] * len(parameters.strands) + of_core().of("read", {"byte": sum(letters)})
    return seconds, ("tidalign.kernels.local.walk.align_groups", "tidalign.kernels.local.scored_host.score_groups")


def of_genomes(source: "GenomeSource", parameters: "GenomeParameters") -> Tiny | None:
    """Take genomes by their sizes. Where each anchor, or every hit, is extended on its own, nobody knows how many these are."""
    sizes = source.sizes()
    alone = parameters.gapped and (parameters.mode != "exact" or not parameters.gfextend)
    if alone or source.segments or source.all_vs_all or min(sizes.values(), default=-1) < 0 or sum(sizes.values()) >= BYTES:
        return None
    from tidalign.pipeline.genome.input.actions import Specifier
    from tidalign.workflows.estimate.rates import of_core

    core, seconds, strands = of_core(), PAIR_SECONDS * len(source.pairs), 1 + (parameters.strand == "both")
    letters = {spec: float(size * (PACKED if Specifier.parse(spec).path.endswith((".gz", ".bgz", ".2bit")) else 1)) for spec, size in sizes.items()}
    for target, query in ((letters[pair.target], letters[pair.query]) for pair in source.pairs):
        hits = strands * query * target / WORD_LETTERS
        seconds += core.of("index", {"letter": target}) + core.of("seed", {"letter": strands * query, "hit": hits})
        seconds += core.of("extend", {"cell": query * LETTER_CELLS}) + core.of("read genome", {"letter": target + query})
    return seconds, ("tidalign.kernels.ungapped.host.use_seeds", *(["tidalign.kernels.extension.host.extend_anchor"] if parameters.gapped else []))
