"""Make lines.json.gz: what LASTZ 1.04.22 prints for the command lines that pipelines and tutorials give it, and of FASTQ, of standard input, of names that
several sequences have, and of sequences that are equal. By hand, where `lastz` is:

python tests/data/genomes/make_lines.py
"""

import gzip
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from make_pipelines import changed, fasta, letters, related, turned

HERE = Path(__file__).parent
SCORES = HERE.parents[2] / "workflows" / "options" / "scores"

sys.path.insert(0, str(HERE.parents[1]))
import twobit_file  # noqa: E402 of the folder of tests

CACTUS = "t.fa[multiple][nameparse=darkspace] q.fa[multiple][nameparse=darkspace]"
WFMASH = "--queryhspbest=100000 --ambiguous=iupac,100,100 --format=paf:wfmash"
GENERAL = "--format=general:name1,zstart1,end1,name2,zstart2+,end2+"
PLACES = "--format=general:score,name1,number1,zstart1,name2,number2,zstart2,strand2,cigarx"
QUALITIES = "--format=general:name1,name2,strand2,qalign1,qalign2,quals1,quals2,nucs2,nmatch"

TETRAMERS = (
    "CTTGCGTTAGCTAGATAGATAGCTAGCTAGAATGATAGATAGATAGATAGACCGATTGATCAACGTATAGATCGTTAGACCTAGCGATAGATAGTTAGATAATTAGATAT"
    "ATAGCTTGATAGGTACCTAGATAGATAGATAGAGTGATAGATATCTAGATAGCTAAATAGGTAGGTAGATATATAGATAGAGTGATAGTTACATAGATGGCCTATAA"
)
"""Letters of little entropy, by which what is scored and what not differ."""

