"""SAM has the letters and qualities of the input, however that came, or says why it cannot."""

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tidalign.workflows.status import Exit

PROGRAM = str(Path(sys.executable).with_name("tidalign"))

READS = [("r1", "ACGTACGTTTGA", "IIIIHHHH!!~~"), ("r2", "acgtNRyTTTGA", "############"), ("r3", "A", "5"), ("r4", "ACGTACGTTTGAC", "ABCDEFGHIJKLM")]
TARGETS = [("t1", "ACGTACGTTTGA"), ("t2", "ACGTNRYaTTGA"), ("t3", "g"), ("t4", "ACGTTTGAC")]


def fastq(records: list[tuple[str, str, str]]) -> str:
    return "".join(f"@{name} more\n{letters}\n+\n{quality}\n" for name, letters, quality in records)


def fasta(records: list[tuple[str, ...]]) -> str:
    return "".join(f">{record[0]}\n{record[1][:5]}\n{record[1][5:]}\n" for record in records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "r.fq").write_text(fastq(READS))
    (tmp_path / "r.fa").write_text(fasta(READS))
    (tmp_path / "t.fa").write_text(fasta(TARGETS))
    (tmp_path / "r.fq.gz").write_bytes(gzip.compress(fastq(READS).encode()))
    both = [record for read, target in zip(READS, TARGETS, strict=True) for record in (read, (*target, "I" * len(target[1])))]
    (tmp_path / "both.fq").write_text(fastq(both))
    (tmp_path / "p.seq").write_text("".join(f">{read[1]}\n<{target[1]}\n" for read, target in zip(READS, TARGETS, strict=True)))
    return tmp_path


def shell(folder: Path, words: str, status: int = Exit.COMPLETE) -> str:
    """Run `tidalign` with these words of a shell's, which ends with a status, and give what it says."""
    answer = subprocess.run(["bash", "-c", words.replace("tidalign ", f"{PROGRAM} ")], capture_output=True, text=True, cwd=folder)
    assert answer.returncode == status, answer.stderr
    return answer.stderr


def letters(path: Path) -> list[tuple[str, str]]:
    return [tuple(line.split("\t")[9:11]) for line in path.read_text().splitlines() if not line.startswith("@")]


WHOLE = [(letters, quality) for _, letters, quality in READS]
BARE = [(letters, "*") for _, letters, _ in READS]


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ("r.fq t.fa", WHOLE),
        ("r.fa t.fa", BARE),
        ("r.fq.gz t.fa", WHOLE),
        ("both.fq --interleaved", WHOLE),
        ("p.seq", BARE),
        ("<(cat r.fq) t.fa", WHOLE),
        ("- t.fa < r.fq", WHOLE),
        ("r.fa - < t.fa", BARE),
        ("r.fq t.fa --workers 2", WHOLE),
        ("<(cat r.fq) t.fa --workers 2", WHOLE),
        ("r.fq t.fa --scoring match:2,mismatch:-4,gap:4,2 --span global", WHOLE),
        ("r.fa t.fa --scoring match:2,mismatch:-4,gap:4,2,n:1 --span global", BARE),
    ],
)
def test_letters_are_those_of_the_input(folder: Path, inputs: str, expected: list[tuple[str, str]]) -> None:
    shell(
        folder, f"tidalign pairs {inputs} -o out.sam --device cpu --quiet".replace("<(cat r.fq) t.fa", "/dev/stdin t.fa").replace("/dev/stdin", "<(cat r.fq)")
    )
    assert letters(folder / "out.sam") == expected


def test_export_reads_the_input_again(folder: Path) -> None:
    shell(
        folder, "tidalign pairs r.fq t.fa -o run --device cpu --quiet; tidalign export run -o out.sam --quiet; tidalign pairs r.fq t.fa -o direct.sam --quiet"
    )
    assert letters(folder / "out.sam") == WHOLE
    assert (folder / "out.sam").read_bytes() == (folder / "direct.sam").read_bytes()
    assert not list((folder / "run" / "letters").iterdir())
    reads = (folder / "r.fq").read_text()
    (folder / "r.fq").write_text(reads.replace("ACGTACGTTTGAC", "ACGTACGTTTGAT"))
    said = shell(folder, "tidalign export run -o other.sam", Exit.MANIFEST_MISMATCH)
    assert "r.fq: expected the input that was aligned" in said and ".paf" in said
    (folder / "r.fq").unlink()
    said = shell(folder, "tidalign export run -o other.sam", Exit.NO_INPUT)
    assert "r.fq" in said and "put the input back" in said
    assert not (folder / "other.sam").exists()
    shell(folder, "tidalign export run -o other.paf --quiet")


def test_what_was_piped_is_kept_where_it_is_wanted(folder: Path) -> None:
    shell(folder, "tidalign pairs - t.fa -o out.sam --keep-run --device cpu --quiet < r.fq; tidalign export out.sam.run -o again.sam --cs --quiet")
    assert letters(folder / "again.sam") == letters(folder / "out.sam") == WHOLE
    shell(folder, "tidalign check out.sam.run")
    shell(folder, "tidalign pairs - t.fa -o run --device cpu --quiet < r.fq")
    said = shell(folder, "tidalign export run -o other.sam", Exit.NO_INPUT)
    assert "a pipe, and none kept of it" in said and "--new -o OUT.sam" in said
    kept = next((folder / "out.sam.run" / "letters").iterdir())
    data = bytearray(kept.read_bytes())
    data[len(data) // 3] ^= 1
    kept.write_bytes(data)
    said = shell(folder, "tidalign export out.sam.run -o other.sam", Exit.MANIFEST_MISMATCH)
    assert kept.name in said and not (folder / "other.sam").exists()


@pytest.mark.parametrize("format", ["sam", "bam", "sam.gz"])
def test_bytes_are_the_same_for_any_workers(folder: Path, format: str) -> None:
    written = []
    for more in ("", "--workers 1", "--workers 2"):
        shell(folder, f"tidalign pairs r.fq t.fa -o out.{format} --cs --device cpu --quiet {more}")
        written.append((folder / f"out.{format}").read_bytes())
    command = f"tidalign pairs r.fq t.fa -o - --format {format} --cs --device cpu --quiet > piped"
    shell(folder, command)
    assert len({*written, (folder / "piped").read_bytes()}) == 1
