"""Segments given in a file in place of seeds (LASTZ's `--segments`): they become the HSPs of each query sequence and strand."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.genome.input.scores import MOST_SCORE
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.schema import HSPS

_FIELDS = "name1 start1 end1 name2 start2 end2 strand [score]"


def load_segments(path: str, target: Genome, queries: Genome, strands: str = "+-", best: int | None = None) -> dict[tuple[int, str], Any]:
    """Load HSPs (HSPS) of each (query sequence, strand) that the file names, by diagonal and then by query start. strands: those that are looked at. best: of
    each query, both strands together, so many are kept that score highest, and those that tie (`--queryhspbest`), before any are joined; all where one strand
    is looked at, as LASTZ has it.

    A line is a segment: `name1 start1 end1 name2 start2 end2 strand [score]`, 1 is target, 2 is query; positions count from 1, the end included, in the
    full sequences, and of a query on strand - on its reverse complement. `*` stands for the name of an only sequence; of a target that is read as one sequence
    (without [multiple]) names are not looked at, as LASTZ has it. Empty lines and those whose first word begins with # are passed over. Segments that overlap
    on a diagonal become one, with the higher score. Raises InputError, OSError.
    """
    rows: dict[tuple[int, str], list[tuple[int, int, int, int]]] = {}
    sides = _Names(path, "target", target), _Names(path, "query", queries)
    with Path(path).open(encoding="utf-8", errors="surrogateescape") as file:
        for number, line in enumerate(file, 1):
            fields = line.split()
            if fields and not fields[0].startswith("#"):
                sequence, strand, segment = _parse(path, number, fields, *sides)
                if strand not in strands:
                    raise InputError(path, f"segments on strand {strands} alone", f"one on {strand}", "leave --strand out", line=number)
                rows.setdefault((sequence, strand), []).append(segment)
    if best is not None and len(strands) == 2:
        rows = _best(rows, best)
    return {key: _merged(np.array(found, np.int64)) for key, found in rows.items()}


class _Names:
    """Finds sequences of a side by name: those that are pieces of one as a range."""

    def __init__(self, path: str, role: str, genome: Genome) -> None:
        self._path, self.role, self.genome = path, role, genome
        self._places: dict[str, range] = {}
        self._twice: set[str] = set()
        firsts = [*np.unique(genome.whole(), return_index=True)[1].tolist(), len(genome)]
        for first, stop in zip(firsts, firsts[1:], strict=False):
            name, pieces = genome.names[first], range(first, stop)
            if self._places.setdefault(name, pieces) is not pieces:
                self._twice.add(name)
        self._only = len(firsts) == 2
        self._alone = self._only and role == "target" and not genome.starts[0]

    def find(self, name: str, line: int) -> range:
        if self._alone or (name == "*" and self._only):
            return range(len(self.genome))
        if name in self._twice:
            raise InputError(
                self._path, f"a {self.role} name that one sequence has", f"{shown(name)}, which several have", "give them names of their own", line=line
            )
        if name not in self._places:
            known = ", ".join(place[:40] for place in [*self._places][:3]) + (", ..." if len(self._places) > 3 else "")
            raise InputError(self._path, f"the name of a {self.role} sequence ({known})", shown(name), line=line)
        return self._places[name]


def _parse(path: str, line: int, fields: list[str], target: _Names, query: _Names) -> tuple[int, str, tuple[int, int, int, int]]:
    """Parse a line to (query sequence, strand, (target start, query start, length, score)), starts as the kernels count them."""
    if len(fields) not in (7, 8):
        raise InputError(path, f"7 or 8 fields ({_FIELDS})", f"{len(fields)}", line=line)
    try:
        start1, end1, start2, end2, score = (int(fields[i]) for i in (1, 2, 4, 5, -1)) if len(fields) == 8 else (*(int(fields[i]) for i in (1, 2, 4, 5)), 0)
    except ValueError:
        raise InputError(path, f"whole numbers for positions and score ({_FIELDS})", " ".join(fields), line=line) from None
    if abs(score) > MOST_SCORE:
        raise InputError(path, f"a score from -{MOST_SCORE} to {MOST_SCORE}", shown(fields[-1]), line=line)
    strand = fields[6]
    if strand not in ("+", "-"):
        raise InputError(path, "strand + or -", repr(strand), line=line)
    if end1 - start1 != end2 - start2:
        raise InputError(path, "intervals of one length", f"{end1 - start1 + 1} on the target and {end2 - start2 + 1} on the query", line=line)
    i, t = _place(path, line, target.role, target.genome, target.find(fields[0], line), "+", start1, end1)
    j, q = _place(path, line, query.role, query.genome, query.find(fields[3], line), strand, start2, end2)
    begin, length = int(target.genome.starts[i]) + t, end1 - start1 + 1
    if not _in_a_piece(target.genome, begin, begin + length):
        raise InputError(path, "a target interval between two separators", f"{start1}..{end1} of {shown(fields[0])}", line=line)
    return j, strand, (begin, q, length, score)


def _in_a_piece(genome: Genome, start: int, end: int) -> bool:
    """Tell whether no separator lies in an interval of the letters."""
    piece = int(np.searchsorted(genome.pieces[:, 0], start, "right")) - 1
    return piece >= 0 and end <= int(genome.pieces[piece, 1])


def _place(path: str, line: int, role: str, genome: Genome, pieces: range, strand: str, start: int, end: int) -> tuple[int, int]:
    """Find which piece of a sequence holds an interval (from 1, end included, full sequence, its strand), and where in it the interval begins."""
    within = []
    for i in pieces:
        length = int(genome.lengths[i])
        before = int(genome.offsets[i])
        if strand == "-":
            before = int(genome.full_lengths[i]) - before - length
        if before < start <= end <= before + length:
            return i, start - 1 - before
        within.append(f"{before + 1}..{before + length}")
    raise InputError(path, f"a {role} interval within {' or '.join(within[:3])} (strand {strand})", f"{start}..{end}", line=line)


def _merged(rows: Any) -> Any:
    """Sort rows by diagonal, then query start; those that overlap are joined. int64[n, 4] -> HSPS."""
    t, q, length, _ = rows.T
    rows = rows[np.lexsort((length, q, t - q))]
    merged: list[list[int]] = []
    for t, q, length, score in rows.tolist():
        last = merged[-1] if merged else None
        if last and last[0] - last[1] == t - q and q < last[1] + last[2]:
            last[2] = max(last[2], q + length - last[1])
            last[3] = max(last[3], score)
        else:
            merged.append([t, q, length, score])
    return pa.table(list(np.array(merged, np.int64).T), schema=HSPS)


def _best(rows: dict[tuple[int, str], list[tuple[int, int, int, int]]], best: int) -> dict[tuple[int, str], list[tuple[int, int, int, int]]]:
    """Keep the `best` highest scores of each query, and those that tie."""
    scores: dict[int, list[int]] = {}
    for (query, _), found in rows.items():
        scores.setdefault(query, []).extend(segment[-1] for segment in found)
    least = {query: sorted(values)[-best:][0] for query, values in scores.items()}
    kept = {key: [segment for segment in found if segment[-1] >= least[key[0]]] for key, found in rows.items()}
    return {key: found for key, found in kept.items() if found}
