"""Lines that begin with #: what a run computed with, and what LASTZ says of each alignment in `maf+` and `axt+`."""

from functools import cache
from importlib.metadata import version
from typing import Any

from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.genome.formats import measures
from tidalign.pipeline.genome.formats.block import AlignmentBlock
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.text import joined


@cache
def program() -> str:
    return f"tidalign.v{version('tidalign')}"


def settings(parameters: GenomeParameters) -> str:
    """Write what scores the alignments of a file."""
    scoring = parameters.scoring
    values = {
        "mode": parameters.mode,
        "hsp_threshold": parameters.hspthresh,
        "gapped_threshold": parameters.gappedthresh,
        "x_drop": parameters.xdrop,
        "y_drop": parameters.ydrop,
        "gap_open_penalty": scoring.gap_open,
        "gap_extend_penalty": scoring.gap_extend,
    }
    texts = [f"# {name:<18} = {value}" for name, value in values.items()]
    texts.append("#     " + "".join(f"{letter:>5}" for letter, _ in zip("ACGTN", scoring.matrix[0], strict=False)))
    texts += [f"#   {letter} " + "".join(f"{score:>5}" for score in row) for letter, row in zip("ACGTN", scoring.matrix, strict=False)]
    return "#\n" + "".join(f"{text}\n" for text in texts)


def seeding(parameters: GenomeParameters) -> str:
    """Write how hits were found; of a seed of more places than a word has bits for, which are compared afterwards, as LASTZ does."""
    transitions = ("", " w/transition", " w/2 transitions")[parameters.transitions]
    hashed = SeedPattern.parse(parameters.seed).hashed
    resolved = parameters.seed.count("1") - hashed.count("1")
    return f"# seed={hashed}{'/' * (resolved > 0)}{'R' * resolved}{transitions}\n# step={parameters.step}\n"


def measured(block: AlignmentBlock, *, continuity: bool) -> Any:
    """Write comments of each row, a large_string column: how alike and how complete the alignment is."""
    shares = {"identity": measures.identity(block), "coverage": measures.coverage(block)}
    if continuity:
        shares["continuity"] = measures.continuity(block)
    pieces: list[Any] = []
    for name, value in shares.items():
        pieces += [f"# {name}=", measures.fractions(value), " (", measures.percents(value, of_none="0.0%"), ")\n"]
    return joined(*pieces)