LINES = {
    "Cactus one": f"{CACTUS} --step=2 --ydrop=3000 --notransition {WFMASH}",
    "Cactus two": f"{CACTUS} --step=5 --ydrop=3000 {WFMASH}",
    "Cactus three": f"{CACTUS} --step=4 --ydrop=3000 {WFMASH}",
    "Cactus four": f"{CACTUS} K=2600 L=2800 --step=3 --ydrop=3000 {WFMASH}",
    "Cactus five": f"{CACTUS} --step=2 K=2400 --ydrop=3000 {WFMASH}",
    "Cactus beyond": f"{CACTUS} --step=1 --ydrop=4000 K=2200 L=2400 {WFMASH}",
    "Cactus repeats": f"t.fa[multiple] fragments.fa --querydepth=keep,nowarn:13 {GENERAL} --markend",
    "make_lastz_chains": "t.2bit/t2[301,1700][multiple] q.fa[multiple] Y=9400 H=2000 L=3000 K=2400 --traceback=800.0M --format=axt+",
    "UCSC": "one_t.fa one_q.fa H=2000",
    "UCSC masking": "one_t.fa q.fa H=2000 M=254",
    "UCSC primates": "one_t.fa one_q.fa O=600 E=150 K=4500 L=4500 Y=15000 T=2 Q=human_chimp.v2.q --format=axt",
    "UCSC far": "one_t.fa one_q.fa K=2200 L=6000 Y=3400 H=2000 Q=HoxD55.q --format=lav",
    "Ensembl": "t.fa[multiple] q.fa K=3000 L=3000 H=2200 O=400 E=30 T=1 --format=axt",
    "Ensembl masking": "t.fa[multiple] q.fa K=3000 L=3000 H=2200 O=400 E=30 T=1 M=50 --format=axt",
    "RepeatFiller": "one_t.fa[unmask] one_q.fa[unmask] K=2000 L=3000 --format=axt",
    "KegAlign": "t.2bit[multiple] reads.fa[nameparse=darkspace] --segments=segments --format=maf- --ydrop=9430 --gappedthresh=3000 --ambiguous=iupac",
    "Galaxy": "t.fa q.fa --action:target=multiple --rdotplot=plot.r --format=maf",
    "Galaxy self": "repeats.fa --self --nomirror --action:target=multiple --rdotplot=plot.r --format=sam-",
    "Galaxy exact": "t.fa q.fa --action:target=multiple --rdotplot=plot.r --exact=30 --format=general-",
    "Galaxy mismatch": "t.fa q.fa --action:target=multiple --rdotplot=plot.r --mismatch=2,30 --format=cigar",
    "Galaxy top": "t.fa q.fa --action:target=multiple --rdotplot=plot.r --hspthresh=top900 --format=maf-",
    "Galaxy inner": "t.fa q.fa --action:target=multiple --rdotplot=plot.r --inner=1000 --format=softsam-",
    "Galaxy FASTQ": "t.fa reads.fq --action:target=multiple --rdotplot=plot.r --format=sam-",
    "Galaxy BLASTN-": "t.fa q.fa --action:target=multiple --rdotplot=plot.r --format=BLASTN-",
    "tutorial chain": "one_t.fa one_q.fa --chain --gapped --format=maf-",
    "tutorial chain penalties": "one_t.fa one_q.fa --chain=3,1 --hspthresh=800 --gapped --format=maf-",
    "tutorial match": "one_t.fa one_q.fa --match=1,5 --gap=6,1 --format=general-",
    "tutorial filters": "t.fa[multiple] q.fa --filter=identity:70 --filter=coverage:5 --filter=nmatch:40 --format=mapping-",
    "tutorial rdotplot": "one_t.fa one_q.fa --notransition --step=20 --nogapped --format=rdotplot",
    "tutorial text": "one_t.fa one_q.fa --format=text",
    "tutorial differences": "one_t.fa one_q.fa --format=differences",
    "tutorial yasra": "one_t.fa fragments.fa --yasra90 --ambiguous=n --format=general-",
    "tutorial masking": "t.fa[multiple] q.fa --masking=2 --format=axt",
    "tutorial verbosity": "one_t.fa one_q.fa --verbosity=0 --format=cigar",
    "tutorial stdin": "t.fa[multiple] --format=cigar <q.fa",
    "tutorial bounds": "one_t.fa one_q.fa --allgappedbounds --format=cigar",
    "tutorial anyornone": "t.fa[multiple] fragments.fa --anyornone --format=cigar",
    "FASTQ on stdin": f"t.fa[multiple] /dev/stdin[nameparse=full] {PLACES} <reads.fq",
    "FASTQ softsam": "t.fa[multiple] reads.fq --format=softsam-",
    "FASTQ joint": "t.fa[multiple] reads.fq[multiple] --format=sam-",
    "FASTQ qualities": f"target.fq[multiple] reads.fq {QUALITIES}",
    "FASTQ subrange": f"target.fq[multiple] one.fq[21..150] {QUALITIES}",
    "HSPs over N": "gap.fa short.fa --nogapped --ambiguous=n --format=lav",
    "N with N": "gap.fa short_n.fa --hspthresh=1500 --format=lav",
    "masked HSPs": "one_t.fa q.fa --nogapped --masking=2 --format=lav",
    "masked HSPs with text": "one_t.fa q.fa --nogapped --masking=2 --format=lav+text",
    "FASTQ in pieces": "separated.fq[separator=N] reads.fq --format=general-:name1,zstart1,name2,strand2,qalign1,quals1,nucs1,nucs2",
    "FASTQ masking": "t.fa[multiple] reads.fq --masking=1 --format=text",
    "names": f"names.fa[multiple] q.fa {PLACES}",
    "names in MAF": "names.fa[multiple] q.fa --format=maf-",
    "text in pieces": "gap.fa[separator=N] one_q.fa --format=text",
    **{
        f"HSPs of no letters, {form}": f"t.fa[multiple] q.fa --nogapped --transition=2 --xdrop=20 --hspthresh=top99.5% --format={form}"
        for form in ("sam-", "cigar", "paf", "mapping-", "blastn", "maf+")
    },
    "share of a limited query": "t.fa[multiple] q.fa --limitperquery=5 --filter=nmatch:30% --filter=continuity:90 --format=general-:score,zstart1,nmatch",
    "limited points": "t.fa[multiple] q.fa --queryhsplimit=keep,nowarn:3 --format=rdotplot",
    **{
        f"equal {a} {b}": f"{a}{more} {b}[multiple] {PLACES}"
        for a in ("abc.fa", "aa.fa")
        for b in ("abc.fa", "cba.fa", "ab.fa", "aa.fa")
        for more in ("[multiple]",)
    },
    "seed in zeros": "one_t.fa one_q.fa --seed=0110100110010101110 --format=zerotext",
    "seed of more places than a word": "one_t.fa one_q.fa --seed=0111111111111111 --format=text",
    "one of 2bit": f"t.2bit/t2 q.fa {PLACES}",
    "one of FASTQ": f"target.fq[subset=third] reads.fq {PLACES}",
    "one of FASTA": f"t.fa[subset=third] reads.fq {PLACES}",
    "one of two of a name in 2bit": f"twice.2bit/same q.fa {PLACES}",
    "whole names of 2bit": f"twice.2bit[subset=whole_names] q.fa {PLACES}",
    "LAV of 2bit": "twice.2bit/same one_q.fa --format=lav",
    "whole names of FASTA": f"whole.fa[nameparse=full,subset=whole_names] q.fa {PLACES}",
    "subrange of a length": f"t.fa[multiple] q.fa[51#1650] {PLACES}",
    "segments of an array": "t.fa[multiple] q.fa[multiple] --segments=scattered --nogapped --format=segments",
    "segments of an array in AXT": "t.fa[multiple] q.fa[multiple] --segments=scattered --nogapped --format=axt",
    **{
        f"mirrored HSPs that cover {count} letters": f"tetramers.fa --self --nogapped --hspthresh=top{count} --format=general-:score,zstart1,zstart2+,strand2"
        for count in (50, 300, 1_000)
    },
    "shingles in pieces": "gap.fa[separator=N,multiple] fragments.fa --format=general:zstart1,end1,name2,strand2,diagonal,shingle",
    "equal one": f"a.fa a.fa[multiple] {PLACES}",
    "equal one in an array": f"a.fa[multiple] a.fa {PLACES}",
}
"""Command lines by name, < before what comes on standard input."""

