"""Tell where few words make most of the seed hits, by counts of words in a sample of both sides: repeats that no case masks."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes, reverse_complement
from tidalign.kernels.seed.index import SeedPattern
from tidalign.pipeline.errors import shown
from tidalign.pipeline.genome.input.sides import load_side
from tidalign.pipeline.genome.manifest import GenomeManifest, Job
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.pipeline.genome.plan import chance_hits

STRETCHES, STRETCH = 256, 1024
"""Of windows that are looked at of each side, evenly over it; all of a smaller one."""

HITS = 1e6
"""Of seeds, below which there is nothing to be told: a core tries them in half a second, and extends what comes of them."""

MOST_HITS, FEW_WORDS = 0.5, 0.05
"""Share of the hits that are most, and of the words that are few."""

SEEN = 3
"""Times that a word must be in a sample to count."""

JOBS = 4
"""Of a table, the largest, that are looked at."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Repeats:
    """Few words that make most hits of a job.

    spec: the target. words: how many; share: of all `hits`. name: the target's sequence that has most of them, and of_it: its share of all.
    count: the least times that one of them is in the target.
    """

    spec: str
    words: int
    share: float
    hits: float
    name: str
    of_it: float
    count: int

    def __str__(self) -> str:
        """Say it in a line, with what to do."""
        hits = float(f"{self.hits:.2g}")
        made = f"{self.words:,} words make {self.share:.0%} of some {hits:,.0f} seed hits, {self.of_it:.0%} in sequence {shown(self.name)}"
        return f"{self.spec}: repeats: {made}; soft-mask them (lower case is not seeded), or give --maxwordcount={max(1, self.count - 1)} or --masking=N"


def repeats(directory: str, manifest: GenomeManifest) -> Repeats | None:
    """Find the job with most such hits among the largest of a run; None where there are none, or the parameters limit them."""
    parameters = manifest.parameters
    if parameters.max_word_count is not None or parameters.masking is not None:
        return None
    bases = {side["id"]: side["bases"] for side in manifest.sides}
    sides = {(job.target, job.query): job for job in manifest.jobs}.values()
    largest = sorted(sides, key=lambda job: -bases[job.target] * bases[job.query])[:JOBS]
    specs = {side["id"]: side["spec"] for side in manifest.sides}
    looked = (_of_job(directory, manifest.run, job, parameters, specs[job.target]) for job in largest if bases[job.target] * bases[job.query] >= HITS)
    return max((each for each in looked if each), key=lambda each: each.hits, default=None)


def _of_job(directory: str, run: str, job: Job, parameters: GenomeParameters, spec: str) -> Repeats | None:
    (genome, target), (_, query) = (load_side(directory, run, side) for side in (job.target, job.query))
    pattern, both = SeedPattern.parse(parameters.seed), parameters.strand == "both"
    words, places, scale = _words(target, pattern)
    kinds, at, times = np.unique(words, return_inverse=True, return_counts=True)
    hits, often = np.zeros(len(kinds)), np.zeros(len(kinds))
    for minus in (False, True) if both else (parameters.strand == "minus",):
        others, _, of_query = _words(query, pattern, minus=minus)
        there, counts = np.unique(others, return_counts=True)
        _, here, found = np.intersect1d(kinds, there, assume_unique=True, return_indices=True)
        made = counts[found] * of_query * times[here] * scale / parameters.step
        hits[here] += made
        # What a sample has once or twice, in either side, stands for nothing.
        often[here] += made * ((of_query == 1.0) | (counts[found] >= SEEN)) * ((scale == 1.0) | (times[here] >= SEEN))
    total = max(float(hits.sum()), (1 + both) * chance_hits(len(target), len(query), parameters) / parameters.step)
    order = np.argsort(-often)
    few = int(np.searchsorted(np.cumsum(often[order]), MOST_HITS * total)) + 1
    if total < HITS or few > FEW_WORDS * len(kinds):
        return None
    chosen = often >= often[order[few - 1]] / 2  # and those that are about as frequent
    weight = np.where(chosen, often / times, 0.0)[at]
    of_sequence = np.bincount(genome.sequence_at(places), weight, len(genome))
    name, count = int(of_sequence.argmax()), int(times[chosen].min() * scale / parameters.step)
    return Repeats(spec, int(chosen.sum()), float(often[chosen].sum()) / total, total, genome.names[name], float(of_sequence[name]) / total, count)


def _words(codes: Codes, pattern: SeedPattern, *, minus: bool = False) -> tuple[Numbers, Numbers, float]:
    """Give the words of a sample of the windows of upper-case ACGT; where each begins; and how many windows one stands for."""
    windows = len(codes) - pattern.span + 1
    size = min(STRETCH, windows)
    starts = list(range(0, windows, STRETCH))
    if len(starts) > STRETCHES:
        starts = np.linspace(0, windows - size, STRETCHES).astype(np.int64).tolist()
    words, places, looked = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for start in starts:
        count = min(size, windows - start)
        piece = codes[start : start + count + pattern.span - 1]
        letters = np.asarray(reverse_complement(piece) if minus else piece, np.int64)
        word, bad = np.zeros(count, np.int64), np.concatenate([[0], np.cumsum(letters >= 4)])
        for place, kind in enumerate(pattern.text):
            if kind != "0":
                bits, mask = (2, 3) if kind == "1" else (1, 1)
                word = word << bits | letters[place : place + count] & mask
        whole = np.flatnonzero(bad[pattern.span :] == bad[:count])
        words.append(word[whole])
        places.append(start + (count - 1 - whole if minus else whole))
        looked += count
    return np.concatenate(words), np.concatenate(places), max(0, windows) / max(1, looked)
