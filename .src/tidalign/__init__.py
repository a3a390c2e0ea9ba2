"""tidalign: DNA alignment by the batch, on a laptop, one GPU or a cluster of them."""

TYPE_CHECKING = False  # typing's own, which takes as long to load as Python itself
if TYPE_CHECKING:
    from typing import Any

    from tidalign import cigar as cigar
    from tidalign import genome as genome
    from tidalign.pipeline.errors import InputError as InputError
    from tidalign.pipeline.errors import MissingInput as MissingInput
    from tidalign.pipeline.genome.results import GenomeResults as GenomeResults
    from tidalign.pipeline.pairs.models import Affine as Affine
    from tidalign.pipeline.pairs.models import Edit as Edit
    from tidalign.pipeline.pairs.models import Linear as Linear
    from tidalign.pipeline.pairs.models import TwoPiece as TwoPiece
    from tidalign.pipeline.pairs.results import Results as Results
    from tidalign.pipeline.search.results import SearchResults as SearchResults
    from tidalign.workflows.commands.genome import align_genomes as align_genomes
    from tidalign.workflows.commands.genomes import align_many_genomes as align_many_genomes
    from tidalign.workflows.commands.pairs import align_pairs as align_pairs
    from tidalign.workflows.commands.search import search_files as search_files
    from tidalign.workflows.search import search as search
    from tidalign.workflows.table import align as align

    __version__: str

__all__ = [
    "Affine",
    "Edit",
    "GenomeResults",
    "InputError",
    "Linear",
    "MissingInput",
    "Results",
    "SearchResults",
    "TwoPiece",
    "__version__",
    "align",
    "align_genomes",
    "align_many_genomes",
    "align_pairs",
    "cigar",
    "genome",
    "search",
    "search_files",
]

# Resolved on first use (PEP 562), so that `import tidalign` loads neither PyArrow nor Dask nor CuPy, nor looks for packages.
_HOME = {
    **dict.fromkeys(("Affine", "Edit", "Linear", "TwoPiece"), "tidalign.pipeline.pairs.models"),
    "GenomeResults": "tidalign.pipeline.genome.results",
    "InputError": "tidalign.pipeline.errors",
    "MissingInput": "tidalign.pipeline.errors",
    "Results": "tidalign.pipeline.pairs.results",
    "align": "tidalign.workflows.table",
    "align_genomes": "tidalign.workflows.commands.genome",
    "align_many_genomes": "tidalign.workflows.commands.genomes",
    "align_pairs": "tidalign.workflows.commands.pairs",
    "SearchResults": "tidalign.pipeline.search.results",
    "search": "tidalign.workflows.search",
    "search_files": "tidalign.workflows.commands.search",
}


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name == "__version__":
        from importlib.metadata import version

        globals()[name] = version("tidalign")  # which reads a file
        return globals()[name]
    if name in ("cigar", "genome"):
        return import_module(f"tidalign.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'tidalign' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
