"""List the formats: what the rows of each kind of run can be written as, a line for each, and what files' names say of it.

Nothing heavy is imported to look at it: the functions that write are named here, and loaded when they are wanted. Messages, `--help`, the checks
before anything is aligned and `export` all read this table; a format is added by a line here and a module that holds its functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from os import PathLike
from pathlib import PurePath
from typing import Any

PAIRS, GENOME, SEARCH = "pairs", "genome", "search"
"""Kinds of run (pipeline/store/layout.py)."""

OPTIONS: dict[str, tuple[Any, ...]] = {
    "cigar": ("=X", "M"),
    "markend": (False, True),
    "cs": (False, True),
    "rg": (None,),
    "lift": (None,),
    "sort": (False, True),
}
"""Values of the options that formats may take, the default first; where it is alone, any text may be given. cigar: letters of matches; markend: the last line
says that it is the last; cs: the tag with the letters that differ; rg: the read group, as in bwa's -R; lift: places are
those of the contigs that targets are named after, with a .fai file or an empty text (pairs/formats/lift.py); sort: by coordinate, BAM with an index
(pairs/formats/coordinate.py)."""

GZIP = ".gz"
"""Behind the name or the ending of a format of lines: the same, compressed."""

END = "# lastz end-of-file\n"
"""What --markend writes last. Who reads LASTZ's output looks for these very words."""

MASKINGS = {"": (False, False), "+": (False, True), ":dynamic": (False, False), "+:dynamic": (False, True), ":soft": (True, False), "+:soft": (True, True)}
"""Lists of a target's masked letters, by what stands behind the option's name (`--outputmasking`): whether they are those of all small letters, not of those
that alignments cover; and whether sequences are named."""

BLANKS, TABS = " \t", "\t"


@dataclass(frozen=True, slots=True)
class Format:
    """Describe an output: what it is called, what it needs, and how rows become bytes.

    name: value of --format. kinds: kinds of run that have it. module: that of its functions, below `tidalign.pipeline`. suffix: ending of files that means it.
    lines: `(batch, request) -> large_string column`, the text of each row of a batch; threads make several batches at a time.
    write: `(request, sink) -> rows`, in place of `lines` and all else where the output is no text; it has the batches one after the other.
    header, above: `(request) -> bytes-likes`, what stands first, and what stands before the first row where there is one.
    per_row: how many lines a row gives; None: as many as it needs.
    bare: `name-` is the same without `header` and `above`, so that files can be joined. footer: the last line, with --markend.
    options: which of OPTIONS it takes. fields: columns that `name:FIELD,...` chooses, () for those of `name` alone; None: there is nothing to choose.
    banned: letters that no name may have. side: `(role, file, genome)`, raises InputError for names and lengths of a side that it cannot hold.
    names: `(batches, where)`, the same of pairs: batches have `NAMED`, `where(role, ordinal)` says the file and record of one.
    cigars: every row must have a CIGAR. placed: every row must have its places. letters: rows come with the letters of the input (`schema.LETTERS`): always,
    or where the option of that name is given. bgzf: what is written is compressed in blocks (bgzf.py).
    index: `(request, blocks, bytes) -> an index`, of a compressed format that --sort sorts, for a file beside it; what the header fills.
    """

    name: str
    kinds: tuple[str, ...]
    module: str
    suffix: str | None = None
    lines: str = "lines"
    write: str | None = None
    header: str | None = None
    above: str | None = None
    per_row: int | None = 1
    bare: bool = False
    footer: str = ""
    options: tuple[str, ...] = ()
    fields: tuple[str, ...] | None = None
    banned: str = ""
    side: str | None = None
    names: str | None = None
    cigars: bool = False
    placed: bool = False
    letters: bool | str = False
    bgzf: bool = False
    index: str | None = None

    def wants_letters(self, options: Mapping[str, Any]) -> bool:
        """Tell whether rows must come with letters, with these options of OPTIONS."""
        return bool(options.get(self.letters)) if isinstance(self.letters, str) else self.letters

    def load(self, function: str) -> Any:
        """Import one of its functions, by name."""
        return getattr(import_module(f"tidalign.pipeline.{self.module}"), function)