REFUSED = {
    "infer": "one_t.fa one_q.fa --infer",
    "census": "one_t.fa one_q.fa --census",
    "twins": "one_t.fa one_q.fa --twins=5..20",
    "word": "one_t.fa one_q.fa --word=24",
    "writecapsule": "one_t.fa --writecapsule=capsule",
}
"""Those that LASTZ runs and tidalign does not."""


def fastq(rng: random.Random, reads: list[tuple[str, str]]) -> str:
    qualities = [chr(33 + value) for value in range(60)]
    return "".join(f"@{name}\n{text}\n+\n{''.join(rng.choices(qualities, k=len(text)))}\n" for name, text in reads)


def files() -> dict[str, str]:
    """Make the sequences: two related genomes, whole and in parts, and what is cut out of them."""
    rng = random.Random(17)
    target, query = related(3, 5_000, 9)
    parts = [target[at : at + 2_000] for at in (0, 2_000, 4_000)]
    cut = [target[at : at + 150] for at in range(0, 4_800, 400)]
    reads = [(f"read{i}|{i % 3} of a run", changed(rng, turned(text) if i % 2 else text)) for i, text in enumerate(cut)]
    lines = [f"t{1 + at // 2000}\t{at % 2000 + 31}\t{at % 2000 + 60}\tread{i}|{i % 3}\t31\t60\t+\n" for i, at in enumerate(range(0, 4_800, 400)) if i % 2 == 0]
    return {
        "one_t.fa": fasta("t", target, []),
        "one_q.fa": fasta("q", query, []),
        "t.fa": fasta("t", target, [2_000, 4_000]),
        "q.fa": fasta("q", query, [1_700, 3_300]),
        "repeats.fa": f">r\n{target[:900]}{changed(rng, turned(target[200:500]))}{letters(rng, 60)}{changed(rng, target[600:880])}\n",
        "names.fa": "".join(f">same\n{part}\n" for part in parts),
        "gap.fa": f">g\n{target[:1500]}NNN{target[1503:]}\n",
        "fragments.fa": "".join(f">f{i}\n{text}\n" for i, (_, text) in enumerate(reads)),
        "reads.fa": "".join(f">{name}\n{text}\n" for name, text in reads),
        "reads.fq": fastq(rng, reads),
        "one.fq": fastq(rng, [("one", letters(rng, 15) + target[700:900])]),
        "target.fq": fastq(rng, [(f"t{i}", part) for i, part in enumerate(parts, 1)]),
        "segments": "".join(lines),
        "third": "t3\n",
        "whole_names": "r|2|x\n",
        "whole.fa": f">r|1|x\n{parts[0]}\n>r|2|x\n{parts[1]}\n",
        "scattered": "".join(f"t{t}\t{at}\t{at + 59}\tq{q}\t{at + 20}\t{at + 79}\t{s}\n" for s in "+-" for at, t, q in ((301, 1, 2), (601, 2, 1), (201, 3, 3))),
        **{
            f"{name}.fa": "".join(f">s{i}\n{words[i]}\n" for i in places)
            for words in [["ACGTTGCA", "A", "GGGG"]]
            for name, places in (("a", [0]), ("ab", [0, 1]), ("abc", [0, 1, 2]), ("cba", [2, 1, 0]), ("aa", [0, 0]))
        },
        "tetramers.fa": f">r\n{TETRAMERS}\n",
        "short.fa": f">n\n{target[1470:1530]}\n",
        "short_n.fa": f">n\n{target[1470:1498]}NNNNN{target[1503:1530]}\n",
        "separated.fq": fastq(rng, [("s", f"{target[:900]}NN{target[902:1700]}")]),
    }


