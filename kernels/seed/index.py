"""Spaced seeds: patterns, an index of a target's words, and the hits of a query in LASTZ's order (LASTZ.md 5)."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from tidalign.kernels.letters.nucleotides import Codes

Positions = npt.NDArray[np.int64]

NAMED = {"12of19": "1110100110010101111", "14of22": "1110101100110010101111"}

LONGEST_PATTERN = 31
"""Letters of a pattern; LASTZ has the same limit."""

WORD_BITS = 28
"""Bits of a word; of longer patterns LASTZ compares the rest afterwards, which shows in the order of hits."""

ROOMY = 24
"""Up to so many bits an index has 8 to 16 buckets a window, so that most lookups end at one that is empty; beyond, 2 to 4."""

RESOLVED = 16
"""Bits that may be left to that comparison."""

TILE = 1 << 15
"""Hits of a tile: 512 KiB."""

LETTERS_OF_32_BITS = 1 << 32
"""Targets of fewer letters have 32-bit places."""

CHUNK = 1 << 18
"""Windows packed at once."""

WHOLE = 1 << 22
"""Windows of a target whose words are kept until they are placed: 16 MiB."""

TABLES = "begins", "places", "tags", "marks"
"""Arrays of an index beside the target."""


@dataclass(frozen=True)
class SeedPattern:
    """text: 1 (must match), T (match or transition) and 0 (ignored), one letter a place, none of them 0 at the ends."""

    text: str

    @classmethod
    def parse(cls, text: str) -> "SeedPattern":
        """Read a name (12of19, 14of22, matchN, halfN) or a pattern. Raises ValueError for what LASTZ refuses, too."""
        if found := re.fullmatch(r"(match|half)(\d+)", text):
            pattern = ("1" if found[1] == "match" else "T") * min(int(found[2]), LONGEST_PATTERN + 1)
            if found[1] == "match" and len(pattern) > 15:
                raise ValueError(f"seed {text}: a word has at most 15 letters; write a pattern of 1s for more")
        else:
            pattern = NAMED.get(text, text)
        if not re.fullmatch(r"[01T]+", pattern):
            raise ValueError(f"seed {text}: expected 12of19, 14of22, matchN, halfN or a pattern of 1, 0 and T")
        pattern = pattern.strip("0")
        if not 2 <= len(pattern) <= LONGEST_PATTERN:
            raise ValueError(f"seed {text}: expected 2 to {LONGEST_PATTERN} places, found {len(pattern)}")
        bits = 2 * pattern.count("1") + pattern.count("T")
        if bits == 0 or bits - WORD_BITS > min(RESOLVED, pattern.count("1")):
            raise ValueError(f"seed {text}: expected a weight of 1 to {WORD_BITS + RESOLVED} bits (a 1 has two, a T one), found {bits}")
        return cls(pattern)

    @property
    def span(self) -> int:
        """Letters of a window."""
        return len(self.text)

    @property
    def weight(self) -> int:
        """Places that must match (a T counts as one)."""
        return len(self.text) - self.text.count("0")

    @cached_property
    def full(self) -> Positions:
        """Places of the 1s."""
        return np.array([i for i, letter in enumerate(self.text) if letter == "1"], np.int64)

    @cached_property
    def hashed(self) -> str:
        """The pattern of the words: as `text`, but of a long pattern the last 1s count as T and are compared afterwards."""
        letters = list(self.text)
        excess = max(0, 2 * len(self.full) + self.text.count("T") - WORD_BITS)
        for place in self.full[len(self.full) - excess :]:
            letters[place] = "T"
        return "".join(letters)

    @property
    def bits(self) -> int:
        """Bits of a word."""
        return 2 * self.hashed.count("1") + self.hashed.count("T")

    def gather(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint64], np.uint64]:
        """Make shifts, masks and masks, and count the bits of the first masks.

        `high >> shift & mask`, taken together, are the word's bits below, and `low >> shift & mask` those above. high, low: the high (low) bits of a
        window's letters, that of the last one lowest.
        """
        care = [i for i, letter in enumerate(reversed(self.hashed)) if letter != "0"]
        full = [i for i, letter in enumerate(reversed(self.hashed)) if letter == "1"]
        masks: dict[int, list[int]] = {}
        for which, bits in enumerate((full, care)):
            for out, i in enumerate(bits):
                masks.setdefault(i - out, [0, 0])[which] |= 1 << out
        high, low = (np.array([mask[which] for mask in masks.values()], np.uint64) for which in (0, 1))
        return np.array(list(masks), np.uint64), high, low, np.uint64(len(full))

    def flips(self, transitions: int) -> npt.NDArray[np.uint32]:
        """Give what a query's word is XORed with, in LASTZ's order: nothing; then for each 1 from the right its transition, each followed by its pairs with 1s
        further left. A, C, G, T are 0, 1, 2, 3: a transition changes the high bit."""
        singles = [1 << i for i in range(self.hashed.count("1"))]
        flips = [0]
        for i, single in enumerate(singles if transitions else ()):
            flips.append(single)
            if transitions > 1:
                flips += [single | other for other in singles[i + 1 :]]
        return np.array(flips, np.uint32)


@dataclass(frozen=True)
class WordIndex:
    """Where a target's words are.

    target: its codes. pattern, step: as given to build_index. Words are kept in buckets of their high bits: windows of bucket b start at
    places[begins[b] : begins[b + 1]], falling. tags: the words of `places` where buckets hold several words, else empty. shift: bits that a word has
    more than a bucket. marks: a bit for each bucket, whether it holds anything. Memory beside the target: 33 bits a bucket (8 to 16 a window up to
    2^24 buckets, then 2 to 4, at most 2^28) and 4 (with tags 8) bytes a window; about twice that for targets of 2^32 letters and more.
    """

    target: Codes
    pattern: SeedPattern
    step: int
    begins: npt.NDArray[Any]
    places: npt.NDArray[Any]
    tags: npt.NDArray[np.uint32]
    shift: int

    @cached_property
    def marks(self) -> npt.NDArray[np.uint64]:
        """Found out when first needed."""
        from tidalign.kernels.seed.host import mark_buckets

        marks = np.empty((len(self.begins) + 62) // 64, np.uint64)
        mark_buckets(self.begins, marks)
        return marks

    def tables(self) -> dict[str, npt.NDArray[Any]]:
        """Give its arrays but the target, for `of_tables`."""
        return {name: getattr(self, name) for name in TABLES}

    @classmethod
    def of_tables(cls, target: Codes, pattern: SeedPattern, step: int, shift: int, tables: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Make the index of a target of what `tables` gave of it."""
        index = cls(target, pattern, step, tables["begins"], tables["places"], tables["tags"], shift)
        index.__dict__["marks"] = tables["marks"]  # as if it had been found out
        return index


