"""LASTZ's `text`: alignments for people, lines of fifty columns, the two sequences with marks of what is equal between them."""

from collections import deque
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.formats.request import Request
from tidalign.pipeline.genome.census import keys
from tidalign.pipeline.genome.formats import headed
from tidalign.pipeline.genome.formats.block import AlignmentBlock, GenomeRows, Numbers, padded, text_column, within
from tidalign.pipeline.genome.formats.comments import seeding
from tidalign.pipeline.genome.formats.general import differences
from tidalign.pipeline.text import empty, joined, strings

_OF = ("job", "query_number", "strand")
"""What rows of one strand have in common."""

WIDTH = 50
"""Columns of a line."""

_MARGIN = 10
"""Letters of the place before each line."""

_MARKS = np.arange(256, dtype=np.uint8)
_MARKS[np.frombuffer(b".:xX-", np.uint8)] = np.frombuffer(b"|:  -", np.uint8)


def write(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write how hits were found and the paragraphs of each row, places counted from 1; with --masking what was masked, after each strand. Returns how many."""
    return _write(request, sink, 1)


def write_from_0(request: Request[GenomeRows], sink: BinaryIO) -> int:
    """Write as `write`, places counted from 0 (`zerotext`)."""
    return _write(request, sink, 0)


class MaskedStrands:
    """Says how many letters the alignments of each query strand masked, after them.

    LASTZ says it of each strand with alignments, and without gaps of every strand there is. line: what it says of one, with {} for the number.
    """

    def __init__(self, request: Request[GenomeRows], line: str) -> None:
        self._rows, self._line = request.rows, line
        self._waiting = deque([] if request.rows.parameters.gapped else request.rows.masked_strands())
        self._last: tuple[int, int] | None = None

    def before(self, block: AlignmentBlock, row: int) -> str:
        """Say it of the strands before that of a row, of which it has not been said."""
        here = block["job"][row].as_py(), int(keys(block.rows.slice(row, 1), joint=block.query.joint)[0])
        said = self._up_to(here) if here != self._last else ""
        self._last = here
        return said

    def rest(self) -> str:
        """Say it of the strands that are left."""
        return self._up_to(None)

    def _up_to(self, here: tuple[int, int] | None) -> str:
        done = [] if self._last is None or self._last in self._waiting else [self._last]
        while self._waiting and self._waiting[0] != here:
            done.append(self._waiting.popleft())
        masks = [(key, self._rows.masks(job)) for job, key in done]
        return "".join(self._line.format(mask.of_strand(key)) for key, mask in masks if mask is not None)


def _write(request: Request[GenomeRows], sink: BinaryIO, origin: int) -> int:
    sink.write(seeding(request.rows.parameters).replace("# ", "").encode())
    masked = MaskedStrands(request, "num_masked={}\n")

    def head(block: AlignmentBlock, request: Request[GenomeRows], row: int, before: headed.Values | None) -> str:
        return masked.before(block, row)

    count, _ = headed.write(request, sink, _OF, head, lambda block: paragraphs(block, request, origin))
    sink.write((masked.rest() + (request.format.footer if request.markend else "")).encode())
    return count


def with_lav(block: AlignmentBlock, request: Request[GenomeRows]) -> Any:
    """Make a column as `lines`, places counted as in `lav+text`."""
    return paragraphs(block, request, 0 if request.rows.parameters.gapped else 1)


def paragraphs(block: AlignmentBlock, request: Request[GenomeRows], origin: int) -> Any:
    """Make a column of what there is of each row, places counted from `origin`: of alignments paragraphs, of HSPs two long lines."""
    return _wrapped(block, origin) if request.rows.parameters.gapped else _unwrapped(block, origin)


def _unwrapped(block: AlignmentBlock, origin: int) -> Any:
    """Make lines of any length. Places of a query are on its strand; of one that is read in part LASTZ adds its begin on either strand."""
    target, query = block.texts
    length = pa.array(block.numbers("target_end") - block.numbers("target_start"))
    number = block.numbers("query_number") if len(block.query) > 1 else np.zeros(len(block), np.int64)
    query_at = within(block, "query") + block.query.offsets[number]
    places = (padded(pa.array(at + origin), np.full(len(block), _MARGIN), left=True) for at in (block.numbers("target_start"), query_at))
    first, second = (joined(place, ": ", text, "\n") for place, text in zip(places, (target, query), strict=True))
    offsets = np.frombuffer(target.buffers()[1], np.int64)[: len(block) + 1]
    marks = text_column(_MARKS[_letters(differences(block))], offsets)
    return joined("score:", block["score"], " length:", length, "\n", first, " " * (_MARGIN + 2), marks, "\n", second, "\n")


def _wrapped(block: AlignmentBlock, origin: int) -> Any:
    """Make paragraphs of lines of `WIDTH` columns. Places are in what was read, on the forward strand; those of a query on `-` fall."""
    target, query = block.texts
    marks = _MARKS[_letters(differences(block))]
    ends = np.frombuffer(target.buffers()[1], np.int64)[1 : len(block) + 1]
    begins = np.concatenate(([0], ends[:-1]))
    counts = -(-(ends - begins) // WIDTH)
    row = np.repeat(np.arange(len(block)), counts)
    cuts = np.concatenate(([0], np.cumsum(counts)))
    starts = begins[row] + WIDTH * (np.arange(len(row)) - cuts[row])
    offsets = np.concatenate((starts, ends[-1:]))
    letters = {"target": _letters(target), "query": _letters(query)}
    before = {side: _taken(text)[starts] - _taken(text)[begins[row]] for side, text in letters.items()}
    at = {side: (within(block, side) - _before_piece(block, side))[row] + before[side] for side in ("target", "query")}
    last = block.query.lengths[block.numbers("query_number") if len(block.query) > 1 else np.zeros(len(block), np.int64)][row] - 1
    places = {"target": at["target"] + origin, "query": np.where(block.reverse[row], last - at["query"], at["query"]) + origin}
    first, second = (
        joined(padded(pa.array(places[side]), np.full(len(row), _MARGIN), left=True), " ", text_column(letters[side], offsets)) for side in ("target", "query")
    )
    pieces = joined(first, "\n", " " * (_MARGIN + 1), text_column(marks, offsets), "\n", second, "\n\n")
    whole = pc.binary_join(pa.LargeListArray.from_arrays(pa.array(cuts), pieces), empty())
    spans = [pa.array(block.numbers(f"{side}_end") - block.numbers(f"{side}_start")) for side in ("target", "query")]
    return joined("score:", block["score"], " length:(", spans[0], " ", strings(spans[1]), ")\n\n", whole)


def _before_piece(block: AlignmentBlock, side: str) -> Numbers:
    """Count the letters of what was read of a target's sequence before the piece of it that a row is in ([separator=C]): LASTZ counts from there."""
    if side == "query":
        return np.zeros(len(block), np.int64)
    start = block.target.starts[block.numbers("target_number")] if len(block.target) > 1 else block.target.starts[:1]
    place = start + within(block, side)
    begins = block.target.pieces[:, 0]
    return np.asarray(begins[np.searchsorted(begins, place, "right") - 1] - start)


def _letters(text: Any) -> Any:
    """Give the letters of a large_string column that begins at the first of its buffer."""
    return np.frombuffer(text.buffers()[2], np.uint8) if text.buffers()[2] else np.zeros(0, np.uint8)


def _taken(text: Any) -> Numbers:
    """Count the letters, without gaps, before each place of a text."""
    return np.concatenate(([0], np.cumsum(text != ord("-"))))