def put(folder: Path, texts: dict[str, str]) -> None:
    """Write the files of all lines; t.2bit is t.fa, and twice.2bit has a name twice."""
    for name, text in texts.items():
        (folder / name).write_text(text)
    records = [record.split("\n", 1) for record in texts["t.fa"].split(">")[1:]]
    sequences = [text.replace("\n", "") for _, text in records]
    twobit_file.write(folder / "t.2bit", [(name, text) for (name, _), text in zip(records, sequences, strict=True)])
    twobit_file.write(folder / "twice.2bit", list(zip(("same", "same", "r|2|x"), sequences, strict=True)))
    for path in SCORES.glob("*.q"):
        (folder / path.name).write_text(path.read_text())


def below(text: str) -> list[str]:
    """Give the lines of an output but those that name the program and its settings."""
    if text.startswith("#:lav"):
        text = text[text.index("}") + 2 :]
    return [line for line in text.splitlines() if not line.startswith("#") or line.startswith("#:")]


def printed(line: str, folder: Path) -> tuple[int, dict[str, list[str]]]:
    """Status of LASTZ, its output and what it wrote beside it."""
    words, _, given = line.partition(" <")
    with (folder / given if given else Path("/dev/null")).open("rb") as stdin:
        done = subprocess.run(["lastz", *words.split()], stdin=stdin, capture_output=True, text=True, cwd=folder)
    found = {"output": below(done.stdout)}
    if (folder / "plot.r").exists():
        found["plot.r"] = (folder / "plot.r").read_text().splitlines()
        (folder / "plot.r").unlink()
    return done.returncode, found


def main() -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    made: dict[str, Any] = {"lastz": version, "files": files(), "lines": {}, "refused": {}}
    with tempfile.TemporaryDirectory() as place:
        put(Path(place), made["files"])
        for name, line in LINES.items():
            status, found = printed(line, Path(place))
            made["lines"][name] = {"line": line, "status": status, "found": found}
            print(f"{name}: {status}, {len(found['output'])} lines")
        for name, line in REFUSED.items():
            made["refused"][name] = {"line": line, "status": printed(line, Path(place))[0]}
            print(f"{name}: {made['refused'][name]['status']}")
    packed = gzip.compress(json.dumps(made).encode(), 9, mtime=0)
    (HERE / "lines.json.gz").write_bytes(packed)
    print(version, len(packed), "bytes")


if __name__ == "__main__":
    main()
