"""One side of a genome run as it is read: equal to what LASTZ reads (tests/data/genomes/reading.json), and strict where it is not."""

import gzip
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from twobit_file import write as write_twobit

from tidalign.kernels.letters.nucleotides import encode
from tidalign.pipeline.errors import InputError, MissingInput
from tidalign.pipeline.files import decompress
from tidalign.pipeline.files.decompress import BGZF_END
from tidalign.pipeline.genome.input.read import read_genome
from tidalign.pipeline.genome.input.sequences import Genome

GOLDEN = Path(__file__).parents[3] / "data" / "genomes" / "reading.json"
CASES = json.loads(GOLDEN.read_text())["cases"]

PLAIN = ">a\nACGTACGT\nAC\n>b\nGGGTTT\n"


def make(folder: Path, text: str | bytes, name: str = "g.fa") -> str:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return str(path)


def target(path: str, **options: Any) -> Genome:
    return read_genome(path, role="target", **options)


def spelled(genome: Genome) -> list[str]:
    return [genome.letters[start : start + length].tobytes().decode() for start, length in zip(genome.starts, genome.lengths, strict=True)]


@pytest.mark.parametrize(
    ("header", "actions", "name"),
    [(">", "", "seq1"), (">", "[nameparse=full]", ">"), (">>", "", ">"), (">>", "[nameparse=darkspace]", ">"), (">>", "[nameparse=alphanum]", "seq1")],
)
def test_names_of_headers_without_letters(header: str, actions: str, name: str, tmp_path: Path) -> None:
    """Printed by LASTZ 1.04.22."""
    assert target(make(tmp_path, f"{header}\nACGT\n") + actions).names == [name]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['actions']} {next(iter(case['files'].values()))[:20]!r}")
def test_reads_what_lastz_reads(case: dict[str, Any], tmp_path: Path) -> None:
    first = next(iter(case["files"]))
    for name, text in case["files"].items():
        if name.endswith(".2bit"):
            write_twobit(tmp_path / name, [(name, letters) for name, letters in json.loads(text)])
        else:
            make(tmp_path, text, name)
    spec = f"{tmp_path / first}{case['actions'].replace('subset=', f'subset={tmp_path}/')}"
    if case["sequences"] is None:
        with pytest.raises((InputError, MissingInput)):
            target(spec, ambiguous="iupac")
        return
    genome = target(spec, ambiguous="iupac")
    columns = zip(genome.names, genome.full_lengths.tolist(), genome.offsets.tolist(), spelled(genome), strict=True)
    if "separator" not in case["actions"]:
        assert [list(row) for row in columns] == case["sequences"]
        return
    # LASTZ shows the pieces in which it found alignments: each lies in one of ours.
    pieces = {(name, size, offset + found.start(), found[0]) for name, size, offset, letters in columns for found in re.finditer(r"[^\0]+", letters)}
    assert case["sequences"]
    assert {tuple(row) for row in case["sequences"]} <= pieces


def test_layout_is_that_of_lastz(tmp_path: Path) -> None:
    """Where the first sequence begins was found out with --step, which counts from there."""
    path = make(tmp_path, PLAIN)
    several = target(path)
    assert several.letters.tobytes() == b"\0ACGTACGTAC\0GGGTTT"
    assert several.starts.tolist() == [1, 12]
    assert several.bounds().tolist() == [[1, 11], [12, 18]]
    assert np.array_equal(several.codes(1), encode(b"GGGTTT"))
    assert several.sequence_at(np.array([1, 10, 12, 17])).tolist() == [0, 0, 1, 1]
    alone = make(tmp_path, ">a\nACGNNACNGT\n", "one.fa")
    assert target(alone).letters.tobytes() == b"ACGNNACNGT"
    assert target(f"{alone}[multi]").letters.tobytes() == b"\0ACGNNACNGT"
    pieces = target(f"{alone}[separator=N][2..9]")
    assert pieces.letters.tobytes() == b"\0CG\0\0AC\0G"
    assert pieces.bounds().tolist() == [[1, 3], [5, 7], [8, 9]]
    assert pieces.bounds(0).tolist() == [[0, 2], [4, 6], [7, 8]]
    assert (pieces.offsets.tolist(), pieces.full_lengths.tolist()) == ([1], [10])


def test_pieces_over_the_borders_of_what_is_looked_at_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(3)
    letters = "".join(choose.choice("ACGT" * 3 + "N") * choose.randrange(1, 9) for _ in range(200))
    path = make(tmp_path, f">a\n{letters}\n>b\nNN\n>c\n{letters}\n")
    expected = [found.span() for found in re.finditer("[^N]+", f"N{letters}NNNN{letters}")]
    for size in (1, 2, 3, 7, 10_000):
        monkeypatch.setattr("tidalign.pipeline.genome.input.read._AT_ONCE", size)
        genome = target(f"{path}[separator=N]")
        assert genome.bounds().tolist() == [list(span) for span in expected]
        assert genome.bounds(1).tolist() == []


