"""Make pipelines.json.gz: what LASTZ 1.04.22 prints where it is called as pipelines call it: --inner, a query of several sequences, LAV.
By hand, where `lastz` is:

python tests/data/genomes/make_pipelines.py
"""

import gzip
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SCORES = HERE.parents[2] / "workflows" / "options" / "scores"
FIELDS = "general-:score,name1,zstart1,end1,name2,strand2,zstart2+,end2+,cigarx"
CHAINS = ["--ydrop=9400", "--inner=2000", "--gappedthresh=3000", "--hspthresh=2400", "--traceback=800.0M"]


def letters(rng: random.Random, count: int) -> str:
    return "".join(rng.choices("ACGT", k=count))


def turned(text: str) -> str:
    return text[::-1].translate(str.maketrans("ACGT", "TGCA"))


def changed(rng: random.Random, text: str) -> str:
    """Change a few letters, and put a gap on either side."""
    made = [rng.choice("ACGT") if rng.random() < 0.08 else letter for letter in text]
    at = rng.randrange(len(made))
    return "".join(made[:at] + [letters(rng, 4), *made[at + 7 :]])


def related(seed: int, size: int, blocks: int) -> tuple[str, str]:
    """Draw two sequences with blocks in common, some beside each other's diagonal, some turned around; what lies between has short words in common."""
    rng = random.Random(seed)
    target, query = letters(rng, size), list(letters(rng, size))
    for _ in range(blocks):
        length, place = rng.randrange(90, 260), rng.randrange(size - 300)
        there = min(max(place + rng.randrange(-size // 8, size // 8), 0), size - 300)
        block = changed(rng, target[place : place + length])
        query[there : there + len(block)] = turned(block) if rng.random() < 0.2 else block
    for _ in range(3 * blocks):
        place = rng.randrange(size - 40)
        there = min(max(place + rng.randrange(-400, 400), 0), size - 40)
        query[there : there + 26] = target[place : place + 26]
    return target, "".join(query)


def fasta(name: str, text: str, cuts: list[int]) -> str:
    starts = [0, *cuts]
    pieces = [text[start:stop] for start, stop in zip(starts, [*cuts, len(text)], strict=True)]
    return "".join(f">{name}{i}\n" + "".join(f"{piece[at : at + 90]}\n" for at in range(0, len(piece), 90)) for i, piece in enumerate(pieces, 1))


def cases() -> list[dict[str, Any]]:
    wide = dict(zip(("t.fa", "q.fa"), (fasta(name, text, []) for name, text in zip("tq", related(1, 46_000, 5), strict=True)), strict=True))
    target, query = related(2, 9_000, 14)
    dense = {"t.fa": fasta("t", target, []), "q.fa": fasta("q", query, [])}
    parts = {"t.fa": fasta("t", target, [2_000, 4_100, 4_160, 7_000]), "q.fa": fasta("q", query, [1_500, 3_300, 5_200, 5_230])}
    found: list[dict[str, Any]] = [
        {"files": wide, "target": "t.fa", "query": "q.fa", "options": ["--inner=1300"], "format": FIELDS},
        {"files": dense, "target": "t.fa", "query": "q.fa", "options": ["--inner=1000"], "format": FIELDS},
        {"files": dense, "target": "t.fa", "query": "q.fa", "options": ["--inner=1000", "--filter=identity:91", "--noytrim"], "format": FIELDS},
        {"files": dense, "target": "t.fa[101..8000]", "query": "q.fa[51..]", "options": ["--inner=1000", "--step=20"], "format": "lav"},
        {"files": dense, "target": "t.fa", "query": "q.fa", "options": ["--nogapped", "--hspthresh=1500"], "format": "lav"},
        {"files": {**parts, "t.fa": dense["t.fa"]}, "target": "t.fa", "query": "q.fa", "options": ["--inner=0"], "format": "lav"},
    ]
    for options in ([], ["--inner=1000"], ["--chain", "--nogapped"], ["--queryhspbest=9", "--hspthresh=1800"], CHAINS):
        found.append({"files": parts, "target": "t.fa[multiple]", "query": "q.fa[multiple]", "options": options, "format": FIELDS})
    found.append({"files": parts, "target": "t.fa[multiple]", "query": "q.fa[multiple]", "options": CHAINS, "format": "axt+"})
    found.append({"files": parts, "target": "t.fa[multiple]", "query": "q.fa[multiple]", "options": [], "format": "rdotplot"})
    cactus = ["--ambiguous=iupac,100,100", "--queryhspbest=100000"]
    ucsc = ["H=2000", "C=0", f"Q={SCORES}/human_chimp.v2.q", "O=600", "E=150", "K=4500", "Y=15000", "T=2"]
    for preset, options in {
        "one": [*cactus, "--step=2", "--ydrop=3000", "--notransition"],
        "two": [*cactus, "--step=5", "--ydrop=3000"],
        "three": [*cactus, "--step=4", "--ydrop=3500", "--hspthresh=2800"],
        "four": [*cactus, "--step=3", "--ydrop=3500", "--hspthresh=2600", "--gappedthresh=2800"],
        "five": [*cactus, "--step=2", "--ydrop=4000", "--hspthresh=2400", "--gappedthresh=2600"],
        "cactus-default": [*cactus, "--step=1", "--ydrop=4000", "--hspthresh=2200", "--gappedthresh=2400"],
        "lastz-chains": ["Y=9400", "H=2000", "L=3000", "K=2400", "--traceback=800.0M"],
        "ucsc-near": [*ucsc, "L=3000"],
        "ucsc-primate": [*ucsc, "L=4500"],
        "ucsc-medium": ["H=2000", "C=0", "T=1", "O=400", "E=30", "K=3000", "L=3000", "Y=9400"],
        "ucsc-far": ["H=2000", "C=0", f"Q={SCORES}/HoxD55.q", "T=2", "O=400", "E=30", "K=2200", "L=6000", "Y=3400"],
    }.items():
        found.append({"files": dense, "target": "t.fa", "query": "q.fa", "options": options, "preset": preset, "format": FIELDS})
    return found


def printed(case: dict[str, Any]) -> list[str]:
    """Run LASTZ, and give the lines that it prints, without those that name it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in case["files"].items():
            Path(folder, name).write_text(text)
        command = ["lastz", case["target"], case["query"], *case["options"], f"--format={case['format']}"]
        out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return [line for line in without_settings(out).splitlines() if not line.startswith("#") or line.startswith("#:")]


def without_settings(text: str) -> str:
    """Cut off LAV's first stanza."""
    return text[text.index("}") + 2 :] if text.startswith("#:lav") else text


def main() -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    made = [{**case, "lines": printed(case)} for case in cases()]
    for case in made:  # no path of one machine
        case["options"] = [option.replace(f"{SCORES}/", "") for option in case["options"]]
    packed = gzip.compress(json.dumps({"lastz": version, "cases": made}).encode(), 9, mtime=0)
    (HERE / "pipelines.json.gz").write_bytes(packed)
    print(version, [len(case["lines"]) for case in made], len(packed), "bytes")


if __name__ == "__main__":
    main()
