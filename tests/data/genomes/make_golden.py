"""Make the golden files of this folder: small real genomes and what LASTZ prints of them. By hand, with LASTZ 1.04.22:

python tests/data/genomes/make_golden.py FOLDER    where FOLDER holds the files that README.md names
"""

import gzip
import json
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path

PLACE = Path(__file__).parent
sys.path.insert(0, str(PLACE.parent.parent))
from genome_rows import FORMAT  # noqa: E402

ALL_FIELDS = (
    "general:number,znumber,name1,number1,strand1,size1,start1,zstart1,end1,length1,name2,number2,strand2,size2,start2,zstart2,end2,start2+,zstart2+,"
    "end2+,length2,nmatch,nmismatch,npair,ncolumn,ngap,cgap,cigar,cigar-,cigarx,cigarx-,cigarx1,cigarx1-,diagonal,shingle,score,identity,idfrac,id%,"
    "blastid%,coverage,covfrac,cov%,continuity,confrac,con%,gaprate,chore"
)
LETTER_FIELDS = "general-:diff,text1,align1,text2,align2,nucs1,nucs2"
EVERY_FORMAT = [
    *("maf", "maf+", "maf-", "axt", "axt+", "paf", "paf:minimap2", "paf:wfmash", "sam", "sam-", "cigar", "rdotplot"),
    *("general", "general-", "mapping", "mapping-", ALL_FIELDS),
]
SOME_FORMATS = ["maf", "axt", "paf:wfmash", "general", "rdotplot"]

# file of this folder: (file of FOLDER, first and last letter of each record from 1 or None for all, records)
INPUTS: dict[str, tuple[str, tuple[int, int] | None, list[int]]] = {
    "mt_human": ("mt_human", None, [0]),
    "mt_chimp": ("mt_chimp", None, [0]),
    "mt_orangutan": ("mt_orangA", None, [0]),
    "fly_slice": ("fly_dmel_2R_slice", None, [0]),
    "fly_contigs": ("fly_dpse_contigs", None, [0, 1]),
    "hla": ("human_HLA_DRB1_haplotypes", None, [0, 1, 2]),
    "enm002_human": ("encode_ENm002_human", (945_001, 990_000), [0]),
    "enm002_mouse": ("encode_ENm002_mouse", (1, 45_000), [0]),
    "yeast_scer": ("yeast_scer_S288C_chrIV", (1_501, 21_500), [0]),
    "yeast_spar": ("yeast_spar_CBS432_chrIV", (1_501, 21_500), [0]),
}


def filters(rows: list[list[str]]) -> list[tuple[str, float, float]]:
    """Choose filters (name, lowest, highest) on and next to the values that alignments have."""
    found: list[tuple[str, float, float]] = []
    for row in rows[::8]:
        for name, column in (("identity", 0), ("coverage", 1), ("continuity", 2)):
            part, whole = map(int, row[2 * column].split("/"))
            for nudge in (-1e-6, -1e-8, 0, 1e-8, 1e-6):
                value = min(100 * part / whole * (1 + nudge), 100)
                found += [(name, value, 100), (name, 0, value)]
        for name, column in (("nmatch", 6), ("nmismatch", 7), ("ngap", 8), ("cgap", 9)):
            for nudge in (-1, 0, 1):
                value = int(row[column]) + nudge
                found.append((name, value, 1e9) if name == "nmatch" else (name, 0, max(value, 0)))
        for nudge in (-1e-6, 0, 1e-6):
            found.append(("nmatch%", 100 * int(row[6]) / int(row[10]) * (1 + nudge), 1e9))
    return found


def option(name: str, lowest: float, highest: float) -> str:
    if name in ("nmatch", "nmatch%"):
        return f"--filter=nmatch:{lowest:.17g}{name[6:]}"
    return f"--filter={name}:{lowest:.17g}..{highest:.17g}"


@dataclass(frozen=True)
class Run:
    """One run of LASTZ: `rows` is its alignments in genome_rows.FORMAT; formats: file of each."""

    name: str
    target: str
    query: str
    options: list[str]
    formats: list[str]
    mode: str = "exact"