_pairs = partial(Format, kinds=(PAIRS,))
_search = partial(Format, kinds=(SEARCH,))
_aligned = partial(_pairs, header="header", options=("cigar", "cs", "rg", "lift", "sort"), names="check", cigars=True, placed=True, letters=True)
_genome = partial(Format, kinds=(GENOME,), footer=END, options=("markend",))

FORMATS: tuple[Format, ...] = (
    _pairs("paf", module="pairs.formats.paf", suffix="paf", options=("cigar", "cs", "lift"), placed=True, letters="cs"),
    _aligned("sam", module="pairs.formats.sam", suffix="sam"),
    _aligned("bam", module="pairs.formats.bam", suffix="bam", lines="records", per_row=None, bgzf=True, index="index"),
    _pairs("tsv", module="pairs.formats.tsv", suffix="tsv", header="header", options=("lift",)),
    _search("m8", module="search.formats.m8", suffix="m8", per_row=None, cigars=True, placed=True),
    _search("paf", module="pairs.formats.paf", suffix="paf", options=("cigar",), placed=True),
    _search("sam", module="search.formats.sam", suffix="sam", per_row=None, header="header", options=("cigar",), names="check", cigars=True, placed=True),
    _search("tsv", module="search.formats.tsv", suffix="tsv", header="header"),
    _genome("maf", module="genome.formats.maf", suffix="maf", header="header", bare=True, per_row=4, banned=BLANKS),
    _genome("maf+", module="genome.formats.maf", lines="commented_lines", header="commented_header", per_row=None, banned=BLANKS),
    _genome("axt", module="genome.formats.axt", suffix="axt", header="header", per_row=4, banned=BLANKS),
    _genome("axt+", module="genome.formats.axt", lines="commented_lines", header="commented_header", per_row=6, banned=BLANKS),
    _genome("paf", module="genome.formats.paf", suffix="paf", banned=TABS),
    _genome("paf:minimap2", module="genome.formats.paf", banned=TABS),
    _genome("paf:wfmash", module="genome.formats.paf", lines="exact_lines", banned=TABS),
    _genome("paf:tagged", module="genome.formats.paf", lines="tagged_lines", banned=TABS),
    _genome("psl", module="genome.formats.psl", suffix="psl", banned=BLANKS),
    _genome("sam", module="genome.formats.sam", suffix="sam", lines="hard_lines", header="header", above="targets", bare=True, banned=TABS, side="check"),
    _genome("softsam", module="genome.formats.sam", lines="soft_lines", header="header", above="targets", bare=True, banned=TABS, side="check_whole"),
    _genome("lav", module="genome.formats.lav", suffix="lav", write="write", per_row=None, banned='"'),
    _genome("lav+text", module="genome.formats.lav", write="write_with_text", per_row=None, banned='"'),
    _genome("text", module="genome.formats.text", write="write", per_row=None),
    _genome("zerotext", module="genome.formats.text", write="write_from_0", per_row=None),
    _genome("differences", module="genome.formats.difference", per_row=None, banned=TABS),
    _genome("differences-", module="genome.formats.difference", lines="bare_lines", per_row=None, banned=TABS),
    _genome("blastn", module="genome.formats.blastn", write="write", per_row=None, banned=TABS),
    _genome("blastn-", module="genome.formats.blastn", banned=TABS),
    _genome("chain", module="genome.formats.chain", suffix="chain", per_row=None, banned=BLANKS),
    _genome("cigar", module="genome.formats.exonerate", suffix="cigar", banned=BLANKS),
    _genome("segments", module="genome.formats.segments", suffix="segments", header="header", banned=TABS),
    _genome("general", module="genome.formats.general", suffix="tsv", header="header", bare=True, fields=(), banned=TABS, side="check"),
    _genome("mapping", module="genome.formats.general", lines="mapping_lines", header="mapping_header", bare=True, banned=TABS),
    _genome("rdotplot", module="genome.formats.rdotplot", write="write", per_row=None, banned=TABS),
    Format("parquet", (PAIRS, GENOME, SEARCH), "formats.parquet", suffix="parquet", write="write", per_row=None),
)

