"""Make tests/data/sam: what samtools says of our BAM of real reads, a third of them turned to the other strand, some letters in lower case.

python tests/data/make_sam.py        (needs samtools; made with 1.16.1)
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

from tidalign.workflows.commands.demo import DATA

HERE = Path(__file__).parent / "sam"
COMPLEMENT = str.maketrans("ACGTacgt", "TGCAtgca")
OPTIONS = ("--ends-free", "0,0,16,16", "--strand", "both", "--device", "cpu", "--quiet")
READS = 1200
REGIONS = [(start, start + size) for size in (1, 150, 20_000, 1_000_000) for start in range(0, 4_600_000, 92_000)]
"""Of the one contig, from 0."""


def write_inputs(folder: Path) -> tuple[Path, Path]:
    """Write the first reads of the demo, and their windows."""
    reads = gzip.decompress((DATA / "reads.fastq.gz").read_bytes()).decode().splitlines()[: 4 * READS]
    windows = gzip.decompress((DATA / "windows.fasta.gz").read_bytes()).decode().splitlines()[: 2 * READS]
    for number in range(READS):
        if number % 3 == 1:
            reads[4 * number + 1] = reads[4 * number + 1].translate(COMPLEMENT)[::-1]
            reads[4 * number + 3] = reads[4 * number + 3][::-1]
        if number % 5 == 1:
            reads[4 * number + 1] = reads[4 * number + 1][:20].lower() + reads[4 * number + 1][20:]
            windows[2 * number + 1] = windows[2 * number + 1][:30].lower() + windows[2 * number + 1][30:]
    (folder / "reads.fastq").write_text("\n".join(reads) + "\n")
    (folder / "windows.fasta").write_text("\n".join(windows) + "\n")
    return folder / "reads.fastq", folder / "windows.fasta"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        inputs = write_inputs(folder)
        tidalign = str(Path(sys.executable).with_name("tidalign"))
        for output, more in (("plain.bam", ()), ("genome.bam", ("--lift",))):
            subprocess.run([tidalign, "pairs", *map(str, inputs), "-o", str(folder / output), *OPTIONS, *more], check=True)

        def shell(command: str) -> str:
            return subprocess.run(["bash", "-ec", command], cwd=folder, check=True, capture_output=True, text=True).stdout

        # calmd is given records without MD and NM, so that both are its own.
        records = shell("samtools view -b -x MD -x NM plain.bam | samtools calmd - windows.fasta 2>/dev/null | samtools view -")
        rows = []
        for line in records.splitlines():
            fields = line.split("\t")
            tags = {tag[:2]: tag[5:] for tag in fields[11:]}
            rows.append("\t".join((*fields[:6], tags["NM"], tags["MD"])))
        answers = {
            "calmd.tsv": "\n".join(rows) + "\n",
            "depth.tsv": shell("samtools sort genome.bam | samtools depth - | head -n 4000 || true"),
            "mpileup.tsv": shell("samtools sort plain.bam | samtools mpileup -Q 0 -f windows.fasta - 2>/dev/null | cut -f 1-5 | head -n 3000 || true"),
            "regions.tsv": shell(
                "samtools sort -o sorted.bam genome.bam; samtools index sorted.bam; "
                + "; ".join(f"echo {start} {stop} $(samtools view sorted.bam NC_000913.3:{start + 1}-{stop} | cut -f 1)" for start, stop in REGIONS)
            ),
            "sorted.tsv": shell("samtools view sorted.bam | cut -f 3,4"),
            "stats.txt": shell("samtools stats genome.bam | grep ^SN | cut -f 2,3"),
        }
        for file, text in answers.items():
            (HERE / f"{file}.gz").write_bytes(gzip.compress(text.encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