SEGMENTS = ["--nogapped", "--hspthresh=2200"]
RUNS = [
    Run("mt_chimp", "mt_human.fa.gz", "mt_chimp.fa.gz", [], SOME_FORMATS),
    Run("mt_orangutan_nogfextend", "mt_human.fa.gz", "mt_orangutan.fa.gz", ["--nogfextend"], ["maf"]),
    Run("mt_orangutan_subranges", "mt_human.fa.gz[2001..9000]", "mt_orangutan.fa.gz[1001..11000]", ["--hspthresh=1500", "--gappedthresh=2000"], SOME_FORMATS),
    Run("fly", "fly_contigs.fa.gz[multiple]", "fly_slice.fa.gz", ["--hspthresh=2000", "--gappedthresh=2000"], EVERY_FORMAT),
    Run("fly_letters", "fly_contigs.fa.gz[multiple]", "fly_slice.fa.gz", ["--gappedthresh=40000"], ["softsam", "softsam-", LETTER_FIELDS]),
    Run("fly_independent", "fly_slice.fa.gz", "fly_contigs.fa.gz", [], ["maf"], "independent"),
    Run("fly_segments", "fly_contigs.fa.gz[multiple]", "fly_slice.fa.gz", SEGMENTS, ["segments", "maf+", "general"]),
    Run("fly_steps", "fly_slice.fa.gz", "fly_contigs.fa.gz", ["--step=20", "--seed=14of22", "--notransition", "--ydrop=3000", "--noentropy"], ["maf"]),
    Run("hla", "hla.fa.gz[multiple]", "hla.fa.gz", ["--notrivial"], ["axt"]),
    Run("hla_chained", "hla.fa.gz[multiple]", "hla.fa.gz", ["--chain", "--strand=plus", "--filter=identity:90..99.5"], ["maf"]),
    Run("hla_penalties", "hla.fa.gz[multiple]", "hla.fa.gz[multiple]", ["--chain=1000,30", "--hspthresh=800"], ["maf"]),
    Run("enm002", "enm002_human.fa.gz", "enm002_mouse.fa.gz", [], ["maf"]),
    Run("enm002_unmasked", "enm002_human.fa.gz[unmask]", "enm002_mouse.fa.gz[unmask]", ["--gap=500,40", "--transition=2", "--step=5"], ["maf"]),
    Run("enm002_unit_scores", "enm002_human.fa.gz", "enm002_mouse.fa.gz", ["--match=1,2", "--noytrim"], ["maf"]),
    Run("yeast", "yeast_scer.fa.gz", "yeast_spar.fa.gz", [], ["maf"]),
    Run("yeast_truncated", "yeast_scer.fa.gz", "yeast_spar.fa.gz", ["--allocate:traceback=1000000"], ["maf"]),
    Run("yeast_best", "yeast_scer.fa.gz", "yeast_spar.fa.gz", ["--queryhspbest=1000", "--hspthresh=1200", "--ydrop=400"], ["maf"]),
    Run("yeast_best_chained", "yeast_scer.fa.gz", "yeast_spar.fa.gz", ["--queryhspbest=40", "--hspthresh=2000", "--chain", "--nogapped"], ["maf"]),
    Run("yeast_penalties", "yeast_scer.fa.gz", "yeast_spar.fa.gz", ["--chain=3,40", "--hspthresh=800", "--nogapped"], ["maf"]),
    Run("yeast_best_seeds", "yeast_scer.fa.gz[1..8000]", "yeast_spar.fa.gz[1..8000]", ["--queryhspbest=30", "--nogfextend"], ["maf"]),
    Run("yeast_nogfextend", "yeast_scer.fa.gz[1..8000]", "yeast_spar.fa.gz[1..8000]", ["--nogfextend"], ["maf"]),
    Run("yeast_independent", "yeast_scer.fa.gz[1..5000]", "yeast_spar.fa.gz[1..5000]", ["--nogfextend"], ["maf"], "independent"),
]


def lastz(run: Run, format: str) -> str:
    # --limitperquery makes it extend every anchor on its own.
    mode = ["--limitperquery=1000000"] if run.mode == "independent" else []
    command = ["lastz", *plain(run), *run.options, *mode, format]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=PLACE).stdout


def plain(run: Run) -> list[str]:
    """Name the same files without gzip, which LASTZ 1.04.22 does not read: they lie next to these for a while."""
    return [spec.replace(".fa.gz", ".fa") for spec in (run.target, run.query)]


def pack(name: str, text: str) -> None:
    (PLACE / name).write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def cut(source: Path, window: tuple[int, int] | None, wanted: list[int]) -> str:
    """Cut FASTA of some records out of a file, or of a window of them."""
    texts = []
    for record in gzip.decompress(source.read_bytes()).decode().split(">")[1:]:
        header, _, lines = record.partition("\n")
        letters = lines.replace("\n", "")
        start, stop = window or (1, len(letters))
        letters = letters[start - 1 : stop]
        texts.append(f">{header}\n" + "".join(f"{letters[i : i + 80]}\n" for i in range(0, len(letters), 80)))
    return "".join(texts[i] for i in wanted)


def file_of(run: Run, format: str) -> str:
    kind = {ALL_FIELDS: "fields", LETTER_FIELDS: "letters"}.get(format, format).replace("+", "_comments").replace("-", "_bare").replace(":", "_")
    return f"{run.name}.{kind}.gz"


def main(folder: Path) -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.strip()
    for name, (source, window, wanted) in INPUTS.items():
        text = cut(folder / f"{source}.fa.gz", window, wanted)
        pack(f"{name}.fa.gz", text)
        (PLACE / f"{name}.fa").write_text(text)
    listed = []
    for run in RUNS:
        pack(f"{run.name}.rows.gz", lastz(run, FORMAT))
        for format in run.formats:
            pack(file_of(run, format), lastz(run, f"--format={format}"))
        listed.append(asdict(run) | {"formats": {format: file_of(run, format) for format in run.formats}})
    filtered = next(run for run in RUNS if run.name == "fly")
    table = lastz(filtered, "--format=general-:identity,coverage,continuity,nmatch,nmismatch,ngap,cgap,size2,number")
    kept = []
    for wanted in filters([line.split("\t") for line in table.splitlines()]):
        run = replace(filtered, options=[*filtered.options, option(*wanted)])
        places = lastz(run, "--format=general-:zstart1,end1,zstart2+,end2+,name1,strand2")
        kept.append((*wanted, [line.split("\t") for line in places.splitlines()]))
    (PLACE / "filters.json").write_text(json.dumps(kept).replace("[[", "\n[[") + "\n")
    for name in INPUTS:
        (PLACE / f"{name}.fa").unlink()
    (PLACE / "golden.json").write_text(json.dumps({"lastz": version, "runs": listed}, indent=1) + "\n")
    print(version, sum(file.stat().st_size for file in PLACE.glob("*.gz")), "bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