_OTHER_NAMES = {
    GENOME: {
        **{f"{name}{end}": f"differences{end}" for name in ("diff", "diffs", "difference") for end in ("", "-")},
        "text+lav": "lav+text",
        "ztext": "zerotext",
        "BLASTN": "blastn",
        "BLASTN-": "blastn-",
    }
}
"""LASTZ's other names of formats, by kind of run."""

_BAM = "write .sam and convert it: samtools view -b"
_NOWHERE = {
    ".cram": "write .sam and convert it: samtools view -C",
    ".bed": "write .sam or .paf and convert it",
    ".csv": "write .tsv or .parquet",
    **dict.fromkeys((".txt", ".tab", ".out", ".log"), "write .tsv, or say with --format what it is"),
    **dict.fromkeys((".arrow", ".feather", ".parq"), "write .parquet"),
    **dict.fromkeys((".json", ".xml"), "write .tsv or .parquet"),
    ".vcf": "write .bam with --sort, from which a caller of variants makes it",
    ".gz": "name what is compressed, one of lines: as in .sam.gz",
    **dict.fromkeys((".bz2", ".xz", ".zst", ".bgz"), "what is compressed ends in .gz: as in .sam.gz"),
    **dict.fromkeys((".fa", ".fasta", ".fq", ".fastq"), "no output is sequences alone: write .sam or .paf"),
    ".html": "`tidalign report` writes it from the run directory",
}
_OWN: dict[str, dict[str, str]] = {
    PAIRS: {},
    SEARCH: {".bam": _BAM, **dict.fromkeys((".blast", ".b6", ".m9", ".outfmt6"), "write .m8"), ".tidx": "`tidalign index` writes it"},
    GENOME: {
        ".bam": _BAM,
        **dict.fromkeys((".m8", ".blast"), "--format blastn- writes such a table"),
        ".tgx": "`tidalign genome-index` writes it",
        ".net": "write .chain, of which chainNet makes it",
        ".delta": "write .paf or .maf",
        ".coords": "write .tsv",
        ".gfa": "write .paf, of which seqwish makes it",
        **dict.fromkeys((".png", ".svg", ".pdf"), "draw it with `tidalign plot` from the run directory"),
    },
}

INSTEAD = {(GENOME, "cigar"): "format paf writes M, paf:wfmash writes = and X"}
"""What to do about options that no format of a kind of run takes."""


def formats(kind: str) -> list[Format]:
    """List the formats of a kind of run, in the order of the table."""
    return [format for format in FORMATS if kind in format.kinds]


def names(kind: str) -> list[str]:
    """List the values of --format for a kind of run."""
    return [name for format in formats(kind) for name in (format.name, *([f"{format.name}-"] if format.bare else []))]


def compressed(kind: str) -> list[str]:
    """List the endings of files that mean a format of a kind of run, compressed, without the first dot."""
    return [f"{format.suffix}{GZIP}" for format in formats(kind) if format.suffix and _compressed(format)]


def suffixes(*kinds: str) -> list[str]:
    """List the endings of files that mean a format, each once, without the dot."""
    return list(dict.fromkeys(format.suffix for kind in kinds for format in formats(kind) if format.suffix))


ELSEWHERE: Mapping[str, Mapping[str, str]] = {
    kind: {f".{each}": f"`tidalign {other}` writes it" for other in _OWN for each in suffixes(other) if each not in suffixes(kind)} | _NOWHERE | own
    for kind, own in _OWN.items()
}
"""Say what to do about endings of files that mean no format, by kind of run: first those that another kind has, which is named as its command."""


def ending(output: str) -> str:
    """Give the ending of a file that may mean a format, without its dot: `sam`, or `sam.gz`."""
    return "".join(PurePath(output).suffixes[-2 if output.lower().endswith(GZIP) else -1 :])[1:].lower()


