"""LASTZ's options for `tidalign genome` and `tidalign genomes`: what they are called, what they take, and which of them are not to be had here."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from tidalign.pipeline.genome.defaults import genome_parameters
from tidalign.pipeline.genome.input.scores import SEED_NUMBERS, ScoreFile, read_scores
from tidalign.pipeline.genome.parameters import MODES, TRACEBACK_BYTES, GenomeParameters
from tidalign.workflows.options import values

_MEMORY = ("allocate", "alloc", "memory", "mem")

_YASRA = "write its options out: T=2 {} --ambiguous=n --noytrim"

REFUSED = {
    "--inner": "align the rest between alignments in a second run, over subranges",
    "--masking": "mask repeats as lower case in the target",
    "--self": "give the same file twice; --notrivial leaves the trivial alignment out",
    "--nomirror": "it goes with --self",
    "--mirror": "it goes with --self",
    "--infer": "give the scores: --scores=FILE",
    "--inferonly": "give the scores: --scores=FILE",
    "--infscores": "give the scores: --scores=FILE",
    "--twins": "leave it out: every seed hit stands alone",
    "--recoverseeds": "--mode independent uses exact diagonals",
    "--recoverhits": "--mode independent uses exact diagonals",
    "--rawhits": "keep the seed hits: --keep hits",
    "--nofilter": "leave it out, and the --filter that it takes back",
    "--exact": "use --hspthresh",
    "--mismatch": "use --hspthresh",
    "--ball": "it is for quantum DNA; give plain DNA",
    "--noxtrim": "LASTZ does not have it either",
    "--noxdroptrim": "LASTZ does not have it either",
    "--innerthresh": "LASTZ does not have it either",
    "--anyornone": "leave it out: all alignments are given",
    "--stopafterone": "leave it out: all alignments are given",
    "--stopafter": "--mode independent extends every anchor by itself",
    "--querydepth": "use --queryhsplimit=N",
    "--census": "count it from the results table",
    "--census16": "count it from the results table",
    "--census32": "count it from the results table",
    "--allgappedbounds": "leave it out",
    "--limitperquery": "--mode independent extends every anchor by itself",
    "--expand": "leave it out",
    "--seedqueue": "leave it out: seed hits need no queue",
    "--laj": "leave it out",
    "--word": "leave it out: the table of words needs no limit",
    "--tableonly": "leave it out",
    "--showtable": "leave it out",
    "--writecapsule": "leave it out: the run directory keeps what was read",
    "--targetcapsule": "give the target's file",
    "--include": "write the options on the command line",
    "--rdotplot": "use `tidalign plot`",
    "--rdotplot+score": "use `tidalign plot`",
    "--readgroup": "add it with samtools addreplacerg",
    "--writesegments": "keep the HSPs: --keep hsps",
    "--progress": "progress is shown by itself",
    "--progress+masking": "progress is shown by itself",
    "--verbosity": "leave it out",
    "--gexverbosity": "leave it out",
    "--runtime": "leave it out: the report of a run has its seconds",
    "--stats": "leave it out: the report of a run has its counts",
    "--notruncationreport": "leave it out: what is cut has its status",
    "--chores": "list the jobs for `tidalign genomes`",
    "--show": "leave it out: the report of a run has its parameters",
    "--version": "use `tidalign --version`",
    "--version:noerror": "use `tidalign --version`",
    **dict.fromkeys(("--all", "--short", "--shortcuts", "--blastz"), "use --help"),
    **{f"--outputmasking{way}": "leave it out" for way in ("", "+", ":dynamic", "+:dynamic", ":soft", "+:soft")},
    **{f"--action{side}": "write the action after the file's name: TARGET[action]" for side in (":target", "1")},
    **{f"--action{side}": "write the action after the file's name: QUERY[action]" for side in (":query", "2")},
    **{f"--{memory}:{side}": "leave it out: what a side needs is known" for memory in _MEMORY for side in ("target", "query")},
    "--yasra": "write its options out",
    "--yasra98": _YASRA.format("Z=20 --match=1,6 O=8 E=1 Y=20 K=22 L=30 --identity=98..100"),
    "--yasra95": _YASRA.format("Z=20 --match=1,5 O=8 E=1 Y=20 K=22 L=30 --identity=95..100"),
    "--yasra90": _YASRA.format("Z=20 --match=1,5 O=6 E=1 Y=20 K=22 L=30 --identity=90..100"),
    "--yasra85": _YASRA.format("--match=1,2 O=4 E=1 Y=20 K=22 L=30 --identity=85..100"),
    "--yasra75": _YASRA.format("--match=1,1 O=3 E=1 Y=20 K=22 L=30 --identity=75..100"),
    "--yasra95short": _YASRA.format("--match=1,7 O=6 E=1 Y=14 K=10 L=14 --identity=95..100"),
    "--yasra85short": _YASRA.format("--match=1,3 O=4 E=1 Y=14 K=11 L=14 --identity=85..100"),
}
"""Options that LASTZ has and this program has not: what to do instead."""

_OLDER = {
    "--trans": "--transition",
    "--notrans": "--notransition",
    "--score": "--scores",
    "--ambig": "--ambiguous",
    "--gfx": "--gfextend",
    "--nogfx": "--nogfextend",
    "--gx": "--gapped",
    "--nogx": "--nogapped",
    **dict.fromkeys(("--hspthreshold", "--mspthresh", "--mspthreshold"), "--hspthresh"),
    "--gappedthreshold": "--gappedthresh",
    "--noydroptrim": "--noytrim",
    "--anchors": "--segments",
    "--out": "--output",
    **{f"--{memory}:traceback": "--allocate:traceback" for memory in _MEMORY},
}
"""Older spellings of options, with a value or without."""

_ALONE = {
    "--transition": "--transition=1",
    "--transitions=2": "--transition=2",
    "--chain": "--chain=0,0",
    "--entropy=report": "--entropy",
    "--ambiguousn": "--ambiguous=n",
    **dict.fromkeys(("--unitscore", "--unitscores"), "--match=1"),
    **dict.fromkeys(("--both", "--bothstrands"), "--strand=both"),
    **dict.fromkeys(("--plus", "--plusstrand"), "--strand=plus"),
    **dict.fromkeys(("--minus", "--minusstrand"), "--strand=minus"),
}
"""Options without a value, which argparse would look for one after, and older spellings."""

_FLAGS = (
    *("axt", "axt+", "axt:size2", "cigar", "gfa", "gfanoscore", "lav", "lav+", "lav+text", "lavscore", "maf", "maf+", "maf-"),
    *("mafsegments", "mafsegments+", "mafsegments-", "sam", "sam-", "softsam", "softsam-", "text+lav", "waxt"),
)
"""Formats that are options of their own."""

_LONG = {
    "K": "--hspthresh",
    "L": "--gappedthresh",
    "X": "--xdrop",
    "Y": "--ydrop",
    "O": "--gap-open",
    "E": "--gap-extend",
    "Z": "--step",
    "Q": "--scores",
    "m": "--allocate:traceback",
}

_VALUES = {
    "W": "--seed=match{}",
    "U": "--match={}",
    "H": "--inner={}",
    "M": "--masking={}",
    "c": "--census={}",
    "v": "--verbosity={}",
    "G": "--chain=G={}",
    "R": "--chain=R={}",
    "--queryhsplimit+": "--queryhsplimit=keep,{}",
}
"""Shortcuts whose value is part of another's; G and R are refused by --chain, which takes both."""

