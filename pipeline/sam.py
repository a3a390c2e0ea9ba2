"""SAM 1.6 (https://samtools.github.io/hts-specs/SAMv1.pdf): one record for each pair, in input order.

POS is 1-based; SEQ and QUAL are `*`; free query ends are soft-clipped; tags NM:i, AS:i (minus the penalty), st:Z and rs:Z where a row is not exact.
A rejected pair, and a pair of which no target letter is aligned (it has no place on the target), is an unmapped record (flag 4). The header has one @SQ for
each distinct target name in order of appearance, and nothing that could differ between two runs of the same work: no device, worker, time or run id.
"""

import shlex
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import PurePath
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from tidalign.pipeline.cigar import Operations
from tidalign.pipeline.errors import InputError
from tidalign.pipeline.results import Results
from tidalign.pipeline.text import content, empty, joined, status_tags, strings, two_kinds

LONGEST_TARGET = 2**31 - 1
"""Section 1.3: LN lies in 1..2^31-1."""

MANY_TARGETS = 1_000_000
"""Above this many @SQ lines most programs that read SAM become slow or give up."""

MERGE_ROWS = 1_000_000

# Sections 1.2.1 and 1.4: what a reference name and a query name may be made of.
REFERENCE_NAME = r"^[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*$"
QUERY_NAME = r"^[!-?A-~]{1,254}$"


def write(results: Results, sink: BinaryIO, cigar: str, notice: Callable[[str], None]) -> None:
    """Write header and records to `sink`, CIGARs with `=X` or `M`. Raises InputError for what SAM cannot say, ValueError for a run without CIGARs."""
    if results.parameters.penalty_only:
        raise ValueError("SAM needs CIGARs, which a run with --penalty-only has not: export .paf, .tsv or .parquet")
    targets = distinct_targets(results)
    if len(targets) > MANY_TARGETS:
        notice(f"{len(targets):,} distinct targets give as many @SQ lines, which many programs cannot take: PAF (-o out.paf) suits such pairs better")
    sink.write(b"@HD\tVN:1.6\tSO:unsorted\n")
    for batch in targets.to_batches(max_chunksize=65_536):
        sink.write(content(joined("@SQ\tSN:", batch["name"], "\tLN:", batch["length"], "\n")))
    sink.write(f"@PG\tID:tidalign\tPN:tidalign\tVN:{version('tidalign')}\tCL:{command_line(results)}\n".encode())
    for batch in results.to_batches():
        sink.write(content(lines(batch, cigar)))


def lines(batch: Any, cigar: str) -> Any:
    """A large_string column: the record of each row of a batch in `schema.ALIGNMENTS`, with its newline."""
    good = pc.match_substring_regex(batch["query_name"], QUERY_NAME)
    if pc.all(good).as_py() is False:
        row = pc.index(good, False).as_py()
        name, record = batch["query_name"][row].as_py(), batch["ordinal"][row].as_py() + 1
        raise InputError("SAM", "a query name of at most 254 printable ASCII letters other than @", repr(name), "export .paf, .tsv or .parquet", record=record)
    placed = pc.fill_null(pc.less(batch["target_start"], batch["target_end"]), False)
    return two_kinds(batch, placed, lambda rows: _mapped(rows, cigar), _unmapped)


def _mapped(rows: Any, cigar: str) -> Any:
    operations = Operations.parse(rows["cigar"])
    text = rows["cigar"] if cigar == "=X" else operations.merged().text()
    return joined(
        *(rows["query_name"], "\t0\t", rows["target_name"], "\t", pc.add(rows["target_start"], 1), "\t255\t"),
        *(_clip(rows["query_start"]), text, _clip(pc.subtract(rows["query_length"], rows["query_end"]))),
        *("\t*\t0\t0\t*\t*\tNM:i:", pa.array(operations.count(b"XID")), "\tAS:i:", pc.negate(rows["penalty"]), status_tags(rows), "\n"),
    )


def _clip(letters: Any) -> Any:
    """`nS` where n > 0."""
    free = pc.greater(letters, 0)
    return pc.if_else(free, joined(letters, "S"), empty()) if pc.any(free).as_py() else ""


def _unmapped(rows: Any) -> Any:
    score = pc.if_else(pc.is_valid(rows["penalty"]), joined("\tAS:i:", pc.negate(rows["penalty"])), empty())
    return joined(rows["query_name"], "\t4\t*\t0\t0\t*\t*\t0\t0\t*\t*", score, status_tags(rows), "\n")


def command_line(results: Results) -> str:
    """What was computed, as a command: inputs by their file names and everything that can change a row, and nothing else."""
    parameters = results.parameters
    words = ["tidalign", "pairs", *(PurePath(path).name for path in (results.source.get("queries"), results.source.get("targets")) if path)]
    words += ["--penalties", parameters.penalties, "--ambiguous", parameters.ambiguous]
    if parameters.ends_free:
        words += ["--ends-free", ",".join(map(str, parameters.ends_free))]
    return "".join(letter if letter.isprintable() else " " for letter in shlex.join(words))


def distinct_targets(results: Results) -> Any:
    """Table (name, length) of the distinct targets in order of appearance. Raises InputError for a name, or two lengths of one name, that SAM cannot have."""
    found = pa.concat_tables(_merged(results), promote_options="none")
    found = _merge(found)
    different = pc.not_equal(found["shortest"], found["length"])
    if pc.any(different).as_py():
        row = pc.index(different, True).as_py()
        name, one, other = (found[column][row].as_py() for column in ("name", "shortest", "length"))
        raise InputError("SAM header", "one length for each target name", f"{one} and {other} for {name!r}", "name the targets apart, or export .paf")
    long = pc.greater(found["length"], LONGEST_TARGET)
    if pc.any(long).as_py():
        name, length = (found[column][pc.index(long, True).as_py()].as_py() for column in ("name", "length"))
        raise InputError("SAM header", f"targets of at most {LONGEST_TARGET} bases", f"{length} in {name!r}", "export .paf")
    good = pc.match_substring_regex(found["name"], REFERENCE_NAME)
    if pc.any(pc.invert(good)).as_py():
        name = found["name"][pc.index(good, False).as_py()].as_py()
        raise InputError("SAM header", "a target name of the letters SAM allows (section 1.2.1 of its specification)", repr(name), "export .paf")
    # A target without a letter has no @SQ: LN is at least 1, and nothing can be placed on it.
    return found.filter(pc.greater(found["length"], 0)).select(["name", "length"])


def _merged(results: Results) -> Iterator[Any]:
    """Tables of distinct targets, merged while they grow, so that memory follows the number of targets and not of rows."""
    waiting: list[Any] = []
    rows = 0
    for batch in results.to_batches(["target_name", "target_length"]):
        columns = [strings(batch["target_name"]), batch["target_length"], batch["target_length"]]
        waiting.append(pa.table(columns, names=["name", "length", "shortest"]))
        rows += len(batch)
        if rows >= MERGE_ROWS:
            yield _merge(pa.concat_tables(waiting))
            waiting, rows = [], 0
    yield _merge(pa.concat_tables([pa.schema([("name", pa.large_string()), ("length", pa.int64()), ("shortest", pa.int64())]).empty_table(), *waiting]))


def _merge(targets: Any) -> Any:
    """One row for each name, in order of appearance (which `group_by` keeps when it runs in one thread)."""
    grouped = targets.group_by("name", use_threads=False).aggregate([("length", "max"), ("shortest", "min")])
    return grouped.select(["name", "length_max", "shortest_min"]).rename_columns(["name", "length", "shortest"])
