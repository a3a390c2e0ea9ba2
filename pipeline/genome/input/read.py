"""Read one side of a genome run: FASTA, FASTQ or 2bit, with LASTZ's actions after the file's name."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tidalign.pipeline.errors import MOST_NAME, SHORT_NAME, SHORTEN, InputError, MissingInput, shown
from tidalign.pipeline.files.decompress import Damage
from tidalign.pipeline.files.sniff import sniff, text_pieces
from tidalign.pipeline.genome.input import fasta, fastq, twobit
from tidalign.pipeline.genome.input.actions import LetterRules, Specifier, shorten
from tidalign.pipeline.genome.input.fasta import Record
from tidalign.pipeline.genome.input.sequences import Genome, Positions

_UNNAMED = {"target": "seq1", "query": "seq2"}
"""What LASTZ calls sequences whose header has no name."""

_AT_ONCE = 4_000_000  # letters; what stays in a core's cache


def read_genome(spec: str, *, role: str, ambiguous: str | None = None) -> Genome:
    """Read the sequences of a file in one role: see `read_roles`."""
    (genome,) = read_roles(spec, (role,), ambiguous)
    return genome


def read_roles(spec: str, roles: Sequence[str], ambiguous: str | None = None) -> list[Genome]:
    """Read a file once, in each role: the sequences of `path[actions]` (actions.py), with one array of letters for all.

    The file is FASTA or FASTQ, plain, gzip or BGZF, or 2bit; `-` is standard input.
    roles: `target`, of which each has a name where there are several, and `query`. ambiguous: None, "n" or "iupac", see LetterRules.
    Takes a byte for each letter, of FASTQ two. A target of several sequences is read as with [multiple], which makes one query of several. The pieces that
    [separator=C] makes of a query are sequences of their own, at their places in the full ones. Records without letters are no sequences; those without a name
    are named as by LASTZ.

    Raises MissingInput (66) and InputError (65).
    """
    wanted = Specifier.parse(spec)
    if "target" in roles and wanted.path == "-":
        raise InputError("-", "a file for the target", "standard input", "give the target's path; the query may be -")
    rules = LetterRules(ambiguous=ambiguous, unmask=wanted.unmask, separator=wanted.separator)
    records, with_qualities = _records(wanted, rules)
    genome = _gather(records, wanted, spec, with_qualities=with_qualities)
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


def _records(wanted: Specifier, rules: LetterRules) -> tuple[Iterator[Record], bool]:
    """Read the records of a file, see fasta.records; and tell whether it has qualities."""
    if twobit.is_twobit(wanted.path):
        return twobit.records(wanted.path, rules, wanted.select), False
    if wanted.select is not None:
        raise InputError(
            wanted.path, "a 2bit file, of which one sequence can be asked for", "another", f"write {wanted.path}[subset=FILE], {wanted.select!r} in FILE"
        )
    source = sniff(wanted.path)
    if source.format not in ("fasta", "fastq"):
        raise InputError(wanted.path, "FASTA, FASTQ or 2bit", source.format, "convert it to FASTA")
    pieces = text_pieces(source)
    form = fastq if source.format == "fastq" else fasta
    return _blamed(form.records(pieces, rules, wanted.path), pieces, wanted.path), form is fastq


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


def _gather(records: Iterator[Record], wanted: Specifier, spec: str, *, with_qualities: bool) -> Genome:
    """Gather one array of all that is wanted of the records; beside it, of FASTQ, one of qualities."""
    subset = _names_of(wanted.subset) if wanted.subset else None
    left = Counter(subset)
    letters, qualities = bytearray(), bytearray()
    arrays = (letters, qualities) if with_qualities else (letters,)
    names: list[str] = []
    places: list[tuple[int, int, int, int, int]] = []
    empty: list[tuple[int, str]] = []
    record = start = 0
    keep = False

    def close() -> None:
        """End the sequence that begins at `start`."""
        full = len(letters) - start
        if not keep:
            for held in arrays:
                del held[max(0, start - 1) :]
            return
        if not full:
            empty.append((record - 1, name))
            return
        first, last = wanted.subrange or (1, None)
        last = full if last is None else last
        if max(first, last) > full:
            raise InputError(
                spec, f"a subrange within the {full} letters of {shown(name)}", f"{first}..{last}", "correct it, or choose sequences with [subset=FILE]"
            )
        if wanted.subrange:
            for held in arrays:
                held[start:] = held[start + first - 1 : start + last]
        names.append(name)
        places.append((start, last - first + 1, first - 1, full, record - 1))

    name = ""
    for header, piece, quality in records:
        if header is not None:
            close()
            record += 1
            name = _name(header, wanted, record)
            keep = subset is None or left[name] > 0
            left[name] -= keep
            for held in arrays:
                held += b"\0"
            start = len(letters)
        if keep:
            letters += piece
            qualities += quality
    close()
    if subset and (left := +left):
        raise InputError(wanted.path, f"all the sequences of {wanted.subset}", f"none named {shown(min(left))}", "correct the name")
    if not names:
        raise MissingInput(f"{spec}: no sequence with letters in it")
    starts, lengths, offsets, full_lengths, numbers = np.array(places, np.int64).T.copy()
    array, beside = np.frombuffer(letters, np.uint8), np.frombuffer(qualities, np.uint8)
    if len(names) + len(empty) == 1 and not wanted.multiple and wanted.separator is None:
        array, beside, starts = array[1:], beside[1:], starts - 1
    pieces = np.stack([starts, starts + lengths], axis=1) if wanted.separator is None else _pieces(array)
    return Genome(array, names, starts, lengths, offsets, full_lengths, numbers, pieces, empty, qualities=beside if with_qualities else None)


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
        raise InputError(wanted.path, "a name in UTF-8", repr(header[:40]), "convert it: iconv -f latin1 -t utf8", record=record) from None
    name = shorten(text, wanted.nameparse)
    if not name.removeprefix(">").strip():
        return ""
    if len(name.encode()) > MOST_NAME:
        raise InputError(wanted.path, SHORT_NAME, "a longer one", SHORTEN, record=record)
    if not name.isprintable():
        raise InputError(wanted.path, "a name of printable characters", shown(name), "remove the others", record=record)
    return name


def _names_of(path: str) -> list[str]:
    """Read the names in a file of [subset=]: the first word of each line; # begins a comment."""
    try:
        lines = Path(path).read_text().splitlines()
    except OSError as error:
        raise MissingInput(f"{path}: {error.strerror}") from error
    names = [line.split()[0] for line in lines if line.split() and not line.lstrip().startswith("#")]
    if not names:
        raise MissingInput(f"{path}: no names in it")
    return names


def _check_names(names: list[str], wanted: Specifier) -> None:
    if len(names) > 1 and "" in names:
        raise InputError(wanted.path, "a name for each target", f"none, sequence {names.index('') + 1}", "name every sequence: a word after >")
