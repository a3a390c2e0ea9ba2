"""Walk a unit's anchors by exact mode, from its last checkpoint on, with what is extended ahead of it by this process's GPU or by other workers.

What is extended ahead is a matter of speed only: the walk takes of it what nothing it keeps has come near, and its result does not depend on it.
"""

import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tidalign.kernels.commit.paths import Paths
from tidalign.kernels.commit.walk import Commit, Walks
from tidalign.kernels.extension.costs import Integers
from tidalign.kernels.gapped.alignments import Extended, Extensions
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.kernels.gapped.speculated import speculate as extend_free
from tidalign.pipeline.genome.input.sequences import Queries
from tidalign.pipeline.genome.stages import gapped, itself
from tidalign.pipeline.genome.stages.anchoring import anchors_path, count_anchors, read_anchors, without_gaps
from tidalign.pipeline.genome.stages.anchors_file import ROWS, places
from tidalign.pipeline.genome.stages.filters import asked_of, keep
from tidalign.pipeline.genome.stages.guards import Budget, Heartbeat, RowsAndShortfalls
from tidalign.pipeline.genome.stages.unit import OF_DEPTH, Unit
from tidalign.pipeline.genome.walk import checkpoints, inner
from tidalign.pipeline.genome.walk.waves import Waves
from tidalign.pipeline.schema import AHEAD
from tidalign.pipeline.store.files import read_table, write_table

ANSWER_SECONDS = 1.0
"""How long the first who asks a walk what it keeps waits for it."""

_BATCH = 8
_NAME = re.compile(r"\.(\d+)-(\d+)\.ahead\.parquet$")


def ahead_path(unit: Unit, start: int, stop: int) -> str:
    """Say where the free extensions of anchors [start, stop) are, or will be."""
    return f"{unit.directory}/stages/{unit.name}.{start}-{stop}.ahead.parquet"


def extend_range_ahead(unit: Unit, start: int, stop: int) -> int:
    """Extend some anchors ahead of the unit's walk; returns how many. Nothing where the walk is over, or this was done."""
    if count_anchors(unit.directory, unit.job_number, unit.number, unit.run) is None or Path(ahead_path(unit, start, stop)).exists():
        return 0
    anchors = read_anchors(unit, start, stop)
    return extend_ahead(unit, anchors, _kept_by_now(unit), start, partial(_over, unit))


def _kept_by_now(unit: Unit) -> Extensions:
    """Read what the unit's walk keeps, as it was when somebody last asked; now it is asked again. Who asks first waits a while for an answer."""
    checkpoints.ask(unit)
    last = time.monotonic() + ANSWER_SECONDS
    while (saved := checkpoints.saved(unit)) is None and time.monotonic() < last and not _over(unit):
        time.sleep(0.02)
    return saved[0] if saved else Extensions.empty()


def _over(unit: Unit) -> bool:
    """Tell whether the unit's walk has ended: its anchors are forgotten."""
    return not Path(anchors_path(unit.directory, unit.job_number, unit.number)).exists()


def extend_ahead(unit: Unit, anchors: Any, kept: Extensions, start: int, over: Callable[[], bool]) -> int:
    """Extend those anchors of [start, start + len(anchors)) that do not seem to lie on something better, and write what comes of it; returns how many.

    kept: what the walk was known to keep. over: whether it has ended, and nobody wants more.
    """
    t, q = places(anchors)
    paths = Paths()
    for one in kept:
        paths.keep(one.ends, one.ops, one.lengths)
    wanted: list[int] = []
    parts: list[Speculated] = []
    apart = np.flatnonzero(~paths.near(t, q))
    while len(apart):
        if over():
            return 0
        known, left, apart = len(paths), apart[:_BATCH], apart[_BATCH:]
        part = extend_free(unit.target_codes, unit.query_codes, unit.bounds, t[left], q[left], unit.costs, unit.query_bounds)
        extended = left[part.extensions.anchor]
        paths.keep_apart(t[extended], q[extended], part.extensions)
        wanted += left.tolist()
        parts.append(part)
        apart = apart[~paths.near(t[apart], q[apart], known)]
    if parts:
        arrays = Speculated.concat(parts).spread(np.array(wanted, np.int64), len(t)).to_arrays()
        _write(ahead_path(unit, start, start + len(t)), arrays, unit.run)
    return len(wanted)


def _write(path: str, arrays: dict[str, npt.NDArray[Any]], run: str) -> None:
    columns = {name: pa.array([values.ravel()], AHEAD.field(name).type) for name, values in arrays.items()}
    write_table(path, pa.table(columns, schema=AHEAD), metadata={"tidalign.run": run})