def test_saved_and_loaded(tmp_path: Path) -> None:
    genome = target(f"{make(tmp_path, PLAIN + '>none' + chr(10))}[separator=T,2..5]")
    loaded = Genome.from_json(json.loads(json.dumps(genome.to_json())), genome.letters)
    for name in ("letters", "starts", "lengths", "offsets", "full_lengths", "numbers", "pieces"):
        assert np.array_equal(getattr(loaded, name), getattr(genome, name)), name
    assert (loaded.names, loaded.empty) == (["a", "b"], [(2, "none")])


def _bgzf(text: bytes) -> bytes:
    """Write blocks of BGZF: gzip members with their sizes in an extra field."""
    out = b""
    for start in range(0, len(text), 5000):
        body = gzip.compress(text[start : start + 5000])[10:]
        size = 18 + len(body)
        out += bytes.fromhex("1f8b08040000000000ff060042430200") + (size - 1).to_bytes(2, "little") + body
    return out + BGZF_END


@pytest.mark.parametrize("packed", [lambda text: text, gzip.compress, _bgzf], ids=["plain", "gzip", "bgzf"])
@pytest.mark.parametrize("size", [7, 64, 65_536])
def test_pieces_of_any_size(packed: Any, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Headers and line ends that are cut anywhere."""
    choose = random.Random(size)
    expected, text = [], ""
    for number in range(40):
        letters = "".join(choose.choices("ACGTacgtNX", k=choose.choice((0, 1, 60, 61, 500))))
        end = choose.choice(("\n", "\r\n"))
        lines = [letters[i : i + 60] for i in range(0, len(letters), 60)]
        text += end.join([f">s{number} {'x' * choose.randrange(90)}", *lines]) + end
        if letters:
            expected.append((f"s{number}", letters))
    path = make(tmp_path, packed(text.encode()))
    if packed is not _bgzf:  # whose headers must come whole
        monkeypatch.setattr(decompress, "READ_BYTES", size)
        monkeypatch.setattr("tidalign.pipeline.files.sniff.READ_BYTES", size)
    genome = target(path)
    assert list(zip(genome.names, spelled(genome), strict=True)) == expected
    assert len(genome.empty) == 40 - len(expected)


BAD = {
    "digit": (">a\nACGT\nAC1T\n", r"record 1, line 3: expected A, C, G, T, N and X, found '1'"),
    "iupac": (">a\nACGT\n>b\nARGT\n", r"record 2, line 4: .* found 'R'; .*--ambiguous=iupac"),
    "RNA": (">a\nACGU\n", r"found 'U'; RNA"),
    "gap": (">a\nAC-T\n", r"found '-'; remove the gaps"),
    "header in a line": (">a\nACGT >b\nAC\n", r"line 2: .* found '>'"),
    "NUL": (">a\nAC\0T\n", r"found '\\x00'"),
    "no name": (">a\nACGT\n> \nAC\n", r"expected a name for each target, found none, sequence 2; name every sequence"),
    "control": (">a\x07b\nACGT\n", r"record 1: expected a name of printable"),
    "latin": (">caf\xe9\nACGT\n".encode("latin-1"), r"record 1: expected a name in UTF-8"),
    "no header": ("ACGT\n", r"header"),
    "BOM": ("\ufeff>a\nACGT\n", r"BOM"),
    "CR": (">a\rACGT\r", r"CR alone"),
    "seq": (">ACGT\n<ACGT\n", r"expected FASTA, FASTQ or 2bit, found seq"),
    "cut gzip": (gzip.compress(b">a\n" + b"ACGTTGCA" * 40_000)[:-9], r"record 1: .*truncated"),
    "cut bgzf": (_bgzf(b">a\nACGT\n")[: -len(BGZF_END)], r"empty block"),
}


@pytest.mark.parametrize("text, message", BAD.values(), ids=BAD)
def test_bad_files(text: str | bytes, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        target(make(tmp_path, text))


@pytest.mark.parametrize("written", [">{}\n{}\n", "@{}\n{}\n+\n{}\n"], ids=["FASTA", "FASTQ"])
def test_proteins_and_codes_of_bases_are_told_apart(written: str, tmp_path: Path) -> None:
    """Real proteins; and DNA of which any share of letters is IUPAC codes."""
    _, *proteins = gzip.decompress((GOLDEN.parents[1] / "search" / "proteins.faa.gz").read_bytes()).decode().replace("\n>", "\0").split("\0")
    letters = ["".join(record.split("\n")[1:]) for record in proteins[:60]]
    assert len(letters) == 60
    for number, protein in enumerate(letters):
        with pytest.raises(InputError, match="looks like protein: `tidalign search --alphabet protein`"):
            target(make(tmp_path, written.format(number, protein, "I" * len(protein))))
    choose = random.Random(3)
    for share in range(1, 100, 9):
        text = "R" + "".join(choose.choice("BDHKMRSVWY" if choose.randrange(100) < share else "ACGT") for _ in range(300))
        with pytest.raises(InputError, match="say what such letters score: --ambiguous=iupac"):
            target(make(tmp_path, written.format("x", text, "I" * 301)))


@pytest.mark.parametrize("text", ["", "\n\n", ">a\n", ">a\n>b\n\n"])
def test_nothing_to_read(text: str, tmp_path: Path) -> None:
    with pytest.raises(MissingInput):
        target(make(tmp_path, text))


def test_missing_files(tmp_path: Path) -> None:
    for spec in (str(tmp_path / "none.fa"), str(tmp_path), f"{make(tmp_path, PLAIN)}[subset={tmp_path}/none]"):
        with pytest.raises(MissingInput):
            target(spec)


def test_names_of_a_subset_are_utf_8(tmp_path: Path) -> None:
    (tmp_path / "names").write_bytes(b"a\ncaf\xe9\n")
    with pytest.raises(InputError, match=r"names: expected names in UTF-8, found b'\\xe9\\n'; convert it: iconv"):
        target(f"{make(tmp_path, PLAIN)}[subset={tmp_path}/names]")


def test_queries_without_names(tmp_path: Path) -> None:
    """LASTZ calls every one of them seq2, and a target seq1 (reading.json)."""
    assert read_genome(make(tmp_path, ">\nACGT\n>a\nAC\n>|b\nGG\n"), role="query").names == ["seq2", "a", "seq2"]


def test_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names may repeat; several sequences are aligned one by one, but for [multiple]; standard input will do."""
    path = make(tmp_path, ">a\nACGT\n>a\nAC\n")
    assert read_genome(path, role="query").names == ["a", "a"]
    joint, apart = (read_genome(spec, role="query") for spec in (f"{path}[multiple]", path))
    assert joint.joint and joint.sought() == [6] and not apart.joint and apart.sought() == [4, 2]
    assert len(read_genome(f"{make(tmp_path, '>a' + chr(10) + 'ACGT')}[multiple]", role="query")) == 1
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(PLAIN.encode()))))
    assert spelled(read_genome("-[unmask]", role="query")) == ["ACGTACGTAC", "GGGTTT"]
    with pytest.raises(InputError, match="a file for the target"):
        target("-")


