"""Make text.json.gz: what LASTZ 1.04.22 prints in its formats for people and programs of BLAST's: `text`, `zerotext`, `lav+text`, `differences`, `blastn`.
By hand, where `lastz` is:

python tests/data/genomes/make_text.py
"""

import gzip
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
from make_pipelines import fasta, letters, turned  # noqa: E402

FORMATS = ("text", "zerotext", "differences", "differences-", "blastn", "blastn-")


def files() -> dict[str, dict[str, str]]:
    """Draw sequences with lower case, N, X, gaps side by side and letters that differ side by side; on both strands."""
    rng = random.Random(17)
    common, other = letters(rng, 400), letters(rng, 180)
    target = letters(rng, 60) + common + letters(rng, 100) + other + letters(rng, 40)
    like = [rng.choice("ACGT") if place % 13 == 0 else letter for place, letter in enumerate(common)]
    changed = "".join([*like[:100], "GATTACA", *like[100:150], *like[153:200], "TTT", *like[203:230], "N", *like[231:300], *like[301:]])
    changed = changed[:300] + changed[300:].lower()
    words = letters(rng, 60) + "NN" + letters(rng, 20) + "X" + letters(rng, 30)
    return {
        "several": {
            "t.fa": f">tA some words\n{target}\n>tB\n{letters(rng, 50)}{common[:200]}\n",
            "q.fa": f">qA\n{letters(rng, 30)}{changed}{letters(rng, 20)}{turned(other)}\n>qB more\n{turned(other)}\n>qC\n{letters(rng, 90)}\n"
            f">qD\n{turned(changed.upper())}\n",
        },
        "one": {"t.fa": fasta("t", target, []), "q.fa": f">qA\n{letters(rng, 30)}{changed}\n>qB\n{turned(changed.upper())}\n"},
        "same": {"t.fa": fasta("t", words, []), "q.fa": fasta("q", words[:90] + "A" + words[91:], [])},
        "none": {"t.fa": fasta("t", target, []), "q.fa": fasta("q", letters(rng, 200), [])},
    }


def cases() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, formats, options in (
        ("several", FORMATS, []),
        ("several", FORMATS[:5], ["--seed=match10", "--transition=2", "--hspthresh=1500", "--gappedthresh=1500"]),
        ("several", FORMATS[:5], ["--nogapped", "--hspthresh=2000"]),
        ("several", ("text", "blastn"), ["--match=1,5", "--step=3", "--seed=half8"]),
        ("one", ("lav+text",), []),
        ("one", ("lav+text",), ["--nogapped", "--notransition"]),
        ("same", FORMATS[:5], []),
        ("none", FORMATS[:5], []),
    ):
        several = name == "several"
        found += [{"files": name, "target": f"t.fa{'[multiple]' * several}", "query": "q.fa", "options": options, "format": format} for format in formats]
    for options in ([], ["--nogapped"]):
        for format in ("text", "lav+text", "differences", "blastn"):
            found.append({"files": "one", "target": "t.fa[31..]", "query": "q.fa[11..390]", "options": options, "format": format})
    return found


def printed(case: dict[str, Any], texts: dict[str, str]) -> list[str]:
    """Run LASTZ, and give the lines that it prints, but the one that names it."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts.items():
            Path(folder, name).write_text(text)
        command = ["lastz", case["target"], case["query"], *case["options"], f"--format={case['format']}"]
        out = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder).stdout
    return [line for line in out.split("\n") if "lastz.v" not in line]


def main() -> None:
    version = subprocess.run(["lastz", "--version"], capture_output=True, text=True).stdout.splitlines()[0]
    texts = files()
    made = [{**case, "lines": printed(case, texts[case["files"]])} for case in cases()]
    packed = gzip.compress(json.dumps({"lastz": version, "files": texts, "cases": made}).encode(), 9, mtime=0)
    (HERE / "text.json.gz").write_bytes(packed)
    print(version, [len(case["lines"]) for case in made], len(packed), "bytes")


if __name__ == "__main__":
    main()