_WHOLE = {
    "B=0": ["--strand=plus"],
    "B=2": ["--strand=both"],
    "B=-1": ["--strand=minus"],
    "C=0": ["--nochain", "--gapped"],
    "C=1": ["--chain=0,0", "--nogapped"],
    "C=2": ["--chain=0,0", "--gapped"],
    "C=3": ["--nochain", "--nogapped"],
    "P=0": ["--noentropy"],
    "P=1": ["--entropy"],
    "P=2": ["--entropy"],
    "T=0": ["--notransition"],
    **{f"T={digit}": [f"--seed={seed}", f"--transition={transitions}"] for digit, (seed, transitions) in SEED_NUMBERS.items()},
    **dict.fromkeys(("--justhits", "--hitsonly"), ["--nogfextend", "--nogapped"]),
    **dict.fromkeys(("H=0", "M=0", "c=0", "v=0", "--inner=0", "--masking=0", "--norecoverseeds", "--norecoverhits", "--notwins", "--nocensus"), []),
    **dict.fromkeys(("--nolaj", "--noruntime", "--nostats"), []),
}
"""Shortcuts of BLASTZ with their values, and options that stand for several; nothing where they ask for what is done anyway."""


def spell_out(arguments: Sequence[str]) -> list[str]:
    """Arguments with BLASTZ's shortcuts (K=2400 T=2) and LASTZ's options whose value may be left out as options that the parser knows.

    To be called on what follows `genome` or `genomes`, before the parser. Shortcuts for what is not to be had become the long option, which is refused.
    """
    out: list[str] = []
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if key in _OLDER:
            key = _OLDER[key]
            argument = key + equals + value
        if argument in _ALONE:
            out.append(_ALONE[argument])
        elif argument in _WHOLE:
            out += _WHOLE[argument]
        elif key in _LONG and equals:
            out.append(f"{_LONG[key]}={value}")
        elif key in _VALUES and equals:
            out.append(_VALUES[key].format(value))
        elif key == "--output" and equals:
            out += ["-o", value]
        elif argument.startswith("--") and argument[2:].lower() in _FLAGS:
            out.append(f"--format={argument[2:].lower()}")
        elif key == "--format" and equals:
            out.append(f"--format={values.lower_case(value)}")
        elif key == "--help":
            out.append(key)
        else:
            out.append(argument)
    return out


