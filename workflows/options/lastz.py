"""LASTZ's options: those of genome runs, each declared once, with our own that may change alignments too; and those that are not supported."""

from tidalign.pipeline.genome.parameters import MODES
from tidalign.workflows.options import filters, lastz_values
from tidalign.workflows.options.option import Given, Option
from tidalign.workflows.options.presets import PRESETS
from tidalign.workflows.options.values import integer, path, seconds, text

SEEDS, SCORES, STAGES, OUTPUT = "seeds", "scores", "stages", "output"
GUARDS = "guards against repeats (off by default; what they cut is in the report)"

_MOST_CELLS = 2**62


def _xdrop(given: Given, value: int) -> Given:
    """Set --xdrop and turn gap-free extension on again after --nogfextend, as LASTZ has it; before that it is refused."""
    return {**given, "xdrop": value, "gfextend": True}


def _matching(given: Given, value: tuple[int, int]) -> Given:
    """Set --exact or --mismatch, which turn gap-free extension on again after --nogfextend; LASTZ takes one of them, several times if that is --mismatch."""
    before = given.get("matching")
    if before and (before[0] == 0) != (value[0] == 0):
        raise ValueError("exact and mismatch exclude each other: leave one of them out")
    return {**given, "matching": value, "gfextend": True}


def _gap(given: Given, costs: tuple[int | None, int]) -> Given:
    """Set with --gap=O,E what --gap-open and --gap-extend set; of several, the last counts."""
    opening = {} if costs[0] is None else {"gap_open": costs[0]}
    return {**given, **opening, "gap_extend": costs[1]}


def _hsp_limit(given: Given, limit: tuple[int, bool]) -> Given:
    return {**given, "query_hsp_limit": limit[0], "query_hsp_keep": limit[1]}


def _self(given: Given, value: bool) -> Given:
    """Set --self, which leaves the trivial alignment out."""
    return {**given, "with_itself": value, **({"notrivial": True} if value else {})}


def _segments(given: Given) -> None:
    """Check that nothing is asked of the seeds and HSPs that --segments takes the place of."""
    excluded = {"self": "with_itself", "seed": "seed", "hspthresh": "hspthresh", "xdrop": "xdrop", "chain": "chain", "queryhsplimit": "query_hsp_limit"}
    for name, sets in excluded.items():
        if given.get(sets) is not None:
            raise ValueError(f"--segments takes the place of seeds and HSPs: leave --{name} out")
    if given.get("query_hsp_best") is not None and given.get("mode", "exact") == "exact":
        raise ValueError("--queryhspbest of --segments: LASTZ takes those on strand - for some on + there; leave one of them out, or use --mode independent")


