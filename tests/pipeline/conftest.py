"""A finished run directory made of given rows, as the stages of a run would leave it, with the parts out of order."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import oracle
import pyarrow as pa
import pytest

from tidalign.pipeline.pairs.aligner import PairParameters, aligner_of, write_rows
from tidalign.pipeline.pairs.manifest import letters_path, write_manifest
from tidalign.pipeline.pairs.results import Results
from tidalign.pipeline.schema import ALIGNMENTS, LETTERS
from tidalign.pipeline.store import rundir
from tidalign.pipeline.store.files import write_table

MakeRun = Callable[..., Results]
Span = tuple[int, int, int]


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """make_run(rows, parameters=..., block=4): rows are dictionaries in `schema.ALIGNMENTS` in input order; their ordinals are filled in."""

    def make(rows: list[dict[str, Any]], parameters: Any = None, *, block: int = 4, finish: bool = True) -> Results:
        parameters = parameters or PairParameters()
        directory = str(tmp_path / "run")
        source = {"queries": "somewhere/reads.fq", "targets": "somewhere/windows.fa"}
        told = aligner_of(parameters).to_json(parameters)
        rundir.create(directory, told, source)
        run = rundir.run_id(told, source)
        records = []
        for first in range(0, len(rows), block):
            inside = [{"ordinal": first + place} | row for place, row in enumerate(rows[first : first + block])]
            number = first // block
            # Odd and even rows are two chunks; the first chunk is two parts: so parts interleave.
            chunks = {f"b{number:05d}-07-{odd:03d}": inside[odd::2] for odd in (0, 1) if inside[odd::2]}
            for chunk, members in chunks.items():
                for start, stop in [(0, 1), (1, len(members))]:
                    if stop > start:
                        write_rows(directory, run, chunk, start, stop, pa.Table.from_pylist(members[start:stop][::-1], schema=ALIGNMENTS))
            records.append(
                {"id": number, "first": first, "pairs": len(inside), "chunks": [{"id": name, "rows": len(members)} for name, members in chunks.items()]}
            )
            letters = [{"ordinal": first + place} | _letters(row) for place, row in enumerate(inside)]
            write_table(letters_path(directory, number), pa.Table.from_pylist(letters, schema=LETTERS))
        write_manifest(directory, records)
        if finish:
            partial = any(row["status"] in ("capped", "rejected") for row in rows)
            rundir.finish(directory, {"pairs": len(rows), "run": run}, partial=partial)
        return Results(directory)

    return make


def _letters(row: dict[str, Any]) -> dict[str, Any]:
    """Make the letters of a row: those given as `query`, `target` and `query_quality`, else some that its CIGAR fits."""
    query, target = (bytearray(b"G" * min(row[f"{side}_length"], 1 << 20)) for side in ("query", "target"))
    v, h = row["query_start"] or 0, row["target_start"] or 0
    for length, letter in ((int(length), letter) for length, letter in re.findall(r"(\d+)(\D)", row["cigar"] or "")):
        if letter == "X":
            target[h : h + length] = b"A" * length
        v, h = v + length * (letter != "D"), h + length * (letter != "I")
    return {"query": bytes(query), "target": bytes(target), "query_quality": None} | {name: row[name] for name in LETTERS.names if name in row}


def _row(query: str = "q", target: str = "t", *, query_span: Span = (0, 4, 4), target_span: Span = (0, 4, 4), **values: Any) -> dict[str, Any]:
    cigar = values.setdefault("cigar", "4=")
    return {
        "query_name": query,
        "query_length": query_span[2],
        "query_start": query_span[0],
        "query_end": query_span[1],
        "target_name": target,
        "target_length": target_span[2],
        "target_start": target_span[0],
        "target_end": target_span[1],
        "strand": "+",
        "penalty": 0,
        **(oracle.counts(cigar) | {"identity": oracle.identity(cigar)} if cigar is not None else {}),
        "status": "exact",
    } | values


@pytest.fixture
def row() -> Callable[..., dict[str, Any]]:
    """row(query, target, query_span=(start, end, length), target_span=.., column=value..): a row of results."""
    return _row


@pytest.fixture
def rejected() -> Callable[..., dict[str, Any]]:
    """rejected(query, target): the row of a pair that was given up."""
    nothing = dict.fromkeys(("query_start", "query_end", "target_start", "target_end", "strand", "penalty"))
    return lambda query, target="t": _row(query, target, cigar=None) | nothing | {"status": "rejected", "reason": "killed by signal 9"}
