"""Make chains.json.gz: the chains that LASTZ 1.04.22 finds of small random sets of segments, with penalties of all sizes. By hand, where `lastz` is:

python tests/data/genomes/make_chains.py
"""

import gzip
import json
import random
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COUNT = 400


def sides(rng: random.Random) -> tuple[str, str]:
    """Two sequences of two letters, so that one seed has many hits; the second is a changed and perhaps rotated first one, or another."""
    letters = rng.choice(["AT", "AT", "AT", "AC", "GT"])
    target = "".join(rng.choices(letters, k=rng.randint(20, 120)))
    query = list(target)
    for _ in range(rng.randint(0, len(query) // 5)):
        query[rng.randrange(len(query))] = rng.choice(letters)
    cut = rng.choice([0, rng.randrange(len(query))])
    return target, "".join(rng.choice([query[cut:] + query[:cut], rng.choices(letters, k=rng.randint(20, 120))]))


def penalty(rng: random.Random) -> int:
    """Small ones, of which a toll may be 0 or 1, and those whose products pass 32 bits."""
    return rng.choice([0, 1, 2, 3, 10, rng.randrange(30), rng.randrange(300), rng.randrange(3000), rng.randrange(10**5), rng.randrange(2**31)])


def chain(case: dict[str, Any], folder: Path) -> list[list[int]]:
    """Give the places (target, query) of the seeds in LASTZ's chain."""
    sides = []
    for side in ("target", "query"):
        (folder / side).write_text(f">{side}\n{case[side]}\n")
        sides.append(side + "[multiple]" * (side in case["multiple"]))
    options = [f"--seed=match{case['letters']}", "--nogfextend", "--nogapped", "--strand=plus", f"--chain={case['diagonal']},{case['anti']}"]
    command = ["lastz", *sides, *options, "--format=general-:zstart1,zstart2"]
    printed = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return [[int(word) for word in line.split()] for line in printed.splitlines()]


SCORES = {
    "ACGT": "A C G T\nA 60 -90 -50 -90\nC -90 120 -90 -50\nG -50 -90 120 -90\nT -90 -50 -90 60\n",
    "CAGT": "C A G T\nC 120 -90 -90 -50\nA -90 60 -50 -90\nG -90 -50 120 -90\nT -50 -90 -90 60\n",
}
"""One matrix with its rows and columns in two orders. Seeds that overlap cost the first score of it for each letter."""


def printed(run: dict[str, Any], folder: Path) -> list[str]:
    """Give LASTZ's lines of target, query and options."""
    for name, text in run["files"].items():
        (folder / name).write_text(text)
    command = ["lastz", run["target"], run["query"], *run["options"], f"--format={FIELDS}"]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout.splitlines()


FIELDS = "general-:score,zstart1,zstart2+,length1,strand2"


def scored(rng: random.Random, folder: Path) -> list[dict[str, Any]]:
    """Draw repeats and the scores of the matrix in either order; kept where the order makes a difference, with an x-drop that does not depend on it."""
    unit = "".join(rng.choices("ACGT", k=rng.randint(15, 50)))
    target, query = ("".join(rng.choices("ACGT", k=30)) + _changed(rng, unit * 6) for _ in range(2))
    options = ["--scores=scores", "--nogapped", "--xdrop=700", "--hspthresh=1000", f"--chain={rng.choice(['0,0', '5,3', '100,1', '20,200'])}"]
    sides = {"t.fa": f">t\n{target}\n", "q.fa": f">q\n{query}\n"}
    runs = [{"files": {**sides, "scores": text}, "target": "t.fa", "query": "q.fa", "options": options} for text in SCORES.values()]
    lines = [printed(run, folder) for run in runs]
    return [run | {"lines": found} for run, found in zip(runs, lines, strict=True)] if lines[0] != lines[1] else []


def apart(rng: random.Random, folder: Path) -> list[dict[str, Any]]:
    """Draw a query of pieces with N between, as one and as sequences of their own; kept where that makes a difference to a chain."""
    target, query = sides(rng)
    cut = len(query) // 2
    files = {"t.fa": f">t\n{target}\n", "q.fa": f">a\n{query[:cut]}NNNNN{query[cut:]}\n", "p.fa": f">a\n{query[:cut]}\n>b\n{query[cut:]}\n"}
    options = ["--seed=match5", "--nogfextend", "--nogapped", f"--chain={penalty(rng)},{penalty(rng)}"]
    runs = [{"files": files, "target": "t.fa", "query": name, "options": options} for name in ("q.fa[separator=N]", "p.fa")]
    lines = [printed(run, folder) for run in runs]
    return [run | {"lines": found} for run, found in zip(runs, lines, strict=True)] if len(lines[0]) != len(lines[1]) else []


def tied(rng: random.Random, folder: Path) -> list[dict[str, Any]]:
    """Draw a target of which both sequences of a query have the same place, the first one more of it: two chains with segments that begin there."""
    before, piece, behind = ("".join(rng.choices("ACGT", k=letters)) for letters in (40, 120, 40))
    target = f"{before}A{piece}A{behind}"
    files = {"t.fa": f">t\n{target}\n", "q.fa": f">a\n{before[:30]}GGC{piece}C\n>b\n{behind}C{piece[:60]}CCC{before[30:]}\n"}
    run = {"files": files, "target": "t.fa", "query": "q.fa[multiple]", "options": ["--nogapped", "--hspthresh=2000", f"--chain={rng.choice(['0,0', '3,1'])}"]}
    return [run | {"lines": printed(run, folder)}]


def _changed(rng: random.Random, text: str) -> str:
    return "".join(rng.choice("ACGT") if rng.random() < 0.02 else letter for letter in text)


def cases() -> list[dict[str, Any]]:
    """Draw what LASTZ is asked."""
    found = []
    for seed in range(COUNT):
        rng = random.Random(seed)
        target, query = sides(rng)
        drawn = {"letters": rng.choice([5, 6, 7]), "diagonal": penalty(rng), "anti": penalty(rng)}
        found.append({"target": target, "query": query, **drawn, "multiple": []})
    return found


def main() -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    with tempfile.TemporaryDirectory() as place:
        made = []
        for case in cases():
            plain = chain(case, Path(place))
            made.append(case | {"chain": plain})
            for several in (["target"], ["query"], ["target", "query"]):
                # These move places in LASTZ's memory by one, which shows in few cases.
                moved = chain(case | {"multiple": several}, Path(place))
                made += [case | {"multiple": several, "chain": moved}] if moved != plain else []
        runs = [
            run
            for way, count in ((scored, 30), (apart, 120), (tied, 4))
            for seed in range(count)
            for run in way(random.Random(f"{way.__name__} {seed}"), Path(place))
        ]
    packed = gzip.compress(json.dumps({"lastz": version, "cases": made, "runs": runs}).encode(), 9, mtime=0)
    (HERE / "chains.json.gz").write_bytes(packed)
    print(version, len(made), "chains of", sum(len(case["chain"]) for case in made), "seeds,", len(runs), "runs,", len(packed), "bytes")


if __name__ == "__main__":
    main()
