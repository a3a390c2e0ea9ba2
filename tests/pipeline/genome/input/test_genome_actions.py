"""File names with LASTZ's actions."""

from pathlib import Path

import pytest

from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.input.actions import Specifier

READ = {
    "t.fa": Specifier("t.fa"),
    "t.fa[multiple][nameparse=darkspace]": Specifier("t.fa", multiple=True, nameparse="darkspace"),  # Cactus
    "q.fa[multiple,unmask][nameparse=darkspace]": Specifier("q.fa", multiple=True, unmask=True, nameparse="darkspace"),
    "t.fa[multi][1,5000]": Specifier("t.fa", multiple=True, subrange=(1, 5000, False)),  # make_lastz_chains
    "t.fa[unmask,100,200,multi]": Specifier("t.fa", multiple=True, unmask=True, subrange=(100, 200, False)),
    "t.fa[..7]": Specifier("t.fa", subrange=(1, 7, False)),
    "t.fa[7..]": Specifier("t.fa", subrange=(7, None, False)),
    "t.fa[7#3]": Specifier("t.fa", subrange=(7, 9, True)),
    "d/t.fa[subset=d/names.txt]": Specifier("d/t.fa", subset="d/names.txt"),
    "t.fa[separator=$]": Specifier("t.fa", separator="$"),
    "-[unmask]": Specifier("-", unmask=True),
}


@pytest.mark.parametrize("text", READ)
def test_read(text: str) -> None:
    assert Specifier.parse(text) == READ[text]


REFUSED = {
    "t.fa[revcomp]": "--strand=minus",
    "t.fa[softmask=x]": "lower case",
    "t.fa[nickname=x]": "name the sequence",
    "t.fa[subsample=1/3]": "subset",
    "t.fa[foo]": "found .foo.; correct it",
    "t.fa[]": "found ..; correct it",
    "t.fa[multi,]": "found ..; correct it",
    "t.fa[unmask": "no closing bracket",
    "t.fa[separator=NN]": "one letter",
    "t.fa[separator=]": "one letter",
    "t.fa[nameparse=tag:x]": "nameparse=darkspace, alphanum, full",
    "t.fa[9..3]": "not before the first",
    "t.fa[0..3]": "counted from 1",
    "t.fa[3#0]": "not before the first",
    "t.fa[1..2][3..4]": "each action once",
    "t.fa[subset=a,subset=b]": "each action once",
    "t.fa[1..500%]": "correct it",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    with pytest.raises(InputError, match=REFUSED[text]):
        Specifier.parse(text)


def test_no_file() -> None:
    with pytest.raises(MissingInput):
        Specifier.parse("[multi]")


def test_brackets_in_the_name_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "t[1].fa"
    path.write_text("")
    assert Specifier.parse(str(path)) == Specifier(str(path))
    assert Specifier.parse(f"{path}[multi]") == Specifier(str(path), multiple=True)
