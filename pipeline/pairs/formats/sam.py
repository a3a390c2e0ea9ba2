"""SAM 1.6 (https://samtools.github.io/hts-specs/SAMv1.pdf): one record for each pair, in input order.

POS is 1-based; SEQ and QUAL are `*`; query ends that stay out are soft-clipped; tags NM:i, AS:i (the score, or minus the penalty), and st:Z
and rs:Z where a row is not exact.
A rejected pair, and a pair of which no target letter is aligned (it has no place on the target), is an unmapped record (flag 4). The header has one @SQ for
each distinct target name in order of appearance, and nothing that could differ between two runs of the same work: no device, worker, time or run id.
"""

import shlex
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

import pyarrow.compute as pc

from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats.request import Batches, Request, Rows
from tidalign.pipeline.pairs.formats.targets import first_rows, rows_at
from tidalign.pipeline.text import Operations, alignment_score, content, empty, joined, status_tags, two_kinds

LONGEST_TARGET = 2**31 - 1
"""Section 1.3: LN lies in 1..2^31-1."""

MANY_TARGETS = 1_000_000
"""Above this many @SQ lines most programs that read SAM become slow or give up."""

# Sections 1.2.1 and 1.4: what a reference name and a query name may be made of.
REFERENCE_NAME = r"^[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*$"
QUERY_NAME = r"^[!-?A-~]{1,254}$"


def header(request: Request[Rows]) -> Iterator[bytes | memoryview]:
    """Give the lines before the records. Raises InputError for targets that SAM cannot name."""
    firsts = first_rows(request.rows)
    if len(firsts) > MANY_TARGETS:
        advice = "which many programs cannot take: PAF (-o out.paf) suits such pairs better"
        request.notice(f"{len(firsts):,} distinct targets give as many @SQ lines, {advice}")
    yield b"@HD\tVN:1.6\tSO:unsorted\n"
    for batch in rows_at(request.rows, firsts):
        yield content(references(batch))
    yield program(request.rows, request.rows.source.get("queries"), request.rows.source.get("targets"))


Where = Callable[[str, int], tuple[str, int]]
"""Says the file and the record of the query or target of a pair, by its ordinal."""


def check(batches: Batches, where: Where) -> None:
    """Raise InputError for pairs whose names SAM does not have, before they are aligned. batches: with `partition.NAMED`."""
    for batch in batches.to_batches(["ordinal", "query_name"]):
        check_queries(batch, where)
    for batch in rows_at(batches, first_rows(batches)):
        check_targets(batch, where)


def _nowhere(role: str, ordinal: int) -> tuple[str, int]:
    """Name no file: which one it was is not known to who exports a run."""
    return "SAM", ordinal + 1


def check_queries(batch: Any, where: Where) -> None:
    """Raise InputError for the first query of a batch whose name SAM does not have."""
    strange = pc.index(pc.match_substring_regex(batch["query_name"], QUERY_NAME), False).as_py()
    if strange >= 0:
        file, record = where("query", batch["ordinal"][strange].as_py())
        expected = "a query name of at most 254 printable ASCII letters other than @, as SAM wants them"
        raise InputError(file, expected, shown(batch["query_name"][strange].as_py()), "write .paf, .tsv or .parquet", record=record)


def check_targets(batch: Any, where: Where) -> None:
    """Raise InputError for the first target of a batch whose name SAM does not have."""
    strange = pc.index(pc.match_substring_regex(batch["target_name"], REFERENCE_NAME), False).as_py()
    if strange >= 0:
        file, record = where("target", batch["ordinal"][strange].as_py())
        expected = "a target name of the letters SAM allows (section 1.2.1 of its specification)"
        raise InputError(file, expected, shown(batch["target_name"][strange].as_py()), "write .paf, .tsv or .parquet", record=record)


def references(targets: Any) -> Any:
    """The @SQ line of each target of a batch; one without a letter has none, as LN is at least 1 and nothing can be placed on it."""
    names, lengths = targets["target_name"], targets["target_length"]
    long = pc.index(pc.greater(lengths, LONGEST_TARGET), True).as_py()
    if long >= 0:
        found = f"{lengths[long].as_py()} in {shown(names[long].as_py())}"
        raise InputError("SAM header", f"targets of at most {LONGEST_TARGET} bases", found, "export .paf")
    check_targets(targets, _nowhere)
    return joined("@SQ\tSN:", names, "\tLN:", lengths, "\n").filter(pc.greater(lengths, 0))


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the record of each row of a batch in `schema.ALIGNMENTS`, with its newline. Raises InputError for names of queries."""
    check_queries(batch, _nowhere)
    placed = pc.fill_null(pc.less(batch["target_start"], batch["target_end"]), False)
    return two_kinds(batch, placed, lambda rows: mapped(rows, request.cigar), unmapped)


def mapped(rows: Any, cigar: str, flags: Any = "0", clips: tuple[Any, Any] | None = None) -> Any:
    """Make the records of rows that have a place. flags: of each, as text; clips: query letters before and behind, of [start, end) if None."""
    before, behind = clips or (rows["query_start"], pc.subtract(rows["query_length"], rows["query_end"]))
    text = rows["cigar"] if cigar == "=X" else Operations.parse(rows["cigar"]).merged().text()
    edits = pc.add(rows["mismatches"], rows["gap_letters"])
    return joined(
        *(rows["query_name"], "\t", flags, "\t", rows["target_name"], "\t", pc.add(rows["target_start"], 1), "\t255\t"),
        *(_clip(before), text, _clip(behind)),
        *("\t*\t0\t0\t*\t*\tNM:i:", edits, "\tAS:i:", alignment_score(rows), status_tags(rows), "\n"),
    )


def _clip(letters: Any) -> Any:
    """`nS` where n > 0."""
    free = pc.greater(letters, 0)
    return pc.if_else(free, joined(letters, "S"), empty()) if pc.any(free).as_py() else ""


def unmapped(rows: Any) -> Any:
    """Make the records of rows that have no place."""
    value = alignment_score(rows)
    score = pc.if_else(pc.is_valid(value), joined("\tAS:i:", value), empty())
    return joined(rows["query_name"], "\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*", score, status_tags(rows), "\n")


def program(rows: Rows, *files: str | None) -> bytes:
    """Make the @PG line: the files that were read, and what was computed."""
    return f"@PG\tID:tidalign\tPN:tidalign\tVN:{version('tidalign')}\tCL:{command_line(rows, *files)}\n".encode()


def command_line(rows: Rows, *files: str | None) -> str:
    """What was computed, as a command: inputs by their file names and everything that can change a row, and nothing else."""
    parameters = rows.parameters
    words = ["tidalign", rows.kind, *(PurePath(path).name for path in files if path)]
    return "".join(letter if letter.isprintable() else " " for letter in shlex.join([*words, *parameters.words()]))
