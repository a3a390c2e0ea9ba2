"""FASTQ of genomes: read as FASTA of the same letters, with its qualities, and refused in the words of pairs."""

import gzip
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tidalign.pipeline.errors import InputError
from tidalign.pipeline.files import sniff
from tidalign.pipeline.genome.input.actions import LetterRules
from tidalign.pipeline.genome.input.fastq import records
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome
from tidalign.pipeline.genome.input.sides import load_side, read_sides
from tidalign.pipeline.pairs.input.read import inspect, stream_blocks

BAD = Path(__file__).parents[3] / "data" / "bad"


def random_records(seed: int) -> list[tuple[str, str, str]]:
    """Names, letters and qualities, of any of theirs: qualities may begin with @ and +, and some records are empty."""
    rng = random.Random(seed)
    lengths = [rng.choice([0, 1, 5, 60, 300]) for _ in range(30)] + [700]
    qualities = [chr(33 + letter) for letter in range(94)]
    return [(f"r{i} of {seed}", "".join(rng.choices("ACGTNacgt", k=n)), "".join(rng.choices(qualities, k=n))) for i, n in enumerate(lengths)]


def fastq(made: list[tuple[str, str, str]], end: str = "\n", *, again: bool = False) -> bytes:
    return "".join(f"@{name}{end}{letters}{end}+{name if again else ''}{end}{quality}{end}" for name, letters, quality in made).encode()


def put(folder: Path, data: bytes, name: str = "q.fq") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def read(path: str, role: str = "query") -> Genome:
    return read_genome(path, role=role)


def qualities(genome: Genome) -> list[str]:
    found = [genome.qualities_of(i) for i in range(len(genome))]
    return [quality.tobytes().decode() for quality in found if quality is not None]


