"""Make tests/data/pairs: a sample of real pairs and what WFA2-lib and edlib say of them. By hand, with the `oracle` extra:

python tests/data/make_golden.py FOLDER    where FOLDER holds the files that tests/data/pairs/README.md names
"""

import gzip
import hashlib
import sys
from importlib.metadata import version
from pathlib import Path

from peers import edlib_distance, wfa2, wfa2_align

sys.path.insert(0, str(Path(__file__).parent.parent))
import simulate
from pairfiles import Pair, read_folder, write_seq

from tidalign.kernels.scoring.penalties import Penalties

PLACE = Path(__file__).parent / "pairs"
SAMPLES = {
    "gasal2_20k_150bp": 300,
    "ecoli_pacbio_clr_1kb": 120,
    "ecoli_ont_r9_1-10kb": 16,
    "ecoli_ont_r9_10kb": 2,
    "ecoli_k12_hifi": 12,
}
LONG = {
    "40 kb, 5 %": (1, 1, 40_000, 0.05, "mixed"),
    "100 kb, 2 %": (2, 1, 100_000, 0.02, "mixed"),
    "50 kb, long gaps": (3, 1, 50_000, 0.02, "gaps"),
    "1 Mb, 0.5 %": (4, 1, 1_000_000, 0.005, "mixed"),
}
"""Arguments of simulate.pairs; only digests of the letters are kept."""


def rows(name: str, pairs: list[Pair]) -> list[str]:
    """Write lines of set, pair, penalties, penalty, CIGAR."""
    lines = []
    for text in map(str, Penalties.presets().values()):
        aligner = wfa2(Penalties.parse(text))
        for i, (query, target) in enumerate(pairs):
            penalty, cigar = wfa2_align(aligner, query, target)
            assert text != "edit" or penalty == edlib_distance(query, target)
            lines.append(f"{name}\t{i}\t{text}\t{penalty}\t{cigar}")
    return lines


def main(folder: Path) -> None:
    lines = []
    for name, pairs in read_folder(folder).items():
        sample = pairs[:: len(pairs) // SAMPLES[name]][: SAMPLES[name]]
        write_seq(PLACE / f"{name}.seq.gz", sample)
        lines += rows(name, sample)
        if name.startswith("gasal2"):
            lines += [f"{name}\t{i}\tedit, target's ends free\t{edlib_distance(*pair, 'HW')}\t" for i, pair in enumerate(sample)]
    (PLACE / "expected.tsv.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode(), 9, mtime=0))

    lines = []
    for name, arguments in LONG.items():
        (pair,) = simulate.pairs(*arguments)
        digest = hashlib.sha256(b"\n".join(pair)).hexdigest()
        for text in map(str, Penalties.presets().values()):
            penalty, _ = wfa2_align(wfa2(Penalties.parse(text), "biwfa"), *pair)
            assert text != "edit" or penalty == edlib_distance(*pair)
            lines.append("\t".join([name, *map(str, arguments), digest, text, str(penalty)]))
    (PLACE / "long.tsv").write_text("\n".join([*lines, ""]))
    print(", ".join(f"{package} {version(package)}" for package in ("pywfa", "edlib", "numpy")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