class Ahead:
    """Finds what other workers have extended ahead of a unit's walk; looked for again whenever the walk asks."""

    def __init__(self, unit: Unit) -> None:
        self._unit = unit
        self._read: tuple[str, Speculated | None] = ("", None)

    def at(self, place: int, last: int) -> tuple[int, Speculated | None]:
        """Find up to where the walk may go in one piece from anchor `place` (at most `last`), and what is known of these anchors."""
        begins = [last]
        for path in Path(self._unit.directory, "stages").glob(f"{self._unit.name}.*.ahead.parquet"):
            named = _NAME.search(path.name)
            start, stop = (int(named[1]), int(named[2])) if named else (0, 0)
            if start <= place < stop and (found := self._open(str(path))) is not None:
                return stop, found.after(place - start)
            if start > place:
                begins.append(start)
        return min(begins), None

    def _open(self, path: str) -> Speculated | None:
        if self._read[0] != path:
            self._read = path, _load(path, self._unit.run)
        return self._read[1]


def _load(path: str, run: str) -> Speculated | None:
    try:
        table = read_table(path)
    except FileNotFoundError:
        return None
    if (table.schema.metadata or {}).get(b"tidalign.run") != run.encode():
        return None
    arrays = {name: table[name].combine_chunks().values.to_numpy(zero_copy_only=False) for name in table.schema.names}
    return Speculated.from_arrays({**arrays, "boxes": arrays["boxes"].reshape(-1, 4), "ranges": arrays["ranges"].reshape(-1, 2)})


WALK_ANCHORS = 1024
"""Anchors after which a walk looks what others have extended ahead of it."""

CHECKPOINT_SECONDS = 20.0
"""Between two checkpoints of exact mode's walk: what a kill costs at most."""

ASKED_SHARE = 0.05
"""Of a walk's time, at most, that goes into checkpoints for others who ask what it keeps."""


def walk(unit: Unit, anchors: Any, beat: Heartbeat, checkpoint: bool, shared: bool = False) -> RowsAndShortfalls:
    """Make the unit's rows by exact mode: anchors one after the other, in LASTZ's order, what is kept fencing what comes later.

    checkpoint: whether to write from time to time how far this is, and to go on from there. shared: whether other workers may extend anchors ahead of it.
    """
    if not unit.parameters.gapped:
        return _of_hsps(unit, anchors), []
    commit, at = (checkpoint and checkpoints.restored(unit)) or (gapped.commit(unit), 0)
    budget = Budget(unit.parameters)
    begun, saved, took = at, time.monotonic(), 0.0
    with _ahead(unit, anchors, at, commit, shared, beat) as ahead:
        while at < len(anchors) and not budget.spent(commit.cells):
            try:
                beat(at)
                stop, known = ahead(at)
            except BaseException:  # a stop: nothing is lost by it
                if checkpoint and at > begun:
                    checkpoints.save(unit, commit, at)
                raise
            at += commit.walk(*places(anchors, at, stop), known, cells=budget.cells_left(commit.cells), seconds=unit.device.slice_seconds)
            since = time.monotonic() - saved
            if checkpoint and (since >= CHECKPOINT_SECONDS or (shared and took <= ASKED_SHARE * since and checkpoints.asked(unit))):
                checkpoints.save(unit, commit, at)
                saved, took = time.monotonic(), time.monotonic() - saved - since
    unit.counts.update(commit.counts())
    shortfalls = [budget.shortfall(unit, at, len(anchors))] if at < len(anchors) else []
    found = gapped.marked(_chosen(unit, commit), unit)
    if unit.parameters.inner is not None and not shortfalls:
        found, left = inner.between(unit, found, budget, commit.cells, lambda: beat(at), checkpoint)
        shortfalls += left
    if unit.parameters.inner is None and (unit.mirrors or unit.joint):  # the share of a joint query is of letters that are known here alone
        found = inner.passing(unit, found)
    if unit.mirrors:
        found = itself.mirrored(found, unit.square, unit.costs, (unit.target_codes, unit.query_codes))
    return gapped.tables(found, unit), shortfalls