OPTIONS = (
    Option("preset", SEEDS, f"options in one word (below): {', '.join(PRESETS)}", metavar="NAME", choices=PRESETS),
    Option(
        *("seed", SEEDS, "12of19 (default), 14of22, matchN, halfN or a pattern of 1, 0 and T"),
        metavar="PATTERN",
        read=text("a seed's name or pattern, as '14of22'", 64),
    ),
    Option(
        *("transition", SEEDS, "transitions a hit may have: 0, 1 (default; where the option has no value) or 2"),
        metavar="N",
        sets="transitions",
        read=integer(0, 2),
        alone="1",
        older=("trans",),
    ),
    Option("notransition", SEEDS, "the same as --transition=0", sets="transitions", on=0, older=("notrans",)),
    Option("step", SEEDS, "index every N-th target position (default: 1)", metavar="N", read=integer(1), short="Z"),
    Option(
        *("maxwordcount", SEEDS, "leave out words that occur more than N times, or the more frequent beyond N%% of them"),
        metavar="N",
        sets="max_word_count",
        read=lastz_values.word_count,
    ),
    Option(
        *("strand", SEEDS, "of the query: both (default), plus or minus"),
        metavar="S",
        read=lastz_values.strand,
        words={"both": "both", "bothstrands": "both", "plus": "plus", "plusstrand": "plus", "minus": "minus", "minusstrand": "minus"},
    ),
    Option("segments", SEEDS, "align from these segments rather than from seeds", metavar="FILE", read=path, older=("anchors",), check=_segments),
    Option(
        "self",
        SEEDS,
        "align TARGET with itself, in place of a QUERY: each pair of places, and its image",
        sets="with_itself",
        put=_self,
    ),
    Option("mirror", SEEDS, off=False),
    Option("nomirror", SEEDS, "without the mirror images of --self", sets="mirror", on=False, off=True),
    Option(
        *("scores", SCORES, "substitution scores, gap costs and thresholds (default: HOXD70); HoxD55.q and human_chimp.v2.q come with tidalign"),
        metavar="FILE",
        read=lastz_values.score_file,
        older=("score",),
        short="Q",
    ),
    Option(
        *("match", SCORES, "score R for a match, -P for a mismatch (default: R) in place of a matrix"),
        metavar="R,P",
        read=lastz_values.match,
        words={"unitscore": "1", "unitscores": "1"},
    ),
    Option("gap", SCORES, "a gap of n letters costs O+nE (default: 400,30)", metavar="O,E", read=lastz_values.gap, put=_gap),
    Option("gap-open", SCORES, sets="gap_open", read=lastz_values.score(0), short="O"),
    Option("gap-extend", SCORES, sets="gap_extend", read=lastz_values.score(0), short="E"),
    Option(
        *("ambiguous", SCORES, "n, or iupac for all such letters: they score R with themselves, -P with others (0,0)"),
        metavar="LETTERS,R,P",
        read=lastz_values.ambiguous,
        older=("ambig",),
        words={"ambiguousn": "n"},
    ),
    Option(
        *("xdrop", STAGES, "gap-free extension ends this far below its best (default: 10 times the score of A with A)"),
        metavar="X",
        read=lastz_values.score(1),
        short="X",
        put=_xdrop,
    ),
    Option(
        *("hspthresh", STAGES, "least score of an HSP (default: 3000)"),
        metavar="K",
        read=lastz_values.threshold,
        older=("hspthreshold", "mspthresh", "mspthreshold"),
        short="K",
    ),
    Option("exact", STAGES, "stretches of N equal letters in place of HSPs", metavar="N", sets="matching", read=lastz_values.exact, put=_matching),
    Option(
        *("mismatch", STAGES, "stretches of N letters with M mismatches at most in place of HSPs"),
        metavar="M,N",
        sets="matching",
        read=lastz_values.mismatch,
        put=_matching,
    ),
    Option("entropy", STAGES, "scale scores of HSPs by their composition (default)", off=False),
    Option("noentropy", STAGES, sets="entropy", on=False),
    Option("gfextend", STAGES, off=False, older=("gfx",)),
    Option("nogfextend", STAGES, "every seed hit is an anchor, without gap-free extension", sets="gfextend", on=False, older=("nogfx",)),
    Option("chain", STAGES, "keep the best chain of HSPs", metavar="D,A", read=lastz_values.chain, alone="0,0"),
    Option("nochain", STAGES, sets="chain", on=None),
    Option("queryhspbest", STAGES, "keep the N best HSPs of a query, and those that tie", metavar="N", sets="query_hsp_best", read=lastz_values.hsps),
    Option(
        *("queryhsplimit", STAGES, "give up queries of more than N HSPs; keep,nowarn:N keeps those found"),
        metavar="N",
        read=lastz_values.hsp_limit,
        put=_hsp_limit,
    ),
    Option(
        *("limitperquery", STAGES, "extend anchors as they are found, until a query has N alignments"),
        metavar="N",
        sets="per_query",
        read=integer(1),
        older=("stopafter",),
        words={"anyornone": "1", "stopafterone": "1"},
    ),
    Option(
        *("querydepth", STAGES, "give up strands whose alignments pair more than D times their letters; keep,nowarn:D keeps those until then"),
        metavar="D",
        sets="query_depth",
        read=lastz_values.depth,
    ),
    Option("allgappedbounds", STAGES, "alignments below --gappedthresh bound others, too", sets="all_bounds"),
    Option("ydrop", STAGES, "gapped extension ends this far below its best (default: O+300E)", metavar="Y", read=lastz_values.score(1), short="Y"),
    Option(
        *("gappedthresh", STAGES, "least score of an alignment (default: as --hspthresh; 3000 with --nogfextend)"),
        metavar="L",
        read=lastz_values.threshold,
        older=("gappedthreshold",),
        short="L",
    ),
    Option("inner", STAGES, "search again between alignments, by words of 7, for those of this score", metavar="H", read=lastz_values.inner, short="H"),
    Option("gapped", STAGES, off=False, older=("gx",)),
    Option("nogapped", STAGES, "HSPs are the result", sets="gapped", on=False, also=("ungapped",), older=("nogx",)),
    Option(
        *("noytrim", STAGES, "extensions that reach the end of a sequence are not cut back to their best cell"),
        sets="trim",
        on=False,
        older=("noydroptrim",),
    ),
    Option(
        *("allocate:traceback", STAGES, "memory of a traceback, after which LASTZ cuts an alignment (default: 80M)"),
        metavar="BYTES",
        sets="traceback_bytes",
        read=lastz_values.traceback_bytes,
        also=("traceback",),
        older=("alloc:traceback", "memory:traceback", "mem:traceback"),
        short="m",
    ),
    Option("mode", STAGES, "exact (default): what LASTZ prints; independent: every anchor by itself, never cut", choices=MODES),
    Option(
        *("filter", OUTPUT, f"keep alignments by {', '.join(filters.FILTERS)}"),
        metavar="NAME:LOW..HIGH",
        read=filters.alignment_filter,
        put=filters.with_filter,
        many=True,
    ),
    *(Option(name, OUTPUT, read=filters.older_filter(name), put=filters.with_filter) for name in (*filters.PERCENTAGES, "matchcount")),
    Option(
        *("masking", STAGES, "letters of the target that N alignments cover are masked for queries that follow"),
        metavar="N",
        read=lastz_values.masking,
        short="M",
    ),
    Option("notrivial", OUTPUT, "leave out the alignment of a sequence with itself"),
    Option("cells", GUARDS, "cells of gapped extension in a tile: a query sequence and strand, or 1,024 anchors", metavar="N", read=integer(1, _MOST_CELLS)),
    Option("seconds", GUARDS, "seconds of gapped extension that a tile may take; results then depend on the machine", metavar="S", read=seconds),
)

