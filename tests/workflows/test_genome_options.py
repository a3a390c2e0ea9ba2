"""LASTZ's options: the values that LASTZ derives from them (tests/data/genomes/options.json), and those that are refused by name."""

import argparse
import json
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.workflows import genome_options
from tidalign.workflows.genome_options import REFUSED, add_options, check, spell_out

GOLDEN = Path(__file__).parents[1] / "data" / "genomes" / "options.json"
CASES = json.loads(GOLDEN.read_text())["cases"]


class Refused(Exception):
    """What the parser or `check` has to say."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def parsed(*arguments: str) -> argparse.Namespace:
    parser = _Parser()
    parser.add_argument("target")
    parser.add_argument("query")
    parser.add_argument("-o", dest="output")
    add_options(parser)
    args = parser.parse_args(spell_out(["t.fa", *arguments, "q.fa"]))
    assert (args.target, args.query) == ("t.fa", "q.fa")
    check(args, parser.error)
    return args


def parameters(*arguments: str) -> GenomeParameters:
    return genome_options.parameters(parsed(*arguments))


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
        with pytest.raises(Refused, match=f"^{name.replace('+', '.')} is LASTZ's and not to be had here: ."):
            parsed(spelled)


@pytest.mark.parametrize("argument", ["H=2000", "M=50", "c=1"])
def test_shortcuts_that_are_not_to_be_had(argument: str) -> None:
    with pytest.raises(Refused, match="LASTZ's and not to be had"):
        parsed(argument)


@pytest.mark.parametrize("argument", ["H=0", "M=0", "c=0", "v=0", "--inner=0", "--masking=0", "--norecoverseeds", "--gapped", "--gfextend", "--nochain"])
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
}


@pytest.mark.parametrize("spelled", SAME)
def test_spellings(spelled: str) -> None:
    made = parameters(*spelled.split())
    assert made == parameters(*SAME[spelled].split())
    assert made != GenomeParameters() or spelled == "T=1"


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
    assert (mask.gapped, mask.markend) == (False, True)


def test_output_is_minus_o() -> None:
    assert parsed("--output=some.maf").output == "some.maf"


WRONG = [
    *("--transition=3", "--step=0", "--step=1.5", "--strand=up", "--seed=1x1", "--seed=match40", "--maxwordcount=0", "--maxwordcount=100%", "--xdrop=0"),
    *("--ydrop=-5", "--gap=-3,2", "--gap=400,", "--match=1,0", "--chain=1", "--chain=1,2", "--queryhspbest=0", "--queryhsplimit=0", "--ambiguous=x", "T=5"),
    *("--ambiguous=n,1,2,3", "--allocate:traceback=1234", "--traceback=2G", "--identity=90,95", "--identity=.", "--identity=95..90", "--filter=score:5"),
    *("--filter=nmismatch:5", "--filter=ngap:3..5", "--filter=nmatch:50..60", "--hspthresh=top5%", "--nosuchoption", "--hspthresh=many", "--filter=identity:"),
]


@pytest.mark.parametrize("argument", WRONG)
def test_wrong_values(argument: str) -> None:
    """LASTZ refuses all of these but --seed=1x1, --chain=1,2 and --hspthresh=top5%."""
    with pytest.raises(Refused):
        parsed(argument)


@pytest.mark.parametrize("other", ["--seed=14of22", "--hspthresh=5", "--xdrop=5", "--chain", "--queryhspbest=2", "--queryhsplimit=2"])
def test_segments_take_the_place_of_seeds(other: str) -> None:
    assert parsed("--segments=some").segments == "some"
    with pytest.raises(Refused, match=other.partition("=")[0]):
        parsed("--segments=some", other)


def test_the_best_segments_are_for_the_independent_mode() -> None:
    assert parsed("--segments=some", "--queryhspbest=2", "--mode=independent").queryhspbest == 2
