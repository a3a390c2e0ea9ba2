"""LASTZ's options as keywords of Python mean what they mean on the command line, and are checked without one."""

import argparse
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

import tidalign
from tidalign.pipeline.errors import MissingInput
from tidalign.pipeline.genome.parameters import GenomeParameters
from tidalign.workflows.commands import genome
from tidalign.workflows.options import keywords
from tidalign.workflows.options.command_line import add_options
from tidalign.workflows.options.given import check, parameters
from tidalign.workflows.options.lastz import OPTIONS, STAGES
from tidalign.workflows.options.option import Given, Option
from tidalign.workflows.options.spelling import WHOLE, spell_out
from tidalign.workflows.options.values import integer

MATRIX = "A C G T\n91 -114 -31 -123\n-114 100 -125 -31\n-31 -125 100 -114\n-123 -31 -114 91\n"

VALUES: list[Any] = [
    *(0, 1, 2, 7, 20, 300, 200_000, -1, np.int64(20), 2.5, 90, 95.5, Path("s.txt")),
    *((400, 30), [400, 30], (1, 6), (0, 0), ("n",), ("n", 50), ("iupac", 50, 80), (1, 2, 3)),
]
TEXTS = [
    *(
        "",
        "0",
        "1",
        "2",
        "20",
        "9.4k",
        "-5",
        "200K",
        "2.5",
        "many",
        "top5%",
        "ucsc-medium",
        "lastz-chains",
        "12of19",
        "14of22",
        "match9",
        "half14",
        "11011001110101",
        "1x1",
        "plus",
        "-",
        "up",
    ),
    *("90%", "100%", "400,30", "30", "1,6", "1,0", "0,0", "1,2", "n", "IUPAC,5", "iupac,50,80", "x", "keep,nowarn:9", "warn:15", "exact", "independent"),
    *("identity:90", "nmatch:20%", "ngap:0..5", "2,12", "90..95", "..5", "s.txt", "1e-3", "inf"),
]


class Refused(Exception):
    """What the parser has to say."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Refused(message)


def parser_of(table: tuple[Option, ...]) -> argparse.ArgumentParser:
    parser = _Parser(allow_abbrev=False)
    add_options(parser, table)
    return parser


PARSER = parser_of(OPTIONS)


def by_command_line(*arguments: str, parser: argparse.ArgumentParser = PARSER, table: tuple[Option, ...] = OPTIONS) -> Given:
    given: Given = parser.parse_args(spell_out(arguments, table)).options
    return given


def meaning(given: Given) -> tuple[GenomeParameters, str | None]:
    check(given)
    return parameters(given), given.get("segments")


def text_of(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple | list) else str(value)


def spellings(option: Option) -> list[str]:
    return [option.name, *option.also, *option.older]


@pytest.fixture(autouse=True)
def scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a score file for every option that reads one."""
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text(MATRIX)


@pytest.mark.parametrize("option", [option for option in OPTIONS if not option.flag], ids=lambda option: option.name)
def test_every_value_means_what_its_text_does(option: Option) -> None:
    """What the command line takes as a text, Python takes too; what Python takes as a value, the command line takes as its text. Both say the same."""
    taken = 0
    for name in spellings(option):
        for value in [*TEXTS, *VALUES]:
            if option.many and isinstance(value, tuple | list):  # several values
                continue
            try:
                expected: Any = by_command_line(f"--{name}={text_of(value)}")
            except Refused as refused:
                expected = str(refused).partition(": ")[2]
            try:
                found = keywords.read({name.replace("-", "_"): value})
            except ValueError as error:
                said = str(error).removeprefix(f"{name.replace('-', '_')}: ")
                if isinstance(value, str) and not option.choices:  # argparse has its own words for these
                    assert said == expected
                assert isinstance(value, str) <= isinstance(expected, str)
                continue
            assert found == expected, (name, value)
            try:
                asked = meaning(expected)
            except (ValueError, MissingInput) as error:
                with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                    meaning(found)
                continue
            taken += 1
            assert meaning(found) == asked
    assert taken


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.flag], ids=lambda option: option.name)
def test_every_flag_means_the_same(option: Option) -> None:
    for name in spellings(option):
        assert meaning(keywords.read({name: True})) == meaning(by_command_line(f"--{name}"))
    opposite = option.name.removeprefix("no") if option.name.startswith("no") else f"no{option.name}"
    if option.off is not None:
        assert keywords.read({option.name: False}) == by_command_line(f"--{opposite}")
    else:
        assert keywords.read({option.name: False}) == {}


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.words or option.alone is not None], ids=lambda option: option.name)
def test_names_that_stand_for_a_value(option: Option) -> None:
    for word in (*option.words, *(spellings(option) if option.alone is not None else ())):
        assert keywords.read({word: True}) == by_command_line(f"--{word}") != {}
        assert keywords.read({word: False}) == {}


