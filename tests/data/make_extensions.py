"""Make tests/data/scored/extensions.tsv.gz: what ksw2, minimap2's library, says of extensions with its z-drop. By hand, with gcc:

python tests/data/make_extensions.py KSW2    a clone of https://github.com/lh3/ksw2 at the commit 289609bd

A line: the pair, whole or patched, scoring, z-drop (empty: none), score, query end and target end (half-open). Pairs are those of the set `SET` in
tests/data/pairs; of a patched one 10, 15, 20 .. letters of the query are those of the next pair's, so that extensions stop there or go through.
"""

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))
from pairfiles import Pair, read_seq

HERE = Path(__file__).parent
PLACE = HERE / "scored" / "extensions.tsv.gz"
SET = "ecoli_pacbio_clr_1kb"
MATCH, MISMATCH, GAP = 2, 4, (4, 2, 24, 1)
"""minimap2's defaults; of one piece the first two of the gap."""

ZDROPS = (400, 100, None)


def pairs() -> dict[str, list[Pair]]:
    """Give the pairs, whole and patched."""
    whole = read_seq(HERE / "pairs" / f"{SET}.seq.gz")
    patched = []
    for i, ((query, target), (other, _)) in enumerate(zip(whole, whole[1:], strict=False)):
        stop = 110 + 5 * i
        patched.append((query[:100] + other[100:stop] + query[stop:], target))
    return {"whole": whole, "patched": patched}


def main(ksw2: str) -> None:
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        sources = [f"{ksw2}/{name}.c" for name in ("ksw2_extz2_sse", "ksw2_extd2_sse", "kalloc")]
        subprocess.run(["gcc", "-O2", "-msse4.1", "-I", ksw2, HERE / "ksw2_peer.c", *sources, "-o", f"{folder}/peer"], check=True)
        for kind, of in pairs().items():
            Path(folder, kind).write_bytes(b"".join(b"%b\n%b\n" % pair for pair in of))
            for gap in (GAP[:2], GAP):
                for zdrop in ZDROPS:
                    numbers = [MATCH, MISMATCH, *gap, *([] if len(gap) == 4 else [-1, 0]), -1 if zdrop is None else zdrop]
                    said = subprocess.run([f"{folder}/peer", f"{folder}/{kind}", *map(str, numbers)], check=True, capture_output=True, text=True).stdout
                    text = f"match:{MATCH},mismatch:-{MISMATCH},gap:{','.join(map(str, gap))}"
                    lines += [f"{i}\t{kind}\t{text}\t{'' if zdrop is None else zdrop}\t{line}\n" for i, line in enumerate(said.splitlines())]
    PLACE.write_bytes(gzip.compress("".join(lines).encode(), 9, mtime=0))
    print(len(lines), "extensions")


if __name__ == "__main__":
    main(sys.argv[1])