def build_index(target: Codes, pattern: SeedPattern, step: int = 1, max_word_count: str | None = None) -> WordIndex:
    """Index every window of `target` (uint8[n], codes of letters/nucleotides.py) that holds only upper-case ACGT and whose end is a multiple of `step`.

    The end counts in the array as it is given: LASTZ keeps a NUL before the first of several sequences, and so must the array (Genome.letters does).
    max_word_count: drop words that occur more often: a number; or a percentage, the least number that keeps that share of the windows.
    """
    from tidalign.kernels.seed import host as seed_host

    target = read_only(target)
    windows = max(0, len(target) - pattern.span + 1)
    dtype = np.uint32 if len(target) < LETTERS_OF_32_BITS else np.int64
    scale = (windows // step).bit_length()
    bucket_bits = min(pattern.bits, scale + 3, max(ROOMY, scale + 1))
    shift = np.uint32(pattern.bits - bucket_bits)
    begins = np.zeros((1 << bucket_bits) + 2, dtype)
    rest = (pattern.span, step, shift, begins)
    buffer = np.empty(windows if windows <= WHOLE else CHUNK, np.uint32)
    words = buffer[:0]
    chunks = range(0, windows, max(len(buffer), 1))
    for first in chunks:
        words = _words(target, first, windows, pattern, buffer)
        seed_host.count_words(words, first, *rest)
    np.cumsum(begins, dtype=dtype, out=begins)
    places = np.empty(int(begins[-1]), dtype)
    tags = np.empty(len(places) if shift else 0, np.uint32)
    for first in reversed(chunks):
        words = words if first == chunks[-1] else _words(target, first, windows, pattern, buffer)  # those counted last are placed first
        seed_host.place_words(words, first, *rest, places, tags)
    index = WordIndex(target, pattern, step, begins[:-1], places, tags, int(shift))
    return index if max_word_count is None else _limited(index, max_word_count)


def _words(codes: Codes, first: int, windows: int, pattern: SeedPattern, buffer: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    from tidalign.kernels.seed import host as seed_host

    words = buffer[: windows - first]
    seed_host.pack_words(codes, first, pattern.span, *pattern.gather(), words)
    return words


def _limited(index: WordIndex, max_word_count: str) -> WordIndex:
    """Make the index without words that occur too often; its arrays are used again."""
    from tidalign.kernels.seed.host import count_alike, drop_frequent

    shift = np.uint32(index.shift)
    alike = np.empty(len(index.places), index.begins.dtype)
    histogram = np.zeros(int(np.diff(index.begins).max()) + 1, np.int64)
    count_alike(index.begins, index.tags, shift, alike, histogram)
    if max_word_count.endswith("%"):
        limit = int(np.searchsorted(np.cumsum(histogram), float(max_word_count[:-1]) / 100 * len(index.places)))
    else:
        limit = int(max_word_count)
    kept = drop_frequent(index.begins, index.places, index.tags, shift, alike, limit)
    return replace(index, places=index.places[:kept], tags=index.tags[: kept if shift else 0])


def hits(
    index: WordIndex, query: Codes, transitions: int = 1, seed_filter: tuple[int, int | None] | None = None, tile: int = TILE
) -> Iterator[tuple[Positions, Positions]]:
    """Find the hits of a query strand (uint8[m]) in LASTZ's order, in tiles of at most `tile`: where their windows start in target and query, int64[k] each.

    The order: by query place; there the word itself first, then its transitions as `SeedPattern.flips` has them; in one word by falling target place.
    transitions: how many 1s of the pattern may differ by a transition. seed_filter: the least matches of a whole window, and the most transversions or None.
    A tile's arrays are overwritten by the next one.
    """
    from tidalign.kernels.seed import host as seed_host

    query, pattern = read_only(query), index.pattern
    windows = max(0, len(query) - pattern.span + 1)
    flips = pattern.flips(transitions)
    targets, queries = np.empty(tile, np.int64), np.empty(tile, np.int64)
    matches, most = seed_filter or (0, None)
    transversions = pattern.span if most is None else most
    full = pattern.full if pattern.hashed != pattern.text else pattern.full[:0]
    checks = seed_filter is not None or len(full) > 0
    buffer = np.empty(min(windows, CHUNK), np.uint32)
    tables = [read_only(each) for each in (index.marks, index.begins, index.places, index.tags)]
    for first in range(0, windows, CHUNK):
        words = _words(query, first, windows, pattern, buffer)
        state = np.array([0, 0, -1])
        while state[0] < len(words):
            lookup = (words, first, flips, np.uint32(index.shift), *tables)
            count = seed_host.find_hits(*lookup, state, targets, queries)
            if checks:
                wanted = (full, transitions, pattern.span, matches, transversions)
                count = seed_host.keep_hits(index.target, query, *wanted, targets, queries, count)
            if count:
                yield targets[:count], queries[:count]


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """See an array, as codes, as one that kernels cannot write: mapped files are such, and kernels are compiled once for both."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