class _Refuse(argparse.Action):
    """An option that LASTZ has and this program has not."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.error(f"{self.option_strings[0]} is LASTZ's and not to be had here: {REFUSED[self.option_strings[0]]}")


class _Xdrop(argparse.Action):
    """--xdrop turns gap-free extension on again after --nogfextend, as LASTZ has it; before that it is refused."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, given: Any, *_: Any) -> None:
        namespace.xdrop, namespace.gfextend = given, True


class _Gap(argparse.Action):
    """--gap=O,E sets what --gap-open and --gap-extend do; of several, the last counts."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, given: Any, *_: Any) -> None:
        namespace.gap_open = namespace.gap_open if given[0] is None else given[0]
        namespace.gap_extend = given[1]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add LASTZ's options to a command's parser. Their values are as LASTZ has them: --step=20, --gap=400,30, --filter=identity:90."""
    group = parser.add_argument_group("seeds")
    group.add_argument("--seed", metavar="PATTERN", help="12of19 (default), 14of22, matchN, halfN or a pattern of 1, 0 and T")
    group.add_argument(
        "--transition", metavar="N", type=values.integer(0, 2), help="transitions a hit may have: 0, 1 (default; where the option has no value) or 2"
    )
    group.add_argument("--notransition", dest="transition", action="store_const", const=0, help="the same as --transition=0")
    group.add_argument("--step", metavar="N", type=values.integer(1), help="index every N-th target position (default: 1)")
    group.add_argument(
        "--maxwordcount", metavar="N", type=values.word_count, help="leave out words that occur more than N times, or the more frequent beyond N%% of them"
    )
    group.add_argument("--strand", metavar="S", type=values.strand, help="of the query: both (default), plus or minus")
    group.add_argument("--segments", metavar="FILE", help="align from these segments rather than from seeds")

    group = parser.add_argument_group("scores")
    group.add_argument("--scores", metavar="FILE", help="substitution scores, gap costs and thresholds (default: HOXD70)")
    group.add_argument("--match", metavar="R,P", type=values.match, help="score R for a match, -P for a mismatch (default: R) in place of a matrix")
    group.add_argument("--gap", metavar="O,E", type=values.gap, action=_Gap, help="a gap of n letters costs O+nE (default: 400,30)")
    group.add_argument("--gap-open", type=values.score(0), help=argparse.SUPPRESS)
    group.add_argument("--gap-extend", type=values.score(0), help=argparse.SUPPRESS)
    group.add_argument(
        "--ambiguous", metavar="LETTERS,R,P", type=values.ambiguous, help="n, or iupac for all such letters: they score R with themselves, -P with others (0,0)"
    )

    group = parser.add_argument_group("stages")
    xdrop = "gap-free extension ends this far below its best (default: 10 times the score of A with A)"
    group.add_argument("--xdrop", metavar="X", type=values.score(1), action=_Xdrop, help=xdrop)
    group.add_argument("--hspthresh", metavar="K", type=values.threshold, help="least score of an HSP (default: 3000)")
    group.add_argument("--entropy", action="store_true", default=None, help="scale scores of HSPs by their composition (default)")
    group.add_argument("--noentropy", dest="entropy", action="store_false", help=argparse.SUPPRESS)
    group.add_argument("--gfextend", action="store_true", default=True, help=argparse.SUPPRESS)
    group.add_argument("--nogfextend", dest="gfextend", action="store_false", help="every seed hit is an anchor, without gap-free extension")
    group.add_argument("--chain", metavar="D,A", type=values.chain, help="keep the best chain of HSPs")
    group.add_argument("--nochain", dest="chain", action="store_const", const=None, help=argparse.SUPPRESS)
    group.add_argument("--queryhspbest", metavar="N", type=values.integer(1), help="keep the N best HSPs of a query, and those that tie")
    group.add_argument("--queryhsplimit", metavar="N", type=values.hsp_limit, help="give up queries of more than N HSPs; keep,nowarn:N keeps those found")
    group.add_argument("--ydrop", metavar="Y", type=values.score(1), help="gapped extension ends this far below its best (default: O+300E)")
    group.add_argument(
        "--gappedthresh", metavar="L", type=values.threshold, help="least score of an alignment (default: as --hspthresh; 3000 with --nogfextend)"
    )
    group.add_argument("--gapped", action="store_true", default=True, help=argparse.SUPPRESS)
    group.add_argument("--nogapped", "--ungapped", dest="gapped", action="store_false", help="HSPs are the result")
    group.add_argument("--noytrim", dest="trim", action="store_false", help="extensions that reach the end of a sequence are not cut back to their best cell")
    memory = "memory of a traceback, after which LASTZ cuts an alignment (default: 80M)"
    group.add_argument(
        "--allocate:traceback", "--traceback", dest="traceback_bytes", metavar="BYTES", type=values.traceback_bytes, default=TRACEBACK_BYTES, help=memory
    )
    group.add_argument("--mode", choices=MODES, default="exact", help="exact (default): what LASTZ prints; independent: every anchor by itself, never cut")

    group = parser.add_argument_group("output")
    group.add_argument(
        "--filter", metavar="NAME:LOW..HIGH", type=values.alignment_filter, action="append", default=[], help=f"keep alignments by {', '.join(values.FILTERS)}"
    )
    for name in (*values.PERCENTAGES, "matchcount"):
        group.add_argument(f"--{name}", dest="filter", type=values.older_filter(name), action="append", help=argparse.SUPPRESS)
    group.add_argument("--notrivial", action="store_true", help="leave out the alignment of a sequence with itself")
    group.add_argument("--markend", action="store_true", help="end the output with a line that says so")
    for name in REFUSED:
        parser.add_argument(name, action=_Refuse, nargs="?", help=argparse.SUPPRESS)


