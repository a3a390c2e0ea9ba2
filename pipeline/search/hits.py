"""Find the hits of queries in one slice of a database, and make their rows."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.letters.sequences import Sequences, reverse_complement
from tidalign.kernels.local.coding import Coding
from tidalign.kernels.search import best
from tidalign.kernels.wavefront.alignments import Alignments
from tidalign.pipeline.device import CPU, DeviceName
from tidalign.pipeline.pairs.aligner import cigars
from tidalign.pipeline.pairs.pack import sequences
from tidalign.pipeline.pairs.scored import coding_of
from tidalign.pipeline.schema import SEARCH_HITS
from tidalign.pipeline.search import statistics
from tidalign.pipeline.search.forms import FORMS, Form
from tidalign.pipeline.search.parameters import SearchParameters
from tidalign.pipeline.text import cuts

TRACED_LETTERS = 1 << 25
"""Letters of both sides of the hits that are aligned in one call."""

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LoadedSlice:
    """A slice of a database, ready to be searched: its sequences, the same as the device's form takes them, and the size of the whole database."""

    sequences: Any
    side: Any
    coding: Coding
    size: statistics.DatabaseSize
    form: Form

    @classmethod
    def of(cls, table: Any, size: statistics.DatabaseSize, parameters: SearchParameters, device: DeviceName = CPU.name) -> "LoadedSlice":
        """Put a table in `schema.SEQUENCES` on a device."""
        coding, form = coding_of(parameters), FORMS[device]
        return cls(table, form.side(sequences(table["letters"]), coding, 1), coding, size, form)


def search(queries: Any, database: LoadedSlice, parameters: SearchParameters, turn: Callable[[], AbstractContextManager[None]] = nullcontext) -> Any:
    """Search queries, a table in `schema.SEQUENCES`, in a slice: a table in `schema.SEARCH_HITS`, queries in order and of each the best first.

    turn: is held while the device works; rows are made after it.
    """
    form, coding, count = database.form, database.coding, len(queries)
    letters = _both(sequences(queries["letters"]), parameters.strands)
    with turn():
        both = form.side(letters, coding, 0)
        strands = [both.at(np.arange(count) + number * count) for number in range(len(parameters.strands))]
        found = form.search(strands, database.side, coding, top=parameters.top, least=parameters.min_score, span=parameters.span)
        numbers = found.query + found.strand * count
        weights = queries["length"].to_numpy()[found.query] + database.sequences["length"].to_numpy()[found.target]
        pieces = []
        for start, stop in cuts(weights, TRACED_LETTERS, max(1, len(found))):
            rows = slice(start, stop)
            aligned = _aligned(both.at(numbers[rows]), database.side.at(found.target[rows]), database, parameters, found.score[rows])
            pieces.append((start, stop, aligned))
    rank = best.ranks(found.query) + 1
    tables = [_rows(queries, database, found.at(np.arange(start, stop)), rank[start:stop], aligned, parameters) for start, stop, aligned in pieces]
    return pa.concat_tables([SEARCH_HITS.empty_table(), *tables])


def _both(letters: Sequences, strands: str) -> Sequences:
    """Put the other strand of all queries behind them, where it is searched too."""
    if strands == "+":
        return letters
    backward = reverse_complement(letters)
    assert isinstance(backward, Sequences)
    return Sequences(np.concatenate([letters.letters, backward.letters]), np.concatenate([letters.offsets, letters.offsets[1:] + len(letters.letters)]))


def _aligned(queries: Any, targets: Any, database: LoadedSlice, parameters: SearchParameters, score: Integers) -> Alignments:
    """Align the pairs of hits as far as rows say; what was scored comes out again."""
    if parameters.report == "score":
        none = np.zeros(len(score), np.int64)
        return Alignments(none, none, none, none, none, score=score, placed=False)
    found = database.form.align(queries, targets, database.coding, span=parameters.span, report=parameters.report)
    if found.score is None or not np.array_equal(found.score, score):
        raise RuntimeError("an alignment scores other than its pair did")
    return found


def _rows(queries: Any, database: LoadedSlice, hits: best.Hits, rank: Integers, found: Alignments, parameters: SearchParameters) -> Any:
    query = queries.select(["ordinal", "name", "length"]).take(pa.array(hits.query))
    target = database.sequences.select(["ordinal", "name", "length"]).take(pa.array(hits.target))
    none = pa.nulls(len(hits), pa.int64())
    columns: dict[str, Any] = {"ordinal": query["ordinal"], "rank": rank, "target_ordinal": target["ordinal"], "score": hits.score}
    columns |= {f"{side}_{name}": table[name] for side, table in (("query", query), ("target", target)) for name in ("name", "length")}
    columns |= dict.fromkeys(("query_start", "query_end", "target_start", "target_end"), none)
    if found.placed:
        backward, length = hits.strand == 1, query["length"].to_numpy()
        columns |= {"target_start": found.target_start, "target_end": found.target_end}
        columns["query_start"] = np.where(backward, length - found.query_end, found.query_start)
        columns["query_end"] = np.where(backward, length - found.query_start, found.query_end)
    columns |= {"strand": pa.array(["+", "-"]).take(pa.array(hits.strand)), **_quality(hits.score, query, target, database.size, parameters)}
    columns |= {**cigars(found), "status": pa.repeat("exact", len(hits)), "reason": pa.nulls(len(hits), pa.string())}
    return pa.table([columns[field.name] for field in SEARCH_HITS], schema=SEARCH_HITS)


def _quality(score: Integers, query: Any, target: Any, size: statistics.DatabaseSize, parameters: SearchParameters) -> dict[str, Any]:
    """Give bit scores and E-values, null where there are no statistics."""
    known = statistics.of(parameters.scoring, parameters.alphabet, parameters.span)
    if known is None:
        return dict.fromkeys(("bits", "evalue"), pa.nulls(len(score), pa.float64()))
    return {"bits": known.bits(score), "evalue": known.evalues(score, query["length"].to_numpy(), target["length"].to_numpy(), size)}


def rejected(queries: Any, reason: str) -> Any:
    """Make rows of queries, a table in `schema.SEQUENCES`, that say why they were not searched."""
    said = {"ordinal": queries["ordinal"], "query_name": queries["name"], "query_length": queries["length"]}
    said |= {"status": pa.repeat("rejected", len(queries)), "reason": pa.repeat(reason, len(queries))}
    return pa.table([said.get(field.name, pa.nulls(len(queries), field.type)) for field in SEARCH_HITS], schema=SEARCH_HITS)


def merged(table: Any, top: int) -> tuple[Integers, Any]:
    """Order the rows of several slices as those of one would be: which rows are kept, in order, and the column `rank` of the whole table. What was rejected
    stays, behind the hits of its query, without a rank: of several slices that it was rejected in the first."""
    given_up = pc.equal(table["status"], "rejected").to_numpy()
    keys = {name: pc.fill_null(table[name], 0).to_numpy() for name in ("ordinal", "score", "target_ordinal")}
    backward = pc.fill_null(pc.equal(table["strand"], "-"), False).to_numpy()
    order = np.lexsort((backward, keys["target_ordinal"], -keys["score"], given_up, keys["ordinal"]))
    rank = np.empty(len(table), np.int64)
    rank[order] = best.ranks(keys["ordinal"][order]) + 1
    again = np.append(False, given_up[order][:-1] & (np.diff(keys["ordinal"][order]) == 0))[: len(order)]
    kept = np.where(given_up[order], ~again, rank[order] <= top)
    return order[kept], pa.array(rank, mask=given_up)
