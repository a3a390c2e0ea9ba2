"""What samtools makes of our BAM of real reads, kept in tests/data/sam: its MD and NM, pileup, depth and counts are those of our records."""

import gzip
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import bam_reader
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from make_sam import OPTIONS, write_inputs

from tidalign.workflows import cli

DATA = Path(__file__).parents[1] / "data"


def said(name: str) -> list[list[str]]:
    return [line.split("\t") for line in gzip.decompress((DATA / "sam" / f"{name}.gz").read_bytes()).decode().splitlines()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sam")
    inputs = write_inputs(folder)
    for output, more in (("plain.bam", ()), ("genome.bam", ("--lift",)), ("sorted.bam", ("--lift", "--sort"))):
        assert cli.main(["pairs", *map(str, inputs), "-o", str(folder / output), *OPTIONS, *more]) == 0
    return folder


def records(path: Path) -> list[list[str]]:
    return [line.split("\t") for line in bam_reader.text(path.read_bytes()).splitlines() if line[0] != "@"]


def tags(record: list[str]) -> dict[str, str]:
    return {tag[:2]: tag[5:] for tag in record[11:]}


def columns(record: list[str]) -> list[tuple[int, str]]:
    """Place on the target, from 1, and the letter of each M, or `*` of each D."""
    place, at, found = int(record[3]), 0, []
    for length, letter in ((int(length), letter) for length, letter in re.findall(r"(\d+)(\D)", record[5])):
        for _ in range(length):
            if letter not in "IS":
                found.append((place, "*" if letter == "D" else record[9][at]))
            place, at = place + (letter not in "IS"), at + (letter != "D")
    return found


def test_md_and_nm_are_those_of_calmd(folder: Path) -> None:
    found = [[*record[:6], tags(record)["NM"], tags(record)["MD"]] for record in records(folder / "plain.bam")]
    assert found == said("calmd.tsv") and {record[1] for record in found} == {"0", "16"}


def test_letters_are_those_of_the_pileup(folder: Path) -> None:
    found: dict[tuple[str, int], list[tuple[str, bool]]] = {}
    for record in records(folder / "plain.bam"):
        for place, letter in columns(record):
            found.setdefault((record[2], place), []).append((letter, record[1] == "16"))
    lines = said("mpileup.tsv")
    assert len(lines) == 3000
    for name, place, target, depth, text in lines:
        bare = re.sub(r"\^.|\$", "", text)
        for length in re.findall(r"[+-](\d+)", bare):
            bare = re.sub(rf"[+-]{length}[A-Za-z]{{{length}}}", "", bare)
        expected = []
        for letter, reverse in found[name, int(place)]:
            shown = "." if letter == target.upper() and letter != "N" else letter
            expected.append("*" if letter == "*" else ({".": ","}.get(shown, shown.lower()) if reverse else shown))
        assert (len(expected), Counter(expected)) == (int(depth), Counter(bare.replace("#", "*")))


def test_depth_and_counts(folder: Path) -> None:
    placed = records(folder / "genome.bam")
    depth = Counter((record[2], place) for record in placed for place, letter in columns(record) if letter != "*")
    assert [(name, int(place), int(count)) for name, place, count in said("depth.tsv")] == [(*place, depth[place]) for place in sorted(depth)[:4000]]
    stats = {name: value for name, value, *_ in said("stats.txt")}
    assert (stats["raw total sequences:"], stats["reads mapped:"]) == (str(len(placed)), str(len(placed)))
    assert int(stats["mismatches:"]) == sum(int(tags(record)["NM"]) for record in placed)
    assert int(stats["bases mapped (cigar):"]) == sum(int(n) for record in placed for n, letter in re.findall(r"(\d+)(\D)", record[5]) if letter in "=XIM")


def test_order_and_regions(folder: Path) -> None:
    """By our own index. Of records that begin at one place samtools puts those of + first, we those that were read first."""
    assert [record[2:4] for record in records(folder / "sorted.bam")] == said("sorted.tsv")
    assert sorted(records(folder / "sorted.bam")) == sorted(records(folder / "genome.bam"))
    data, index = (folder / "sorted.bam").read_bytes(), (folder / "sorted.bam.bai").read_bytes()
    for line in said("regions.tsv"):
        start, stop, *names = line[0].split()
        assert sorted(bam_reader.query(data, index, 0, int(start), int(stop))) == sorted(names)


@pytest.mark.skipif(not shutil.which("samtools"), reason="samtools is not installed")
def test_samtools_here_says_the_same(folder: Path) -> None:
    def shell(command: str) -> str:
        return subprocess.run(["bash", "-ec", command], cwd=folder, check=True, capture_output=True, text=True).stdout

    shell("samtools quickcheck plain.bam genome.bam")
    assert shell("samtools calmd plain.bam windows.fasta 2>/dev/null | grep -v ^@") == shell("samtools view plain.bam")
    shell("samtools quickcheck sorted.bam; samtools view sorted.bam NC_000913.3:1-100000 > here")
    assert 0 < len((folder / "here").read_text().splitlines()) < 100
    assert shell("samtools depth sorted.bam") == shell("samtools sort genome.bam | samtools depth -")
