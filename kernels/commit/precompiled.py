"""Lists the kernels of exact mode's walk that take longest to compile: sweeps between fences, inspection, the walk itself, and what threads do for it."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tidalign.kernels.commit import ahead_host, near, paths_host
from tidalign.kernels.commit import host as commit
from tidalign.kernels.extension import host, side, sweep
from tidalign.kernels.fences import follow
from tidalign.kernels.fences.kept import empty, room
from tidalign.kernels.gapped.extender import read_only
from tidalign.kernels.gapped.speculated import Speculated
from tidalign.kernels.inspection import host as inspection


def kernels(bits: int, threads: bool) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Give each with examples of its arguments. bits: of the lanes of a sweep (`Costs.compiled`), 16 or 32. threads: whether several extend ahead of the
    walk, beside a GPU.

    The longest chain of those that call one another, `step` to `extend_listed`, decides when all are compiled: it begins at once, and what its links call
    besides stands before them. Others that take long and call none of the rest come second to fourth: as many processes begin with one each.
    """
    number, numbers, bytes_, flag = np.int64(0), np.empty(0, np.int64), np.empty(0, np.uint8), True
    letters, four = read_only(bytes_), (number,) * 4
    kept = empty()
    fence, holes = room(kept)
    memory = {"work": numbers, "spare": numbers, "state": numbers, "result": numbers, "null": np.dtype(f"i{bits // 8}").type(0)}
    costs = {"target": letters, "query": letters, "classes": bytes_, "scores": np.empty((0, 0), np.int32), "costs": numbers}
    fenced = {"kept": kept, "fence": fence, "holes": holes, "fenced": flag, "ranges": flag}
    pairs = {"t": numbers, "q": numbers, "boxes": np.empty((0, 4), np.int64), "known": bytes_}
    examples = memory | costs | fenced
    yield follow.step, examples | {"row": number, "low": number, "high": number}
    inspected = {"memory": np.empty(0, np.int16), "limits": np.empty((0, 2), np.int64), "scores": np.empty((4, 4), np.int16), "threshold": number}
    yield inspection.inspect, examples | pairs | inspected
    yield paths_host.keep, {"kept": kept, "ends": numbers, "operations": bytes_, "lengths": numbers}
    yield near.clear, {"kept": kept, "low": number, "high": number, "first": number, "last": number, "since": number}
    swept = dict.fromkeys(("lines", "columns", "column", "origin", "onward", "stop", "low", "limit", "best", "to_c", "trail", "count", "last", "place"), number)
    swept |= examples | {"side": (number,) * 5, "last_row": flag, "at": numbers}
    for part in (sweep.reach, sweep.score_columns, sweep.border, sweep.rebase, sweep.sweep, side.save, side.walk_back, side.restore):
        yield part, swept
    yield sweep.start, swept | {"classes": number}
    yield host.join, examples | {"words": numbers, "left_count": number, "operations": bytes_, "lengths": numbers}
    untouched = {"leftward": flag, "anchor": four, "ranges": np.empty((0, 2), np.int32)}
    yield commit.untouched, examples | untouched
    made = commit.Made(numbers, np.empty((0, 2), np.int64), numbers, np.empty((0, 4), np.int64), numbers, np.empty(0, np.bool_))
    flags = np.empty(0, np.bool_)
    survey = commit.Survey(bytes_, numbers, flags)
    free = Speculated.nothing(0).free()
    walk = examples | pairs | {"free": free, "survey": survey, "made": made, "chosen": numbers, "counts": numbers}
    walk |= dict.fromkeys(("i", "stop", "most", "since", "diagonals", "runs", "left", "right"), number) | {"cells": flags}
    place = walk | {"target": number, "query": number}
    yield commit.due, walk | {"seen": bytes_}
    yield commit.still, walk
    yield near.clear_diagonal, place
    yield paths_host.within, place
    yield paths_host.touched, walk
    yield paths_host.has_room, walk | {"ends": free.ends[:0].ravel()}
    yield side.one_side, swept
    yield commit.advance, walk
    if threads:
        yield ahead_host.look_over, walk
        yield ahead_host.wanted, walk | {"made": flags, "room": number}
        places = {"kept": kept, "t": numbers, "q": numbers, "diagonals": number}
        yield paths_host.near, places | {"since": number, "cells": flags}
        runs = {"ends": np.empty((0, 4), np.int64), "run_offsets": numbers, "run_ops": bytes_, "run_lengths": numbers, "i": number}
        yield paths_host.keep_apart, places | runs
    yield host.extend_anchor, examples | {"anchor": four, "limits": four}
    if threads:
        parts = numbers, numbers, numbers, letters, letters, bytes_, costs["scores"], numbers
        listed = {"parts": parts, "listed": numbers, "limits": np.empty((0, 4), np.int64), "first": number, "threshold": number}
        yield ahead_host.extend_listed, walk | listed
