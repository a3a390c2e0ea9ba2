"""Read one side of a genome run: FASTA, FASTQ or 2bit, with LASTZ's actions after the file's name."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.errors import MOST_NAME, SHORT_NAME, SHORTEN, InputError, MissingInput, shown
from tidalign.pipeline.files.decompress import Damage, changed
from tidalign.pipeline.files.sniff import sniff, text_pieces
from tidalign.pipeline.genome.input import fasta, fastq, twobit
from tidalign.pipeline.genome.input.actions import LetterRules, Specifier, shorten
from tidalign.pipeline.genome.input.arrays import Array, Files, InMemory
from tidalign.pipeline.genome.input.fasta import Record, Text
from tidalign.pipeline.genome.input.sequences import LETTERS, QUALITIES, Genome, Positions

_UNNAMED = {"target": "seq1", "query": "seq2"}
"""What LASTZ calls sequences whose header has no name."""

_TO_UTF8 = "convert it: iconv -f latin1 -t utf8"

_AT_ONCE = 4_000_000  # letters; what stays in a core's cache


def read_genome(spec: str, *, role: str, ambiguous: str | None = None) -> Genome:
    """Read the sequences of a file in one role: see `read_roles`."""
    (genome,) = read_roles(spec, (role,), ambiguous)
    return genome


def read_roles(spec: str, roles: Sequence[str], ambiguous: str | None = None, files: Files | None = None) -> list[Genome]:
    """Read a file once, in each role: the sequences of `path[actions]` (actions.py), with one array of letters for all.

    The file is FASTA or FASTQ, plain, gzip or BGZF, or 2bit; `-` is standard input.
    roles: `target`, of which each has a name where there are several, and `query`. ambiguous: None, "n" or "iupac", see LetterRules.
    files: where letters, codes and qualities are written. Of large plain FASTA they are as they are read, and the letters that are returned lie there; else
    reading takes a byte of memory for each letter, of FASTQ two.

    A target of several sequences is read as with [multiple], which makes one query of several. The pieces that
    [separator=C] makes of a query are sequences of their own, at their places in the full ones. Records without letters are no sequences; those without a name
    are named as by LASTZ.

    Raises MissingInput (66) and InputError (65).
    """
    wanted = Specifier.parse(spec)
    if "target" in roles and wanted.path == "-":
        raise InputError("-", "a file for the target", "standard input", "give the target's path; the query may be -")
    rules = LetterRules(ambiguous=ambiguous, unmask=wanted.unmask, separator=wanted.separator)
    records, form = _records(wanted, rules)
    names = (LETTERS, QUALITIES) if form == "fastq" else (LETTERS,)
    if files and form == "parts" and not wanted.subset:
        genome = _gather(records, wanted, spec, [files.begin(name) for name in names], one=fasta.one_header(wanted.path))
    else:
        genome = _gather(records, wanted, spec, [InMemory() for _ in names])
        if files:
            files.write_all(genome.mapped())
    return [_in_role(genome, role, wanted) for role in roles]


def _in_role(genome: Genome, role: str, wanted: Specifier) -> Genome:
    if role == "target":
        _check_names(genome.names, wanted)
    empty = [(number, name or _UNNAMED[role]) for number, name in genome.empty]
    genome = replace(genome, names=[name or _UNNAMED[role] for name in genome.names], empty=empty)
    if role == "target":
        return genome
    if wanted.separator is not None:
        return _apart(genome)
    return replace(genome, together=True, origins=genome.starts) if wanted.multiple else genome


def _records(wanted: Specifier, rules: LetterRules) -> tuple[Iterator[Record], str]:
    """Read the records of a file, see fasta.records; and tell its form: 2bit, fastq, fasta, or, of what is plain and large, parts."""
    if twobit.is_twobit(wanted.path):
        return twobit.records(wanted.path, rules, wanted.select), "2bit"
    if wanted.select is not None:
        raise InputError(
            wanted.path, "a 2bit file, of which one sequence can be asked for", "another", f"write {wanted.path}[subset=FILE], {wanted.select!r} in FILE"
        )
    source = sniff(wanted.path)
    if source.format not in ("fasta", "fastq"):
        raise InputError(wanted.path, "FASTA, FASTQ or 2bit", source.format, "convert it to FASTA")
    if source.format == "fasta" and source.compression == "none" and source.size > fasta.PART:
        return fasta.records_of_file(wanted.path, source.size, rules), "parts"
    pieces = text_pieces(source)
    form = fastq if source.format == "fastq" else fasta
    return _blamed(form.records(pieces, rules, wanted.path), pieces, wanted.path), source.format


def _blamed(records: Iterator[Record], pieces: Iterator[bytes], path: str) -> Iterator[Record]:
    """Give the records; where they are wrong because the data are damaged, which shows at the end of gzip data, say that rather than what it made of them."""
    try:
        yield from records
    except InputError:
        try:
            for _ in pieces:
                pass
        except Damage as damage:
            raise InputError(path, *damage.args) from damage
        raise


def _gather(records: Iterator[Record], wanted: Specifier, spec: str, arrays: Sequence[Array], *, one: bool | None = None) -> Genome:
    """Gather all that is wanted of the records in arrays: of letters, and of FASTQ of qualities. one: whether there is one record only; None: not known yet."""
    subset = _names_of(wanted.subset) if wanted.subset else None
    left = Counter(subset)
    first, last, clipped = wanted.subrange or (1, None, False)
    by_entry = subset is not None and twobit.is_twobit(wanted.path)
    joined = wanted.multiple or wanted.separator is not None
    names: list[str] = []
    places: list[tuple[int, int, int, int, int]] = []
    empty: list[tuple[int, str]] = []
    record = start = selected = uncounted = 0  # LASTZ counts what [subset=] leaves out of FASTA, not of FASTQ
    counts = [0, 0]
    keep = False

    def close() -> None:
        """End the sequence that begins at `start`."""
        full = counts[0]
        if not keep:
            return
        if not full:
            empty.append((record - 1 - uncounted, name))
            return
        stop = full if last is None else min(last, full) if clipped else last
        if max(first, stop) > full:
            raise InputError(
                spec, f"a subrange within the {full} letters of {shown(name)}", f"{first}..{stop}", "correct it, or choose sequences with [subset=FILE]"
            )
        names.append(name)
        places.append((start, stop - first + 1, first - 1, full, record - 1 - uncounted))

    def add(place: int, piece: Text | memoryview) -> None:
        """Add to an array what is wanted of a piece of the sequence."""
        before = counts[place]
        counts[place] += len(piece)
        if wanted.subrange:
            piece = piece[max(0, first - 1 - before) : None if last is None else max(0, last - before)]
        arrays[place].add(piece)

    name = ""
    for header, letters, quality in records:
        if header is not None:
            close()
            record += 1
            keep = twobit.is_selected(header, wanted.select) and not (wanted.select and selected)
            selected += keep
            name = _name(header, wanted, record) if keep else ""
            if keep and subset is not None:
                listed = header.decode() if by_entry else name.removeprefix(">").strip() if wanted.nameparse == "full" else name
                keep = left[listed] > 0
                left[listed] -= keep
            uncounted += not keep and len(arrays) > 1
            counts = [0, 0]
            if keep and (joined or not one):
                for array in arrays:
                    array.add(b"\0")
            start = len(arrays[0])
        if keep and letters:
            add(0, letters)
        if keep and quality:
            add(1, quality)
    close()
    if subset and (left := +left):
        raise InputError(wanted.path, f"all the sequences of {wanted.subset}", f"none named {shown(min(left))}", "correct the name")
    if not names:
        raise MissingInput(f"{spec}: no sequence with letters in it")
    starts, lengths, offsets, full_lengths, numbers = np.array(places, np.int64).T.copy()
    whole, *beside = (array.whole() for array in arrays)
    found_one = len(names) + len(empty) == 1
    if one is None and found_one and not joined:
        whole, beside, starts = whole[1:], [each[1:] for each in beside], starts - 1
    elif one is not None and one != found_one:
        raise changed(wanted.path)
    bounds = np.stack([starts, starts + lengths], axis=1) if wanted.separator is None else _pieces(whole)
    return Genome(whole, names, starts, lengths, offsets, full_lengths, numbers, bounds, empty, qualities=beside[0] if beside else None)


def _apart(genome: Genome) -> Genome:
    """Make the pieces of a side its sequences."""
    places, ends = genome.pieces.T.copy()
    of = genome.sequence_at(places)
    offsets = genome.offsets[of] + places - genome.starts[of]
    names, full_lengths, numbers = [genome.names[i] for i in of], genome.full_lengths[of], genome.numbers[of]
    sequences = names, places, ends - places, offsets, full_lengths, numbers
    origins = 1 + places - genome.starts[of]  # each record has a NUL before it
    return Genome(genome.letters, *sequences, genome.pieces, genome.empty, qualities=genome.qualities, origins=origins)


def _pieces(letters: npt.NDArray[np.uint8]) -> Positions:
    """Find the begins and ends of the runs between NULs, int64[m, 2]."""
    borders, inside = [], False
    for begin in range(0, len(letters), _AT_ONCE):
        flags = np.concatenate([[inside], letters[begin : begin + _AT_ONCE] != 0])
        borders.append(np.flatnonzero(flags[1:] != flags[:-1]) + begin)
        inside = flags[-1]
    return np.concatenate([*borders, [len(letters)] if inside else []]).astype(np.int64).reshape(-1, 2)


def _name(header: bytes, wanted: Specifier, record: int) -> str:
    try:
        text = header.decode()
    except UnicodeDecodeError:
        raise InputError(wanted.path, "a name in UTF-8", repr(header[:40]), _TO_UTF8, record=record) from None
    name = shorten(text, wanted.nameparse)
    if not name.strip():
        return ""
    if len(name.encode()) > MOST_NAME:
        raise InputError(wanted.path, SHORT_NAME, "a longer one", SHORTEN, record=record)
    if not name.isprintable():
        raise InputError(wanted.path, "a name of printable characters", shown(name), "remove the others", record=record)
    return name


def _names_of(path: str) -> list[str]:
    """Read the names in a file of [subset=]: the first word of each line; # begins a comment."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise MissingInput(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(path, "names in UTF-8", repr(error.object[error.start :][:40]), _TO_UTF8) from None
    names = [line.split()[0] for line in lines if line.split() and not line.lstrip().startswith("#")]
    if not names:
        raise MissingInput(f"{path}: no names in it")
    return names


def _check_names(names: list[str], wanted: Specifier) -> None:
    if len(names) > 1 and "" in names:
        raise InputError(wanted.path, "a name for each target", f"none, sequence {names.index('') + 1}", "name every sequence: a word after >")