@pytest.mark.parametrize("spelled", [spelled for spelled in WHOLE if spelled.startswith("--")])
def test_names_that_stand_for_others(spelled: str) -> None:
    name, equals, value = spelled.removeprefix("--").partition("=")
    assert keywords.read({name: value if equals else True}) == by_command_line(spelled)


def test_what_is_not_given() -> None:
    assert keywords.read(dict.fromkeys([option.name for option in OPTIONS])) == {}


def test_several_filters() -> None:
    filters = ["identity:80", "12", "nmatch:100", "identity:90..95"]
    assert keywords.read({"filter": filters}) == keywords.read({"filter": tuple(filters)}) == by_command_line(*(f"--filter={one}" for one in filters))
    assert parameters(keywords.read({"filter": filters})).filters == (("identity", 90.0, 95.0), ("nmatch", 100.0, float("inf")))


def test_the_order_is_that_of_the_keywords() -> None:
    """As LASTZ takes --xdrop after --nogfextend, and not before it."""
    assert meaning(keywords.read({"nogfextend": True, "xdrop": 500})) == meaning(keywords.read({"xdrop": 500}))
    with pytest.raises(ValueError, match="^nogfextend makes no HSPs, and xdrop is for them"):
        meaning(keywords.read({"xdrop": 500, "nogfextend": True}))
    assert keywords.read({"gap": (1, 2), "gap_open": 600}) == {"gap_open": 600, "gap_extend": 2}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"step": 0}, "step: expected a whole number from 1 to 2147483647, found 0"),
    ({"step": 2.0}, "step: expected a whole number from 1 to 2147483647, found 2.0"),
    ({"step": True}, "step: expected a whole number from 1 to 2147483647, found True"),
    ({"step": [20]}, "step: expected a whole number from 1 to 2147483647, found [20]"),
    ({"transition": 3}, "transition: expected a whole number from 0 to 2, found 3"),
    ({"notransition": 1}, "notransition: expected True or False, found 1"),
    ({"plus": "yes"}, "plus: expected True or False, found 'yes'"),
    ({"seed": 14}, "seed: expected a seed's name or pattern, as '14of22', found 14"),
    ({"scores": 3}, "scores: expected the name of a file, found 3"),
    ({"strand": 1}, "strand: expected both, plus or minus, found 1"),
    ({"strand": ["plus"]}, "strand: expected both, plus or minus, found ['plus']"),
    ({"mode": "fast"}, "mode: expected exact or independent, found 'fast'"),
    ({"hspthresh": 2.5}, "hspthresh: expected a score, found 2.5"),
    ({"gap": (1, 2, 3)}, "gap: expected O,E or E, found (1, 2, 3)"),
    ({"gap": ()}, "gap: expected O,E or E, found ()"),
    ({"gap": (400, -1)}, "gap: expected a score from 0 to 2147483647, found -1"),
    ({"gap": (400, None)}, "gap: expected a score, found None"),
    ({"gap": {"open": 400}}, "gap: expected a score, found {'open': 400}"),
    ({"match": False}, "match: expected a score, found False"),
    ({"chain": 5}, "chain: expected D,A, found 5"),
    ({"ambiguous": (1, 2)}, "ambiguous: expected n or iupac, then [REWARD,]PENALTY, found (1, 2)"),
    ({"maxwordcount": 0.5}, "maxwordcount: expected a number from 1 to 2147483647, or a percentage above 0% and below 100%, found 0.5"),
    ({"queryhsplimit": (True, 3)}, "queryhsplimit: expected [keep,nowarn:]N, N from 1 to 2147483647, found (True, 3)"),
    ({"filter": ["identity:80", 3.5]}, "filter: expected one of identity, coverage, continuity, nmatch, nmismatch, ngap, cgap with its limits, or"),
    ({"identity": (90, 95)}, "identity: expected a number, or limits as a text, found (90, 95)"),
    ({"cells": 0}, "cells: expected a whole number from 1 to 4611686018427387904, found 0"),
    ({"seconds": "soon"}, "seconds: expected a number of seconds above 0, up to 2147483647, found 'soon'"),
    ({"traceback": 5}, "traceback: expected from 100K to 2147483647 bytes, as LASTZ takes them, found 5"),
    ({"hspthrsh": 3}, "hspthrsh: expected one of LASTZ's options, found a name that is none; did you mean hspthresh? `tidalign genome --help` lists them"),
    ({"worker": 3}, "worker: expected one of LASTZ's options, found a name that is none; did you mean workers? "),
    ({"nosuch": 3}, "nosuch: expected one of LASTZ's options, found a name that is none; `tidalign genome --help` lists them"),
    ({"twins": "2..9"}, "twins is LASTZ's and not supported: leave it out: every seed hit stands alone"),
    ({"format": "maf"}, "format: give it to the results: results.export(path, format=...)"),
    ({"markend": True}, "markend: give it to the results: results.export(path, markend=True)"),
    ({"segments": "s.txt", "seed": "14of22"}, "--segments takes the place of seeds and HSPs: leave --seed out"),
    ({"scores": Path("s.txt"), "match": 1}, "a score file and match scores exclude each other: leave one of them out"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=[" ".join(options) for options, _ in WRONG])
