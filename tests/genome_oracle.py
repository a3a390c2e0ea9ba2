"""Slow reference model of whole-genome alignment, written apart from the product; tests/data/compare_lastz.py compares it with the LASTZ program.

Here: scores, `raw_hits`, `used_hits`, `hsps`, `anchor_point`, `chain`, and `anchors`, all of them for one query strand. genome_oracle_extension.py has gapped
extension and independent mode, genome_oracle_fences.py exact mode. Letters are uint8[n] arrays of ASCII; a target of several sequences has a NUL between
them. Positions are 0-based, ends exclusive; a strand `-` query is given as its reverse complement. `scoring` has the fields of
tidalign.kernels.scoring.scores.Scoring; the tables are made here again.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

SEED_12_OF_19 = "1110100110010101111"
SEED_14_OF_22 = "1110101100110010101111"

Letters = np.ndarray
Hit = tuple[int, int]  # where the window ends, on target and query
Segment = tuple[int, int, int, int]  # target start, query start, length, score
Anchor = tuple[int, int, int]  # target, query, score


def letters(text: str | bytes) -> Letters:
    return np.frombuffer(text.encode() if isinstance(text, str) else text, np.uint8).copy()


def reverse_complement(sequence: Letters) -> Letters:
    return letters(sequence.tobytes()[::-1].translate(bytes.maketrans(b"ACGTacgtRYKMBVDHrykmbvdh", b"TGCAtgcaYRMKVBHDyrmkvbhd")))


def tables(scoring: Any) -> tuple[np.ndarray, np.ndarray]:
    """Make both tables of scores, int64[256, 256]: plain (gapped stage, anchors) and masked (gap-free stage)."""
    plain, masked = (np.full((256, 256), value, np.int64) for value in (scoring.fill, scoring.bad))
    for row, scores in zip(b"ACGTN", scoring.matrix, strict=False):
        for column, score in zip(b"ACGTN", scores, strict=False):
            plain[np.ix_([row, row | 32], [column, column | 32])] = score
            masked[row, column] = score
    if scoring.ambiguous:
        which, reward, penalty = scoring.ambiguous
        several = [*(b"N" if which == "n" else b"NBDHKMRSVWY")]
        for table in (plain, masked):
            for letter in several:
                table[[letter, letter | 32], :] = table[:, [letter, letter | 32]] = -penalty
            for letter in several:
                table[np.ix_([letter, letter | 32], [letter, letter | 32])] = reward
        if len(scoring.matrix) == 5:
            plain[ord("n"), [ord("N"), ord("n")]] = -penalty
        if len(scoring.matrix[0]) == 5:
            plain[[ord("N"), ord("n")], ord("n")] = -penalty
    x = ord("x")
    for table in (plain, masked):
        table[x, :] = table[:, x] = scoring.bad
        if scoring.small_x_fills:  # a row and a column that the file does not name; the mask has bad scores in those that it does
            for letter in b"ACGTNacgtnBDHKMRSVWYbdhkmrsvwyx":
                named = [*b"ACGTN"][: len(scoring.matrix)], [*b"ACGTN"][: len(scoring.matrix[0])]
                free = [table is plain or letter in side or letter not in b"ACGTNacgtn" for side in named]
                table[letter, x], table[x, letter] = (scoring.fill if one else scoring.bad for one in free)
        table[ord("X"), :] = table[:, ord("X")] = scoring.bad
    for table in (plain, masked):
        table[0, :] = table[:, 0] = -107374182
    return plain, masked


def words(sequence: Letters, pattern: str) -> list[tuple[int, tuple[int, ...]]]:
    """List (end, word) of every window of upper-case ACGT: two bits for a 1 of the pattern, the low one of them for a T."""
    codes = np.full(256, -1)
    codes[list(b"ACGT")] = range(4)
    coded = codes[sequence]
    span = len(pattern)
    if len(sequence) < span:
        return []
    good = np.convolve((coded >= 0).astype(int), np.ones(span, int), "valid") == span
    care = [(i, 3 if letter == "1" else 1) for i, letter in enumerate(pattern) if letter != "0"]
    return [(int(start) + span, tuple(int(coded[start + i]) & mask for i, mask in care)) for start in np.flatnonzero(good)]


def raw_hits(
    target: Letters, query: Letters, pattern: str = SEED_12_OF_19, transitions: int = 1, step: int = 1, max_word_count: int | None = None
) -> list[Hit]:
    """Find all hits in the order in which LASTZ finds them."""
    index: dict[tuple[int, ...], list[int]] = {}
    for end, word in words(target, pattern):
        if end % step == 0:
            index.setdefault(word, []).append(end)
    if max_word_count is not None:
        index = {word: ends for word, ends in index.items() if len(ends) <= max_word_count}
    full = [i for i, letter in enumerate(letter for letter in pattern if letter != "0") if letter == "1"]
    hits = []
    for end, word in words(query, pattern):
        for wanted in _flipped(word, full, transitions):
            hits += [(place, end) for place in reversed(index.get(wanted, []))]
    return hits


def _flipped(word: tuple[int, ...], full: list[int], transitions: int) -> list[tuple[int, ...]]:
    """List the word, and those with one (or two) transitions: the rightmost position first, each single followed by its pairs."""

    def flip(word: tuple[int, ...], i: int) -> tuple[int, ...]:
        return (*word[:i], word[i] ^ 2, *word[i + 1 :])

    found = [word]
    for place in reversed(range(len(full)) if transitions else ()):
        single = flip(word, full[place])
        found.append(single)
        if transitions == 2:
            found += [flip(single, full[other]) for other in reversed(range(place))]
    return found


def seed_filter(hits: list[Hit], target: Letters, query: Letters, span: int, least_matches: int, most_transversions: int) -> list[Hit]:
    """Filter seeds as `--filter=V,M` does: windows with enough matches and few enough transversions."""
    pyrimidine = {ord(letter): letter in "CT" for letter in "ACGT"}
    kept = []
    for t, q in hits:
        columns = list(zip(target[t - span : t].tolist(), query[q - span : q].tolist(), strict=True))
        transversions = sum(pyrimidine[a] != pyrimidine[b] for a, b in columns)
        if sum(a == b for a, b in columns) >= least_matches and transversions <= most_transversions:
            kept.append((t, q))
    return kept


def used_hits(hits: list[Hit], span: int, slots: int | None = 65536) -> list[tuple[int, int, int]]:
    """Find (target start, query start, length) of hits that start at or beyond the end of the last one used on their diagonal (slots None: exact diagonals)."""
    ends: dict[int, int] = {}
    used = []
    for t, q in hits:
        slot = (t - q) % slots if slots else t - q
        if ends.get(slot, 0) <= q - span:
            ends[slot] = q
            used.append((t - span, q - span, span))
    return used


def entropy(target: Letters, query: Letters) -> float:
    identical = target[target == query].tolist()
    counts = [identical.count(letter) for letter in b"ACGT"]
    if sum(counts) < 20:
        return 1.0
    shares = [count / len(target) for count in counts]
    logs = [math.log(share) if share > 0 else 0.0 for share in shares]
    return -(shares[0] * logs[0] + shares[1] * logs[1] + shares[2] * logs[2] + shares[3] * logs[3]) / math.log(4.0)


def hsps(
    target: Letters,
    query: Letters,
    hits: list[Hit],
    span: int,
    masked: np.ndarray,
    xdrop: int = 910,
    threshold: int = 3000,
    with_entropy: bool = True,
    slots: int | None = 65536,
) -> list[Segment]:
    """Extend hits gap-free in their order; hits below the query place where their diagonal's last scan to the right ended are passed over."""
    scanned: dict[int, int] = {}
    found = []
    for t, q in hits:
        diagonal = t - q
        slot = diagonal % slots if slots else diagonal
        done = scanned.setdefault(slot, 0)
        if done > q - span:
            continue
        low, _ = sequence_around(target, t - 1)
        start, left_score, _ = _scan(target, query, masked, t, -1, max(low, diagonal, done + diagonal), diagonal, xdrop)
        end, right_score, reached = _scan(target, query, masked, t, 1, min(len(target), len(query) + diagonal), diagonal, xdrop)  # a separator ends it
        scanned[slot] = max(done, reached - diagonal)
        score = left_score + right_score
        if with_entropy and max(threshold, 0) <= score <= 3 * threshold:
            score = int(score * entropy(target[start:end], query[start - diagonal : end - diagonal]))
        if score >= threshold:
            found.append((start, start - diagonal, end - start, score))
    return found


