"""SAM 1.6 (https://samtools.github.io/hts-specs/SAMv1.pdf): one record for each pair, in input order, or with --sort by coordinate.

POS is 1-based; SEQ and QUAL are those of the input, `*` where it has none; query ends that stay out are soft-clipped. Tags: NM:i and MD:Z, of the letters, as
SAM's specification of tags has them: only A, C, G and T are equal, case aside (to `samtools calmd` IUPAC codes other than N equal themselves, too); AS:i (the
score, or minus the penalty); with --cs cs:Z, with --rg RG:Z; and st:Z and rs:Z where a row is not exact.
A rejected pair, and a pair of which no target letter is aligned (it has no place on the target), is an unmapped record (flag 4). The header has one @SQ for
each distinct target name in order of appearance, and nothing that could differ between two runs of the same work: no device, worker, time or run id.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tidalign.kernels.scoring.substitution import DNA
from tidalign.kernels.text.writing import CS, MD
from tidalign.pipeline.errors import InputError, shown
from tidalign.pipeline.formats import table
from tidalign.pipeline.formats.request import Pieces, Request, Rows
from tidalign.pipeline.pairs.formats.cigars import merged_text
from tidalign.pipeline.pairs.formats.lift import Contigs
from tidalign.pipeline.pairs.formats.strand import turned
from tidalign.pipeline.pairs.formats.targets import References, first_rows, rows_at
from tidalign.pipeline.text import alignment_score, content, content_of, differences, empty, joined, status_tags, two_kinds

LONGEST_TARGET = 2**31 - 1
"""Section 1.3: LN lies in 1..2^31-1."""

MANY_TARGETS = 1_000_000
"""Above this many @SQ lines most programs that read SAM become slow or give up."""

# Sections 1.2.1 and 1.4: what a reference name and a query name may be made of.
REFERENCE_NAME = r"^[0-9A-Za-z!#$%&+./:;?@^_|~-][0-9A-Za-z!#$%&*+./:;=?@^_|~-]*$"
QUERY_NAME = r"^([!-)+-?A-~]|[!-?A-~]{2,254})$"  # `*` alone says that there is no name


def header(request: Request[Rows]) -> Iterator[bytes | memoryview]:
    """Give the lines before the records. Raises InputError for targets that SAM cannot name."""
    return header_lines(request, references(request))


def references(request: Request[Rows]) -> References | Contigs:
    """Find the targets of a header, keep them in the request, and say so where they are many."""
    if request.lift is not None:
        contigs: Contigs = request.found["contigs"]
        request.found["references"] = contigs
        return contigs
    found = References(request.rows, first_rows(request.rows))
    if len(found.ordinals) > MANY_TARGETS:
        advice = "which many programs cannot take: PAF (-o out.paf) suits such pairs better"
        request.notice(f"{len(found.ordinals):,} distinct targets give as many @SQ lines, {advice}")
    if request.format.bgzf or request.sort:
        found.numbers(pa.array([], pa.string()))  # now, rather than in each thread
    request.found["references"] = found
    return found


def header_lines(request: Request[Rows], targets: References | Contigs) -> Iterator[bytes | memoryview]:
    """Give the lines of a header with these targets."""
    yield b"@HD\tVN:1.6\tSO:%s\n" % (b"coordinate" if request.sort else b"unsorted")
    yield from targets.each(lambda names, lengths: content(reference_lines(names, lengths)))
    if request.rg:
        yield f"@RG\t{request.rg}\n".encode()
    yield program(request, request.rows.source.get("queries"), request.rows.source.get("targets"))


Where = Callable[[str, int], tuple[str, int]]
"""Says the file and the record of the query or target of a pair, by its ordinal."""


def check(names: Pieces, where: Where) -> None:
    """Raise InputError for pairs whose names SAM does not have, when they are read. names: with `partition.NAME_COLUMNS`."""
    for batch in names.to_batches(["ordinal", "query_name"]):
        check_queries(batch, where)
    for batch in rows_at(names, first_rows(names)):
        check_targets(batch, where)


def check_contigs(contigs: Contigs) -> None:
    """Raise InputError for contigs that SAM's header does not have."""
    list(contigs.each(reference_lines))


def _nowhere(role: str, ordinal: int) -> tuple[str, int]:
    """Name no file: which one it was is not known to who exports a run."""
    return "SAM", ordinal + 1


