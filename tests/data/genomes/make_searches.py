"""Make searches.json.gz: what LASTZ 1.04.22 prints with options that change which seeds, HSPs and alignments there are. By hand, where `lastz` is:

python tests/data/genomes/make_searches.py
"""

import gzip
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from make_pipelines import FIELDS, changed, fasta, letters, related, turned

HERE = Path(__file__).parent

OPTIONS = {
    "queries": [
        *("--masking=1", "--masking=2 --inner=1000", "--masking=1 --nogapped --hspthresh=1500", "--masking=1 --nogfextend --seed=14of22"),
        *("--hspthresh=top30%", "--anyornone", "--limitperquery=2 --nogapped", "--limitperquery=3"),
        *("--querydepth=0.4", "--querydepth=keep,nowarn:0.2", "--allgappedbounds --hspthresh=1200 --gappedthresh=4000"),
    ],
    "together": [
        *("--masking=1", "--exact=20", "--mismatch=2,30 --nogapped", "--mismatch=3,40 --queryhspbest=20", "--exact=25 --chain"),
        *("--chain=20,3 --hspthresh=800 --inner=900 --gappedthresh=4000", "--chain=0,700 --nogfextend --seed=14of22"),
        *("--hspthresh=top20%", "--hspthresh=top900 --nogapped", "--querydepth=keep:0.3", "--allgappedbounds --inner=900 --gappedthresh=4000"),
    ],
    "itself": [
        "--self",
        "--self --nomirror",
        "--self --inner=1000",
        "--self --nogfextend --step=7",
        "--self --masking=1",
        "--self --chain",
        "--self --chain=3,40 --hspthresh=1200",
    ],
    "one with itself": ["--self", "--self --nogapped", "--self --nogapped --nomirror --strand=minus", "--self --noytrim --hspthresh=1200 --gappedthresh=1500"],
}
"""Options, each with FIELDS, by what they are given with: the query's sequences each by itself, or as one."""

FORMATS = {"queries": ["--masking=1 --format=lav", "--masking=2 --format=maf-", "--masking=3 --format=axt --strand=minus"]}
"""The same in other formats."""


def cases() -> list[dict[str, Any]]:
    """Name files, sides, options and format of each."""
    target, query = related(5, 6_000, 16)
    files = {"t.fa": fasta("t", target, [2_000, 4_100]), "q.fa": fasta("q", query, [900, 1_500, 2_300, 3_400, 4_200, 5_230])}
    one = {"t.fa": fasta("t", target, []), "q.fa": files["q.fa"]}
    rng = random.Random(9)
    palindromes = "".join(piece + letters(rng, rng.randrange(9)) + turned(changed(rng, piece)) for piece in (letters(rng, 150) for _ in range(6)))
    files["s.fa"] = fasta("s", target[:3_000] + palindromes + query[500:3_000] + changed(rng, target[300:900]), [1_000, 2_750])
    one["s.fa"] = fasta("s", target[:1_500] + palindromes + query[:1_500] + changed(rng, target[300:900]), [])
    queries = {"queries": "q.fa", "together": "q.fa[multiple]"}
    found = []
    for kind in OPTIONS:
        sides = {"target": "t.fa[multiple]" if kind in queries else "s.fa[multiple]" if kind == "itself" else "s.fa", "query": queries.get(kind)}
        found += [{"files": one if kind == "one with itself" else files, **sides, "options": text.split(), "format": FIELDS} for text in OPTIONS[kind]]
        for text in FORMATS.get(kind, ()):
            words = text.split()
            format = next(word.partition("=")[2] for word in words if word.startswith("--format="))
            given = [word for word in words if not word.startswith("--format=")]
            found.append({"files": one, **sides, "target": "t.fa", "options": given, "format": format})
    return found


def lines(case: dict[str, Any], folder: Path) -> list[str]:
    """Give LASTZ's output, without comments and LAV's first stanza."""
    for name, text in case["files"].items():
        (folder / name).write_text(text)
    command = ["lastz", case["target"], *([case["query"]] if case["query"] else []), *case["options"], f"--format={case['format']}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    text = text[text.index("}") + 2 :] if case["format"] == "lav" else text
    return [line for line in text.splitlines() if not line.startswith("#") or line.startswith("#:")]


def main() -> None:
    """Run LASTZ and write the file."""
    made = []
    for case in cases():
        with tempfile.TemporaryDirectory() as folder:
            made.append({**case, "lines": lines(case, Path(folder))})
        print(len(made[-1]["lines"]), case["options"])
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    (HERE / "searches.json.gz").write_bytes(gzip.compress(json.dumps({"program": version, "cases": made}).encode(), 9, mtime=0))


if __name__ == "__main__":
    main()
