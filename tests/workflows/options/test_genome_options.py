"""LASTZ's options: the values that LASTZ derives from them (tests/data/genomes/options.json), and that each is known (lastz_options.txt)."""

import argparse
import json
import re
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.formats import table
from tidalign.pipeline.genome.input.actions import _NOT_HERE
from tidalign.pipeline.genome.parameters import GenomeParameters, genome_parameters
from tidalign.workflows.options.genome import add_genome, check_genome, with_actions
from tidalign.workflows.options.given import check
from tidalign.workflows.options.given import parameters as given_parameters
from tidalign.workflows.options.keywords import read
from tidalign.workflows.options.lastz import REFUSED, UNHEEDED
from tidalign.workflows.options.spelling import spell_out

GOLDEN = Path(__file__).parents[2] / "data" / "genomes" / "options.json"
CASES = json.loads(GOLDEN.read_text())["cases"]
OPTIONS = "\n".join(GOLDEN.with_name("lastz_options.txt").read_text().splitlines()[1:]).split()


class Refused(Exception):
    """What the parser or `check` has to say."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = _Parser()
    add_genome(parser)
    args = parser.parse_args(spell_out(["t.fa", *arguments, "q.fa"]))
    assert (args.target, args.query) == ("t.fa", "q.fa")
    try:
        check(args.options)
    except ValueError as problem:
        raise Refused(str(problem)) from problem
    return args


def parameters(*arguments: str) -> GenomeParameters:
    return given_parameters(parsed(*arguments).options)


def _shown(made: GenomeParameters, names: dict[str, Any]) -> dict[str, Any]:
    values = {name: getattr(made if hasattr(made, name) else made.scoring, name) for name in names}
    return values | {"matrix": [list(row) for row in made.scoring.matrix]}


@pytest.mark.parametrize("case", CASES, ids=lambda case: " ".join(case["arguments"]) + repr(case["scores"][:12]))
def test_as_lastz_derives_them(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text(case["scores"])
    expected = case["values"]
    if expected is None:
        with pytest.raises(Exception) as found:
            parameters(*case["arguments"])
        assert type(found.value).__name__ in ("Refused", "InputError")
        return
    made = parameters(*case["arguments"])
    if "T=4" in case["scores"] and "--transition" in case["arguments"]:
        expected = expected | {"transitions": 1}  # LASTZ does not hear the command line there
    if not made.gfextend:
        expected = expected | {"hspthresh": made.hspthresh}  # of no use there; LASTZ shows 0
    assert _shown(made, expected) == expected


def test_nothing_given_is_the_default() -> None:
    assert parameters() == GenomeParameters()


@pytest.mark.parametrize("name", REFUSED)
def test_options_that_are_not_to_be_had(name: str) -> None:
    for spelled in (f"{name}=3", name):
        with pytest.raises(Refused, match=f"^{re.escape(name)} is LASTZ's and not supported: ."):
            parsed(spelled)


@pytest.mark.parametrize("argument", ["c=1", "c=2"])
def test_shortcuts_that_are_not_to_be_had(argument: str) -> None:
    with pytest.raises(Refused, match="LASTZ's and not supported"):
        parsed(argument)


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_lastz_is_known(option: str) -> None:
    """Those that end in a mark get a value, which may be wrong for them; what is said then names the option, or the format."""
    parser = _Parser(add_help=False)
    parser.add_argument("--help", action="store_true")
    add_genome(parser)
    parser.set_defaults(module="genome")
    spelled = spell_out([option + "3" * (option[-1] in "=:,.([")])
    try:
        args = parser.parse_args(["t.fa", *spelled, "q.fa", "-o", "some.maf"])
        assert (args.target, args.query) == ("t.fa", "q.fa")
        check_genome(args, parser.error)
    except Refused as refused:
        name, _, value = spelled[0].partition("=")
        assert (value.partition(":")[2] or value if name == "--format" else name.strip("-")) in str(refused)
        assert "unrecognized" not in str(refused)


@pytest.mark.parametrize("argument", [*UNHEEDED, *(f"{name}=10" for name in UNHEEDED), "v=0", "v=3"])
def test_what_changes_nothing_of_the_output_is_taken_in_silence(argument: str) -> None:
    assert parameters(argument) == GenomeParameters()
    if argument.startswith("--"):
        assert read({argument.removeprefix("--").partition("=")[0]: "10"}) == {}


def test_options_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "options").write_text("--step=3 --notransition\nK=4000\n\n")
    assert parameters(f"--include={tmp_path}/options") == parameters("--step=3", "--notransition", "K=4000")
    with pytest.raises(Refused, match="name a file of options that can be read"):
        parsed(f"--include={tmp_path}/none")


def test_actions_as_options() -> None:
    args = parsed("--action:target=multiple", "--action2=unmask", "--action1=1..20")
    assert with_actions(args, "t.fa[unmask]", "q.fa") == ("t.fa[unmask][multiple][1..20]", "q.fa[unmask]")
    args = parsed("--action1=[unmask]", "--action:query=[1..3000][unmask]", "--action:query=multiple")
    assert with_actions(args, "t.fa", "q.fa") == ("t.fa[unmask]", "q.fa[1..3000][unmask][multiple]")


YASRA = {
    "--yasra98": "T=2 Z=20 --match=1,6 O=8 E=1 Y=20 K=22 L=30 --identity=98..100 --ambiguous=n --noytrim",
    "--yasra95": "T=2 Z=20 --match=1,5 O=8 E=1 Y=20 K=22 L=30 --identity=95..100 --ambiguous=n --noytrim",
    "--yasra90": "T=2 Z=20 --match=1,5 O=6 E=1 Y=20 K=22 L=30 --identity=90..100 --ambiguous=n --noytrim",
    "--yasra85": "T=2 --match=1,2 O=4 E=1 Y=20 K=22 L=30 --identity=85..100 --ambiguous=n --noytrim",
    "--yasra75": "T=2 --match=1,1 O=3 E=1 Y=20 K=22 L=30 --identity=75..100 --ambiguous=n --noytrim",
    "--yasra95short": "T=2 --match=1,7 O=6 E=1 Y=14 K=10 L=14 --identity=95..100 --ambiguous=n --noytrim",
    "--yasra85short": "T=2 --match=1,3 O=4 E=1 Y=14 K=11 L=14 --identity=85..100 --ambiguous=n --noytrim",
}
"""As `lastz --help=yasra` (1.04.22) has them."""


@pytest.mark.parametrize("name", YASRA)
def test_options_in_one_word(name: str) -> None:
    expected = parameters(*YASRA[name].split())
    assert parameters(name) == expected != GenomeParameters()
    given = read({name.removeprefix("--"): True})
    check(given)
    assert genome_parameters(**{**given, "filters": tuple(given["filters"].values())}) == expected


@pytest.mark.parametrize("argument", ["H=0", "M=0", "c=0", "--inner=0", "--inner=-5", "--masking=0", "--norecoverseeds", "--gapped", "--gfextend", "--nochain"])
def test_what_is_done_anyway(argument: str) -> None:
    assert parameters(argument) == GenomeParameters()


SAME = {
    "T=1": "--seed=12of19",
    "T=2": "--notransition",
    "T=3": "--seed=14of22 --transition",
    "T=4": "--seed=14of22 --transition=0",
    "W=8": "--seed=match8",
    "U=2": "--match=2,2",
    "Z=20": "--step=20",
    "B=0": "--strand=plus",
    "B=-1": "--strand=minus",
    "P=0": "--noentropy",
    "C=1": "--chain --nogapped",
    "C=2": "--chain=0,0",
    "C=3": "--ungapped",
    "m=1G": "--allocate:traceback=1073741824",
    "--traceback=800.0M": "--allocate:traceback=838860800",
    "K=2400 L=3000 Y=9400": "--hspthresh=2400 --gappedthresh=3000 --ydrop=9400",  # make_lastz_chains
    "H=2k": "--inner=2000",
    "--preset five --step=3": "--queryhspbest=100000 --ambiguous=iupac,100,100 --step=3 --ydrop=4000 K=2400 L=2600",
    "--preset=lastz-chains": "Y=9400 H=2000 L=3000 K=2400 --traceback=800.0M",
    "O=600 E=50": "--gap=600,50",
    "--gap=1,2 O=600 E=50": "--gap=600,50",
    "--identity=90..95": "--filter=identity:90..95",
    "--coverage=50": "--filter=coverage:50..100",
    "--continuity=..95.5": "--filter=continuity:0%..95.5%",
    "--matchcount=20%": "--filter=nmatch:20%",
    "--identity=50 --identity=90": "--filter=identity:90",
    "--ambiguousn": "--ambiguous=n,0,0",
    "--ambiguous=iupac,5": "--ambiguous=iupac,0,5",
    "--strand=+": "--strand=plus",
    "--queryhsplimit=keep,nowarn:1500": "--queryhsplimit=keep:1500",
    "--queryhsplimit+=15": "--queryhsplimit=keep,nowarn:15",
    "--queryhsplimit+=nowarn:15": "--queryhsplimit=keep,nowarn:15",
    "--queryhsplimit=warn:15": "--queryhsplimit=15",
    "--hspthreshold=15": "--hspthresh=15",
    "--mspthreshold=15": "--hspthresh=15",
    "--gappedthreshold=15": "--gappedthresh=15",
    "--notrans": "--notransition",
    "--trans=2": "--transition=2",
    "--transitions=2": "--transition=2",
    "--plus": "--strand=plus",
    "--minusstrand": "--strand=minus",
    "--strand=reverse": "--strand=minus",
    "--strand=minus --both --plusstrand": "--strand=plus",
    "--unitscores": "--match=1",
    "--ambig=IUPAC,5": "--ambiguous=iupac,5",
    "--alloc:traceback=1G": "--allocate:traceback=1G",
    "--nogfx": "--nogfextend",
    "--nogx": "--nogapped",
    "--justhits": "--nogfextend --nogapped",
    "--noydroptrim": "--noytrim",
    "--filter=ngap:..5": "--filter=ngap:0..5",
    "--nogfextend --xdrop=500": "--xdrop=500",
    "--nogfextend X=500": "--xdrop=500",
    "--hspthresh=2000 --nogfextend X=500": "--hspthresh=2000 --xdrop=500",
    "--nogfextend --entropy --xdrop=500": "--xdrop=500",
    "--xdrop=500 --nogfextend --gfextend": "--xdrop=500",
    "--nogfextend --noentropy": "--noentropy --nogfextend",
}


@pytest.mark.parametrize("spelled", SAME)
def test_spellings(spelled: str) -> None:
    made = parameters(*spelled.split())
    assert made == parameters(*SAME[spelled].split())
    assert made != GenomeParameters() or spelled == "T=1"


@pytest.mark.parametrize("other", ["--hspthresh=2000", "K=2000", "--hspthresh=3000", "--entropy", "P=1", "--entropy=report"])
def test_hsps_are_not_for_nogfextend(other: str) -> None:
    """LASTZ: "--hspthresh requires --gfextend"."""
    name = "entropy" if "e" in other[:4].lower() or other[0] == "P" else "hspthresh"
    for given in (("--nogfextend", other), (other, "--nogfextend")):
        with pytest.raises(Refused, match=f"^nogfextend makes no HSPs, and {name} is for them"):
            parsed(*given)


@pytest.mark.parametrize("other", ["--xdrop=500", "X=500", "--nogfextend --xdrop=910"])
def test_nogfextend_does_not_take_xdrop_back(other: str) -> None:
    with pytest.raises(Refused, match="^nogfextend makes no HSPs, and xdrop is for them"):
        parsed(*other.split(), "--nogfextend")


def test_nogfextend_leaves_out_what_a_score_file_says_of_hsps(tmp_path: Path) -> None:
    """LASTZ prints the same with and without these lines."""
    matrix = "A C G T\n91 -114 -31 -123\n-114 100 -125 -31\n-31 -125 100 -114\n-123 -31 -114 91\n"
    (tmp_path / "s").write_text(f"X = 500\nK = 1500\n{matrix}")
    made = parameters("--nogfextend", f"--scores={tmp_path}/s")
    assert (made.gfextend, made.gappedthresh) == (False, 3000)
    assert parameters("--nogfextend", f"--scores={tmp_path}/s", "--xdrop=300") == parameters(f"--scores={tmp_path}/s", "X=300")


HOXD55 = ((91, -90, -25, -100), (-90, 100, -100, -25), (-25, -100, 100, -90), (-100, -25, -90, 91))
"""Score letters as UCSC does for distant species."""


def test_score_files_that_come_with_tidalign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def matrix(name: str | Path) -> Any:
        return tuple(tuple(row[:4]) for row in given_parameters(read({"scores": name})).scoring.matrix[:4])

    assert tuple(tuple(row[:4]) for row in parameters("Q=HoxD55.q").scoring.matrix[:4]) == matrix("HoxD55.q") == matrix(Path("HoxD55.q")) == HOXD55
    for other in ("folder/HoxD55.q", str(tmp_path / "HoxD55.q"), "hoxd55", "", "x" * 300):
        with pytest.raises(MissingInput, match="name a score file"):
            matrix(other)
    (tmp_path / "HoxD55.q").write_text("A C G T\n5 -4 -4 -4\n-4 5 -4 -4\n-4 -4 5 -4\n-4 -4 -4 5\n")
    assert matrix("HoxD55.q")[0] == (5, -4, -4, -4), "a file of the user's goes first"


FORMATS = {
    "--maf": "maf",
    "--MAF-": "maf-",
    "--axt+": "axt+",
    "--softsam": "softsam",
    "--CIGAR": "cigar",
    "--format=MAF": "maf",
    "--format=GEN-:score,name1": "general-:score,name1",
    "--format=PAF:WFMASH": "paf:wfmash",
    "--format=axt": "axt",
}


@pytest.mark.parametrize("spelled", FORMATS)
def test_spellings_of_formats(spelled: str) -> None:
    assert spell_out([spelled]) == [f"--format={FORMATS[spelled]}"]


def test_spellings_of_files() -> None:
    assert spell_out(["--out=some.maf"]) == ["-o", "some.maf"]
    assert parsed("--anchors=some").options["segments"] == "some"
    assert parsed("--score=some").options["scores"] == "some"


@pytest.mark.parametrize("argument", ["G=5", "R=0"])
def test_penalties_of_chains_come_together(argument: str) -> None:
    with pytest.raises(Refused, match=f"{argument}: write --chain=D,A"):
        parsed("C=2", argument)


def test_values() -> None:
    made = parameters("--filter=2,12", "--filter=nmatch:50", "--filter=ngap:0..5", "--maxwordcount=90.5%", "--queryhsplimit=keep,nowarn:9", "--notrivial")
    assert made.filters == (("nmatch", 50.0, float("inf")), ("ngap", 0.0, 5.0))
    assert (made.seed_filter, made.max_word_count, made.query_hsp_limit, made.query_hsp_keep, made.notrivial) == ((12, 2), "90.5%", 9, True, True)
    assert parameters("--filter=12").seed_filter == (12, None)
    assert GenomeParameters.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_cactus_command_lines() -> None:
    line = "--step=2 --ambiguous=iupac,100,100 --ydrop=3000 --notransition --hspthresh=3000 --gappedthresh=2400 --queryhspbest=100000"
    made = parameters(*line.split(), "--markend")
    assert (made.step, made.scoring.ambiguous, made.ydrop, made.transitions, made.query_hsp_best) == (2, ("iupac", 100, 100), 3000, 0, 100_000)
    mask = parsed("--ungapped", "--queryhsplimit=keep,nowarn:1500", "--markend")
    assert (mask.options["gapped"], mask.markend) == (False, True)


def test_output_is_minus_o() -> None:
    assert parsed("--output=some.maf").output == "some.maf"


WRONG = {
    "--transition=3": "argument --transition: expected a whole number from 0 to 2, found '3'",
    "--step=0": "argument --step: expected a whole number from 1 to 2147483647, found '0'",
    "--step=1.5": "argument --step: expected a whole number from 1 to 2147483647, found '1.5'",
    "--strand=up": "argument --strand: expected both, plus or minus, found 'up'",
    "--seed=1x1": "seed 1x1: expected 12of19, 14of22, matchN, halfN or a pattern of 1, 0 and T",
    "--seed=match40": "seed match40: a word has at most 15 letters; write a pattern of 1s for more",
    "--maxwordcount=0": "argument --maxwordcount: expected a number from 1 to 2147483647, or a percentage above 0% and below 100%, found '0'",
    "--maxwordcount=100%": "argument --maxwordcount: expected a number from 1 to 2147483647, or a percentage above 0% and below 100%, found '100%'",
    "--xdrop=0": "argument --xdrop: expected a score from 1 to 2147483647, found '0'",
    "--ydrop=-5": "argument --ydrop: expected a score from 1 to 2147483647, found '-5'",
    "--gap=-3,2": "argument --gap: expected a score from 0 to 2147483647, found '-3'",
    "--gap=400,": "argument --gap: expected a score, found ''",
    "--match=1,0": "argument --match: expected a score from 1 to 2147483647, found '0'",
    "--chain=1": "argument --chain: expected a score, found ''",
    "--queryhspbest=0": "argument --queryhspbest: expected a number of HSPs from 1 to 2147483647, found '0'",
    "--queryhsplimit=0": "argument --queryhsplimit: expected a number of HSPs from 1 to 2147483647, found '0'",
    "--ambiguous=x": "argument --ambiguous: expected n or iupac, then [REWARD,]PENALTY, found 'x'",
    "T=5": "unrecognized arguments: q.fa",  # it is taken for the query
    "--ambiguous=n,1,2,3": "argument --ambiguous: expected n or iupac, then [REWARD,]PENALTY, found 'n,1,2,3'",
    "--allocate:traceback=1234": "argument --allocate:traceback/--traceback: expected from 100K to 2147483647 bytes, as LASTZ takes them, found '1234'",
    "--traceback=2G": "argument --allocate:traceback/--traceback: expected from 100K to 2147483647 bytes, as LASTZ takes them, found '2G'",
    "--identity=90,95": "argument --identity: expected identity:LOW..HIGH in per cent, found 'identity:90,95'",
    "--identity=.": "argument --identity: expected identity:LOW..HIGH in per cent, found 'identity:.'",
    "--identity=95..90": "argument --identity: expected identity:LOW..HIGH in per cent, found 'identity:95..90'",
    "--filter=score:5": "argument --filter: expected one of identity, coverage, continuity, nmatch, nmismatch, ngap, cgap, found 'score:5'",
    "--filter=nmismatch:5": "argument --filter: expected nmismatch:0..MOST, up to 2147483647, found 'nmismatch:5'",
    "--filter=ngap:3..5": "argument --filter: expected ngap:0..MOST, up to 2147483647, found 'ngap:3..5'",
    "--filter=nmatch:50..60": "argument --filter: expected nmatch:LEAST or nmatch:LEAST%, up to 2147483647, found 'nmatch:50..60'",
    "--hspthresh=top101%": "argument --hspthresh: expected topP%, above 0% and up to 100%, found 'top101%'",
    "--nosuchoption": "unrecognized arguments: --nosuchoption",
    "--hspthresh=many": "argument --hspthresh: expected a score, found 'many'",
    "--filter=identity:": "argument --filter: expected identity:LOW..HIGH in per cent, found 'identity:'",
}


@pytest.mark.parametrize("argument", WRONG)
def test_wrong_values(argument: str) -> None:
    """LASTZ refuses all of these but --seed=1x1 and --hspthresh=top101%."""
    with pytest.raises(Refused) as refused:
        parsed(argument)
    assert str(refused.value) == WRONG[argument]


@pytest.mark.parametrize("other", ["--seed=14of22", "--hspthresh=5", "--xdrop=5", "--chain", "--queryhspbest=2", "--queryhsplimit=2"])
def test_segments_take_the_place_of_seeds(other: str) -> None:
    assert parsed("--segments=some").options["segments"] == "some"
    with pytest.raises(Refused, match=other.partition("=")[0]):
        parsed("--segments=some", other)


def test_the_best_segments_are_for_the_independent_mode() -> None:
    assert parsed("--segments=some", "--queryhspbest=2", "--mode=independent").options["query_hsp_best"] == 2


def _refused_in_docs() -> dict[str, list[str]]:
    """Read the rows of the table in docs/genomes.md: what is refused, by kind."""
    page = (Path(__file__).parents[3] / "docs" / "genomes.md").read_text()
    rows = re.findall(r"^\| ([^|]+) \| (`[^|]+`) \|$", page.partition("| refused | |")[2].partition("\n\n")[0], re.MULTILINE)
    return {kind: re.findall("`([^`]+)`", names) for kind, names in rows}


def test_what_needs_a_run_directory_says_so() -> None:
    """`tidalign-lastz` has none."""
    assert [way for way in REFUSED.values() if ("--keep" in way or "report" in way) and "`tidalign genome -o DIR" not in way] == []


def test_documents_list_what_is_refused() -> None:
    """Options, formats and actions that LASTZ has and this program has not, each once."""
    rows = _refused_in_docs()
    formats, actions = rows.pop("formats"), rows.pop("actions after a file's name")
    assert sorted(name for names in rows.values() for name in names) == sorted(REFUSED)
    assert sorted(actions) == sorted(f"[{action}]" for action in _NOT_HERE)
    lastz = {spell_out([option.lower().rstrip("(:")])[0].partition("=")[2] for option in OPTIONS if option.startswith("--format=")}
    assert sorted(formats) == sorted(name for name in lastz if not table.by_name(table.GENOME, name))