def _compressed(format: Format | None) -> Format | None:
    """Make of a format the same, compressed; None for what is no text."""
    return None if format is None or format.write or format.bgzf else replace(format, name=format.name + GZIP, bgzf=True)


def by_suffix(kind: str, suffix: str) -> Format | None:
    """Find the format that an ending, without its dot, means; None where it means none."""
    if suffix.lower().endswith(GZIP):
        return _compressed(by_suffix(kind, suffix[: -len(GZIP)]))
    return next((format for format in formats(kind) if format.suffix and format.suffix == suffix.lower()), None)


def of_output(kind: str, output: str) -> Format | None:
    """Find the format that an output's ending means; None: it is a run directory. Raises ValueError for an ending that means something else."""
    found, suffix = by_suffix(kind, ending(output)), PurePath(output).suffix.lower()
    if found is None and suffix in ELSEWHERE[kind]:
        raise ValueError(f"{output}: cannot write {suffix}: {ELSEWHERE[kind][suffix]}")
    return found


def by_name(kind: str, text: str) -> Format | None:
    """Find the format of a name, or of an ending, with `-`, `:FIELD,...` or `.gz` after it where it takes them; None where there is none."""
    if text.endswith(GZIP):
        return _compressed(by_name(kind, text[: -len(GZIP)]))
    known = {format.name: format for format in formats(kind)}
    text = _OTHER_NAMES.get(kind, {}).get(text, text)
    name, colon, wanted = (text, "", "") if text in known else text.partition(":")
    bare = name.endswith("-") and name not in known
    found = known.get(name) or known.get(name.removesuffix("-")) or by_suffix(kind, name)
    if found is None or (bare and not found.bare) or (colon and found.fields is None):
        return None
    if bare:
        found = replace(found, name=f"{found.name}-", header=None, above=None)
    return replace(found, name=f"{found.name}:{wanted}", fields=tuple(wanted.split(","))) if wanted else found


def find(kind: str, text: str) -> Format:
    """Find the format of a name, as `by_name`. Raises ValueError for one that does not exist, or fields that it does not have."""
    found = by_name(kind, text)
    if found is None:
        raise ValueError(f"no format {text!r}: use one of {', '.join(names(kind) + compressed(kind))}")
    return replace(found, fields=tuple(found.load("fields")(found.fields))) if found.fields else found


def chosen(kind: str, name: str | None, output: str) -> Format:
    """Find the format of a name, where there is one, else of an output's ending. Raises ValueError as `find`, and for an ending that means another format than
    the name; not of genomes, where many formats have no ending of their own."""
    found, meant = find(kind, name or ending(output)), by_suffix(kind, ending(output))
    if kind != GENOME and meant and meant.name != found.name:
        raise ValueError(f"{output}: expected a name for format {found.name}, found one that means {meant.name}; leave the format out, or name another file")
    return found


def refused(kind: str, format: Format, options: Mapping[str, Any]) -> tuple[str, str] | None:
    """Find the first of some options that a format of a kind of run does not take, and say why; None if all can be taken."""
    for name, value in options.items():
        if name not in OPTIONS:
            return name, f"no option of a format; there are {', '.join(OPTIONS)}"
        values = OPTIONS[name]
        if len(values) > 1 and value not in values:
            return name, f"{value!r} is none of {', '.join(map(str, values))}"
        if len(values) == 1 and not isinstance(value, str | PathLike | None):
            return name, f"{value!r} is no text"
        if value != values[0] and name not in format.options:
            takers = [other.name for other in formats(kind) if name in other.options]
            return name, f"it is for {', '.join(takers)}, not for {format.name}" if takers else INSTEAD.get((kind, name), "other kinds of run have it")
    return None


def listed(endings: list[str]) -> str:
    """Spell endings as a sentence has them: `.a, .b or .c`."""
    dotted = [f".{ending}" for ending in endings]
    return " or ".join([", ".join(dotted[:-1]), dotted[-1]] if len(dotted) > 1 else dotted)