@pytest.mark.parametrize("actions", ["", "[multiple]", "[unmask]", "[nameparse=darkspace]", "[separator=N]", "[1..1]", "[subset=NAMES]"])
@pytest.mark.parametrize("role", ["query", "target"])
def test_is_fasta_with_qualities(role: str, actions: str, tmp_path: Path) -> None:
    made = [record for record in random_records(3) if record[1] or ".." not in actions]
    (tmp_path / "names").write_text("r4\nr2\n")
    actions = actions.replace("NAMES", f"{tmp_path}/names")
    fasta = put(tmp_path, "".join(f">{name}\n{letters}\n" for name, letters, _ in made).encode(), "q.fa")
    one, other = read(fasta + actions, role), read(put(tmp_path, fastq(made)) + actions, role)
    assert other.letters.tobytes() == one.letters.tobytes()
    assert (other.names, [name for _, name in other.empty], other.together) == (one.names, [name for _, name in one.empty], one.together)
    for name in ("starts", "lengths", "offsets", "full_lengths", "pieces"):
        assert np.array_equal(getattr(other, name), getattr(one, name)), name
    # LASTZ counts records of FASTA that [subset=] leaves out, of FASTQ not.
    kept = sorted([*one.numbers.tolist(), *(number for number, _ in one.empty)])
    numbers = {number: place for place, number in enumerate(kept)} if "subset" in actions else {number: number for number in kept}
    assert other.numbers.tolist() == [numbers[number] for number in one.numbers.tolist()]
    assert [number for number, _ in other.empty] == [numbers[number] for number, _ in one.empty]
    assert one.qualities is None and other.qualities is not None and len(other.qualities) == len(other.letters)
    whole = [made[number][2] for number in one.numbers]
    assert qualities(other) == [text[first : first + n] for text, first, n in zip(whole, other.offsets, other.lengths, strict=True)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_any_pieces(size: int, end: str) -> None:
    made = random_records(size)
    text = fastq(made, end, again=True)
    for whole in (text, text.removesuffix(end.encode())):  # the last line may lack its end
        found = list(records((whole[i : i + size] for i in range(0, len(whole), size)), LetterRules(), "f"))
        got: list[list[str]] = []
        for name, letters, quality in found:
            if name is not None:
                got.append([name.decode(), "", ""])
            got[-1][1] += letters.decode()
            got[-1][2] += quality.decode()
        assert [tuple(each) for each in got] == made
        assert max(len(letters) + len(quality) for _, letters, quality in found) <= size + 1


@pytest.mark.parametrize("packed", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_files_and_pipes(packed: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sniff, "READ_BYTES", 100)
    made = [record for record in random_records(1) if record[1]]
    path = put(tmp_path, packed(fastq(made)), "any.name")
    assert qualities(read(path)) == [quality for *_, quality in made]
    with Path(path).open("rb") as file:
        monkeypatch.setattr("sys.stdin", type("Piped", (), {"buffer": file}))
        assert qualities(read("-")) == [quality for *_, quality in made]


def test_a_side_keeps_them(tmp_path: Path) -> None:
    made = [record for record in random_records(5) if record[1]]
    others = [put(tmp_path, b">x\nACGT\n>y\nACCA\n", f"{name}.fa") for name in "ab"]  # in the same folder, before and behind
    read_sides(str(tmp_path), 0, [("target", others[0]), ("query", put(tmp_path, fastq(made))), ("query", others[1])], None)
    genomes = [load_side(str(tmp_path), "run", side)[0] for side in range(3)]
    assert [genome.qualities is None for genome in genomes] == [True, False, True] and genomes[1].to_json() == read(put(tmp_path, fastq(made))).to_json()
    assert qualities(genomes[1]) == [quality for *_, quality in made]
    assert qualities(load_side(str(tmp_path), "run", 1, 3)[0]) == [made[3][2]]
    at = Path(tmp_path, "sides", "s0000", "qualities")
    at.write_bytes(at.read_bytes().replace(made[0][2].encode(), b"!" * len(made[0][2])))
    with pytest.raises(Exception, match="qualities: damaged"):
        load_side(str(tmp_path), "run", 1)


SHORT = {
    "head": "@a\nAC\n+\nII\nb\nAC\n+\nII\n",
    "blank first": "\n@a\nAC\n+\n",
    "plus": "@a\nAC\nII\n+\n",
    "name": "@a\nAC\n+b\nII\n",
    "few": "@b\nA\n+\nI\n@a\nACG\n+\nII\n",
    "many": "@a\nACG\n+\nIIIII\n",
    "wrapped": "@a\nACG\nACG\n+\nIII\nIII\n@b\nA\n",
    "one line": "@b\nA\n+\nI\n@a\n",
    "three lines": "@a\nACGT\n+\n",
    "long head": f"@{'a ' * 600_000}\nA\n+\nI\n",
}


@pytest.mark.parametrize("text", SHORT.values(), ids=SHORT)
def test_bad_records_are_told_as_those_of_pairs(text: str, tmp_path: Path) -> None:
    path = put(tmp_path, text.encode())
    with pytest.raises(InputError) as ours:
        read(path)
    with pytest.raises(InputError) as theirs:
        list(stream_blocks(inspect(path, path)))
    assert (ours.value.record, str(ours.value).partition(": expected ")[2]) == (theirs.value.record, str(theirs.value).partition(": expected ")[2])
    assert ours.value.line == theirs.value.line or theirs.value.line == 1 + 4 * (theirs.value.record - 1)  # ours names the line itself


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("@a\nAC\n+\nII\n@b\nACRT\n+\nIIII\n", r"record 2, line 6: expected A, C, G, T, N and X, found 'R' at position 3; .*--ambiguous=iupac"),
        ("@a\nAU\n+\nII\n", r"line 2: .*found 'U' at position 2; RNA"),
        ("@a\nA C\n+\nIII\n", r"line 2: .*found ' ' at position 2"),
        ("@a\nACG\n+\nI I\n", r"record 1, line 4: expected qualities from '!' to '~', found ' ' at position 2"),
        ("@a\x07b\nACG\n+\nIII\n", r"record 1: expected a name of printable"),
    ],
)
def test_bad_letters(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read(put(tmp_path, text.encode()))


@pytest.mark.parametrize(("name", "words"), [("flip", "damaged data"), ("garbage", "after the gzip data"), ("trunc", "record 13212: .*truncated")])
def test_damaged_files(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(str(BAD / f"{name}.fq.gz"))