def check_queries(batch: Any, where: Where) -> None:
    """Raise InputError for the first query of a batch whose name SAM does not have."""
    strange = pc.index(pc.match_substring_regex(batch["query_name"], QUERY_NAME), False).as_py()
    if strange >= 0:
        file, record = where("query", batch["ordinal"][strange].as_py())
        expected = "a query name of at most 254 printable ASCII letters other than @, and not * alone, as SAM wants them"
        raise InputError(file, expected, shown(batch["query_name"][strange].as_py()), "write .paf, .tsv or .parquet", record=record)


def check_targets(batch: Any, where: Where) -> None:
    """Raise InputError for the first target of a batch whose name SAM does not have."""
    strange = pc.index(pc.match_substring_regex(batch["target_name"], REFERENCE_NAME), False).as_py()
    if strange >= 0:
        raise _strange_target(*where("target", batch["ordinal"][strange].as_py()), batch["target_name"][strange].as_py())


def _strange_target(file: str, record: int | None, name: str) -> InputError:
    expected = "a target name of the letters SAM allows (section 1.2.1 of its specification)"
    return InputError(file, expected, shown(name), "write .paf, .tsv or .parquet", record=record)


def reference_lines(names: Any, lengths: Any) -> Any:
    """Make the @SQ lines of targets."""
    long = np.flatnonzero(lengths > LONGEST_TARGET)
    if len(long):
        found = f"{lengths[long[0]]} in {shown(names[int(long[0])].as_py())}"
        raise InputError("SAM header", f"targets of at most {LONGEST_TARGET} bases", found, "export .paf")
    strange = pc.index(pc.match_substring_regex(names, REFERENCE_NAME), False).as_py()
    if strange >= 0:
        raise _strange_target("SAM header", None, names[strange].as_py())
    return joined("@SQ\tSN:", names, "\tLN:", lengths, "\n")


def lines(batch: Any, request: Request[Rows]) -> Any:
    """Make a large_string column: the record of each row of a batch in `schema.ALIGNMENTS` with `schema.LETTERS`. InputError for what SAM cannot hold."""
    rows = prepared(batch, request)
    return two_kinds(rows, rows["placed"], lambda rows: _mapped(rows, request), lambda rows: _unmapped(rows, request))


def prepared(batch: Any, request: Request[Rows]) -> Any:
    """Add to rows what records have: `placed`, whether they have a place on the target; `flag`; `offset`, what is added to places on the target."""
    check_queries(batch, _nowhere)
    _check_qualities(batch, request.rows.source)
    placed = pc.fill_null(pc.less(batch["target_start"], batch["target_end"]), False)
    reverse = pc.fill_null(pc.and_(placed, pc.equal(batch["strand"], "-")), False)
    if pc.any(reverse).as_py():
        batch = turned(batch)
    more = {"placed": placed, "flag": pc.if_else(placed, pc.if_else(reverse, REVERSE, 0), UNMAPPED), "offset": pa.array(np.zeros(len(batch), np.int64))}
    columns = more | {name: batch[name] for name in batch.schema.names}
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


REVERSE, UNMAPPED = 16, 4
"""Flags of a record whose query is its reverse complement, and of one without a place."""


def _mapped(rows: Any, request: Request[Rows]) -> Any:
    text = rows["cigar"] if request.cigar == "=X" else merged_text(rows["cigar"])
    alphabet = request.rows.parameters.alphabet
    places, edits = differences(MD, rows, alphabet)
    changes = ("\tcs:Z:", differences(CS, rows, alphabet)[0]) if request.cs else ()
    return joined(
        *(rows["query_name"], "\t", rows["flag"], "\t", rows["target_name"], "\t", pc.add(pc.add(rows["target_start"], rows["offset"]), 1), "\t255\t"),
        *(clip(rows["query_start"]), text, clip(pc.subtract(rows["query_length"], rows["query_end"]))),
        *("\t*\t0\t0\t", *_letters(rows, alphabet), "\tNM:i:", edits, *_differing(places, alphabet), *changes, "\tAS:i:", alignment_score(rows)),
        *(_group_tag(request), status_tags(rows), "\n"),
    )


def _differing(places: Any, alphabet: str) -> tuple[Any, ...]:
    """Give the tag MD; none for a protein with a stop where the target's letter counts: SAM has no letter for it."""
    if alphabet == DNA or not pc.any(stops := pc.match_substring(places, "*")).as_py():
        return "\tMD:Z:", places
    return (pc.if_else(stops, empty(), joined("\tMD:Z:", places)),)