def sequence_around(target: Letters, place: int) -> tuple[int, int]:
    """Start and end of the sequence that holds a place of the target's array."""
    separators = np.flatnonzero(target == 0)
    i = int(np.searchsorted(separators, place))
    return (int(separators[i - 1]) + 1 if i else 0), (int(separators[i]) if i < len(separators) else len(target))


def _scan(target: Letters, query: Letters, masked: np.ndarray, start: int, step: int, limit: int, diagonal: int, xdrop: int) -> tuple[int, int, int]:
    """Scan from target place `start`: (where the sum was best, that sum, where the scan ended)."""
    place = best_place = start
    running = best = 0
    while (place > limit if step < 0 else place < limit) and running >= best - xdrop:
        column = place - 1 if step < 0 else place
        running += int(masked[target[column], query[column - diagonal]])
        place += step
        if running > best:
            best, best_place = running, place
    return best_place, best, place


def anchor_point(target: Letters, query: Letters, segment: Segment, plain: np.ndarray) -> tuple[int, int]:
    """Find the middle of the leftmost best window of 31, or of a segment that is shorter."""
    t, q, length, _ = segment
    offset = length // 2
    if length > 31:
        sums = np.convolve(plain[target[t : t + length], query[q : q + length]], np.ones(31, np.int64), "valid")
        offset = int(sums.argmax()) + 15
    return t + offset, q + offset