def _chosen(unit: Unit, commit: Commit) -> Extensions:
    """Choose what is shown of what a walk keeps: of scores from the threshold on, and no more than `query_depth` allows (LASTZ.md 27)."""
    found, parameters = commit.alignments(), unit.parameters
    if parameters.query_depth is not None:
        depth, keep = parameters.query_depth
        kept = commit.state()
        kept = kept.take(np.flatnonzero(kept.anchor != gapped.TRIVIAL))
        pairs = np.concatenate([[0], np.cumsum(np.where(kept.run_ops == 0, kept.run_lengths, 0))])[kept.run_offsets[1:]]
        # In single precision, as LASTZ has it.
        beyond = np.flatnonzero(pairs > math.ceil(np.float32(depth) * np.float32(len(unit.query_codes))))
        if len(beyond):
            unit.counts[OF_DEPTH] = int(not keep)
            found = found.take(np.flatnonzero(found.anchor <= kept.anchor[beyond[0]]) if keep else [])
    return found.take(np.flatnonzero((found.score >= unit.least) | (found.anchor == gapped.TRIVIAL))) if parameters.all_bounds else found


WALKED_TOGETHER = 32
"""Anchors of a strand up to which it is walked with others in one call: of more it pays to look at many of a strand at once, before they are extended."""

CALL_ANCHORS = 1 << 9
"""Anchors after which such a call ends, and says how far the tile is."""


def walk_many(unit: Unit, queries: Queries, anchors: tuple[Integers, ...], strands: range, beat: Heartbeat, equal: Mapping[int, list[Extended]]) -> Extensions:
    """Walk many small units, `queries` like this one, by exact mode, each by itself; query places are those in their array.

    anchors: as `seeding.anchors_of_many` gives them, of these strands. equal: of some strands the alignments that are there before any anchor. `beat` is
    called with each strand.
    """
    t, q, strand = anchors
    begins = np.searchsorted(strand, np.arange(len(queries) + 1))
    walks, found = Walks(unit.target_codes, queries.codes, unit.bounds, unit.costs), [Extensions.empty()]
    for first, stop, few in _calls(begins.tolist(), strands, equal):
        places = slice(begins[first], begins[stop])
        if few:
            ends = np.stack([queries.starts[first:stop], queries.ends[first:stop]], axis=1)
            found.append(walks.walk(ends, begins[first : stop + 1] - begins[first], t[places], q[places]))
        else:
            start, commit = queries.starts[first], Commit(unit.target_codes, queries.one(first), unit.bounds, unit.costs, walks.paths)
            for one in equal.get(first, ()):
                commit.keep(one)
            at = int(begins[first])
            while at < begins[stop]:
                beat(first)
                at += commit.walk(t[at : begins[stop]], q[at : begins[stop]] - start, seconds=unit.device.slice_seconds)
            kept = commit.alignments()
            found.append(replace(kept, query_start=kept.query_start + start, query_end=kept.query_end + start))
            unit.counts.update(commit.counts())
        for i in range(first, stop):
            beat(i)
    unit.counts.update(walks.counts())
    return gapped.marked(Extensions.concat(found), unit, queries)


def _calls(begins: list[int], strands: range, equal: Mapping[int, Any]) -> Iterator[tuple[int, int, bool]]:
    """Cut strands into ranges (begin, end, whether these are walked in one call): the others are alone."""
    first = strands.start
    for i in strands:
        if i in equal or begins[i + 1] - begins[i] > WALKED_TOGETHER:
            if first < i:
                yield first, i, True
            yield i, i + 1, False
            first = i + 1
        elif begins[i + 1] - begins[first] >= CALL_ANCHORS:
            yield first, i + 1, True
            first = i + 1
    if first < strands.stop:
        yield first, strands.stop, True


def _of_hsps(unit: Unit, hsps: Any) -> Iterator[Any]:
    """Make rows of HSPs as they are, in tables."""
    filters = asked_of(unit) if unit.joint else ()  # those of others are asked of all units' rows
    for first in range(0, len(hsps), ROWS):
        yield from (keep(rows, filters) for rows in gapped.tables(without_gaps(hsps.slice(first, ROWS)), unit))


@contextmanager
def _ahead(unit: Unit, anchors: Any, at: int, commit: Commit, shared: bool, beat: Heartbeat) -> Iterator[Callable[[int], tuple[int, Speculated | None]]]:
    """Give what says of a place how far a walk may go in one piece from there, and what is known of these anchors. shared: other workers may extend some."""
    if unit.forms.extender:
        with Waves(unit, unit.forms.extender, anchors, at, commit.state(), beat) as waves:
            yield waves.at
    elif shared:
        others = Ahead(unit)
        yield lambda place: others.at(place, min(len(anchors), place + WALK_ANCHORS))
    else:
        yield lambda place: (len(anchors), None)