def _letters(rows: Any, alphabet: str) -> tuple[Any, ...]:
    """Give SEQ, a tab and QUAL; a protein with a stop, for which SAM has no letter, has neither."""
    bare = pc.equal(rows["query_length"], 0)
    if alphabet != DNA:
        bare = pc.or_(bare, pc.match_substring(rows["query"], "*"))
    if pc.any(bare).as_py():
        return pc.if_else(bare, _STAR, rows["query"]), "\t", pc.if_else(bare, _STAR, pc.fill_null(rows["query_quality"], _STAR))
    return rows["query"], "\t", "*" if rows["query_quality"].null_count == len(rows) else pc.fill_null(rows["query_quality"], _STAR)


_STAR = pa.scalar(b"*", pa.large_binary())


def _check_qualities(rows: Any, source: dict[str, Any]) -> None:
    """Raise InputError for a quality that SAM does not have."""
    letters, places = content_of(rows["query_quality"])
    letters, places = letters[places[0] : places[-1]], places - places[0]
    if len(letters) and (letters.min() < ord("!") or letters.max() > ord("~")):
        at = int(np.flatnonzero((letters < ord("!")) | (letters > ord("~")))[0])
        row = int(np.searchsorted(places, at, "right")) - 1
        record = rows["ordinal"][row].as_py() * (2 if source.get("interleaved") else 1)
        found = f"{chr(letters[at])!r} at position {at - int(places[row]) + 1} of the qualities of {shown(rows['query_name'][row].as_py())}"
        expected, file = "printable ASCII, ! to ~, as SAM has qualities", source.get("queries", "qualities")
        raise InputError(file, expected, found, "correct them, or write .paf, .tsv or .parquet", record=record + 1, line=4 * record + 4)


def _group_tag(request: Request[Rows]) -> str:
    """Name the read group, if there is one."""
    return f"\tRG:Z:{group_name(request.rg)}" if request.rg else ""


def read_group(text: str) -> str:
    """Read a read group as bwa's -R has it, `ID:x\\tSM:y` with or without `@RG\\t` before it: its fields with tabs between them. ValueError for others."""
    fields = text.replace("\\t", "\t").removeprefix("@RG\t").split("\t")
    if not all(re.fullmatch(r"[A-Za-z][A-Za-z0-9]:[ -~]+", field) for field in fields) or sum(field.startswith("ID:") for field in fields) != 1:
        raise ValueError(f"expected a read group as 'ID:x\\tSM:y', fields of two letters with one ID among them, not {shown(text)}")
    return "\t".join(fields)


def group_name(group: str) -> str:
    """Give the ID of a read group."""
    return next(field[3:] for field in group.split("\t") if field.startswith("ID:"))


def clip(letters: Any) -> Any:
    """Make `nS` where n > 0."""
    free = pc.greater(letters, 0)
    return pc.if_else(free, joined(letters, "S"), empty()) if pc.any(free).as_py() else ""


def _unmapped(rows: Any, request: Request[Rows]) -> Any:
    value = alignment_score(rows)
    score = pc.if_else(pc.is_valid(value), joined("\tAS:i:", value), empty())
    return joined(
        rows["query_name"], "\t4\t*\t0\t0\t*\t*\t0\t0\t", *_letters(rows, request.rows.parameters.alphabet), score, _group_tag(request), status_tags(rows), "\n"
    )


def program(request: Request[Rows], *files: str | None) -> bytes:
    """Make the @PG line: the files that were read, what was computed and what is written of it."""
    return f"@PG\tID:tidalign\tPN:tidalign\tVN:{version('tidalign')}\tCL:{command_line(request, *files)}\n".encode()


def command_line(request: Request[Rows], *files: str | None) -> str:
    """Write what was computed as a command: files by their names and everything that can change a record, and nothing else. So the same records have the same
    header, whatever their file is called, and whether the command wrote it or `tidalign export` did."""
    words = ["tidalign", request.rows.kind, *(PurePath(path).name for path in files if path), *request.rows.parameters.words()]
    words += ["--cigar", request.cigar] if request.cigar != table.OPTIONS["cigar"][0] else []
    words += [f"--{name}" for name in ("cs", "sort") if getattr(request, name)]
    words += ["--rg", request.rg.replace("\t", r"\t")] if request.rg else []
    words += ["--lift", *filter(None, [PurePath(request.lift).name])] if request.lift is not None else []
    return "".join(letter if letter.isprintable() else " " for letter in shlex.join(words))