def chain(segments: list[Segment], match: int = 91) -> list[Segment]:
    """Find the best chain without gap penalties; an overlap costs the match score of every base of it. Of equals, what comes first in LASTZ's search tree."""
    segments = sorted(segments, key=lambda segment: (segment[0], segment[2], segment[1], segment[3]))
    tree = _tree(segments, list(range(len(segments))), by_query=True)
    best: list[int] = []
    before: list[int | None] = []
    for i, (t, q, _, score) in enumerate(segments):
        most, link = 0, None
        for j in _searched(tree, t, q, by_query=True):
            other_t, other_q, length, _ = segments[j]
            if j >= i or other_t >= t or other_q >= q:
                continue
            room = q - other_q - length if t - q >= other_t - other_q else t - other_t - length
            total = best[j] + min(room, 0) * match * 100
            if total > most:
                most, link = total, j
        best.append(most + 100 * score)
        before.append(link)
    last: int | None = None
    for i, total in enumerate(best):
        if total > (0 if last is None else best[last]):
            last = i
    members: list[Segment] = []
    while last is not None:
        members.append(segments[last])
        last = before[last]
    return members[::-1]


def _tree(segments: list[Segment], order: list[int], by_query: bool) -> Any:
    """Build a tree: at most three segments, or (cut, lower tree, upper tree), cut by query place and by diagonal in turn."""
    if len(order) <= 3:
        return order
    places = [q if by_query else t - q for t, q, *_ in segments]
    put_by: list[int] = []  # of the highest place, as long as the median is that, too
    while True:
        last = len(order) - 1
        pivot = sorted(places[order[k]] for k in (0, last // 2, last))[1]
        median = next(k for k in (last // 2, last, 0) if places[order[k]] == pivot)
        order[0], order[median] = order[median], order[0]
        above = [k for k, i in enumerate(order) if places[i] > pivot]
        others = [k for k, i in enumerate(order) if places[i] <= pivot]
        for k, other in zip(above, reversed(others), strict=False):
            if k < other:
                order[k], order[other] = order[other], order[k]
        cut = len(others) - 1
        order[0], order[cut] = order[cut], order[0]
        if above or last == 2:
            break
        put_by.insert(0, order.pop())
    cut -= not above
    lower, upper = order[: cut + 1], order[cut + 1 :] + put_by
    return places[order[cut]], _tree(segments, lower, not by_query), _tree(segments, upper, not by_query)


def _searched(tree: Any, t: int, q: int, by_query: bool) -> Iterator[int]:
    """List segments in the order they are looked at as what may come before (t, q): first the side of a cut where that is."""
    if isinstance(tree, list):
        yield from tree
        return
    cut, *sides = tree
    for side in reversed(sides) if (q if by_query else t - q) >= cut else sides:
        yield from _searched(side, t, q, not by_query)


def bare_segments(target: Letters, query: Letters, used: list[tuple[int, int, int]], masked: np.ndarray) -> list[Segment]:
    """Used hits with the score by which their anchors are ordered."""
    return [(t, q, length, int(masked[target[t : t + length], query[q : q + length]].sum())) for t, q, length in used]


def anchors_of(target: Letters, query: Letters, segments: list[Segment], plain: np.ndarray) -> list[Anchor]:
    return [(*anchor_point(target, query, segment, plain), segment[3]) for segment in segments]


def anchors(target: Letters, query: Letters, parameters: Any) -> list[Anchor]:
    """Find the anchors of one query strand in the order of their hits, by the parameters of a run (tidalign.pipeline.genome.parameters)."""
    plain, masked = tables(parameters.scoring)
    return anchors_of(target, query, segments_of(target, query, parameters, masked), plain)


def segments_of(target: Letters, query: Letters, parameters: Any, masked: np.ndarray) -> list[Segment]:
    """Find HSPs; without gap-free extension bare seeds, or all hits where nothing comes after them; those of the best chain where one is asked for."""
    pattern, slots = parameters.seed, 65536 if parameters.mode == "exact" else None
    limit = None if parameters.max_word_count is None else int(parameters.max_word_count)
    hits = raw_hits(target, query, pattern, parameters.transitions, parameters.step, limit)
    if parameters.seed_filter is not None:
        hits = seed_filter(hits, target, query, len(pattern), *parameters.seed_filter)
    if parameters.gfextend:
        segments = hsps(target, query, hits, len(pattern), masked, parameters.xdrop, parameters.hspthresh, parameters.entropy, slots)
    elif not parameters.gapped:  # all hits, with a score where they are chained
        segments = [(t - len(pattern), q - len(pattern), len(pattern), 0) for t, q in hits]
        if parameters.chain is not None:
            segments = bare_segments(target, query, [segment[:3] for segment in segments], masked)
    else:
        segments = bare_segments(target, query, used_hits(hits, len(pattern), slots), masked)
    return segments if parameters.chain is None else chain(segments, parameters.scoring.matrix[0][0])
