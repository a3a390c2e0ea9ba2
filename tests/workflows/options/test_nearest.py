"""A misspelt option or keyword is told the nearest that there is; a right one never is."""

from pathlib import Path

import numpy as np
import pytest

import tidalign
from tidalign.workflows.cli import main
from tidalign.workflows.options.nearest import named, nearest
from tidalign.workflows.progress import LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("pairs a.fq b.fa -o run --penaltis edit", "--penalties"),
        ("genome a.fa b.fa -o run --stepp=3", "--step"),
        ("search a.fa b.fa -o run --topp 3", "--top"),
        ("plot run -o x.svg --min-identiy 3", "--min-identity"),
        ("search a.fa b.fa -o run --lift", ""),
        ("search a.fa b.fa -o run --rg x", ""),
        ("export run -o x.sam --shceduler 3 --cigra M", ""),
    ],
)
def test_a_misspelt_option_is_told_its_nearest(words: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words.split())
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert (f"; did you mean {meant}?" in said) if meant else "did you mean" not in said
    assert all(len(line) <= LONGEST_MESSAGE for line in said.splitlines())


def test_nearest() -> None:
    assert nearest("penaltes", ["penalties", "ends_free"]) == "penalties" and nearest("zzz", ["penalties"]) == ""


def test_a_function_stays_what_it_was() -> None:
    @named
    def add(one: int, *, other: int = 2) -> int:
        """Add."""
        return one + other

    assert (add(1), add(one=1, other=3), add.__doc__, add.__name__) == (3, 4, "Add.", "add")
    with pytest.raises(TypeError, match=r"add\(\) has no argument 'othr'; did you mean 'other'\?"):
        add(1, othr=2)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="missing 1 required"):
        add()  # type: ignore[call-arg]


def test_options_of_files_are_exports(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"align_pairs\(\) has no argument 'sort'; it is for the file: .*, align_pairs\(\.\.\.\)\.export\(FILE, sort=\.\.\.\)"):
        tidalign.align_pairs("q.fa", "t.fa", out=tmp_path / "x.bam", sort=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"search_files\(\) has no argument 'cigar'; it is for the file"):
        tidalign.search_files("q.fa", "t.fa", out=tmp_path / "x.sam", cigar="M")  # type: ignore[call-arg]


def test_a_flag_is_true_or_false() -> None:
    @named
    def begun(*, new: bool = False, name: str = "") -> str:
        return f"{new} {name}"

    assert [begun(new=True, name="no"), begun(new=False), begun(new=np.True_)] == ["True no", "False ", "True "]  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="new: expected True or False, not 'no'"):
        begun(new="no")  # type: ignore[arg-type]
