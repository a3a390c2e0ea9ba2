"""Large plain FASTA is read in parts by threads and written as it is read: what lies in a folder of sides is what a plain parse finds, wherever parts end."""

import gzip
import json
import random
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest

from tidalign.kernels.letters.nucleotides import ALPHABET
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.genome.input import arrays, fasta
from tidalign.pipeline.genome.input.actions import LetterRules
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sides import load_side, read_sides

SIZES = [(150, 20), (333, 100), (4096, 4000)]
"""Bytes of a part, and how far back the begin of a line is looked for."""


@pytest.fixture(params=SIZES, ids=str)
def small_parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take small parts and blocks; and compiled loops for few letters."""
    part, look_back = request.param
    monkeypatch.setattr(fasta, "PART", part)
    monkeypatch.setattr(fasta, "_LOOK_BACK", look_back)
    monkeypatch.setattr(arrays, "_BLOCK", part - 3)
    for name in ("FEW_LETTERS", "_SHORT"):
        monkeypatch.setattr(fasta, name, 0)
    monkeypatch.setattr("tidalign.kernels.letters.nucleotides.FEW_LETTERS", part // 2)


Sequences = list[tuple[str, str]]


def sequences(choose: random.Random, count: int) -> Sequences:
    """Name so many sequences; some have no letters, some are long, and some headers are longer than a part."""
    lengths = [choose.choice((0, 1, 59, 60, 61, 500, 5000)) for _ in range(count)]
    lengths[0] = max(lengths[0], 5000)
    alphabet = "ACGT" * 9 + "acgtNnXx"
    return [(f"s{i} {'A>x ' * choose.choice((0, 1, 30, 300))}", "".join(choose.choices(alphabet, k=length))) for i, length in enumerate(lengths)]


def fasta_text(found: Sequences, width: int, end: str) -> str:
    lines = ([f">{header}", *(letters[i : i + width] for i in range(0, len(letters), width))] for header, letters in found)
    return "".join(line + end for each in lines for line in each)


def expected(found: Sequences, *, joined: bool) -> str:
    """Lay letters out as LASTZ does."""
    return found[0][1] if len(found) == 1 and not joined else "".join(f"\0{letters}" for _, letters in found)


FORMS: dict[str, tuple[str, Any]] = {
    "all": ("", lambda found: found),
    "multiple": ("[multiple]", lambda found: found),
    "separator": ("[separator=N]", lambda found: [(name, letters.replace("N", "\0")) for name, letters in found]),
    "separator of all": ("[separator=A]", lambda found: [(name, letters.replace("A", "\0")) for name, letters in found]),
    "unmask": ("[unmask]", lambda found: [(name, letters.upper()) for name, letters in found]),
    "subset": ("[subset=NAMES]", lambda found: [each for each in found if each[0].split()[0] in ("s0", "s3")]),
    "subrange": ("[5..]", lambda found: [(name, letters[4:]) for name, letters in found]),
    "first": ("[3..50]", lambda found: [(name, letters[2:50]) for name, letters in found]),
}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize(("width", "end"), [(60, "\n"), (61, "\r\n"), (100_000, "\n")])
def test_what_lies_in_the_folder(form: str, count: int, width: int, end: str, tmp_path: Path) -> None:
    choose = random.Random(f"{form} {count} {width}")
    actions, act = FORMS[form]
    found = sequences(choose, count)
    if "." in actions:  # which all must have
        found = [each for each in found if len(each[1]) != 1]
    (tmp_path / "names").write_text("s0\ns3\n" if count > 1 else "s0\n")
    actions = actions.replace("NAMES", str(tmp_path / "names"))
    written = {}
    for name, packed in (("plain.fa", lambda text: text), ("packed.fa", gzip.compress)):
        path, run = tmp_path / name, tmp_path / f"run {name}"
        path.write_bytes(packed(fasta_text(found, width, end).encode()))
        (run / "sides").mkdir(parents=True)
        spec = f"{path}{actions}"
        read_sides(str(run), 0, [("target", spec), ("query", spec)], None)
        folder = run / "sides" / "s0000"
        letters, codes, places, record = ((folder / each).read_bytes() for each in ("letters", "codes", "genome.json", "side.json"))
        assert letters.decode() == expected(act(found), joined="multiple" in actions or "separator" in actions)
        assert [*codes] == [ALPHABET.index(letter) for letter in letters]
        assert json.loads(record)["sums"] == {"letters": crc32(letters), "codes": crc32(codes)}
        genome, _ = load_side(str(run), "", 0)
        in_memory = read_genome(spec, role="target")
        assert np.array_equal(genome.letters, in_memory.letters) and genome.to_json() == in_memory.to_json()
        written[name] = letters, codes, json.loads(places)["genomes"]
    assert written["plain.fa"] == written["packed.fa"]


BAD = {
    "digit": ("AC1T", r"record 2, line 303: expected A, C, G, T, N and X, found '1'"),
    "header in a line": ("ACGT >b", r"record 2, line 303: .* found '>'"),
    "NUL": ("AC\0T", r"record 2, line 303: .* found '\\x00'"),
    "another letter": (">c\n>d\nARGT", r"record 4, line 305: .* found 'R'; .*--ambiguous=iupac"),
    "name": (">a\x07b\nACGT", r"record 3: expected a name of printable"),
    "long": (f">{'A' * ((1 << 20) + 1)}\nACGT", r"record 3, line 303: expected a header line of at most 1,048,576 bytes"),
}


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_what_is_wrong_is_said_as_of_a_stream(text: str, message: str, tmp_path: Path) -> None:
    lines = "ACGTTGCA\n" * 150
    whole = f">a\n{lines}>b\n{lines}{text}\n{lines}"
    for name, packed in (("a.fa", whole.encode()), ("a.fa.gz", gzip.compress(whole.encode()))):
        (tmp_path / name).write_bytes(packed)
        (tmp_path / "run" / "sides").mkdir(parents=True, exist_ok=True)
        with pytest.raises(InputError, match=message):
            read_sides(str(tmp_path / "run"), 0, [("query", str(tmp_path / name))], None)
        assert not [*(tmp_path / "run" / "sides").iterdir()]


@pytest.mark.usefixtures("small_parts")
def test_no_letters_or_no_header(tmp_path: Path) -> None:
    (tmp_path / "a.fa").write_text(">a\n" + "\n" * 20_000)
    with pytest.raises(MissingInput, match="no sequence with letters"):
        read_genome(str(tmp_path / "a.fa"), role="query")
    (tmp_path / "a.fa").write_text("\n" * 20_000 + ">a\nACGT\n")  # a file begins with any number of line ends
    assert read_genome(str(tmp_path / "a.fa"), role="query").letters.tobytes() == b"ACGT"
    with pytest.raises(InputError, match="line 1: expected a header line that begins with '>'"):
        [*fasta.records_of_file(_written(tmp_path, "\n" * 9 + "ACGT\n" * 9000 + ">a\nAC\n"), 45_015, LetterRules())]


def _written(folder: Path, text: str) -> str:
    path = folder / "b.fa"
    path.write_text(text)
    return str(path)


@pytest.mark.usefixtures("small_parts")
def test_one_header_is_told_from_several(tmp_path: Path) -> None:
    choose = random.Random(5)
    for _ in range(200):
        text = "".join(choose.choices((">a>", "\n", "ACGT" * 20, "\r\n>"), (1, 4, 9, 1), k=choose.randrange(1, 60)))
        headers = sum(line.startswith(">") for line in text.split("\n"))
        assert fasta.one_header(_written(tmp_path, text)) == (headers == 1), text


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is wrong in the thread that writes is told as of any other."""
    (tmp_path / "a.fa").write_text(">a\n" + "ACGT" * (fasta.PART // 2))
    (tmp_path / "run" / "sides").mkdir(parents=True)

    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(arrays, "crc32", full)
    with pytest.raises(Exception, match="no space left"):
        read_sides(str(tmp_path / "run"), 0, [("query", str(tmp_path / "a.fa"))], None)
    assert not [*(tmp_path / "run" / "sides").iterdir()]