def test_wrong_keywords(options: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(said)}"):
        tidalign.align_genomes("t.fa", "q.fa", out="run", **options)
    assert not Path("run").exists()


def test_no_command_line_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    def parser(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("a parser of the command line")

    asked: list[tuple[Any, GenomeParameters]] = []
    monkeypatch.setattr(argparse.ArgumentParser, "__init__", parser)
    monkeypatch.setattr(genome, "align", lambda source, wanted, out, *_, **__: asked.append((source, wanted)))
    monkeypatch.setattr(genome.running, "show", lambda results: results)
    tidalign.align_genomes("t.fa", "q.fa", out="run", step=20, seed="14of22", notransition=True, gap=(600, 50), segments=None, scores=Path("s.txt"))
    ((source, wanted),) = asked
    assert source.segments is None
    expected = replace(GenomeParameters(), step=20, seed="1110101100110010101111", transitions=0, ydrop=15_600)
    assert replace(wanted, scoring=expected.scoring) == expected and (wanted.scoring.gap_open, wanted.scoring.gap_extend) == (600, 50)


def test_keywords_are_read_without_argparse() -> None:
    code = "import sys; from tidalign.workflows.options import given, keywords; print(keywords.read({'step': 20}), 'argparse' in sys.modules)"
    assert subprocess.run([sys.executable, "-P", "-c", code], check=True, capture_output=True, text=True).stdout == "{'step': 20} False\n"


def test_an_option_more() -> None:
    """It is declared once: a row of the table puts it in --help, on the command line and among the keywords."""
    more = Option(
        "wiggle", STAGES, "how far to wiggle", metavar="W", sets="xdrop", read=integer(3), older=("jiggle",), short="w", alone="5", words={"still": "3"}
    )
    table = (*OPTIONS, more)
    parser = parser_of(table)
    for arguments in (["--wiggle=7"], ["--jiggle=7"], ["w=7"]):
        assert by_command_line(*arguments, table=table, parser=parser) == {"xdrop": 7}
    assert keywords.read({"wiggle": 7}, table) == keywords.read({"jiggle": "7"}, table) == {"xdrop": 7}
    assert by_command_line("--wiggle", table=table, parser=parser) == keywords.read({"wiggle": True}, table) == {"xdrop": 5}
    assert by_command_line("--still", table=table, parser=parser) == keywords.read({"still": True}, table) == {"xdrop": 3}
    with pytest.raises(Refused, match="^argument --wiggle: expected a whole number from 3 to 2147483647, found '2'$"):
        by_command_line("--wiggle=2", table=table, parser=parser)
    with pytest.raises(ValueError, match="^wiggle: expected a whole number from 3 to 2147483647, found 2$"):
        keywords.read({"wiggle": 2}, table)
    with pytest.raises(ValueError, match="did you mean wiggle"):
        keywords.read({"wigle": 2}, table)
    assert re.search(r"--wiggle W +how far to wiggle", parser.format_help())
    with pytest.raises(ValueError, match="found a name that is none"):
        keywords.read({"wiggle": 7})
