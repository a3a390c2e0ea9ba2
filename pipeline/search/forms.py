"""Describe the two forms of a search on a device: how sequences are put there, searched and aligned; rows are the same on both."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tidalign.kernels.letters.sequences import Sequences
from tidalign.kernels.local import pairs
from tidalign.kernels.local.coding import Coded, Coding
from tidalign.kernels.scoring.substitution import DNA, PROTEIN
from tidalign.kernels.search import best
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.pipeline.device import CPU, GPU


@dataclass(frozen=True)
class Form:
    """A search on one device. CUDA is imported by its functions, when they are called.

    side: (letters, coding, 0 for queries or 1 for targets) -> sequences as the others take them, of which `at` gives those at some places.
    search: as `kernels.search.best.search`. align: as `kernels.local.pairs.align_coded`.
    cells: of the queries that are searched at a time, about, by alphabet. queries: at most.
    """

    side: Callable[[Sequences, Coding, int], Any]
    search: Callable[..., best.Hits]
    align: Callable[..., Alignments]
    cells: dict[str, float]
    queries: int


def _coded(letters: Sequences, coding: Coding, place: int) -> Coded:
    return coding.coded(letters, place)


def _uploaded(letters: Sequences, coding: Coding, _: int) -> Any:
    from tidalign.kernels.local import uploaded

    return uploaded.uploaded(letters, coding)


def _search_on_gpu(*given: Any, **options: Any) -> best.Hits:
    from tidalign.kernels.search import best_device

    return best_device.search(*given, **options)


def _align_on_gpu(*given: Any, **options: Any) -> Alignments:
    from tidalign.kernels.local import pairs_device

    return pairs_device.align_uploaded(*given, **options)


FORMS = {
    CPU.name: Form(_coded, best.search, pairs.align_coded, {DNA: 1e10, PROTEIN: 1e10}, 256),
    GPU.name: Form(_uploaded, _search_on_gpu, _align_on_gpu, {DNA: 1.6e13, PROTEIN: 4e12}, 1 << 14),
}
"""By the name of a device. Cells: half a second of a core and a second of a GPU, which leaves out most cells of DNA: shorter launches leave it idle while
their last teams end."""
