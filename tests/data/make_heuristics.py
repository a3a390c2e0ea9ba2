"""Make tests/data/pairs/heuristics.tsv.gz: what WFA2-lib says of the real pairs there with each heuristic. By hand, with the `oracle` extra:

python tests/data/make_heuristics.py

A line: set, pair, penalties, heuristic, penalty and the first letters of the CIGAR's SHA-256; of a pair that was dropped both are empty. WFA2-lib counts a
match as -1 where it costs nothing, so its x-drop and z-drop give every pair up after some letters; it is asked with a match of 1 then, which doubles its
penalties (`doubled`), and no CIGAR is kept: some of its own have letters that say otherwise.
"""

import gzip
import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

from peers import MODELS, OUR_LETTERS
from pywfa import WavefrontAligner

sys.path.insert(0, str(Path(__file__).parent.parent))
from pairfiles import read_folder

from tidalign.kernels.scoring.heuristic import Heuristic
from tidalign.kernels.scoring.penalties import Penalties

PLACE = Path(__file__).parent / "pairs"
PRESETS = [str(penalties) for penalties in Penalties.presets().values()]
RULES = ["adaptive:10,50,1", "adaptive:4,15,3", "band:-30,30", "adaptive-band:-50,50,2"]
DROPS = ["xdrop:20,1", "xdrop:60,3", "zdrop:20,1", "zdrop:60,2"]
NAMES = {"adaptive": "adaptive", "band": "banded-static", "adaptive-band": "banded-adaptive", "xdrop": "X-drop", "zdrop": "Z-drop"}


def aligner(penalties: Penalties, heuristic: Heuristic, match: int, scope: str) -> WavefrontAligner:
    """Make an end-to-end aligner with a heuristic. With the scope `full` its process ends where a pair's penalty is above what any pair of these lengths
    costs."""
    names = {"adaptive": ("min_wavefront_length", "max_distance_threshold", "steps_between_cutoffs"), "xdrop": ("xdrop", "steps_between_cutoffs")}
    names |= {"zdrop": ("zdrop", "steps_between_cutoffs"), "band": ("min_k", "max_k"), "adaptive-band": ("min_k", "max_k", "steps_between_cutoffs")}
    options = dict(zip(names[heuristic.kind], heuristic.numbers, strict=True)) | {"heuristic": NAMES[heuristic.kind], "span": "end-to-end", "scope": scope}
    options["distance"] = MODELS[penalties.model]
    if penalties.model != "edit":
        options |= {"match": match, "mismatch": penalties.mismatch, "gap_opening": penalties.pieces[0][0], "gap_extension": penalties.pieces[0][1]}
    if penalties.model == "affine2p":
        options |= {"gap_opening2": penalties.pieces[1][0], "gap_extension2": penalties.pieces[1][1]}
    return WavefrontAligner(**options)


def doubled(penalties: Penalties) -> Penalties:
    """Compute what WFA2-lib makes of penalties with a match of 1: a letter then costs 1 less where it is equal, all times two."""
    pieces = tuple((2 * opening, 2 * extension + 1) for opening, extension in penalties.pieces)
    return Penalties(penalties.model, 2 * penalties.mismatch + 2, pieces)


def rows() -> list[str]:
    lines = []
    for name, pairs in read_folder(PLACE).items():
        for text in PRESETS:
            penalties = Penalties.parse(text)
            for rule in RULES + DROPS:
                heuristic = Heuristic.parse(rule)
                drops = rule in DROPS
                if text == "edit" and heuristic.kind != "adaptive":
                    continue  # WFA2-lib does not end where no diagonal is left
                score, full = (aligner(penalties, heuristic, -1 if drops else 0, scope) for scope in ("score", "full"))
                of = str(doubled(penalties)) if drops else text
                for i, (query, target) in enumerate(pairs):
                    score.wavefront_align(target.decode(), query.decode())
                    penalty, cigar = "", ""
                    if score.status == 0 and drops:
                        penalty = str(len(query) + len(target) - 2 * score.score)
                    elif score.status == 0:
                        full.wavefront_align(target.decode(), query.decode())
                        penalty, cigar = str(abs(score.score)), hashlib.sha256(full.cigarstring.translate(OUR_LETTERS).encode()).hexdigest()[:12]
                    lines.append(f"{name}\t{i}\t{of}\t{rule}\t{penalty}\t{cigar}")
    return lines


if __name__ == "__main__":
    (PLACE / "heuristics.tsv.gz").write_bytes(gzip.compress("\n".join([*rows(), ""]).encode(), 9, mtime=0))
    print(f"pywfa {version('pywfa')}")
