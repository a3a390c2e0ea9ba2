"""Compare this package with WFA2-lib and edlib, live, on every pair of a folder. By hand, with the `oracle` extra:

python tests/data/compare_real.py FOLDER [PENALTIES ...]    penalties: the four presets unless given
"""

import sys
import time
from pathlib import Path

from peers import edlib_distance, wfa2, wfa2_align

sys.path.insert(0, str(Path(__file__).parent.parent))
from pairfiles import Pair, read_folder

from tidalign.kernels.letters.sequences import Sequences, pack
from tidalign.kernels.pairwise.wavefront import align
from tidalign.kernels.scoring.penalties import Penalties
from tidalign.kernels.wavefront.alignments import cigar_text


def compare(name: str, pairs: list[Pair], penalties: Penalties) -> bool:
    """Print how many pairs have the same penalty and CIGAR; whether all have."""
    began = time.process_time()
    queries, targets = (pack(Sequences.from_strings(side)) for side in zip(*pairs, strict=True))
    found = align(queries, targets, penalties)
    text, offsets = cigar_text(found)
    ours = time.process_time() - began
    aligner = wfa2(penalties)
    equal = same_cigar = same_edlib = 0
    for i, (query, target) in enumerate(pairs):
        penalty, cigar = wfa2_align(aligner, query, target)
        equal += penalty == found.penalty[i]
        same_cigar += cigar == text[offsets[i] : offsets[i + 1]].tobytes().decode()
        same_edlib += penalties.model != "edit" or edlib_distance(query, target) == found.penalty[i]
    edlib = f", {same_edlib} equal edlib's" if penalties.model == "edit" else ""
    print(f"{name} {penalties}: {len(pairs)} compared, {equal} penalties equal, {same_cigar} CIGARs equal{edlib}; {ours:.1f} s CPU here", flush=True)
    return equal == same_cigar == same_edlib == len(pairs)


def main(folder: Path, penalties: list[str]) -> int:
    wanted = [Penalties.parse(text) for text in penalties] or list(Penalties.presets().values())
    results = [compare(name, pairs, each) for name, pairs in read_folder(folder).items() for each in wanted]
    print("all equal" if all(results) else "DIFFERENCES")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