def test_pieces_of_a_query_are_queries(tmp_path: Path) -> None:
    """Whatever the pieces, letters, names and places are those of the whole sequences."""
    choose = random.Random(8)
    for _ in range(30):
        whole = {name: "".join(choose.choices("ACGTN", (4, 4, 4, 4, choose.choice((0, 1, 4))), k=choose.randrange(3, 60))) for name in "abc"}
        path = make(tmp_path, "".join(f">{name}\n{letters}\n" for name, letters in whole.items()))
        first, last = choose.choice(((1, min(map(len, whole.values()))), (2, 3)))
        for spec, cut in ((f"{path}[separator=N]", slice(None)), (f"{path}[separator=N][{first}..{last}]", slice(first - 1, last))):
            expected = [
                (name, len(letters), (cut.start or 0) + found.start(), found[0])
                for name, letters in whole.items()
                for found in re.finditer("[^N]+", letters[cut])
            ]
            if not expected:
                continue
            genome = read_genome(spec, role="query")
            assert [*zip(genome.names, genome.full_lengths.tolist(), genome.offsets.tolist(), spelled(genome), strict=True)] == expected
            names = list(dict.fromkeys(row[0] for row in expected))
            assert [names[i] for i in genome.whole()] == genome.names
            assert [genome.bounds(i).tolist() for i in range(len(genome))] == [[[0, len(row[3])]] for row in expected]


def test_iupac_letters(tmp_path: Path) -> None:
    letters = "ACGTNXBDHKMRSVWY"
    path = make(tmp_path, f">a\n{letters}\n{letters.lower()}\n")
    assert spelled(target(path, ambiguous="iupac")) == [letters + letters.lower()]
    for ambiguous in (None, "n"):
        with pytest.raises(InputError, match="'B'"):
            target(path, ambiguous=ambiguous)