def check(args: argparse.Namespace, error: Callable[[str], Any]) -> None:
    """Call error(message) for options that do not go together."""
    if args.segments is not None:
        for name in ("seed", "hspthresh", "xdrop", "chain", "queryhsplimit"):
            if getattr(args, name) is not None:
                error(f"--segments takes the place of seeds and HSPs: leave --{name} out")
        if args.queryhspbest is not None and args.mode == "exact":
            error("--queryhspbest of --segments: LASTZ takes those on strand - for some on + there; leave one of them out, or use --mode independent")
    try:
        _derive(args, ScoreFile() if args.scores is not None else None)
    except ValueError as problem:
        error(str(problem))


def parameters(args: argparse.Namespace) -> GenomeParameters:
    """The parameters that checked options ask for. Reads --scores: raises InputError, MissingInput."""
    return _derive(args, read_scores(args.scores) if args.scores is not None else None)


def _derive(args: argparse.Namespace, scores: ScoreFile | None) -> GenomeParameters:
    limit, keep = args.queryhsplimit or (None, False)
    return genome_parameters(
        scores=scores,
        match=args.match,
        gap_open=args.gap_open,
        gap_extend=args.gap_extend,
        ambiguous=args.ambiguous,
        xdrop=args.xdrop,
        ydrop=args.ydrop,
        hspthresh=args.hspthresh,
        gappedthresh=args.gappedthresh,
        seed=args.seed,
        transitions=args.transition,
        step=args.step,
        entropy=args.entropy,
        max_word_count=args.maxwordcount,
        strand=args.strand or "both",
        gfextend=args.gfextend,
        chain=args.chain,
        query_hsp_best=args.queryhspbest,
        query_hsp_limit=limit,
        query_hsp_keep=keep,
        gapped=args.gapped,
        trim=args.trim,
        traceback_bytes=args.traceback_bytes,
        mode=args.mode,
        filters=tuple({wanted[0]: wanted for wanted in args.filter if len(wanted) == 3}.values()),  # the last of a name counts
        seed_filter=next((wanted for wanted in reversed(args.filter) if len(wanted) == 2), None),
        notrivial=args.notrivial,
    )