UNHEEDED = (
    *("--verbosity", "--gexverbosity", "--progress", "--progress+masking", "--runtime", "--notruncationreport"),
    *(f"--{memory}:{side}" for memory in ("allocate", "alloc", "memory", "mem") for side in ("target", "query")),
)
"""Options that change nothing of what LASTZ writes to its output: taken in silence."""

REFUSED = {
    "--infer": "give the scores: --scores=FILE",
    "--inferonly": "give the scores: --scores=FILE",
    "--infscores": "give the scores: --scores=FILE",
    "--twins": "leave it out: every seed hit stands alone",
    "--recoverseeds": "--mode independent uses exact diagonals",
    "--recoverhits": "--mode independent uses exact diagonals",
    "--rawhits": "keep the seed hits in a run directory: `tidalign genome -o DIR --keep hits`",
    "--nofilter": "leave it out, and the --filter that it takes back",
    "--ball": "it is for quantum DNA; give plain DNA",
    "--noxtrim": "LASTZ does not have it either",
    "--noxdroptrim": "LASTZ does not have it either",
    "--innerthresh": "LASTZ does not have it either",
    "--census": "count it from where alignments lie: --format=general:zstart1,end1",
    "--census16": "count it from where alignments lie: --format=general:zstart1,end1",
    "--census32": "count it from where alignments lie: --format=general:zstart1,end1",
    "--expand": "leave it out",
    "--seedqueue": "leave it out: seed hits need no queue",
    "--laj": "leave it out",
    "--word": "leave it out: the table of words needs no limit",
    "--tableonly": "leave it out",
    "--showtable": "leave it out",
    "--writecapsule": "`tidalign genome-index` keeps a target for many runs",
    "--targetcapsule": "give what `tidalign genome-index` wrote in the target's place",
    "--rdotplot+score": "use --rdotplot=FILE, or `tidalign plot`",
    "--readgroup": "add it with samtools addreplacerg",
    "--writesegments": "write the HSPs in a run of their own: --nogapped --format=segments",
    "--stats": "leave it out: report.json of a run directory (`tidalign genome -o DIR`) has counts",
    "--chores": "list the jobs for `tidalign genomes`",
    "--include": "name a file of options that can be read: --include=FILE",
    "--show": "leave it out: report.json of a run directory (`tidalign genome -o DIR`) has the parameters",
    "--version": "use `tidalign --version`",
    "--version:noerror": "use `tidalign --version`",
    **dict.fromkeys(("--all", "--short", "--shortcuts", "--blastz"), "use --help"),
    "--yasra": "say which: --yasra98, 95, 90, 85, 75, 95short or 85short",
}
"""Options that LASTZ has and this program has not: what to do instead."""


def refusal(spelled: str) -> str:
    """Write the message for an option of REFUSED, spelled with its hyphens or as a keyword of Python."""
    return f"{spelled} is LASTZ's and not supported: {REFUSED['--' + spelled.removeprefix('--')]}"
