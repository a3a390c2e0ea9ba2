"""Draw the dot plots of a run over genomes for its page: of the pairs with the most aligned letters."""

from collections import Counter

import numpy as np

from tidalign.pipeline.genome.dots.dotplot import laid_out, segments_of
from tidalign.pipeline.genome.results import GenomeResults
from tidalign.workflows.pictures.style import caption
from tidalign.workflows.pictures.svg import svg
from tidalign.workflows.report.rows import RowSample, letters_of

PAIRS = 4
"""Most pairs of genomes that are drawn."""

MAX_ROWS = 2_000_000
"""Rows above which a run is too large for a picture of all of it while others wait; `tidalign plot` draws it."""

SEGMENTS, TITLED = 6_000, 400
"""Alignments of a picture, the longest, and how many of them say what they are."""

SIZE = 760


def drawn(results: GenomeResults, rows: RowSample) -> tuple[list[tuple[str, str]], int]:
    """Give (name, SVG) of some pairs of genomes, and how many others there are. rows: what was gathered of the run's."""
    letters = rows.letters
    if rows.all > MAX_ROWS:
        return [], len(results.names)
    if len(results.names) == 1:
        letters = Counter({0: 1})
    elif rows.seen < rows.all:
        letters = Counter()
        for batch in results.to_batches(["job", "target_start", "target_end"]):
            letters.update(letters_of(batch["job"].to_numpy(), batch["target_end"].to_numpy() - batch["target_start"].to_numpy()))
    pictures = []
    for job, _ in sorted(letters.most_common(PAIRS)):
        segments = segments_of(results, job)
        shown = segments
        if len(segments) > SEGMENTS:
            shown = segments.taken(np.sort(np.argpartition(-segments.lengths, SEGMENTS)[:SEGMENTS]))
        plot = laid_out(shown)
        said = caption(plot, len(segments), int(shown.lengths.min()) if len(shown) < len(segments) else None)
        pictures.append((results.names[job], svg(plot, size=SIZE, titled=TITLED, said=said, name=f"dots{job}")))
    return pictures, len(results.names) - len(pictures)
