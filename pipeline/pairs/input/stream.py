"""Pairs of inputs that can only be read from their beginning to their end: gzip, pipes."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.files.decompress import Damage
from tidalign.pipeline.files.sniff import Input, text_pieces
from tidalign.pipeline.pairs.input.index import BLOCK_BASES, BLOCK_PAIRS, FREE_NAME
from tidalign.pipeline.pairs.input.records import FORMATS, parsers
from tidalign.pipeline.pairs.pack import count_pairs, split


def stream_pairs(texts: Sequence[Input], *, interleaved: bool, alphabet: str, bases: int = BLOCK_BASES, qualities: bool = False) -> Iterator[tuple[Any, Any]]:
    """Read queries and targets, as tables of `records.parse`, by blocks of at most BLOCK_PAIRS pairs and `bases` letters (or one pair), among
    which what names have beyond FREE_NAME counts.

    Raises InputError for what is wrong in the files, at the end also for unequal numbers of records.
    """
    query: Any = None
    target: Any = None
    for more in _interleaved(texts[0], alphabet, qualities) if interleaved else _mates(texts, alphabet, qualities):
        query, target = (side if held is None else pa.concat_tables([held, side]) for held, side in zip((query, target), more, strict=True))
        letters = np.cumsum(_lengths(query) + _lengths(target))
        first = before = 0
        while first < len(letters) and (len(letters) - first >= BLOCK_PAIRS or letters[-1] - before > bases):
            stop = int(np.searchsorted(letters, before + bases, "right"))
            stop = min(max(first + 1, stop), first + BLOCK_PAIRS)
            yield query.slice(first, stop - first), target.slice(first, stop - first)
            first, before = stop, letters[stop - 1]
        query, target = query.slice(first), target.slice(first)
    if query is not None and len(query):
        yield query, target


def _lengths(side: Any) -> Any:
    names = pc.fill_null(pc.binary_length(side["name"]), 0).to_numpy()
    return pc.binary_length(side["letters"]).to_numpy() + np.maximum(names.astype(np.int64) - FREE_NAME, 0)


def records(text: Input, alphabet: str, qualities: bool = False, threads: int = 1) -> Iterator[Any]:
    """Read the records of one text, in tables of `records.parse`, which so many threads make. Raises InputError for what is wrong in it."""
    if text.format == "empty":
        return
    from tidalign.pipeline.in_turn import Call, in_turn  # as every run of pairs loads this module, and few read such files

    pieces = text_pieces(text)
    try:
        yield from in_turn(map(Call, _whole(parsers(pieces, FORMATS[text.format], text.path, alphabet, qualities))), threads)
    except InputError:
        try:
            for _ in pieces:
                pass  # damage shows at the end of gzip data: say that rather than what it made of the letters
        except Damage as damage:
            raise InputError(text.path, *damage.args) from damage
        raise


def _whole(tasks: Iterator[Callable[[], Any]]) -> Iterator[Callable[[], Any]]:
    """Give the tasks, and one more that raises the error that ends them: what those before it meet comes first."""
    try:
        yield from tasks
    except Exception as error:
        yield partial(_raise, error)


def _raise(error: Exception) -> NoReturn:
    raise error


def _interleaved(text: Input, alphabet: str, qualities: bool) -> Iterator[tuple[Any, Any]]:
    rest: Any = None
    count = 0
    for more in records(text, alphabet, qualities):
        count += len(more)
        held = more if rest is None else pa.concat_tables([rest, more])
        even = len(held) // 2 * 2
        rest = held.slice(even)
        yield split(held.slice(0, even))
    count_pairs([text.path], [count], interleaved=True)


def _mates(texts: Sequence[Input], alphabet: str, qualities: bool) -> Iterator[tuple[Any, Any]]:
    readers = [records(text, alphabet, qualities) for text in texts]
    held: list[Any] = [None, None]
    counts = [0, 0]
    while True:
        waiting = [0 if side is None else len(side) for side in held]
        side = int(waiting[1] < waiting[0])
        more = next(readers[side], None)
        if more is None:
            break
        counts[side] += len(more)
        held[side] = more if held[side] is None else pa.concat_tables([held[side], more])
        pairs = min(0 if half is None else len(half) for half in held)
        if pairs:
            yield held[0].slice(0, pairs), held[1].slice(0, pairs)
            held = [half.slice(pairs) for half in held]
    for side, reader in enumerate(readers):
        counts[side] += sum(len(more) for more in reader)
    count_pairs([text.path for text in texts], counts, interleaved=False)
